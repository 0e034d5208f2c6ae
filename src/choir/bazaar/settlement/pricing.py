"""What a job costs and who gets which part of it: pure, in milli-satoshi.

Guarantees: a price is never above the provider's book nor the buyer's ceiling; the parts of a price add up to
it exactly, for every amount; what nobody claims goes to the provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from choir.bazaar.policy import BazaarPolicy

_BPS = 10_000
_MILLI = 1_000


@dataclass(frozen=True, slots=True)
class Terms:
    """A line of a price book, as fixed when a provider takes a job."""

    base: int
    per_unit: int
    cap: int


@dataclass(frozen=True, slots=True)
class Shares:
    """The parts of a price."""

    provider: int
    platform: int
    skill: int = 0
    referrer: int = 0
    fund: int = 0  # what the verifier fund gets in the provider's place

    @property
    def total(self) -> int:
        return self.provider + self.platform + self.skill + self.referrer + self.fund


@dataclass(frozen=True, slots=True)
class Sharers:
    """Who has a part in the price of a job besides its provider and the platform: owners, or nobody."""

    skill: str | None = None
    skill_bps: int = 0  # as the skill was published, within what policy allows
    referrer: str | None = None


NOBODY = Sharers()


def price(terms: Terms, units_milli: int, ceiling: int) -> int:
    """What so many thousandths of a unit cost by these terms; a fraction of a milli-satoshi is not charged."""
    assert units_milli >= 0
    return min(terms.base + terms.per_unit * units_milli // _MILLI, terms.cap, ceiling)


def shares(
    amount: int, policy: BazaarPolicy, *, skill: bool = False, referrer: bool = False, skill_bps: int | None = None
) -> Shares:
    """Take an amount apart. The platform gets its share or its minimum, whichever is more, of what there is.

    A skill may be published for less than policy allows; what it does not ask for is the provider's.
    """
    assert amount >= 0
    platform = min(amount, max(part(amount, policy.platform_bps), policy.platform_msat_min))
    rest = amount - platform
    asked_bps = policy.skill_bps if skill_bps is None else min(skill_bps, policy.skill_bps)
    to_skill = min(rest, part(amount, asked_bps)) if skill else 0
    to_referrer = min(rest - to_skill, part(amount, policy.referrer_bps)) if referrer else 0
    return Shares(rest - to_skill - to_referrer, platform, to_skill, to_referrer)


def shared(amount: int, sharers: Sharers, policy: BazaarPolicy) -> Shares:
    """Take a price apart among those who have a part in it."""
    return shares(
        amount,
        policy,
        skill=sharers.skill is not None,
        referrer=sharers.referrer is not None,
        skill_bps=sharers.skill_bps,
    )


def to_fund(parts: Shares) -> Shares:
    """The same with the verifier fund in the provider's place."""
    return replace(parts, provider=0, fund=parts.provider)


def returned(paid: Mapping[str, int], due: int, first: str = "provider") -> dict[str, int]:
    """Of what each got, what each gives back when so much of it together is due: in proportion, and exactly.

    What rounding leaves is given by `first`, or by whoever got most if that one got nothing.
    """
    total = sum(paid.values())
    assert 0 <= due <= total
    parts = {who: amount * due // total for who, amount in paid.items()} if total else {}
    left = due - sum(parts.values())
    for who in sorted(paid, key=lambda one: (one != first, -paid[one], one)):
        more = min(left, paid[who] - parts[who])
        parts[who] += more
        left -= more
    assert left == 0
    return {who: amount for who, amount in parts.items() if amount}


def part(amount: int, bps: int) -> int:
    """So many ten-thousandths of an amount, rounded down."""
    return amount * bps // _BPS


def ceiling(remaining: int, racing: int, policy: BazaarPolicy) -> int:
    """The highest price that each of so many racing providers may ask.

    One of them is paid and the others may each have to be given a part, all out of what is held: for having lost, or
    for having failed hidden checks alone.
    """
    assert racing >= 1
    return remaining * _BPS // (_BPS + (racing - 1) * max(policy.lost_race_bps, policy.hidden_fee_bps))


def deposit(price_: int, policy: BazaarPolicy) -> int:
    """What a dispute about a job of this price needs."""
    return max(part(price_, policy.deposit_bps), policy.deposit_msat_min)
