"""What a record comes to: tiers, success rate, reputation, raw and organic volume. Pure, whole numbers only.

Outcomes are summed by buyer, where accounts that are taken for one are one buyer. Each buyer then has a share in
the record, and the record is the sum of the shares. So an outcome changes one share and nothing else, and the
whole can be rebuilt from the outcomes at any time.

Against self-dealing: a job counts by the buyer's independence, which is nothing within a cluster; what a
provider's own cluster paid to a buyer is taken off what came from that buyer, and with it the good that the
buyer had to say (never the bad, or complaints could be bought off); and one buyer's voice in a reputation is
limited to a few jobs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers.model import ONE_BPS, Standing

NO_TIER = frozenset({JobType.TEXT_GEN})  # nothing about a text is verified but its form


@dataclass(frozen=True, slots=True)
class Fact:
    """What matters of an outcome."""

    cluster: str  # the buyer, by cluster
    type: JobType
    passed: bool
    price: int
    independence_bps: int


@dataclass(frozen=True, slots=True)
class BuyerSums:
    """All outcomes with one buyer. Weights are jobs in ten-thousandths, by independence."""

    jobs: int = 0
    passed: int = 0
    weight: int = 0
    passed_weight: int = 0
    tier_weight: int = 0  # the same without the types that count for no tier
    tier_passed_weight: int = 0
    volume: int = 0
    organic: int = 0  # volume by independence
    returned: int = 0  # paid by the provider's cluster to the buyer's

    def plus(self, other: BuyerSums, sign: int = 1) -> BuyerSums:
        return BuyerSums(*(getattr(self, f.name) + sign * getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, slots=True)
class Record:
    """One buyer's share of a record, or all of them together."""

    jobs: int = 0
    passed: int = 0
    weight: int = 0
    tier_weight: int = 0
    tier_passed_weight: int = 0
    buyers: int = 0  # independent ones
    volume: int = 0
    organic: int = 0
    voice: int = 0  # what counts in the reputation, in ten-thousandths of a job
    good: int = 0  # of that, what speaks for the provider

    def plus(self, other: Record, sign: int = 1) -> Record:
        return Record(*(getattr(self, f.name) + sign * getattr(other, f.name) for f in fields(self)))


def sums_of(fact: Fact) -> BuyerSums:
    """One outcome as sums."""
    weight = fact.independence_bps
    counts = weight if fact.type not in NO_TIER else 0
    return BuyerSums(
        jobs=1,
        passed=int(fact.passed),
        weight=weight,
        passed_weight=weight * fact.passed,
        tier_weight=counts,
        tier_passed_weight=counts * fact.passed,
        volume=fact.price,
        organic=fact.price * weight // ONE_BPS,
    )


def share(sums: BuyerSums, policy: ProvidersPolicy) -> Record:
    """What one buyer contributes to a record."""
    weight = min(sums.weight, policy.voice_jobs_max * ONE_BPS)
    said_good = weight * sums.passed_weight // sums.weight if sums.weight else 0
    good = _less_returned(said_good, sums)
    tier_passed = _less_returned(sums.tier_passed_weight, sums)
    return Record(
        jobs=sums.jobs,
        passed=sums.passed,
        weight=sums.weight,
        tier_weight=sums.tier_weight - sums.tier_passed_weight + tier_passed,
        tier_passed_weight=tier_passed,
        buyers=int(tier_passed >= policy.independent_bps_min),
        volume=sums.volume,
        organic=_less_returned(sums.organic, sums),
        voice=weight - said_good + good,
        good=good,
    )


def _less_returned(amount: int, sums: BuyerSums) -> int:
    """The part of an amount that stands for money which did not go back to the buyer."""
    if not sums.returned:
        return amount
    return amount * max(0, sums.volume - sums.returned) // sums.volume if sums.volume else 0


def total(buyers: Iterable[BuyerSums], policy: ProvidersPolicy) -> Record:
    """The record that these buyers make together."""
    record = Record()
    for sums in buyers:
        record = record.plus(share(sums, policy))
    return record


def summed(facts: Iterable[Fact], returned: Mapping[str, int]) -> dict[str, BuyerSums]:
    """All outcomes of a provider, by buyer: the computation from scratch."""
    found = {cluster: BuyerSums(returned=amount) for cluster, amount in returned.items() if amount}
    for fact in facts:
        found[fact.cluster] = found.get(fact.cluster, BuyerSums()).plus(sums_of(fact))
    return found


def success_bps(record: Record) -> int | None:
    """Of the independent jobs that count for tiers, how many passed; None without any."""
    return record.tier_passed_weight * ONE_BPS // record.tier_weight if record.tier_weight else None


def reputation_bps(record: Record, policy: ProvidersPolicy) -> int:
    """What independent buyers say, against a doubt that only many of them outweigh."""
    return record.good * ONE_BPS // (record.voice + policy.reputation_doubt_jobs * ONE_BPS)


@dataclass(frozen=True, slots=True)
class TierNeed:
    """One thing that a tier asks for, and how much of it is there."""

    name: str  # "jobs" (in ten-thousandths, by independence), "success" (in basis points), "buyers" or "bond"
    has: int
    needed: int

    @property
    def met(self) -> bool:
        return self.has >= self.needed


def tier_needs(
    number: int, jobs_weight: int, success: int | None, buyers: int, policy: ProvidersPolicy, bond: int = 0
) -> list[TierNeed]:
    """What a tier above 0 asks for, against what is there: passed jobs by independence, success rate, buyers, bond."""
    jobs, rate, least = {
        1: (policy.tier_1_jobs, policy.tier_1_success_bps, policy.tier_1_buyers),
        2: (policy.tier_2_jobs, policy.tier_2_success_bps, policy.tier_2_buyers),
        3: (policy.tier_3_jobs, policy.tier_3_success_bps, policy.tier_3_buyers),
    }[number]
    return [
        TierNeed("jobs", jobs_weight, jobs * ONE_BPS),
        TierNeed("success", success or 0, rate),
        TierNeed("buyers", buyers, least),
        *([TierNeed("bond", bond, policy.bond_msat)] if policy.bond_msat else []),
    ]


def tier(record: Record, policy: ProvidersPolicy, bond: int = 0) -> int:
    """The highest tier whose jobs, success rate, number of buyers and bond are all reached."""
    there = (record.tier_passed_weight, success_bps(record), record.buyers)
    return next((n for n in (3, 2, 1) if all(need.met for need in tier_needs(n, *there, policy, bond))), 0)


def standing(record: Record, policy: ProvidersPolicy, bond: int = 0) -> Standing:
    """All of it together; money is no part of a reputation."""
    return Standing(
        tier=tier(record, policy, bond),
        success_bps=success_bps(record),
        reputation_bps=reputation_bps(record, policy),
        newcomer=record.weight < policy.newcomer_jobs * ONE_BPS,
    )
