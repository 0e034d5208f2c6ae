"""Keeping records: outcomes come in one by one, and what they come to is there at once.

Guarantees: an outcome counts once, however often it is told; a ruling may put another in its place; the sums
are always what the outcomes and the clusters give when computed from scratch, and `rebuild` computes them so
when clusters have changed. A change that is noticed while an outcome is recorded rebuilds that provider at once.
Locks: the market rows of all providers that an outcome touches, in order of id.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto
from uuid import UUID

from choir.bazaar.bonds import store as bond_store
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import events, promises, record_rules, record_store, rules, store
from choir.bazaar.providers.model import MarketRow, OutcomeRecord, Provider, UnknownProvider, provider_id
from choir.bazaar.providers.record_rules import BuyerSums, Record
from choir.bazaar.providers.record_store import Outcome
from choir.foundation.errors import Invalid
from choir.identity.clusters.service import INDEPENDENT_BPS, Cluster, Clusters, between
from choir.identity.model import owner_id
from choir.storage.database import Tx
from choir.storage.outbox import Outbox

_LARGE = "large"  # all clusters that are too large to be told apart: taken for one
_REASON_CHARS_MAX = 200


class Added(Enum):
    """What became of an outcome that was told."""

    NEW = auto()
    CORRECTED = auto()
    NOTED_BEFORE = auto()


@dataclass(frozen=True, slots=True)
class JobFacts:
    """Whom an owner is taken for."""

    key: str
    cluster: Cluster

    @property
    def members(self) -> frozenset[str]:
        return self.cluster.members


class Records:
    """Outcomes, sums and standings; all inside the caller's transaction."""

    def __init__(self, clusters: Clusters, outbox: Outbox, policy: ProvidersPolicy) -> None:
        self._clusters = clusters
        self._outbox = outbox
        self._policy = policy

    def add(self, tx: Tx, provider: UUID, told: OutcomeRecord) -> Added:
        """Count an outcome, unless it is noted already. Another one for the same try takes its place."""
        _check(told)
        found = store.get(tx, provider)
        if found is None:
            raise UnknownProvider(provider=provider_id(provider))
        buyer, own = self.told(tx, told.buyer), self.told(tx, found.owner)
        back = set(store.in_cluster(tx, buyer.key)) - {provider} if buyer.key != own.key else set()
        rows = {row.provider: row for row in store.lock(tx, {provider, *back})}
        before = record_store.outcome(tx, provider, told.job, told.attempt)
        if before is not None and before.says(told):
            return Added.NOTED_BEFORE
        moved = own.key != found.owner_cluster or record_store.is_outdated(
            tx, provider, own.members, buyer.members, buyer.key
        )
        after = self._outcome(found, told, own, buyer)
        record_store.put_outcome(tx, after)
        if moved or (before is not None and before.buyer != told.buyer):
            self._rebuild(tx, found, rows[provider], own)
        else:
            self._count(tx, rows[provider], before, after)
        self._count_back(
            tx, [rows[one] for one in sorted(back)], own.key, after.price - (before.price if before else 0)
        )
        return Added.NEW if before is None else Added.CORRECTED

    def rebuild(self, tx: Tx, provider: UUID) -> bool:
        """Compute a record from scratch, with the clusters as they are now; says whether it had been different."""
        found = store.get(tx, provider)
        if found is None:
            raise UnknownProvider(provider=provider_id(provider))
        (row,) = store.lock(tx, [provider])
        return self._rebuild(tx, found, row, self.told(tx, found.owner))

    def rebuild_round(self, tx: Tx, after: UUID, limit: int) -> tuple[UUID | None, int]:
        """Rebuild some providers; says where to go on (None: that was all) and how many had been different."""
        ids = store.ids_page(tx, after, limit)
        changed = sum(self.rebuild(tx, one) for one in ids)
        return (ids[-1] if len(ids) == limit else None), changed

    def refresh(self, tx: Tx, provider: UUID) -> None:
        """Draw the conclusions anew: something else than outcomes has changed that they rest on, such as the bond."""
        (row,) = store.lock(tx, [provider])
        self._save(tx, row, record_store.record(tx, provider))

    def told(self, tx: Tx, owner: str) -> JobFacts:
        """Whom an owner is taken for. What is neither a person nor an agent stands for itself."""
        if not owner.startswith(("person:", "agent:")):
            return JobFacts(owner, Cluster(frozenset({owner}), frozenset(), complete=True))
        cluster = self._clusters.cluster_of(tx, owner)
        return JobFacts(min(cluster.members) if cluster.complete else _LARGE, cluster)

    def independence(self, tx: Tx, provider_owner: str, buyer: str) -> int:
        """How independent a buyer is of a provider's owner; the node itself is of everybody."""
        if not buyer.startswith(("person:", "agent:")):
            return INDEPENDENT_BPS
        return self._clusters.independence(tx, provider_owner, buyer)

    @staticmethod
    def _outcome(provider: Provider, told: OutcomeRecord, own: JobFacts, buyer: JobFacts) -> Outcome:
        apart = INDEPENDENT_BPS  # as the node itself is of everybody
        if told.buyer.startswith(("person:", "agent:")):
            apart = between(provider.owner, own.cluster, told.buyer, lambda: buyer.cluster)
        independence = min(told.independence_bps, apart)
        return Outcome(
            provider.id,
            told.job,
            told.attempt,
            told.type,
            told.buyer,
            buyer.key,
            told.passed,
            told.price,
            told.independence_bps,
            independence,
            told.latency_us,
            told.at_us,
            told.reason[:_REASON_CHARS_MAX],
        )

    def _count(self, tx: Tx, row: MarketRow, before: Outcome | None, after: Outcome) -> None:
        """Change one buyer's sums by one outcome."""
        delta = record_rules.sums_of(after.fact)
        if before is not None:
            delta = delta.plus(record_rules.sums_of(before.fact), -1)
        self._change(tx, row, after.buyer_cluster, delta)

    def _count_back(self, tx: Tx, rows: Collection[MarketRow], cluster: str, amount: int) -> None:
        """The buyer's own providers: what their cluster just paid to this one weighs against its purchases there."""
        for row in rows:
            if amount:
                self._change(tx, row, cluster, BuyerSums(returned=amount))

    def _change(self, tx: Tx, row: MarketRow, cluster: str, delta: BuyerSums) -> None:
        old, record = record_store.sums_and_record(tx, row.provider, cluster)
        new = old.plus(delta)
        record_store.put_sums(tx, row.provider, cluster, new)
        record = record.plus(record_rules.share(old, self._policy), -1).plus(record_rules.share(new, self._policy))
        self._save(tx, row, record)

    def _rebuild(self, tx: Tx, provider: Provider, row: MarketRow, own: JobFacts) -> bool:
        for buyer in record_store.buyers_of(tx, provider.id):
            independence = self.independence(tx, provider.owner, buyer)
            record_store.recluster(tx, provider.id, buyer, self.told(tx, buyer).key, independence)
        returned: dict[str, int] = {}
        for owner, paid in record_store.paid_by(tx, own.members):
            key = self.told(tx, owner).key
            if key != own.key:
                returned[key] = returned.get(key, 0) + paid
        found = record_rules.summed(record_store.facts(tx, provider.id), returned)
        record = record_rules.total(found.values(), self._policy)
        changed = record != record_store.record(tx, provider.id) or own.key != provider.owner_cluster
        store.set_cluster(tx, provider.id, own.key)
        record_store.replace_sums(tx, provider.id, found)
        self._save(tx, row, record)
        return changed

    def _save(self, tx: Tx, row: MarketRow, record: Record) -> None:
        """Keep a record and what follows from it: the tier, and how many jobs at once that allows."""
        bond = bond_store.counted(tx, row.provider)
        standing = record_rules.standing(record, self._policy, bond)
        slots = rules.slots(row.capacity, row.busy_elsewhere, standing.tier, self._policy)
        record_store.put_record(tx, row.provider, record, standing, slots)
        if (standing.tier, standing.reputation_bps) != (row.tier, row.reputation_bps):
            promises.refresh(tx, [row.provider], self._policy)
        if standing.tier != row.tier:
            events.tier_changed(self._outbox, tx, row.provider, row.tier, standing.tier)


def _check(told: OutcomeRecord) -> None:
    if told.price < 0 or told.latency_us < 0 or not 0 <= told.independence_bps <= INDEPENDENT_BPS or told.attempt < 1:
        raise Invalid(what="an outcome", why="its price, latency, independence or attempt is out of range")
    if told.buyer.startswith(("person:", "agent:")):
        owner_id(told.buyer)
