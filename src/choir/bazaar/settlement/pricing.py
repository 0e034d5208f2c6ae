"""What a job costs and who gets which part of it: pure, in milli-satoshi.

Guarantees: a price is never above the provider's book nor the buyer's ceiling; the parts of a price add up to
it exactly, for every amount; what nobody claims goes to the provider.
"""

from __future__ import annotations

from dataclasses import dataclass

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

    @property
    def total(self) -> int:
        return self.provider + self.platform + self.skill + self.referrer


def price(terms: Terms, units_milli: int, ceiling: int) -> int:
    """What so many thousandths of a unit cost by these terms; a fraction of a milli-satoshi is not charged."""
    assert units_milli >= 0
    return min(terms.base + terms.per_unit * units_milli // _MILLI, terms.cap, ceiling)


def shares(amount: int, policy: BazaarPolicy, *, skill: bool = False, referrer: bool = False) -> Shares:
    """Take an amount apart. The platform gets its share or its minimum, whichever is more, of what there is."""
    assert amount >= 0
    platform = min(amount, max(part(amount, policy.platform_bps), policy.platform_msat_min))
    rest = amount - platform
    to_skill = min(rest, part(amount, policy.skill_bps)) if skill else 0
    to_referrer = min(rest - to_skill, part(amount, policy.referrer_bps)) if referrer else 0
    return Shares(rest - to_skill - to_referrer, platform, to_skill, to_referrer)


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
