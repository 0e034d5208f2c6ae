"""Outcomes and their sums in PostgreSQL. Whoever writes here holds the provider's market row."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import LiteralString
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.bazaar.providers.model import OutcomeRecord, Standing
from choir.bazaar.providers.record_rules import BuyerSums, Fact, Record
from choir.storage.database import Tx

_OUTCOME: LiteralString = (
    "select provider, job, attempt, type, buyer, buyer_cluster, passed, price, ceiling_bps, independence_bps,"
    " latency_us, at_us, reason from provider_outcomes"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """An outcome as it is kept."""

    provider: UUID
    job: UUID
    attempt: int
    type: JobType
    buyer: str
    buyer_cluster: str
    passed: bool
    price: int
    ceiling_bps: int
    independence_bps: int
    latency_us: int
    at_us: int
    reason: str

    @property
    def fact(self) -> Fact:
        return Fact(self.buyer_cluster, JobType(self.type), self.passed, self.price, self.independence_bps)

    @property
    def told(self) -> OutcomeRecord:
        return OutcomeRecord(
            self.job, JobType(self.type), self.buyer, self.passed, self.price, self.latency_us, self.at_us, self.reason,
            self.ceiling_bps, self.attempt,
        )  # fmt: skip

    def says(self, told: OutcomeRecord) -> bool:
        """Whether it is what is told again."""
        return (self.type, self.buyer, self.passed, self.price, self.ceiling_bps, self.reason) == (
            told.type, told.buyer, told.passed, told.price, told.independence_bps, told.reason,
        )  # fmt: skip


def outcome(tx: Tx, provider: UUID, job: UUID, attempt: int) -> Outcome | None:
    return tx.one_or_none(
        Outcome, _OUTCOME + " where provider = %s and job = %s and attempt = %s", provider, job, attempt
    )


def put_outcome(tx: Tx, found: Outcome) -> None:
    """Add an outcome, or put it in the place of what was noted before."""
    tx.run(
        "insert into provider_outcomes (provider, job, attempt, type, buyer, buyer_cluster, passed, price, ceiling_bps,"
        " independence_bps, latency_us, at_us, reason) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " on conflict (provider, job, attempt) do update set type = excluded.type, buyer = excluded.buyer,"
        " buyer_cluster = excluded.buyer_cluster, passed = excluded.passed, price = excluded.price,"
        " ceiling_bps = excluded.ceiling_bps, independence_bps = excluded.independence_bps,"
        " latency_us = excluded.latency_us, at_us = excluded.at_us, reason = excluded.reason",
        *astuple(found),
    )


def latest(tx: Tx, provider: UUID, until_us: int, limit: int, skip: int = 0) -> list[Outcome]:
    """A page of outcomes, newest first; of those at the very beginning some may have been seen already."""
    return tx.all(
        Outcome,
        _OUTCOME + " where provider = %s and at_us <= %s order by at_us desc, job, attempt limit %s offset %s",
        provider, until_us, limit, skip,
    )  # fmt: skip


def typical_us(tx: Tx, providers: Collection[UUID], last: int) -> dict[UUID, int]:
    """The median time of the passed ones among each provider's last outcomes; nothing where none passed."""
    rows = tx.rows(
        "select p.id, (select percentile_disc(0.5) within group (order by latency_us) filter (where passed)"
        " from (select latency_us, passed from provider_outcomes o where o.provider = p.id"
        "  order by o.at_us desc limit %s) recent) from unnest(%s::uuid[]) p (id)",
        last, list(providers),
    )  # fmt: skip
    return {id_: int(median) for id_, median in rows if median is not None}


def missed_in_row(tx: Tx, provider: UUID, buyer: str, reasons: Collection[str], count: int) -> bool:
    """Whether the last so many outcomes with a buyer that passed or failed for these reasons all failed."""
    rows = tx.rows(
        "select passed from provider_outcomes where buyer = %s and provider = %s and (passed or reason = any(%s))"
        " order by at_us desc, job desc limit %s",
        buyer, provider, list(reasons), count,
    )  # fmt: skip
    return len(rows) == count and not any(passed for (passed,) in rows)


def facts(tx: Tx, provider: UUID) -> Iterator[Fact]:
    """All outcomes of a provider, in constant memory."""
    for cluster, type_, passed, price, independence in tx.stream(
        "select buyer_cluster, type, passed, price, independence_bps from provider_outcomes where provider = %s",
        provider,
        name="outcomes",
    ):
        yield Fact(cluster, JobType(type_), passed, price, independence)


def buyers_of(tx: Tx, provider: UUID) -> list[str]:
    rows = tx.rows("select distinct buyer from provider_outcomes where provider = %s", provider)
    return [row[0] for row in rows]


def is_outdated(tx: Tx, provider: UUID, own: Collection[str], buyers: Collection[str], cluster: str) -> bool:
    """Whether clusters were others when some outcome was noted: now one's own, or another buyer's account."""
    found = tx.row(
        "select 1 where exists (select 1 from provider_outcomes"
        " where buyer = any(%s) and provider = %s and independence_bps > 0)"
        " or exists (select 1 from provider_outcomes where buyer = any(%s) and provider = %s and buyer_cluster <> %s)",
        list(own), provider, list(buyers), provider, cluster,
    )  # fmt: skip
    return found is not None


