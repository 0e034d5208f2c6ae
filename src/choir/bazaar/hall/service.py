"""The hall: figures of all jobs, and jobs that their parties made public.

Guarantees: a figure names neither a party nor a job; a job is public only by its buyer, and what a provider did only by
that provider and while the job is public, since it can hold pieces of the order; inputs, hidden checks and what a
program was started with are never public; an artifact is public only if it was paid for; what is not public does not
exist for whoever has no part in it. `choir.bazaar.jobs.access` decides for those who have.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import Attempt, UnknownAttempt, attempt_id
from choir.bazaar.disputes.model import Side
from choir.bazaar.hall import rules, store
from choir.bazaar.hall.model import Figure, Place, PublicJob, Sides, Totals
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.access import must_be_kept
from choir.bazaar.jobs.model import NotReleased, NotThereYet, UnknownJob, job_id
from choir.bazaar.jobs.service import owners_of
from choir.bazaar.settlement.earnings import DAY_US
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock
from choir.identity.model import Principal, Scope
from choir.objects.service import Objects
from choir.storage.database import Tx


class Hall:
    """What everybody sees of the market, and who decides that; inside the caller's transaction."""

    def __init__(self, objects: Objects, clock: Clock) -> None:
        self._objects = objects
        self._clock = clock

    # Making public, each its own side

    def share(self, tx: Tx, who: Principal, id_: UUID) -> Sides:
        """Make one's own side of a job public. Twice is once."""
        for side, owner in self._own(tx, who, id_, acting=True):
            store.share(tx, id_, side, owner, self._clock.now_us())
        return self.sides(tx, who, id_)

    def unshare(self, tx: Tx, who: Principal, id_: UUID) -> Sides:
        """Take it back. Twice is once."""
        for side, owner in self._own(tx, who, id_, acting=True):
            store.unshare(tx, id_, side, [owner])
        return self.sides(tx, who, id_)

    def sides(self, tx: Tx, who: Principal, id_: UUID) -> Sides:
        """The sides that somebody has in a job, and whether each is public."""
        shared = store.shared_by(tx, id_)
        return {side: (side, owner) in shared for side, owner in self._own(tx, who, id_)}

    @staticmethod
    def _own(tx: Tx, who: Principal, id_: UUID, *, acting: bool = False) -> list[tuple[Side, str]]:
        """The sides that are somebody's own. To act for one a credential needs its scope; to look, read will do."""
        job, mine = job_store.job(tx, id_), owners_of(who)
        look = frozenset() if acting else frozenset({Scope.READ})
        found: list[tuple[Side, str]] = []
        if job is not None and job.buyer in mine and who.scopes & (look | {Scope.BUY}):
            found.append((Side.BUYER, job.buyer))
        if job is not None and who.scopes & (look | {Scope.SELL}):
            owners = {attempt.owner for attempt in job_store.attempts(tx, id_)} & mine
            found += [(Side.PROVIDER, owner) for owner in sorted(owners)]
        if not found:
            raise UnknownJob(job=job_id(id_))
        return found

    @staticmethod
    def forget(tx: Tx, owner: str) -> None:
        """An owner is erased: nothing of theirs is public any more."""
        store.forget(tx, owner)

    # Reading what is public

    def job(self, tx: Tx, id_: UUID) -> PublicJob:
        """A public job with what came of it."""
        job, summary = job_store.job(tx, id_), store.public_summary(tx, id_)
        if job is None or summary is None:
            raise UnknownJob(job=job_id(id_))
        owners = store.sharing_providers(tx, id_)
        judged = [attempt for attempt in job_store.attempts(tx, id_) if attempt.verdict is not None]
        shared = frozenset(attempt.id for attempt in judged if attempt.owner in owners)
        attempts = tuple(
            rules.attempt_for_everybody(item, shared=item.id in shared, won=item.id == job.winner) for item in judged
        )
        return PublicJob(rules.for_everybody(job), attempts, summary, shared)

    def request(self, tx: Tx, id_: UUID) -> dict[str, Any]:
        """What was ordered, without what may hold secrets."""
        return rules.request_for_everybody(self._objects.get_atom(tx, self.job(tx, id_).job.request))

    def artifact(self, tx: Tx, id_: UUID) -> ObjectHash:
        """What a public job was paid for."""
        found = self.job(tx, id_)
        winner = next((attempt for attempt in found.attempts if attempt.id == found.job.winner), None)
        if winner is None or winner.artifact is None:
            raise NotReleased(job=job_id(id_))
        must_be_kept(tx, id_)
        return winner.artifact

    def attempt(self, tx: Tx, id_: UUID) -> Attempt:
        """An attempt at a public job that has its verdict."""
        job = job_store.job_of(tx, id_)
        try:
            found = () if job is None else self.job(tx, job.id).attempts
        except UnknownJob:
            found = ()
        attempt = next((attempt for attempt in found if attempt.id == id_), None)
        if attempt is None:
            raise UnknownAttempt(attempt=attempt_id(id_))
        return attempt

    def trajectory(self, tx: Tx, id_: UUID) -> ObjectHash:
        """What a provider did, if it made that public."""
        found = self.attempt(tx, id_)
        if found.trajectory is None:
            raise NotThereYet(what="public trajectory", of=attempt_id(id_))
        must_be_kept(tx, found.job)
        return found.trajectory

    def receipt(self, tx: Tx, id_: UUID) -> ObjectHash:
        found = self.attempt(tx, id_).receipt
        assert found is not None, "what was judged has a receipt"
        return found

    def verdict(self, tx: Tx, id_: UUID) -> tuple[ObjectHash, dict[str, Any], dict[str, Any]]:
        """A verdict and the evidence that it names."""
        name = self.attempt(tx, id_).verdict
        assert name is not None, "only what was judged is public"
        atom = self._objects.get_atom(tx, name)
        named = sorted({check["evidence"] for check in atom["checks"] if "evidence" in check})
        return name, atom, {item: self._objects.get_atom(tx, item) for item in named}

    # Figures

    def figures(self, tx: Tx, place: Place | None, limit: int) -> tuple[list[Figure], Place | None]:
        """A page of all jobs as figures, newest first, and where the next one begins."""
        began = place or Place(self._clock.now_us())
        if began.skipped > rules.SAME_MOMENT_MAX:  # no page leads there, and to skip rows costs as much as to read them
            return [], None
        found = store.figures(tx, began, limit + 1)
        shown = found[:limit]
        return shown, rules.next_place(shown, began) if len(found) > limit else None

    @staticmethod
    def public_jobs(tx: Tx, before: UUID | None, limit: int) -> list[Figure]:
        """A page of public jobs, newest first."""
        return store.public_jobs(tx, before, limit)

    def totals(self, tx: Tx) -> tuple[Totals, Totals]:
        """What was cleared today (UTC), and in all."""
        return store.totals(tx, self._clock.now_us() // DAY_US), store.totals(tx, 0)

    def close_days(self, tx: Tx) -> int:
        """Sum days that are over; not the last one yet, since clocks of processes differ."""
        return store.close_days(tx, self._clock.now_us() // DAY_US - 1)
