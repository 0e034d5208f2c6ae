"""What a delegation may be, how it can be narrowed, which windows its caps have, and what a spend charges.

Pure: data and policy in, data or a refusal out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, from_datetime, to_datetime
from choir.foundation.ids import uuid7
from choir.foundation.money import AMOUNT_MAX, Asset, checked_amount
from choir.identity.delegations.model import (
    BadTerms,
    Cap,
    CapExceeded,
    Delegation,
    DelegationEnded,
    DelegationWider,
    NoCap,
    NotYourAccount,
    Period,
    delegation_id,
)
from choir.identity.model import BadName, Principal, Role, Scope, agent_owner, person_owner
from choir.identity.policy import DelegationsPolicy
from choir.ledger.model import Draft, Leg, account_name

NO_ID = UUID(int=0)  # before every other id: where listings begin
_CAPS_MAX = len(Asset) * len(Period)  # one for each, there cannot be more


@dataclass(frozen=True, slots=True)
class Terms:
    """What somebody asks a delegation to be."""

    scopes: frozenset[Scope]
    caps: tuple[Cap, ...]
    expires_us: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One delegation of a chain, with all that its validity depends on."""

    id: UUID
    depth: int
    person: UUID
    agent: UUID
    scopes: frozenset[Scope]
    expires_us: int
    revoked_us: int | None
    agent_retired_us: int | None
    person_erased_us: int | None


Chain = Sequence[ChainLink]  # from the root to the delegation in question


@dataclass(frozen=True, slots=True)
class CapState:
    """A cap and what was spent of it in the current window."""

    delegation: UUID
    asset: str
    period: Period
    cap: int
    spent: int


@dataclass(frozen=True, slots=True)
class Charge:
    """An amount on one cap in one window."""

    delegation: UUID
    asset: str
    period: Period
    begins_us: int
    amount: int


# Names, ids, pages


def new_id(at_us: int, random_eight: bytes) -> UUID:
    """An id from the time and eight random bytes."""
    return uuid7(at_us, int.from_bytes(random_eight[6:]), random_eight[:6])


def checked_name(name: str, chars_max: int) -> str:
    """A name as somebody gave it, trimmed."""
    name = name.strip()
    if not 1 <= len(name) <= chars_max:
        raise BadName(why=f"it must have 1 to {chars_max} characters")
    if not name.isprintable():
        raise BadName(why="it has non-printable characters")
    return name


def page_size(asked: int | None, policy: DelegationsPolicy) -> int:
    """How many rows a page has."""
    return policy.page_rows_max if asked is None else max(1, min(asked, policy.page_rows_max))


def scopes_of_bits(bits: int) -> frozenset[Scope]:
    """Scopes from their sum, as policy has it: read 1, research 2, publish 4, and so on in order."""
    return frozenset(scope for place, scope in enumerate(Scope) if bits >> place & 1)


# Windows


def window_begins_us(period: Period, at_us: int) -> int:
    """When the window that this moment is in began; UTC, half-open, weeks from Monday."""
    at = to_datetime(at_us)
    day = datetime(at.year, at.month, at.day, tzinfo=UTC)
    match period:
        case Period.DAY:
            return from_datetime(day)
        case Period.WEEK:
            return from_datetime(day - timedelta(days=day.weekday()))
        case Period.MONTH:
            return from_datetime(day.replace(day=1))
        case Period.TOTAL:
            return 0


def windows(at_us: int) -> dict[Period, int]:
    """The beginnings of all windows that this moment is in."""
    return {period: window_begins_us(period, at_us) for period in Period}


# Granting and narrowing


def checked_terms(terms: Terms, now_us: int, policy: DelegationsPolicy) -> Terms:
    """The terms in their normal form, or the refusal that says what is wrong with them."""
    if not terms.scopes:
        raise BadTerms(why="it needs at least one scope")
    if not now_us < terms.expires_us <= now_us + policy.delegation_s_max * MICROSECONDS:
        raise BadTerms(why=f"it must expire in the future, within {policy.delegation_s_max} seconds")
    name = None if terms.name is None else checked_name(terms.name, policy.name_chars_max)
    return replace(terms, caps=checked_caps(terms.caps), name=name)


def checked_caps(caps: Sequence[Cap]) -> tuple[Cap, ...]:
    """Caps in order, each asset and period at most once."""
    if len(caps) > _CAPS_MAX:
        raise BadTerms(why=f"it has more than {_CAPS_MAX} caps")
    for cap in caps:
        asset = Asset.of(cap.asset)
        if isinstance(cap.cap, bool) or not isinstance(cap.cap, int) or not 0 <= cap.cap <= AMOUNT_MAX:
            raise BadTerms(why=f"a cap is from 0 to {asset.format(AMOUNT_MAX)} {asset.name}, in whole smallest units")
    if len({(cap.asset, cap.period) for cap in caps}) != len(caps):
        raise BadTerms(why="an asset and period is capped twice")
    return tuple(sorted(caps, key=lambda cap: (cap.asset, cap.period)))


def check_narrower(parent: Delegation, terms: Terms, policy: DelegationsPolicy) -> None:
    """Raise unless these terms are within the parent's in every respect.

    A child may leave out a period that its parent caps: what it spends is charged to the parent too.
    """
    if parent.depth >= policy.depth_max:
        raise DelegationWider(why=f"it was already narrowed {parent.depth} times, which is the limit")
    wider = sorted(terms.scopes - parent.scopes)
    if wider:
        raise DelegationWider(why=f"it would add the scope {wider[0]}")
    if terms.expires_us > parent.expires_us:
        raise DelegationWider(why="it would expire later")
    of_parent = {(cap.asset, cap.period): cap.cap for cap in parent.caps}
    assets = {cap.asset for cap in parent.caps}
    for cap in terms.caps:
        if cap.asset not in assets:
            raise DelegationWider(why=f"it would add spending of {cap.asset}")
        if cap.cap > of_parent.get((cap.asset, cap.period), cap.cap):
            raise DelegationWider(why=f"its cap of {cap.asset} per {cap.period} would be higher")