def recluster(tx: Tx, provider: UUID, buyer: str, cluster: str, independence_bps: int) -> None:
    """Judge all outcomes with a buyer anew."""
    tx.run(
        "update provider_outcomes set buyer_cluster = %s, independence_bps = least(ceiling_bps, %s)"
        " where provider = %s and buyer = %s"
        " and (buyer_cluster, independence_bps) is distinct from (%s, least(ceiling_bps, %s))",
        cluster, independence_bps, provider, buyer, cluster, independence_bps,
    )  # fmt: skip


def paid_by(tx: Tx, buyers: Collection[str]) -> list[tuple[str, int]]:
    """What these buyers paid, by the owner of the provider that got it."""
    return [
        (owner, int(paid))
        for owner, paid in tx.rows(
            "select p.owner, sum(o.price) from provider_outcomes o join providers p on p.id = o.provider"
            " where o.buyer = any(%s) group by p.owner having sum(o.price) > 0",
            list(buyers),
        )
    ]


# Sums


def sums_and_record(tx: Tx, provider: UUID, cluster: str) -> tuple[BuyerSums, Record]:
    """A buyer's sums, and the record that they are part of."""
    row = tx.row(
        "select b.jobs, b.passed, b.weight, b.passed_weight, b.tier_weight, b.tier_passed_weight, b.volume, b.organic,"
        " b.returned, r.jobs, r.passed, r.weight, r.tier_weight, r.tier_passed_weight, r.buyers, r.volume, r.organic,"
        " r.voice, r.good from (select) one left join provider_records r on r.provider = %s"
        " left join provider_buyers b on b.provider = %s and b.cluster = %s",
        provider, provider, cluster,
    )  # fmt: skip
    assert row is not None
    sums_, record_ = row[:9], row[9:]
    return (
        BuyerSums() if sums_[0] is None else BuyerSums(*sums_),
        Record() if record_[0] is None else Record(*record_),
    )


def all_sums(tx: Tx, provider: UUID) -> dict[str, BuyerSums]:
    rows = tx.rows(
        "select cluster, jobs, passed, weight, passed_weight, tier_weight, tier_passed_weight, volume, organic,"
        " returned from provider_buyers where provider = %s",
        provider,
    )
    return {row[0]: BuyerSums(*row[1:]) for row in rows}


def put_sums(tx: Tx, provider: UUID, cluster: str, found: BuyerSums) -> None:
    """Keep a buyer's sums; what a correction emptied is not kept."""
    if found == BuyerSums():
        tx.run("delete from provider_buyers where provider = %s and cluster = %s", provider, cluster)
        return
    tx.run(
        "insert into provider_buyers (provider, cluster, jobs, passed, weight, passed_weight, tier_weight,"
        " tier_passed_weight, volume, organic, returned) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
        " on conflict (provider, cluster) do update set jobs = excluded.jobs, passed = excluded.passed,"
        " weight = excluded.weight, passed_weight = excluded.passed_weight, tier_weight = excluded.tier_weight,"
        " tier_passed_weight = excluded.tier_passed_weight, volume = excluded.volume, organic = excluded.organic,"
        " returned = excluded.returned",
        provider, cluster, *astuple(found),
    )  # fmt: skip


def replace_sums(tx: Tx, provider: UUID, found: Mapping[str, BuyerSums]) -> None:
    tx.run("delete from provider_buyers where provider = %s", provider)
    for cluster, sums_ in found.items():
        put_sums(tx, provider, cluster, sums_)


def record(tx: Tx, provider: UUID) -> Record:
    found = tx.one_or_none(
        Record,
        "select jobs, passed, weight, tier_weight, tier_passed_weight, buyers, volume, organic, voice, good"
        " from provider_records where provider = %s",
        provider,
    )
    return Record() if found is None else found


def records(tx: Tx, providers: Collection[UUID]) -> dict[UUID, Record]:
    """The records of several providers."""
    rows = tx.rows(
        "select provider, jobs, passed, weight, tier_weight, tier_passed_weight, buyers, volume, organic, voice, good"
        " from provider_records where provider = any(%s)",
        list(providers),
    )
    return {row[0]: Record(*row[1:]) for row in rows}


def put_record(tx: Tx, provider: UUID, found: Record, standing: Standing, slots: int) -> None:
    """Keep a record, and on the market what follows from it."""
    tx.run(
        "with market as (update provider_market set tier = %s, success_bps = %s, reputation_bps = %s, newcomer = %s,"
        "  slots = %s where provider = %s)"
        " update provider_records set jobs = %s, passed = %s, weight = %s, tier_weight = %s, tier_passed_weight = %s,"
        " buyers = %s, volume = %s, organic = %s, voice = %s, good = %s where provider = %s",
        standing.tier, standing.success_bps, standing.reputation_bps, standing.newcomer, slots, provider,
        *astuple(found), provider,
    )  # fmt: skip
