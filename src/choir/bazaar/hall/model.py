"""What the hall shows: figures of all jobs, totals, and jobs that their parties made public."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.bazaar.attempts.model import Attempt
from choir.bazaar.disputes.model import Side
from choir.bazaar.jobs.model import Job, JobState, JobType

Sides = dict[Side, bool]  # the sides that somebody has in a job, and whether each is public


@dataclass(frozen=True, slots=True)
class Figure:
    """A job without its parties: only a public one has an id and a line about what was ordered."""

    type: JobType
    state: JobState
    price: int | None
    created_us: int
    closed_us: int | None
    job: UUID | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page of figures begins: at this time, behind so many of the same moment. It names no job."""

    at_us: int
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """What was cleared: deliveries judged, those that passed and were paid, and what their providers got in all."""

    judged: int = 0
    passed: int = 0
    earned: int = 0


@dataclass(frozen=True, slots=True)
class PublicJob:
    """A public job as everybody sees it: without whom the buyer prefers, its inputs, and who else was asked."""

    job: Job
    attempts: tuple[Attempt, ...]  # those with a verdict
    summary: str
    shared: frozenset[UUID]  # the attempts whose provider made public what it did
