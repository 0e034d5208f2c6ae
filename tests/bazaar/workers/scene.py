"""What the tests of workers share: orders, and a worker's outcome with its trajectory checked."""

from __future__ import annotations

import time
from collections.abc import Callable

from choir.bazaar.contracts import Request
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories import reader as trajectories
from choir.bazaar.trajectories.reader import ExpectedTrajectory
from choir.bazaar.workers.fulfilment import FulfilledOrder, fulfil
from choir.bazaar.workers.model import Worker, WorkOrder
from choir.bazaar.workers.profiles import CommandProfile
from choir.foundation.clock import SystemClock
from choir.identity.keys.nostr_keys import checked_secret
from tests.bazaar.verification.scene import Repository

KEY = checked_secret(b"\x07" * 32)
PUBLIC = trajectories.provider_of(KEY)
JOB = "job_01hf00000000000000000000aa"
POLICY = WorkersPolicy(hand_in_s=0)


def never() -> bool:
    return False


def patch_order(repository: Repository, seconds: float = 120, **changes: object) -> WorkOrder:
    request = repository.request(**changes)
    return WorkOrder(JOB, JobType.PATCH_GEN, request, repository.bundle, deadline=time.monotonic() + seconds)


def order_of(kind: JobType, request: Request, seconds: float = 120, diff: bytes | None = None) -> WorkOrder:
    return WorkOrder(JOB, kind, request, diff=diff, deadline=time.monotonic() + seconds)


def done_by(worker: Worker, order: WorkOrder, cancelled: Callable[[], bool] = never) -> FulfilledOrder:
    """The outcome; its trajectory must stand every check."""
    clock = SystemClock()
    before_us = clock.now_us()
    outcome = fulfil(order, worker, KEY, clock, POLICY, cancelled)
    expected = ExpectedTrajectory(JOB, PUBLIC, order.type, order.base_commit, before_us, clock.now_us())
    trajectories.check(outcome.trajectory, expected, outcome.signed, POLICY)
    return outcome


def shell(script: str, **changes: object) -> CommandProfile:
    """An agent that is a shell script."""
    facts = {"name": "agent", "argv": ("/bin/sh", "-c", script), "self_check": False, "with_pytest": False, **changes}
    return CommandProfile(**facts)  # type: ignore[arg-type]
