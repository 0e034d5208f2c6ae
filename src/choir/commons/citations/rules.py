"""What a citation is worth: ties between authors, the cap, and how a payment is shared. Pure, in whole numbers.

Guarantees: shares never add up to more than the whole; what is capped is scaled, never paid in part to some only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from choir.commons.citations.policy import CitationsPolicy

FULL_PPM = 1_000_000
_BPS = 10_000


@dataclass(frozen=True, slots=True)
class Ties:
    """How often two authors, and those who close a cycle of three with them, cite each other."""

    forth: int  # the citing author cites the cited one
    back: int
    citing_all: int  # all citations that the citing author made
    cited_all: int
    around: tuple[tuple[int, int], ...] = ()  # for each third: the cited author cites them, they cite the citing one
    around_all: tuple[int, ...] = ()  # all citations that each third made


def tie_ppm(ties: Ties, policy: CitationsPolicy) -> tuple[int, str]:
    """How closely two authors are tied: the larger of their mutual share and their share of cycles; and why."""
    mutual = _mutual_ppm(ties, policy)
    cycle = _cycle_ppm(ties, policy)
    if max(mutual, cycle) < policy.tie_free_ppm:
        return 0, ""
    if mutual >= cycle:
        return mutual, f"{_percent(mutual)} of what the two authors cite is each other"
    return cycle, f"{_percent(cycle)} of what three authors cite goes around among them"


def _mutual_ppm(ties: Ties, policy: CitationsPolicy) -> int:
    total = ties.citing_all + ties.cited_all + 2 * policy.tie_prior
    return min(FULL_PPM, 2 * min(ties.forth, ties.back) * FULL_PPM // max(1, total))


def _cycle_ppm(ties: Ties, policy: CitationsPolicy) -> int:
    best = 0
    for (on, home), third_all in zip(ties.around, ties.around_all, strict=True):
        total = ties.citing_all + ties.cited_all + third_all + 3 * policy.tie_prior
        best = max(best, 3 * min(ties.forth, on, home) * FULL_PPM // max(1, total))
    return min(FULL_PPM, best)


def independence_ppm(cluster_bps: int, tie: int) -> int:
    """Nothing within one identity; else what the tie leaves."""
    return cluster_bps * FULL_PPM // _BPS * (FULL_PPM - tie) // FULL_PPM


def allowance(spent: int, vested_income: int, *, vouched: bool, policy: CitationsPolicy) -> int:
    """What a person's articles may trigger in a month."""
    free = policy.allowance if vouched or spent >= policy.identity_paid else 0
    return free + spent * policy.spend_share_bps // _BPS + vested_income * policy.income_share_bps // _BPS


def capped(asked: Sequence[int], left: int) -> list[int]:
    """What is paid of what is asked for at once: all of it, or all scaled down alike."""
    total, left = sum(asked), max(0, left)
    return list(asked) if total <= left else [amount * left // total for amount in asked]


def split(amount: int, shares: Mapping[str, int]) -> dict[str, int]:
    """An amount by weights, rounded down; what does not divide goes to the first."""
    whole = sum(shares.values())
    if not whole:
        return {}
    found = {to: amount * weight // whole for to, weight in shares.items()}
    first = next(to for to, weight in shares.items() if weight)
    found[first] += amount - sum(found.values())
    return {to: part for to, part in found.items() if part}


def _percent(ppm: int) -> str:
    return f"{ppm // 10_000} %"
