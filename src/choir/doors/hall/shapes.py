"""Shapes of the hall. Amounts are milli-satoshi as decimal strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from choir.bazaar.attempts.model import attempt_id
from choir.bazaar.jobs.model import JobType, job_id
from choir.bazaar.providers.model import provider_id
from choir.doors.jobs.shapes import ATTEMPT, HASH, JOB, PROVIDER, PROVIDER_OWNER
from choir.doors.people.shapes import AT, OWNER
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import MICROSECONDS, format_time

if TYPE_CHECKING:
    from choir.bazaar.attempts.model import Attempt
    from choir.bazaar.hall.model import Figure, PublicJob, Totals
    from choir.doors.jobs.shapes import SignedOut

_TOTALS = {"judged": 4, "paid": 3, "earned": "540000"}


class TotalsOut(Wire, json_schema_extra=example(**_TOTALS)):
    """What was cleared."""

    judged: int = Field(description="Deliveries with a verdict.")
    paid: int = Field(description="Jobs that were paid for.")
    earned: str = Field(description="What providers were paid, less what disputes took back.")

    @classmethod
    def of(cls, item: Totals) -> TotalsOut:
        return cls(judged=item.judged, paid=item.passed, earned=str(item.earned))


class HallOut(Wire, json_schema_extra=example(today=_TOTALS, in_all=_TOTALS)):
    """Totals of today (UTC) and of all days."""

    today: TotalsOut
    in_all: TotalsOut


_FIGURE: dict[str, Any] = {
    "type": "sandbox_run",
    "state": "paid",
    "price": "200000",
    "ordered_at": AT,
    "taken_s": 4,
    "job": None,
    "summary": None,
}


class FigureOut(Wire, json_schema_extra=example(**_FIGURE)):
    """A job as a figure. Only a public one has an id and a summary."""

    type: JobType
    state: str
    price: str | None
    ordered_at: str
    taken_s: int | None = Field(description="Seconds from the order to its end; null while it is open.")
    job: str | None
    summary: str | None

    @classmethod
    def of(cls, item: Figure) -> FigureOut:
        taken_us = None if item.closed_us is None else item.closed_us - item.created_us
        return cls(
            type=item.type,
            state=item.state.value,
            price=None if item.price is None else str(item.price),
            ordered_at=format_time(item.created_us),
            taken_s=None if taken_us is None else taken_us // MICROSECONDS,
            job=None if item.job is None else job_id(item.job),
            summary=item.summary,
        )


class FigurePage(Wire, json_schema_extra=example(items=[_FIGURE], next=None)):
    items: list[FigureOut]
    next: str | None = None


_ATTEMPT: dict[str, Any] = {
    "id": ATTEMPT,
    "n": 1,
    "provider": PROVIDER,
    "owner": PROVIDER_OWNER,
    "state": "passed",
    "delivered_at": AT,
    "ended_at": AT,
    "paid": "200000",
    "reason": "",
    "artifact": HASH,
    "trajectory": None,
    "verdict": {"format": "verdict/1"},
    "receipt": {"format": "receipt/1"},
}


class PublicAttemptOut(Wire, json_schema_extra=example(**_ATTEMPT)):
    """An attempt at a public job that has its verdict."""

    id: str
    n: int
    provider: str
    owner: str
    state: str
    delivered_at: str | None
    ended_at: str | None
    paid: str
    reason: str
    artifact: str | None = Field(description="Hash of the artifact, if it was paid for.")
    trajectory: str | None = Field(description="Hash of the trajectory, if its provider made it public.")
    verdict: dict[str, Any]
    receipt: dict[str, Any]

    @classmethod
    def of(cls, item: Attempt, verdict: dict[str, Any], receipt: SignedOut) -> PublicAttemptOut:
        return cls(
            id=attempt_id(item.id),
            n=item.n,
            provider=provider_id(item.provider),
            owner=item.owner,
            state=item.state.value,
            delivered_at=maybe_time(item.delivered_us),
            ended_at=maybe_time(item.ended_us),
            paid=str(item.paid),
            reason=item.reason,
            artifact=item.artifact,
            trajectory=item.trajectory,
            verdict=verdict,
            receipt=receipt.value,
        )


_PUBLIC: dict[str, Any] = {
    "id": JOB,
    "type": "sandbox_run",
    "state": "paid",
    "buyer": OWNER,
    "budget": "1000000",
    "price": "200000",
    "summary": "python3 -c 'print(6*7)'",
    "request_hash": HASH,
    "request": {"argv": ["python3", "-c", "print(6*7)"]},
    "created_at": AT,
    "closed_at": AT,
    "winner": ATTEMPT,
    "attempts": [_ATTEMPT],
}


class PublicJobOut(Wire, json_schema_extra=example(**_PUBLIC)):
    """A job that its buyer made public."""

    id: str
    type: JobType
    state: str
    buyer: str
    budget: str
    price: str | None
    summary: str
    request_hash: str
    request: dict[str, Any] = Field(description="The order, without environment, standard input and key.")
    created_at: str
    closed_at: str | None
    winner: str | None
    attempts: list[PublicAttemptOut]

    @classmethod
    def of(cls, item: PublicJob, request: dict[str, Any], attempts: list[PublicAttemptOut]) -> PublicJobOut:
        job = item.job
        return cls(
            id=job_id(job.id),
            type=job.type,
            state=job.state.value,
            buyer=job.buyer,
            budget=str(job.budget),
            price=None if job.price is None else str(job.price),
            summary=item.summary,
            request_hash=job.request,
            request=request,
            created_at=format_time(job.created_us),
            closed_at=maybe_time(job.closed_us),
            winner=None if job.winner is None else attempt_id(job.winner),
            attempts=attempts,
        )
