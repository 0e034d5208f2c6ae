"""Removing the bytes of closed jobs after their time, and keeping them longer for a price.

What goes: inputs, artifacts and trajectories. What stays: the order, results, hashes, verdicts with their evidence, and
receipts, so that every payment can still be explained and checked.

Guarantees: nothing goes while a dispute or a second review needs it, nor before the last time at which one can begin;
an object that another job or anything else points to stays, because a job only lets go of its own reference; keeping
is charged once for each key, in the transaction that keeps.
"""

from __future__ import annotations

from uuid import UUID

from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.lifecycle import JobLifecycle
from choir.bazaar.jobs.model import SOURCE, Job, Removed, UnknownJob, job_id
from choir.bazaar.jobs.service import owners_of
from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.retention import rules, store
from choir.bazaar.retention.model import Keep, KeyOfAnotherKeep, RetentionState, StillOpen
from choir.bazaar.settlement import service as settlement
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock, format_time
from choir.identity.model import Principal, Scope
from choir.ledger.accounts import Accounts
from choir.ledger.model import Draft, Leg
from choir.objects.service import Objects
from choir.storage.database import Tx

_KIND = "bazaar.keep"


class Retention:
    """Use cases of retention; all inside the caller's transaction."""

    def __init__(
        self, lifecycle: JobLifecycle, objects: Objects, accounts: Accounts, clock: Clock,
        policy: MarketPolicy, bazaar: BazaarPolicy,
    ) -> None:  # fmt: skip
        self._lifecycle = lifecycle
        self._objects = objects
        self._accounts = accounts
        self._clock = clock
        self._policy = policy
        self._bazaar = bazaar

    def until_us(self, state: RetentionState) -> int | None:
        """Until when a job's bytes are kept; None while it is open."""
        if state.closed_us is None:
            return None
        return rules.until_us(state.closed_us, state.kept_until_us, self._policy, self._bazaar)

    def state(self, tx: Tx, job: UUID) -> RetentionState:
        """For who may see the job."""
        return store.state(tx, job)

    def quote(self, tx: Tx, who: Principal, id_: UUID, days: int) -> tuple[int, int]:
        """The bytes of a job and what keeping them so much longer would cost."""
        size = self._size(tx, self._own(tx, who, id_))
        return size, rules.price(size, days, self._policy)

    def keep(self, tx: Tx, who: Principal, id_: UUID, days: int, key: str) -> Keep:
        """Keep a job's bytes longer than they are kept now, for a price that is charged once for each key."""
        who.must(Scope.BUY)
        job = self._own(tx, who, id_)
        known = store.keep(tx, id_, key)
        if known is not None:
            if known.days != days:
                raise KeyOfAnotherKeep(key=key)
            return known
        size = self._size(tx, job)
        price = rules.price(size, days, self._policy)
        until_us = self.until_us(store.state(tx, id_))
        assert until_us is not None
        kept_us = rules.later_us(max(until_us, self._clock.now_us()), days)
        made = Keep(id_, key, days, size, price, kept_us, self._clock.now_us())
        store.insert_keep(tx, made)
        store.set_kept_until(tx, id_, kept_us)
        payer = settlement.available(job.buyer)
        self._accounts.open(tx, [payer, settlement.PLATFORM], reason="keeps a job longer", source=SOURCE)
        leg = Leg(payer, settlement.PLATFORM, price)
        entry_key = f"keep:{job_id(id_)}:{key}"
        draft = Draft(_KIND, "a job is kept longer", who.source, entry_key, (leg,), refs=(job_id(id_),))
        self._lifecycle.settlement.spend(tx, who, draft)
        return made

    def due(self, tx: Tx, only: UUID | None = None) -> list[UUID]:
        """Jobs whose bytes may go now; or this one, if so."""
        now_us = self._clock.now_us()
        kept_us = rules.until_us(0, None, self._policy, self._bazaar)
        return store.due(tx, now_us - kept_us, now_us, self._policy.retention_jobs_max, only)

    def remove(self, tx: Tx, id_: UUID) -> bool:
        """Let go of a job's bytes, if their time is still over; False if not."""
        job = self._lifecycle.lock(tx, id_)
        now_us = self._clock.now_us()
        state = store.state(tx, id_)
        until_us = self.until_us(state)
        if until_us is None or state.removed_us is not None:
            return False
        # While the node was away nobody could dispute.
        if now_us < until_us + job_store.away_since(tx, job.closed_us or 0) or id_ not in self.due(tx, only=id_):
            return False
        store.set_removed(tx, id_, now_us)
        for name in sorted(self._names(tx, job)):
            self._objects.unrefer(tx, f"bazaar:{job_id(id_)}", name)
        return True

    # Inside

    def _own(self, tx: Tx, who: Principal, id_: UUID) -> Job:
        """A closed job of the caller's whose bytes are there, locked."""
        found = job_store.job(tx, id_)
        if found is None or found.buyer not in owners_of(who):
            raise UnknownJob(job=job_id(id_))
        job = self._lifecycle.lock(tx, id_)
        state = store.state(tx, id_)
        if state.removed_us is not None:
            raise Removed(job=job_id(id_), at=format_time(state.removed_us))
        if job.closed_us is None:
            raise StillOpen(job=job_id(id_))
        return job

    def _size(self, tx: Tx, job: Job) -> int:
        there = [name for name in self._names(tx, job) if self._objects.exists(tx, name)]
        return sum(self._objects.stat(tx, name).size for name in there)

    @staticmethod
    def _names(tx: Tx, job: Job) -> set[ObjectHash]:
        """What of a job goes after its time; what its verdicts and receipts are about by name stays by name."""
        tries = job_store.attempts(tx, job.id)
        stays = {job.request, *(one for item in tries for one in (item.result, item.verdict, item.receipt) if one)}
        made = {one for item in tries for one in (item.artifact, item.trajectory) if one is not None}
        return ({*job.inputs.values()} | made) - stays
