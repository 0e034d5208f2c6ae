"""What a worker is: an order in, an artifact with its claims out, told in a trajectory.

A worker runs on the provider's machine. It knows no database, no network of its own and no money. Whatever it runs for
the order, it runs in a sandbox, because the repository, the diff and the command are a stranger's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from choir.bazaar.contracts import JobResult, Request, SkillFolder
from choir.bazaar.jobs.model import JobType
from choir.bazaar.trajectories.reader import commit_of
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.foundation.errors import ChoirError, Refusal, Unavailable

IsCancelled = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class WorkOrder:
    """One attempt at a job, with its inputs on this machine."""

    job: str  # as it is shown: job_…
    type: JobType
    request: Request
    repository: Path | None = None  # a git bundle that holds the base commit
    diff: bytes | None = None  # what is to be reviewed
    previous: bytes | None = None  # an index of an earlier commit
    attempt: str = ""
    deadline: float = field(default_factory=lambda: time.monotonic() + 900)  # by `time.monotonic`
    skill: SkillFolder | None = None  # that the order names

    @property
    def left_s(self) -> float:
        """The time that is left."""
        return self.deadline - time.monotonic()

    @property
    def base_commit(self) -> str:
        """The commit that the trajectory names; empty for work without a repository."""
        return commit_of(self.request)


@dataclass(frozen=True, slots=True)
class WorkProduct:
    """What a worker made."""

    artifact: bytes
    result: JobResult
    summary: str  # one line for the trajectory
    tokens_in: int = 0
    tokens_out: int = 0


class Worker(Protocol):
    """Does the work of some job types. One object serves many jobs at once."""

    @property
    def name(self) -> str: ...

    @property
    def types(self) -> frozenset[JobType]: ...

    def problem(self) -> str:
        """Why it cannot work now, or nothing."""
        ...

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        """Do it. Raises `NotDone` if it cannot be done well; then nothing is handed in."""
        ...


class NotDone(Refusal):
    """The worker has nothing that would be accepted. The job should be given back."""

    code = "worker.not_done"
    sentence = "The work was not done: {why}."


class NotMine(NotDone):
    """An order that this worker cannot do at all."""

    code = "worker.not_mine"
    sentence = "The worker {worker} cannot do this: {why}."


class TimeUp(NotDone):
    code = "worker.time_up"
    sentence = "The work was not done in time: {what} was stopped."


class Stopped(NotDone):
    code = "worker.cancelled"
    sentence = "The work was cancelled."


class SecretInside(NotDone):
    code = "worker.secret_inside"
    sentence = "The artifact contains one of the provider's own secrets, so it is not delivered."


class BrokeDown(ChoirError):
    """The worker itself failed; the order is not to blame."""

    code = "worker.broke_down"
    sentence = "The worker crashed: {why}."


class Stuck(BrokeDown):
    code = "worker.stuck"
    sentence = "The worker did not stop within {seconds} seconds. Its slot is lost until it does."


class NoPlace(Unavailable):
    """The pool cannot take this order now."""

    code = "worker.no_place"
    sentence = "No worker can take this job now: {why}."
    hint = "Withdraw, or retry later."
