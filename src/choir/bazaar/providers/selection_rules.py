"""How candidates are scored and ordered, and when it is a newcomer's turn. Pure, whole numbers only.

Each component is a score from 0 to 10000; its points are the score times its weight, rounded down; a total is
the sum of the points, so an explanation adds up exactly. The database orders by the same formula; this module
is the one that explains, and a test compares the two.

price      against the most that any tier may ask for the same units: free is 10000, the most is 0
reputation as in the record
capacity   free slots of all slots
isolation  10000 if what is claimed reaches what is asked for (or expected), else 0: more is not rewarded, for
           nobody has checked the claim
geography  10000 in the buyer's region, less in its area, 0 elsewhere; 10000 for all if the buyer names none

A buyer may bring weights of its own. No stake, bond or other money of a provider is an input.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import Any
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import rules
from choir.bazaar.providers.model import ONE_BPS, BadCriteria, Isolation, parse_provider_id, provider_id
from choir.bazaar.settlement.pricing import Terms
from choir.foundation.errors import Invalid

UNITS_MILLI_MAX = 10**9
_LIST_MAX = 1_000
_CRITERIA = frozenset({"units_milli", "min_success_bps", "min_isolation", "providers", "regions", "near", "weights"})
_SEED = b"choir-selection-v1"


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each component of a score counts, in basis points; together 10000. Money is none of them."""

    price: int
    reputation: int
    capacity: int
    isolation: int
    geography: int

    def as_json(self) -> dict[str, int]:
        return {each.name: getattr(self, each.name) for each in fields(self)}


@dataclass(frozen=True, slots=True)
class Criteria:
    """What a job asks for. All of it is hard but `near`, which only scores."""

    type: JobType
    max_price: int  # milli-satoshi, for the estimated units
    units_milli: int = 0  # an estimate, in thousandths of the type's unit
    min_success_bps: int = 0  # above 0, providers without a record do not qualify
    min_isolation: Isolation | None = None
    providers: tuple[UUID, ...] = ()  # only these, if any are named
    regions: tuple[str, ...] = ()  # only these regions or areas, if any are named
    near: str = ""  # the buyer's region
    excluded: tuple[UUID, ...] = ()
    weights: Weights | None = None  # the buyer's own; None: those of policy


@dataclass(frozen=True, slots=True)
class Candidate:
    """A provider that meets the hard criteria, with what it is scored by."""

    provider: UUID
    owner: str
    region: str
    isolation: int
    tier: int
    slots: int
    in_use: int
    success_bps: int | None
    reputation_bps: int
    newcomer: bool
    shuffle: int
    version: int  # of the price book
    terms: Terms  # what would be charged: the book, within the tier's limits, less what is bid below it
    bid_bps: int = 0  # so much below the book


@dataclass(frozen=True, slots=True)
class Component:
    """One part of a score."""

    name: str
    score: int
    weight_bps: int
    points: int


@dataclass(frozen=True, slots=True)
class Scored:
    """A candidate with its place in the order explained."""

    candidate: Candidate
    price: int
    components: tuple[Component, ...]
    newcomers_turn: bool = False  # it stands first because this one goes to a newcomer

    @property
    def total(self) -> int:
        return sum(component.points for component in self.components)

    def as_json(self) -> dict[str, Any]:
        found = self.candidate
        return {
            "provider": provider_id(found.provider),
            "total": self.total,
            "price": str(self.price),
            "tier": found.tier,
            "success_bps": found.success_bps,
            "book_version": found.version,
            "newcomers_turn": self.newcomers_turn,
            **({"bid_bps": found.bid_bps} if found.bid_bps else {}),
            "components": [
                {"name": c.name, "score": c.score, "weight_bps": c.weight_bps, "points": c.points}
                for c in self.components
            ],
        }


