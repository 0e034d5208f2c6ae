"""What the parties of a job may read: the one place where that is decided. `choir.bazaar.hall` is for everybody else.

| what                           | buyer                | its provider                  | operator              |
|--------------------------------|----------------------|-------------------------------|-----------------------|
| the job, its steps             | yes                  | who was asked, own steps only | yes                   |
| what was ordered, in a line    | as the request       | as the request                | as the request        |
| who the buyer is               | yes                  | once its delivery was judged  | yes                   |
| attempts                       | all                  | its own                       | all                   |
| request, repository, diff      | yes                  | while its attempt lives, and  | while a dispute about |
|                                |                      | after it handed something in  | the job is undecided  |
| hidden checks                  | yes                  | once its delivery failed them | no                    |
| the files of a skill           | no                   | while its attempt lives       | no                    |
| their hashes                   | once it was judged   | always                        | yes                   |
| artifact, trajectory, result   | once that attempt is | always                        | while a dispute about |
|                                | paid in full         |                               | it is undecided       |
| verdict with evidence, receipt | yes                  | yes                           | yes                   |
| with the entry that paid       |                      |                               |                       |
| why a provider was chosen      | yes                  | no                            | no                    |
| what is held, the strategy     | yes                  | no                            | yes                   |

Who the buyer is makes no difference to the work, and a review that the node orders itself looks like any other.
"Its provider" is the one whose attempt it is. Who has no part in a job is told that there is none. A dispute that
was decided, for whomever, changes nothing in this table. Bytes that were removed after their time are nobody's. To
see a buyer's side a credential needs the scope read; to see a provider's side, read or sell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from choir.bazaar.attempts.model import LIVE_ATTEMPT, Attempt, UnknownAttempt, attempt_id
from choir.bazaar.disputes import store as dispute_store
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import (
    HIDDEN,
    AmbiguousPrefix,
    HiddenClosed,
    Job,
    JobEvent,
    JobState,
    JobType,
    NotReleased,
    NotThereYet,
    OrderClosed,
    Removed,
    UnknownJob,
    UnknownPrefix,
    job_id,
)
from choir.bazaar.jobs.service import concerns, may_see, owners_of
from choir.bazaar.providers import store as provider_store
from choir.bazaar.seconds import store as seconds_store
from choir.bazaar.seconds.model import SecondReviewClosed, SecondReviewRow, SecondState
from choir.bazaar.skills.model import SKILL, SkillClosed
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import format_time
from choir.foundation.errors import Invalid
from choir.foundation.ids import id_range, show_id
from choir.identity.model import Principal, Role, Scope
from choir.objects.service import Objects
from choir.storage.database import Tx

CANDIDATES_MAX = 6  # of a beginning that fits several; one more than are named
_WHY = "why"  # what an offer's choice is explained by
_BETWEEN = {"job": job_store.ids_between, "dispute": dispute_store.ids_between}


@dataclass(frozen=True, slots=True)
class VisibleJob:
    """A job as one reader sees it."""

    job: Job
    attempts: tuple[Attempt, ...]  # those the reader may see
    whole: bool  # the buyer's own view, or an operator's: with what is held, strategy and criteria
    summary: str | None = None  # what was ordered, in a line; for who may read the order


@dataclass(frozen=True, slots=True)
class _Part:
    """Which parts somebody has in a job; all may be true at once."""

    buyer: bool
    operator: bool
    own: tuple[Attempt, ...]  # of the provider


class JobAccess:
    """Looks at jobs on somebody's behalf; inside the caller's transaction."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def job(self, tx: Tx, who: Principal, id_: UUID) -> VisibleJob:
        """A job with the attempts at it that the reader may see."""
        job, part, attempts = self._look(tx, who, id_)
        summary = self._summary(tx, job) if self._may_read_order(tx, job, part) else None
        if part.buyer or part.operator:
            return VisibleJob(job, _as_seen(attempts, part), whole=True, summary=summary)
        return VisibleJob(_for_provider(job, part.own), part.own, whole=False, summary=summary)

    def ordered(self, tx: Tx, job: Job) -> VisibleJob:
        """A job for whoever has just ordered or cancelled it, whatever else they may read."""
        buyer = _Part(buyer=True, operator=False, own=())
        attempts = _as_seen(job_store.attempts(tx, job.id), buyer)
        return VisibleJob(job, attempts, whole=True, summary=self._summary(tx, job))

    def ids(self, tx: Tx, who: Principal, prefix: str) -> list[str]:
        """Ids that begin like this, of what the reader may look at; no more than fit a sentence.

        Of jobs, disputes and providers. What somebody may not see is not there, however much of its id is known.
        """
        kind, first, last = id_range(prefix)
        mine = owners_of(who)
        if kind == "provider":  # anybody may look at all of them
            found = provider_store.ids_between(tx, first, last, CANDIDATES_MAX)
        elif kind in _BETWEEN:
            found = _BETWEEN[kind](
                tx, first, last, all_=who.role is Role.OPERATOR, limit=CANDIDATES_MAX,
                bought_by=mine if Scope.READ in who.scopes else (),
                done_by=mine if who.scopes & {Scope.READ, Scope.SELL} else (),
            )  # fmt: skip
        else:
            raise Invalid(what=f"id '{prefix[:60]}'", why="only job_, dispute_ and provider_ ids can be shortened")
        return [show_id(kind, id_) for id_ in found]

    def id(self, tx: Tx, who: Principal, prefix: str) -> str:
        """The one id that begins like this, of what the reader may look at."""
        found = self.ids(tx, who, prefix)
        if not found:
            raise UnknownPrefix(prefix=prefix[:60])
        if len(found) > 1:
            named = found[: CANDIDATES_MAX - 1]
            more = ", …" if len(found) > len(named) else ""
            raise AmbiguousPrefix(prefix=prefix[:60], candidates=named, named=", ".join(named) + more)
        return found[0]

    def steps(self, tx: Tx, who: Principal, id_: UUID) -> list[JobEvent]:
        """The steps of a job's life that concern the reader."""
        job, part, _ = self._look(tx, who, id_)
        found = job_store.events(tx, job.id)
        if part.buyer:
            return found
        found = [_without(step, _WHY) for step in found]
        if part.operator:
            return found
        own = {attempt_id(attempt.id) for attempt in part.own}
        mine = [step for step in found if concerns(step, own)]
        return mine if _was_judged(part.own) else [_without_buyer(step) for step in mine]

    def request(self, tx: Tx, who: Principal, id_: UUID) -> ObjectHash:
        """What was ordered."""
        return self._open_order(tx, who, id_).request

    def input(self, tx: Tx, who: Principal, id_: UUID, name: str) -> ObjectHash:
        """The bytes that came with an order."""
        if name == HIDDEN:
            job, part, _ = self._look(tx, who, id_)
            if not part.buyer:
                raise HiddenClosed(job=job_id(id_))
        elif name == SKILL:
            job, part, _ = self._look(tx, who, id_)
            if not any(attempt.state in LIVE_ATTEMPT for attempt in part.own):
                raise SkillClosed
        else:
            job = self._open_order(tx, who, id_)
        if name not in job.inputs:
            raise NotThereYet(what=f"input '{name}'", of=job_id(id_))
        must_be_kept(tx, job.id)
        return job.inputs[name]

    def bought(self, tx: Tx, who: Principal, id_: UUID) -> ObjectHash:
        """The artifact that a job was paid for."""
        job, part, attempts = self._look(tx, who, id_)
        winner = next((attempt for attempt in attempts if attempt.id == job.winner), None)
        if winner is None or winner.artifact is None:
            raise NotReleased(job=job_id(id_))
        self._must_be_released(tx, job, winner, part)
        must_be_kept(tx, job.id)
        return winner.artifact

    def attempt(self, tx: Tx, who: Principal, id_: UUID) -> Attempt:
        """An attempt, for its provider, the job's buyer and operators."""
        _, attempt, part = self._look_at(tx, who, id_)
        return _as_seen([attempt], part)[0]

    def artifact(self, tx: Tx, who: Principal, id_: UUID) -> ObjectHash:
        attempt = self._kept(tx, who, id_)
        return _there(attempt.artifact, "artifact", attempt)

    def trajectory(self, tx: Tx, who: Principal, id_: UUID) -> ObjectHash:
        attempt = self._kept(tx, who, id_)
        return _there(attempt.trajectory, "trajectory", attempt)

    def result(self, tx: Tx, who: Principal, id_: UUID) -> ObjectHash:
        attempt = self._released(tx, who, id_)
        return _there(attempt.result, "result", attempt)

    def receipt(self, tx: Tx, who: Principal, id_: UUID) -> ObjectHash:
        attempt = self.attempt(tx, who, id_)
        return _there(attempt.receipt, "receipt", attempt)

    def verdict(self, tx: Tx, who: Principal, id_: UUID) -> tuple[ObjectHash, dict[str, Any], dict[str, Any]]:
        """A verdict and the evidence that it names, nothing else."""
        attempt = self.attempt(tx, who, id_)
        name = _there(attempt.verdict, "verdict", attempt)
        atom = self._objects.get_atom(tx, name)
        named = sorted({check["evidence"] for check in atom["checks"] if "evidence" in check})
        return name, atom, {item: self._objects.get_atom(tx, item) for item in named}

    def second_reviews(self, tx: Tx, who: Principal, id_: UUID) -> list[SecondReviewRow]:
        """What became of a job's second reviews: all for the buyer, of its own deliveries for a provider."""
        job, part, _ = self._look(tx, who, id_)
        found = seconds_store.of_job(tx, job.id)
        if part.buyer or part.operator:
            return found
        own = {attempt.id for attempt in part.own}
        return [row for row in found if row.attempt in own]

    def second_review(self, tx: Tx, who: Principal, id_: UUID, n: int) -> ObjectHash:
        """A second review that is in: it quotes the work, so it is the buyer's when the work is."""
        job, part, _ = self._look(tx, who, id_)
        row = next((one for one in self.second_reviews(tx, who, id_) if one.n == n), None)
        if row is None or row.state is not SecondState.DONE or row.review is None:
            raise NotThereYet(what=f"second review {n}", of=job_id(id_))
        theirs = part.buyer and (job.type is JobType.CODE_REVIEW or job.winner == row.attempt)
        if not theirs and row.attempt not in {attempt.id for attempt in part.own}:
            raise SecondReviewClosed(job=job_id(id_))
        review = job_store.job(tx, row.review)
        found = None if review is None or review.winner is None else job_store.attempt(tx, review.winner)
        if review is None or found is None or found.artifact is None:
            raise NotThereYet(what=f"second review {n}", of=job_id(id_))
        must_be_kept(tx, review.id)
        return found.artifact

    def hidden(self, tx: Tx, who: Principal, id_: UUID) -> ObjectHash:
        """The hidden checks: for the buyer, and for the provider whose delivery failed them."""
        job, attempt, part = self._look_at(tx, who, id_)
        if not part.buyer and not self._failed_hidden(tx, attempt, part):
            raise HiddenClosed(job=job_id(job.id))
        if HIDDEN not in job.inputs:
            raise NotThereYet(what=f"input '{HIDDEN}'", of=job_id(job.id))
        must_be_kept(tx, job.id)
        return job.inputs[HIDDEN]

    # The rules

    def _open_order(self, tx: Tx, who: Principal, id_: UUID) -> Job:
        job, part, _ = self._look(tx, who, id_)
        if self._may_read_order(tx, job, part):
            return job
        raise OrderClosed(job=job_id(id_))

    @staticmethod
    def _may_read_order(tx: Tx, job: Job, part: _Part) -> bool:
        works = any(attempt.state in LIVE_ATTEMPT or attempt.delivered_us is not None for attempt in part.own)
        return part.buyer or works or (part.operator and dispute_store.undecided_about_job(tx, job.id))

    @staticmethod
    def _summary(tx: Tx, job: Job) -> str | None:
        return job_store.summaries(tx, [job.id]).get(job.id)

    def _released(self, tx: Tx, who: Principal, id_: UUID) -> Attempt:
        job, attempt, part = self._look_at(tx, who, id_)
        self._must_be_released(tx, job, attempt, part)
        return attempt

    def _kept(self, tx: Tx, who: Principal, id_: UUID) -> Attempt:
        """An attempt whose bytes the reader may have and this node still has."""
        attempt = self._released(tx, who, id_)
        must_be_kept(tx, attempt.job)
        return attempt

    @staticmethod
    def _must_be_released(tx: Tx, job: Job, attempt: Attempt, part: _Part) -> None:
        if attempt.id in {own.id for own in part.own}:
            return
        if part.buyer and job.winner == attempt.id:
            return
        if part.operator and dispute_store.undecided_about(tx, attempt.id):
            return
        raise NotReleased(job=job_id(job.id))

    def _failed_hidden(self, tx: Tx, attempt: Attempt, part: _Part) -> bool:
        if attempt.id not in {own.id for own in part.own} or attempt.verdict is None:
            return False
        checks = self._objects.get_atom(tx, attempt.verdict)["checks"]
        return any(check.get("hidden", False) and not check["passed"] for check in checks)

    # Who it is

    def _look(self, tx: Tx, who: Principal, id_: UUID) -> tuple[Job, _Part, tuple[Attempt, ...]]:
        found = job_store.job(tx, id_)
        if found is None:
            raise UnknownJob(job=job_id(id_))
        return self._see(tx, who, found)

    @staticmethod
    def _see(tx: Tx, who: Principal, job: Job) -> tuple[Job, _Part, tuple[Attempt, ...]]:
        attempts = tuple(job_store.attempts(tx, job.id))
        if not may_see(who, job, lambda: attempts):
            raise UnknownJob(job=job_id(job.id))
        mine = owners_of(who)
        buyer = job.buyer in mine and Scope.READ in who.scopes
        seller = bool(who.scopes & {Scope.READ, Scope.SELL})
        own = tuple(attempt for attempt in attempts if seller and attempt.owner in mine)
        return job, _Part(buyer, who.role is Role.OPERATOR, own), attempts

    def _look_at(self, tx: Tx, who: Principal, id_: UUID) -> tuple[Job, Attempt, _Part]:
        found = job_store.job_of(tx, id_)
        if found is not None:
            try:
                job, part, attempts = self._see(tx, who, found)
            except UnknownJob:
                raise UnknownAttempt(attempt=attempt_id(id_)) from None
            seen = attempts if part.buyer or part.operator else part.own
            attempt = next((attempt for attempt in seen if attempt.id == id_), None)
            if attempt is not None:
                return job, attempt, part
        raise UnknownAttempt(attempt=attempt_id(id_))


