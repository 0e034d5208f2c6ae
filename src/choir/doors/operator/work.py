"""What a node is at, for its operators: tasks, subscribers of events, jobs, providers. Each listing is bounded."""

from __future__ import annotations

from dataclasses import dataclass

from choir.bazaar.jobs.model import Job, JobState
from choir.bazaar.providers.model import OnlineProvider
from choir.identity.model import Principal
from choir.node import Node
from choir.storage import work_list
from choir.storage.database import Tx
from choir.storage.work_list import COUNT_MAX, SubscriberLine, TaskLine

LIVE = (JobState.OPEN, JobState.ASSIGNED, JobState.RUNNING, JobState.DELIVERED, JobState.VERIFYING, JobState.DISPUTED)


@dataclass(frozen=True, slots=True)
class Work:
    """The first rows of everything."""

    failing: list[TaskLine]
    tasks: list[TaskLine]
    subscribers: list[SubscriberLine]
    counts: dict[JobState, int]  # up to COUNT_MAX each
    jobs: list[Job]  # those that are live, state by state
    online: list[OnlineProvider]


def look(node: Node, tx: Tx, who: Principal, rows: int) -> Work:
    """What the node is at now."""
    counts = node.bazaar.jobs.counts(tx, who, COUNT_MAX)
    live = [job for state in LIVE if counts[state] for job in node.bazaar.jobs.in_state(tx, who, state, limit=rows)]
    return Work(
        failing=work_list.failing_tasks(tx, limit=rows),
        tasks=work_list.tasks(tx, limit=rows),
        subscribers=work_list.subscribers(tx),
        counts=counts,
        jobs=live[:rows],
        online=node.bazaar.providers.online(tx, limit=rows),
    )