def checked(criteria: Criteria) -> Criteria:
    """The criteria, if they are within what can be computed and named."""
    if not 0 <= criteria.units_milli <= UNITS_MILLI_MAX:
        raise BadCriteria(why=f"an estimate is from 0 to {UNITS_MILLI_MAX} thousandths of a unit")
    if not 0 <= criteria.max_price < 2**63:
        raise BadCriteria(why="the highest price is out of range")
    if not 0 <= criteria.min_success_bps <= ONE_BPS:
        raise BadCriteria(why=f"a success rate is from 0 to {ONE_BPS} basis points")
    if max(len(criteria.providers), len(criteria.regions), len(criteria.excluded)) > _LIST_MAX:
        raise BadCriteria(why=f"at most {_LIST_MAX} providers or regions can be named")
    for region in (*criteria.regions, *([criteria.near] if criteria.near else [])):
        rules.checked_region(region)
    return criteria


def criteria_from(type_: JobType, max_price: int, asked: dict[str, Any], excluded: tuple[UUID, ...] = ()) -> Criteria:
    """Criteria from JSON. Optional: units_milli, min_success_bps, min_isolation, providers, regions, near, weights."""
    unknown = set(asked) - _CRITERIA
    if unknown:
        raise BadCriteria(why=f"there is no criterion '{min(unknown)[:40]}'")
    isolation = asked.get("min_isolation")
    try:
        return checked(
            Criteria(
                type=type_,
                max_price=max_price,
                units_milli=_whole(asked.get("units_milli", 0)),
                min_success_bps=_whole(asked.get("min_success_bps", 0)),
                min_isolation=None if isolation is None else Isolation.parse(_text(isolation)),
                providers=tuple(parse_provider_id(one) for one in _texts(asked.get("providers", []))),
                regions=_texts(asked.get("regions", [])),
                near=_text(asked.get("near", "")),
                excluded=excluded,
                weights=weights_from(asked["weights"]) if "weights" in asked else None,
            )
        )
    except BadCriteria:
        raise
    except Invalid as error:
        raise BadCriteria(why=str(error)) from None


def criteria_json(criteria: Criteria) -> dict[str, Any]:
    """The other way round; what was not asked for is left away."""
    isolation = criteria.min_isolation
    told = {
        "units_milli": criteria.units_milli,
        "min_success_bps": criteria.min_success_bps,
        "min_isolation": "" if isolation is None else isolation.label,
        "providers": [provider_id(one) for one in criteria.providers],
        "regions": list(criteria.regions),
        "near": criteria.near,
        "weights": {} if criteria.weights is None else criteria.weights.as_json(),
    }
    return {name: value for name, value in told.items() if value}


