"""Shapes of what a node is at, for operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from choir.bazaar.jobs.model import Job, job_id
from choir.bazaar.providers.model import OnlineProvider, provider_id
from choir.doors.people.shapes import AT
from choir.doors.shapes import Wire, example
from choir.foundation.clock import format_time

if TYPE_CHECKING:  # a client loads no database
    from choir.doors.operator.work import Work
    from choir.storage.work_list import SubscriberLine, TaskLine


class TaskOut(Wire):
    """A background task."""

    name: str
    key: str
    due_at: str
    repeats: bool
    attempts: int = Field(description="Failed attempts since the last success.")
    error: str = Field(description="The last error, in a short line; empty: none.")
    set_aside: bool = Field(description="It is not tried again.")

    @classmethod
    def of(cls, line: TaskLine) -> TaskOut:
        return cls(
            name=line.name, key=line.key, due_at=format_time(line.due_us), repeats=line.every_us is not None,
            attempts=line.attempts, error=line.error, set_aside=line.set_aside,
        )  # fmt: skip


class StuckOut(Wire):
    """An event that a subscriber fails at."""

    subject: str
    attempts: int
    due_at: str = Field(description="When it is tried again.")
    error: str


class SubscriberOut(Wire):
    """How far a subscriber of events has come."""

    name: str
    behind: int = Field(description="Events that it has not looked at; 1000 means that many or more.")
    waiting: int = Field(description="Events that it has to handle; 1000 means that many or more.")
    waiting_since: str | None
    known: bool = Field(description="Whether the running node has this subscriber.")
    stuck: StuckOut | None

    @classmethod
    def of(cls, line: SubscriberLine) -> SubscriberOut:
        stuck = line.stuck
        return cls(
            name=line.name,
            behind=line.behind,
            waiting=line.waiting,
            waiting_since=None if line.waiting_since_us is None else format_time(line.waiting_since_us),
            known=line.gone_us is None,
            stuck=None
            if stuck is None
            else StuckOut(
                subject=stuck.subject, attempts=stuck.attempts, due_at=format_time(stuck.due_us), error=stuck.error
            ),
        )


class LiveJobOut(Wire):
    """A job that is not over."""

    id: str
    type: str
    state: str
    buyer: str
    created_at: str
    expires_at: str

    @classmethod
    def of(cls, job: Job) -> LiveJobOut:
        return cls(
            id=job_id(job.id), type=job.type, state=job.state, buyer=job.buyer,
            created_at=format_time(job.created_us), expires_at=format_time(job.expires_us),
        )  # fmt: skip


class OnlineProviderOut(Wire):
    """A provider that is there now."""

    id: str
    name: str | None
    heard_at: str = Field(description="The last heartbeat.")
    slots: int = Field(description="Jobs that it takes at once.")
    in_use: int
    healthy: bool
    draining: bool

    @classmethod
    def of(cls, one: OnlineProvider) -> OnlineProviderOut:
        row = one.market
        return cls(
            id=provider_id(one.provider.id), name=one.provider.name, heard_at=format_time(one.heard_us),
            slots=row.slots, in_use=row.in_use, healthy=row.healthy, draining=row.draining,
        )  # fmt: skip


_TASK = {"name": "outbox.forget", "key": "", "due_at": AT, "repeats": True, "attempts": 0}


class WorkOut(
    Wire,
    json_schema_extra=example(
        failing=[],
        tasks=[{**_TASK, "error": "", "set_aside": False}],
        subscribers=[],
        job_counts={"open": 0},
        jobs=[],
        providers=[],
    ),
):
    """What a node is at: the first rows of each listing."""

    failing: list[TaskOut] = Field(description="Tasks whose last attempts failed, the most tried first.")
    tasks: list[TaskOut] = Field(description="By name and key.")
    subscribers: list[SubscriberOut]
    job_counts: dict[str, int] = Field(description="By state; 1000 means that many or more.")
    jobs: list[LiveJobOut] = Field(description="Those that are not over, state by state, newest first.")
    providers: list[OnlineProviderOut] = Field(description="Those that are online.")

    @classmethod
    def of(cls, work: Work) -> WorkOut:
        return cls(
            failing=[TaskOut.of(line) for line in work.failing],
            tasks=[TaskOut.of(line) for line in work.tasks],
            subscribers=[SubscriberOut.of(line) for line in work.subscribers],
            job_counts={state.value: count for state, count in work.counts.items()},
            jobs=[LiveJobOut.of(job) for job in work.jobs],
            providers=[OnlineProviderOut.of(one) for one in work.online],
        )