def check_reach(scopes: frozenset[Scope], ends_us: int | None, terms: Terms) -> None:
    """Raise unless the terms are within what the credential itself reaches: a token may have less than it is under.

    Else one that was made to read could pass on what it cannot do itself, and for longer than it lasts.
    """
    wider = sorted(terms.scopes - scopes)
    if wider:
        raise DelegationWider(why=f"it would add the scope {wider[0]}, which your credential does not have")
    if ends_us is not None and terms.expires_us > ends_us:
        raise DelegationWider(why="it would expire later than your token")


# Using


def why_ended(chain: Chain, now_us: int) -> tuple[ChainLink, str] | None:
    """The first delegation of the chain, from the root, that is no longer good, and why; None: all are."""
    for link in chain:
        if link.revoked_us is not None:
            return link, "revoked"
        if now_us >= link.expires_us:
            return link, "expired"
        if link.person_erased_us is not None:
            return link, "of an erased person"
        if link.agent_retired_us is not None:
            return link, "of a retired agent"
    return None


def check_live(chain: Chain, now_us: int) -> ChainLink:
    """The delegation at the end of the chain, if it and everything above it is good now."""
    ended = why_ended(chain, now_us)
    if ended is not None:
        raise DelegationEnded(delegation=delegation_id(ended[0].id), why=ended[1])
    return chain[-1]


def delegated_principal(chain: Chain, credential: str, within: frozenset[Scope] | None = None) -> Principal:
    """Who acts by a delegation. Scopes are cut down along the whole chain, whatever was stored."""
    leaf = chain[-1]
    scopes = leaf.scopes if within is None else within
    return Principal(
        role=Role.AGENT,
        source=agent_owner(leaf.agent),
        person=leaf.person,
        agent=leaf.agent,
        delegation=leaf.id,
        scopes=scopes.intersection(*(link.scopes for link in chain)),
        credential=credential,
    )


def charges(chain: Chain, caps: Iterable[CapState], amounts: Mapping[str, int], now_us: int) -> list[Charge]:
    """What these amounts charge, on every cap of every delegation of the chain, or the refusal.

    An asset without a cap may not be spent at all: leaving a cap out must not mean "without limit".
    """
    begins = windows(now_us)
    by_asset: dict[tuple[UUID, str], list[CapState]] = {}
    for cap in caps:
        by_asset.setdefault((cap.delegation, cap.asset), []).append(cap)
    found = []
    for link in chain:
        for asset, amount in sorted(amounts.items()):
            checked_amount(amount)
            of_asset = by_asset.get((link.id, asset))
            if not of_asset:
                raise NoCap(delegation=delegation_id(link.id), asset=asset)
            for cap in sorted(of_asset, key=lambda cap: cap.period):
                if cap.spent + amount > cap.cap:
                    raise _exceeded(cap, amount)
                found.append(Charge(link.id, asset, cap.period, begins[cap.period], amount))
    return found


def _exceeded(state: CapState, asked: int) -> CapExceeded:
    """With units for machines and decimals for people."""
    asset = Asset.of(state.asset)
    return CapExceeded(
        delegation=delegation_id(state.delegation),
        asset=asset.name,
        period=state.period.value,
        within="in total" if state.period is Period.TOTAL else f"per {state.period.value}",
        cap=state.cap,
        spent=state.spent,
        asked=asked,
        cap_shown=asset.format(state.cap),
        spent_shown=asset.format(state.spent),
        asked_shown=asset.format(asked),
    )


# What drafts take from whom


def outgoing(principal: Principal, draft: Draft, others: Collection[str] = ()) -> dict[str, int]:
    """What leaves the accounts of the principal's person and agent, by asset.

    Raises when it would move what somebody else owns, unless the feature names that owner in `others`:
    then it moves by the feature's own authority. Money that comes home to its owner's `available` account
    (from a stake, say) is not spent; money that goes from there into a stake is.
    """
    own = owners(principal)
    total: dict[str, int] = {}
    for leg in draft.legs:
        payer = account_name(leg.from_)
        owner = f"{payer.owner_kind}:{payer.owner_id}"
        if payer.owner_kind not in ("person", "agent") or owner in others:
            continue
        if owner not in own:
            raise NotYourAccount(account=leg.from_)
        if not _comes_home(leg):
            total[payer.asset.name] = total.get(payer.asset.name, 0) + leg.amount
    return total


def sum_amounts(each: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Amounts added up by asset."""
    total: dict[str, int] = {}
    for amounts in each:
        for asset, amount in amounts.items():
            total[asset] = total.get(asset, 0) + amount
    return total


def owners(principal: Principal) -> set[str]:
    """Whose accounts the principal can spend from at all."""
    own = set()
    if principal.agent is not None:
        own.add(agent_owner(principal.agent))
    # Without a delegation, an agent or a bare signature has no say over a person's money.
    if principal.person is not None and (principal.role is Role.PERSON or principal.delegation is not None):
        own.add(person_owner(principal.person))
    return own


def _comes_home(leg: Leg) -> bool:
    payer, payee = account_name(leg.from_), account_name(leg.to)
    same = (payer.owner_kind, payer.owner_id) == (payee.owner_kind, payee.owner_id)
    return same and payee.role == "available" and payee.purpose is None
