"""Asking a second reviewer, and what came of it.

Guarantees: a delivery waits for one second review and for a bounded time; whoever reviews is independent of buyer and
provider and drawn by lot among those who qualified for reviews; the review is verified and paid like any other, out of
what the buyer set aside for it, and what is not needed goes back; the buyer sees how much was found, and what the
review says once the work it quotes is theirs.
"""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

from choir.bazaar.attempts.model import Attempt
from choir.bazaar.contracts import CodeReviewRequest, StructuredReview, Terms
from choir.bazaar.jobs import rules as job_rules
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.lifecycle import JobLifecycle
from choir.bazaar.jobs.model import DIFF, SECOND, SOURCE, Job, JobType
from choir.bazaar.jobs.service import Jobs, Order
from choir.bazaar.policy import MarketPolicy, VerificationPolicy
from choir.bazaar.seconds import rules, store
from choir.bazaar.seconds.model import SecondOutcome, SecondReviewRow, SecondState
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import MICROSECONDS
from choir.foundation.errors import ChoirError
from choir.objects.service import Objects
from choir.storage.database import Tx

_SPARE_S = 60  # between the end of a second review and that of the verification which waits for it


class SecondReviews:
    """Second reviews; all inside the caller's transaction, with the job locked."""

    def __init__(
        self,
        lifecycle: JobLifecycle,
        jobs: Jobs,
        objects: Objects,
        policy: MarketPolicy,
        verification: VerificationPolicy,
    ) -> None:
        self._lifecycle = lifecycle
        self._jobs = jobs
        self._objects = objects
        self._policy = policy
        self._verification = verification

    def begin(self, tx: Tx, job: Job, attempt: Attempt, diff: ObjectHash, verdict: ObjectHash | None) -> bool:
        """Ask for a second review of a delivery; False if none was ordered. Asking twice is asking once."""
        known = store.of_attempt(tx, attempt.id)
        if known is not None:
            return known.state is SecondState.WAITING
        row = store.next_held(tx, job.id)
        if row is None or job.winner is not None or job.cancelled_us is not None:
            return False
        now_us = self._lifecycle.clock.now_us()
        until_us = now_us + self._policy.second_review_s * MICROSECONDS
        if verdict is not None:
            last_us = job_rules.verify_until_us(job, attempt, self._lifecycle.policy)
            until_us = min(until_us, last_us - _SPARE_S * MICROSECONDS)
        row = replace(row, state=SecondState.WAITING, attempt=attempt.id, verdict=verdict, began_us=now_us)
        review = self._order(tx, job, row, diff, now_us, max(until_us, now_us + MICROSECONDS))
        store.save(tx, replace(row, review=review.id))
        self._lifecycle.note(tx, job, "second_review", SOURCE, attempt=attempt)
        return True

    def _order(self, tx: Tx, job: Job, row: SecondReviewRow, diff: ObjectHash, now_us: int, until_us: int) -> Job:
        """A review of the node's own, paid by what the buyer set aside."""
        assert row.attempt is not None
        tries = self._policy.second_review_tries
        limit_s = max(1, (until_us - now_us) // MICROSECONDS // tries)
        key = f"{SECOND}{row.attempt}"
        request = CodeReviewRequest(diff=diff, terms=Terms(row.amount, limit_s, key))
        order = Order(
            JobType.CODE_REVIEW,
            request.to_json(),
            row.amount,
            limit_s,
            inputs={DIFF: diff},
            strategy={"kind": "sequential_retry", "attempts": tries},
        )
        assert job.held_until_us is not None
        return self._jobs.open_second(tx, order, key, row.hold, job.held_until_us, until_us)

    def over(self, tx: Tx, limit: int) -> list[UUID]:
        """Jobs of which a second review is over."""
        return store.over(tx, limit)

    def result(self, tx: Tx, row: SecondReviewRow) -> SecondReviewRow:
        """What came of a second review that is over; not saved yet."""
        assert row.review is not None
        review = job_store.job(tx, row.review)
        assert review is not None
        now_us = self._lifecycle.clock.now_us()
        ended = replace(row, state=SecondState.DONE, ended_us=now_us)
        found = self._review(tx, review.winner)
        if found is None:
            return replace(ended, outcome=SecondOutcome.NONE)
        blocking = rules.blocking(found, self._policy)
        outcome = SecondOutcome.BLOCKING if blocking else SecondOutcome.CLEAR
        return replace(ended, outcome=outcome, findings=len(found.issues), blocking=blocking)

    def agreement(self, tx: Tx, row: SecondReviewRow) -> bool | None:
        """Whether two reviews of one diff agree on whether something in it blocks."""
        first = self._review(tx, row.attempt)
        if first is None or row.outcome in (None, SecondOutcome.NONE):
            return None
        return bool(rules.blocking(first, self._policy)) == bool(row.blocking)

    def _review(self, tx: Tx, attempt: UUID | None) -> StructuredReview | None:
        found = None if attempt is None else job_store.attempt(tx, attempt)
        if found is None or found.artifact is None:
            return None
        try:
            return StructuredReview.from_bytes(self._objects.get(tx, found.artifact), self._verification)
        except ChoirError:  # it was verified by another policy, or is gone
            return None

    @staticmethod
    def of_job(tx: Tx, job: UUID) -> list[SecondReviewRow]:
        """What became of a job's second reviews."""
        return store.of_job(tx, job)