def weights_from(asked: object) -> Weights:
    """A buyer's own weights: whole numbers from 0 to 10000 that are brought to 10000 together, exactly.

    What is not named counts for nothing. What rounding leaves goes to the largest remainders, first to the first.
    """
    names = [each.name for each in fields(Weights)]
    if not isinstance(asked, dict) or not asked or set(asked) - set(names):
        raise BadCriteria(why=f"weights are an object with some of {', '.join(names)}")
    given = {name: _whole(asked.get(name, 0)) for name in names}
    total = sum(given.values())
    if any(not 0 <= each <= ONE_BPS for each in given.values()) or not total:
        raise BadCriteria(why=f"each weight is from 0 to {ONE_BPS}, and not all are 0")
    scaled = {name: each * ONE_BPS // total for name, each in given.items()}
    left = ONE_BPS - sum(scaled.values())
    by_remainder = sorted(names, key=lambda name: (-(given[name] * ONE_BPS % total), names.index(name)))
    for name in by_remainder[:left]:
        scaled[name] += 1
    return Weights(**scaled)


def weights_of(criteria: Criteria, policy: ProvidersPolicy) -> Weights:
    """The buyer's, or those of policy."""
    return criteria.weights or Weights(
        policy.weight_price_bps,
        policy.weight_reputation_bps,
        policy.weight_capacity_bps,
        policy.weight_isolation_bps,
        policy.weight_geography_bps,
    )


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadCriteria(why="numbers must be whole")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadCriteria(why="names must be text")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise BadCriteria(why="several names must be a list")
    return tuple(_text(one) for one in value)


def score(candidate: Candidate, criteria: Criteria, policy: ProvidersPolicy) -> Scored:
    """What each component comes to."""
    price = rules.price(candidate.terms, criteria.units_milli)
    weights = weights_of(criteria, policy)
    scores = (
        ("price", price_score(price, criteria, policy), weights.price),
        ("reputation", candidate.reputation_bps, weights.reputation),
        ("capacity", _ratio(candidate.slots - candidate.in_use, candidate.slots), weights.capacity),
        ("isolation", _isolation(candidate, criteria, policy), weights.isolation),
        ("geography", _geography(candidate.region, criteria.near, policy), weights.geography),
    )
    components = tuple(Component(name, each, weight, each * weight // ONE_BPS) for name, each, weight in scores)
    return Scored(candidate, price, components)


def top_price(criteria: Criteria, policy: ProvidersPolicy) -> int:
    """What prices are scored against; at least 1, so that it can be divided by."""
    return max(1, rules.price(rules.top_terms(criteria.type, policy), criteria.units_milli))


def price_score(price: int, criteria: Criteria, policy: ProvidersPolicy) -> int:
    top = top_price(criteria, policy)
    return _ratio(top - min(price, top), top)


def wanted_isolation(criteria: Criteria, policy: ProvidersPolicy) -> int:
    return policy.isolation_expected if criteria.min_isolation is None else int(criteria.min_isolation)


def _isolation(candidate: Candidate, criteria: Criteria, policy: ProvidersPolicy) -> int:
    return ONE_BPS if candidate.isolation >= wanted_isolation(criteria, policy) else 0


def _geography(region: str, near: str, policy: ProvidersPolicy) -> int:
    if near in ("", region):
        return ONE_BPS
    return policy.same_area_bps if rules.area_of(region) == rules.area_of(near) else 0


def _ratio(part: int, whole: int) -> int:
    return max(0, part) * ONE_BPS // whole if whole else 0


def seed_number(seed: bytes) -> int:
    """A seed as a number that orders equals."""
    return int.from_bytes(hashlib.sha256(_SEED + seed).digest()[:8]) >> 1


def is_newcomers_turn(seed: bytes, policy: ProvidersPolicy) -> bool:
    """Whether this selection is one of the share that goes to newcomers; the same seed says the same."""
    drawn = int.from_bytes(hashlib.sha256(_SEED + b"newcomer" + seed).digest()[:8])
    return drawn % ONE_BPS < policy.newcomer_share_bps


def plain_seed(policy: ProvidersPolicy) -> bytes:
    """A seed by which it is no newcomer's turn, to show the order by points; the first one if it always is."""
    tried = (bytes([n]) for n in range(2**8))
    return next((seed for seed in tried if not is_newcomers_turn(seed, policy)), b"\0")


def newcomer_numbers(seed: bytes) -> tuple[int, int]:
    """Where a draw among newcomers starts, and what orders those it finds."""
    drawn = hashlib.sha256(_SEED + b"draw" + seed).digest()
    return int.from_bytes(drawn[:8]) >> 1, int.from_bytes(drawn[8:16]) >> 1


def lot(seed: bytes, scored: Scored) -> bytes:
    """A candidate's lot in a draw with this seed."""
    return hashlib.sha256(_SEED + b"lot" + seed + scored.candidate.provider.bytes).digest()


def order_key(scored: Scored, number: int) -> tuple[int, int, int]:
    """Best first: by points, then tier 3 before the others, then by lot."""
    return -scored.total, -int(scored.candidate.tier == 3), scored.candidate.shuffle ^ number
