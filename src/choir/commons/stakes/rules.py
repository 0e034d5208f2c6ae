"""Who brings what to a stake, and who gets what of a slashed one. Pure; amounts are units of CHIP.

Guarantees: parts always add up to the whole; starter and co-staked CHIP never goes to anybody but the treasury.
"""

from __future__ import annotations

from dataclasses import dataclass

from choir.commons.policy import CommonsPolicy
from choir.commons.stakes.model import Origin, TooLittleChip
from choir.foundation.money import Asset

_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Funds:
    """What an owner could bring."""

    own: int
    starter: int
    co_stake: int = 0  # what the treasury would add at most


@dataclass(frozen=True, slots=True)
class Contribution:
    """Where a stake and its fee come from."""

    fee_own: int
    fee_starter: int
    parts: dict[Origin, int]  # of the stake; none is zero

    @property
    def co_stake(self) -> int:
        return self.parts.get(Origin.TREASURY, 0)


@dataclass(frozen=True, slots=True)
class SlashShares:
    """Who gets what of a slashed part that was somebody's own."""

    challenger: int
    treasury: int
    verifier: int
    insurance: int


def contribution(stake: int, fee: int, funds: Funds, policy: CommonsPolicy) -> Contribution:
    """The fee out of the owner's own CHIP first; the stake out of starter CHIP first; the treasury adds what lacks."""
    fee_own = min(fee, funds.own)
    fee_starter = fee - fee_own
    starter = min(stake, funds.starter - fee_starter)
    own = min(stake - max(starter, 0), funds.own - fee_own)
    lacking = stake - max(starter, 0) - own
    brought = fee + max(starter, 0) + own
    if starter < 0 or lacking > funds.co_stake or (lacking and brought < policy.co_stake_own_min):
        raise TooLittleChip(
            needed=str(stake + fee),
            own=str(funds.own),
            starter=str(funds.starter),
            needed_shown=Asset.CHIP.format(stake + fee),
            own_shown=Asset.CHIP.format(funds.own),
            starter_shown=Asset.CHIP.format(funds.starter),
            newcomer_shown=Asset.CHIP.format(policy.co_stake_own_min),
        )
    parts = {Origin.STARTER: starter, Origin.OWN: own, Origin.TREASURY: lacking}
    return Contribution(fee_own, fee_starter, {origin: amount for origin, amount in parts.items() if amount})


def slash_shares(amount: int, independence_bps: int, policy: CommonsPolicy) -> SlashShares:
    """The challenger's share counts as far as the challenger is independent; what it lacks goes to the insurance."""
    challenger = amount * policy.challenger_bps * independence_bps // (_BPS * _BPS)
    treasury = amount * policy.slash_treasury_bps // _BPS
    verifier = amount * policy.slash_verifier_bps // _BPS
    return SlashShares(challenger, treasury, verifier, amount - challenger - treasury - verifier)


def lost_shares(amount: int, policy: CommonsPolicy) -> tuple[int, int]:
    """Of a lost challenge's own stake: what the challenged get, and what the verifier fund gets."""
    lost = lost_part(amount, policy)
    challenged = lost * policy.lost_to_challenged_bps // _BPS
    return challenged, lost - challenged


def lost_part(amount: int, policy: CommonsPolicy) -> int:
    """How much of a stake a lost challenge costs."""
    return amount * policy.lost_challenge_bps // _BPS


def split(amount: int, among: int) -> list[int]:
    """Equal shares; the first gets what does not divide."""
    each = amount // among
    return [amount - each * (among - 1), *([each] * (among - 1))]