def must_be_kept(tx: Tx, job: UUID) -> None:
    """Raise if the bytes of a job were removed, its time being over."""
    removed_us = job_store.removed_at(tx, job)
    if removed_us is not None:
        raise Removed(job=job_id(job), at=format_time(removed_us))


def _for_provider(job: Job, own: tuple[Attempt, ...]) -> Job:
    """Without what is between the buyer and others: whom it prefers, who won, for how much."""
    at_work = next((attempt for attempt in own if attempt.state in LIVE_ATTEMPT), None)
    state = JobState(at_work.state.value) if at_work is not None and job.is_live else job.state
    job = replace(job, strategy={}, criteria={}, state=state)
    if not _was_judged(own):
        job = replace(job, buyer="", actor="")
    if job.type is JobType.CODE_REVIEW:  # that there are planted defects is not told
        job = replace(job, inputs={name: hash_ for name, hash_ in job.inputs.items() if name != HIDDEN})
    if job.winner in {attempt.id for attempt in own}:
        return job
    return replace(job, winner=None, price=None, receipt=None)


def _as_seen(attempts: Sequence[Attempt], part: _Part) -> tuple[Attempt, ...]:
    """A buyer learns hashes with the verdict: what is small could be guessed from its hash, and called off."""
    if not part.buyer or part.operator:
        return tuple(attempts)
    own = {attempt.id for attempt in part.own}
    return tuple(
        attempt
        if attempt.verdict is not None or attempt.id in own
        else replace(attempt, artifact=None, claimed=None, result=None, trajectory=None)
        for attempt in attempts
    )


def _was_judged(own: Sequence[Attempt]) -> bool:
    return any(attempt.verdict is not None for attempt in own)


def _without_buyer(step: JobEvent) -> JobEvent:
    """What is about the job as such was done by the buyer, or may have been."""
    return step if "attempt" in step.data else replace(step, actor="")


def _without(step: JobEvent, name: str) -> JobEvent:
    return replace(step, data={key: value for key, value in step.data.items() if key != name})


def _there(name: ObjectHash | None, what: str, attempt: Attempt) -> ObjectHash:
    if name is None:
        raise NotThereYet(what=what, of=attempt_id(attempt.id))
    return name
