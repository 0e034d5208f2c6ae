"""What a buyer gets to hold: an order's handle, a verified result, and the ways in which it can go wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from choir.bazaar.contracts import RepoIndex, RunOutput, StructuredReview
from choir.bazaar.jobs.model import JobState, JobType
from choir.bazaar.policy import VerificationPolicy
from choir.doors.jobs.shapes import AttemptOut, JobOut
from choir.foundation.errors import Broken, Refusal, Unavailable
from choir.foundation.money import Asset
from choir.foundation.words import count, on_screen

Artifact = str | RunOutput | StructuredReview | RepoIndex  # a diff or a text; what a run wrote; a review; an index

OVER = frozenset({JobState.CLOSED, JobState.EXPIRED, JobState.CANCELLED, JobState.DISPUTED, JobState.RESOLVED})


class JobFailed(Refusal):
    """The job closed without a delivery that passed. `fields` has the reasons and the cost."""

    code = "sdk.job_failed"
    sentence = "The job {job} is {state}: {why}. It cost {cost} SAT."
    hint = "`choir job show {job}` shows every attempt and check."


class NotDoneYet(Unavailable):
    """The wait timed out; the job continues."""

    code = "sdk.job_not_done"
    sentence = "The job {job} is {state} after {seconds} seconds of waiting, and it continues."
    hint = "Get the result with `choir job result {job}`, or cancel it with `choir job cancel {job}`."


class WrongAnswer(Broken):
    """The node's data about a job is inconsistent with itself or with the order."""

    code = "sdk.wrong_answer"
    sentence = "The node's data about {job} is inconsistent: {why}."
    hint = "Keep the job's id and tell the node's operator."


class ForgedReceipt(Broken):
    """A receipt without the node's signature."""

    code = "sdk.forged_receipt"
    sentence = "The receipt of {job} is not valid: {why}."
    hint = "Keep the job's id and tell the node's operator."


@dataclass(frozen=True, slots=True)
class Handle:
    """An order. Its id is enough to resume it later: `MeshClient.handle`."""

    id: str
    type: JobType
    budget: int  # milli-satoshi
    request: str  # the hash of what was ordered


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a verdict."""

    name: str
    passed: bool
    reason: str = ""
    details: str = ""
    hidden: bool = False
    evidence: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedDelivery:
    """An attempt with its verdict, passed or not. All of it was checked here against hashes and signatures."""

    job: JobOut
    attempt: AttemptOut
    data: bytes  # the artifact as it was hashed
    verdict: dict[str, Any]

    @property
    def price(self) -> int:
        """What was captured from the buyer's hold for it, extras included, in milli-satoshi."""
        return int(self.attempt.paid) + int(self.attempt.extras)

    @property
    def receipt_hash(self) -> str:
        assert self.attempt.receipt is not None
        return self.attempt.receipt


@dataclass(frozen=True, slots=True)
class Outcome(JudgedDelivery):
    """Work that was done, verified and paid."""

    artifact: Artifact  # the data as what it is
    checks: tuple[Check, ...]
    receipt: dict[str, Any]

    @property
    def state(self) -> str:
        return self.job.state

    def __str__(self) -> str:
        """The artifact, shortened for a screen; `artifact` and `data` have all of it."""
        artifact = on_screen(self.artifact) if isinstance(self.artifact, str) else str(self.artifact)
        code = f", exit code {self.artifact.exit_code}" if isinstance(self.artifact, RunOutput) else ""
        paid = f"verified and paid {sat(self.price)} of {sat(self.job.budget)} SAT"
        return f"{self.job.id}: {self.job.type.word}{code}, {paid}\n{artifact}".rstrip("\n")

    def __repr__(self) -> str:
        checks = f"{sum(item.passed for item in self.checks)} of {count(len(self.checks), 'check')} passed"
        size = f"{len(self.data)} bytes"
        return (
            f"<Outcome of {self.job.id}: {self.job.type.word}, {self.state}, {checks}, {size}, {sat(self.price)} SAT>"
        )


def checks_of(verdict: dict[str, Any]) -> tuple[Check, ...]:
    """The checks of a verdict object."""
    return tuple(
        Check(
            name=str(item.get("name", "")),
            passed=item.get("passed") is True,
            reason=str(item.get("reason", "")),
            details=str(item.get("details", "")),
            hidden=item.get("hidden") is True,
            evidence=item.get("evidence"),
        )
        for item in verdict.get("checks", [])
    )


def winner_of(job: JobOut) -> AttemptOut | None:
    """The attempt that was paid for."""
    return next((attempt for attempt in job.attempts if attempt.id == job.winner), None)


def is_over(job: JobOut) -> bool:
    """Whether nothing more is to be waited for: it is paid, or all is settled."""
    return winner_of(job) is not None or (job.state in OVER and job.closed_at is not None)


def cost_of(job: JobOut) -> int:
    """All that left the buyer's hold, in milli-satoshi: also for those who failed hidden checks or lost a race."""
    return sum(int(attempt.paid) + int(attempt.extras) for attempt in job.attempts)


def sat(amount: int | str) -> str:
    """Satoshi as people read them."""
    return Asset.SAT.format(int(amount))


def failed(job: JobOut, reasons: list[str]) -> JobFailed:
    """Why there is no result, and what that cost."""
    told = "; ".join(dict.fromkeys(reasons)) or _WHY.get(job.state, "no provider delivered")
    return JobFailed(job=job.id, state=job.state, why=told, reasons=reasons, cost=sat(cost_of(job)))


_WHY = {
    JobState.EXPIRED.value: "no provider delivered in time",
    JobState.CANCELLED.value: "it was cancelled",
}


def must_be(job: JobOut, handle: Handle) -> None:
    """Raise unless the node's job is what was ordered."""
    for name, found, expected in (
        ("id", job.id, handle.id),
        ("type", job.type, handle.type),
        ("budget", job.budget, str(handle.budget)),
        ("request", job.request, handle.request),
    ):
        if found != expected:
            raise WrongAnswer(job=handle.id, why=f"the node's job has another '{name}' than what was ordered")


def typed(job: JobOut, data: bytes, policy: VerificationPolicy) -> Artifact:
    """An artifact as what it is."""
    if job.type is JobType.SANDBOX_RUN:
        return RunOutput.from_bytes(data, policy)
    if job.type is JobType.CODE_REVIEW:
        return StructuredReview.from_bytes(data, policy)
    if job.type is JobType.REPO_INDEX:
        return RepoIndex.from_bytes(data, policy)
    return data.decode("utf-8", "surrogateescape")
