"""Shapes of retention and second reviews. Amounts are milli-satoshi as decimal strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from choir.bazaar.attempts.model import attempt_id
from choir.bazaar.jobs.model import job_id
from choir.doors.jobs.shapes import ATTEMPT, JOB
from choir.doors.people.shapes import AT
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time

if TYPE_CHECKING:
    from choir.bazaar.retention.model import Keep, RetentionState
    from choir.bazaar.seconds.model import SecondReviewRow


class KeepIn(Wire, json_schema_extra=example(days=30)):
    """How much longer to keep a job's bytes."""

    days: int = Field(ge=1, le=36_500)


class KeepOut(Wire, json_schema_extra=example(job=JOB, days=30, bytes=1_250_000, price="1250", kept_until=AT)):
    """What was paid for keeping a job longer."""

    job: str
    days: int
    bytes: int
    price: str = Field(description="What was charged, once.")
    kept_until: str

    @classmethod
    def of(cls, item: Keep) -> KeepOut:
        return cls(
            job=job_id(item.job),
            days=item.days,
            bytes=item.bytes,
            price=str(item.price),
            kept_until=format_time(item.kept_until_us),
        )


class RetentionOut(
    Wire, json_schema_extra=example(job=JOB, kept_until=AT, removed_at=None, bytes=1_250_000, price="1250")
):
    """How long the inputs, artifacts and trajectories of a job are kept."""

    job: str
    kept_until: str | None = Field(description="Null while the job is open.")
    removed_at: str | None = Field(description="Since when only hashes, verdicts and receipts are left.")
    bytes: int | None = Field(default=None, description="With `days`: what would be kept.")
    price: str | None = Field(default=None, description="With `days`: what that would cost.")

    @classmethod
    def of(cls, job: str, item: RetentionState, until_us: int | None, quote: tuple[int, int] | None) -> RetentionOut:
        return cls(
            job=job,
            kept_until=maybe_time(until_us),
            removed_at=maybe_time(item.removed_us),
            bytes=None if quote is None else quote[0],
            price=None if quote is None else str(quote[1]),
        )


_SECOND: dict[str, Any] = {
    "n": 1, "state": "done", "held": "2500000", "attempt": ATTEMPT, "review": "job_01j9zr6kd2hm5s6t7v8w9xayaz",
    "outcome": "clear", "findings": 2, "blocking": 0, "agrees": None, "began_at": AT, "ended_at": AT,
}  # fmt: skip


class SecondReviewOut(Wire, json_schema_extra=example(**_SECOND)):
    """A second review: money is held for it, or a reviewer is asked, or it is done."""

    n: int
    state: str = Field(description="held, waiting, done or released (it was not needed).")
    held: str = Field(description="What was set aside for it.")
    attempt: str | None = Field(description="Whose delivery is reviewed.")
    review: str | None = Field(description="The reviewer's job.")
    outcome: str | None = Field(description="clear, blocking, or none (nobody was found in time).")
    findings: int | None
    blocking: int | None = Field(description="Findings that are severe enough to refuse the work.")
    agrees: bool | None = Field(description="Of a review: whether both reviews agree on whether something blocks.")
    began_at: str | None
    ended_at: str | None

    @classmethod
    def of(cls, item: SecondReviewRow) -> SecondReviewOut:
        return cls(
            n=item.n,
            state=item.state.value,
            held=str(item.amount),
            attempt=None if item.attempt is None else attempt_id(item.attempt),
            review=None if item.review is None else job_id(item.review),
            outcome=None if item.outcome is None else item.outcome.value,
            findings=item.findings,
            blocking=item.blocking,
            agrees=item.agrees,
            began_at=maybe_time(item.began_us),
            ended_at=maybe_time(item.ended_us),
        )


class SecondReviewList(Wire, json_schema_extra=example(items=[_SECOND])):
    items: list[SecondReviewOut]
