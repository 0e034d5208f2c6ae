"""The worker pool of a provider: routes orders to workers, many at once, each alone.

Guarantees: no more jobs are active than there is capacity; an exception or a hang in one job changes nothing for
another; every order that was taken gets exactly one outcome, also if its worker never stops: then the outcome is
`Stuck`, and its place stays lost until the worker lets go of it. A worker that broke down several times in a row rests
for a while. Draining takes nothing new and lets what runs finish.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field, replace
from typing import Protocol

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.workers.fulfilment import FulfilledOrder
from choir.bazaar.workers.model import BrokeDown, IsCancelled, NoPlace, Stopped, Stuck, Worker, WorkOrder
from choir.foundation.errors import Unavailable
from choir.sandbox.model import Result, Spec, Tier
from choir.sandbox.pool import Pool
from choir.sandbox.pump import OnOutput

_TICK_S = 0.05


class Fulfiller(Protocol):
    """How an order is fulfilled; `fulfilling.fulfil` with a provider's key."""

    def __call__(self, order: WorkOrder, worker: Worker, cancelled: IsCancelled) -> FulfilledOrder: ...


@dataclass(slots=True)
class _Record:
    """How a worker has been doing."""

    done: int = 0
    refused: int = 0
    broke_down: int = 0
    in_a_row: int = 0
    rests_until: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class _Active:
    order: WorkOrder
    worker: Worker
    future: Future[FulfilledOrder]
    began: float
    stop: threading.Event = field(default_factory=threading.Event)
    stopping_since: float | None = None


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """One worker, for the live view and the heartbeat."""

    name: str
    types: tuple[str, ...]
    problem: str  # why it gets no job, or nothing
    done: int
    refused: int
    broke_down: int
    mean_s: float


@dataclass(frozen=True, slots=True)
class PoolHealth:
    """The whole pool."""

    capacity: int
    active: int
    stuck: int
    draining: bool
    jobs: tuple[str, ...]  # the orders that are being worked on
    workers: tuple[WorkerHealth, ...]

    @property
    def free(self) -> int:
        return 0 if self.draining else max(0, self.capacity - self.active - self.stuck)


class WorkerPool:
    """Takes orders and gives futures. Safe to call from many threads."""

    def __init__(
        self, workers: Sequence[Worker], fulfils: Fulfiller, policy: WorkersPolicy, capacity: int | None = None
    ) -> None:
        self._workers = tuple(workers)
        self._fulfils = fulfils
        self._policy = policy
        self.capacity = policy.capacity if capacity is None else capacity
        self._lock = threading.Condition()
        self._records = {id(worker): _Record() for worker in self._workers}
        self._active: dict[int, _Active] = {}
        self._stuck: set[int] = set()
        self._counter = 0
        self._draining = self._closed = False
        self._watch = threading.Thread(target=self._watch_over, name="choir-worker-watch", daemon=True)
        self._watch.start()

    # --- taking work ---

    def types(self) -> frozenset[JobType]:
        """What can be done here now."""
        with self._lock:
            return frozenset(kind for worker in self._workers if not self._problem(worker) for kind in worker.types)

    def submit(self, order: WorkOrder) -> Future[FulfilledOrder]:
        """Take an order, or refuse it at once. The first worker that does this type and is well gets it."""
        with self._lock:
            worker = self._choose(order.type)
            self._counter += 1
            number = self._counter
            item = _Active(order, worker, Future(), time.monotonic())
            item.future.set_running_or_notify_cancel()
            self._active[number] = item
        thread = threading.Thread(target=self._run, args=(number, item), name=f"choir-job-{order.job}", daemon=True)
        thread.start()
        return item.future

    def _choose(self, kind: JobType) -> Worker:
        if self._draining:
            raise NoPlace(why="the provider is stopping")
        able = [worker for worker in self._workers if kind in worker.types]
        if not able:
            raise NoPlace(why=f"no worker here does {kind.value}")
        if len(self._active) + len(self._stuck) >= self.capacity:
            raise NoPlace(why=f"all {self.capacity} slots are in use")
        well = [worker for worker in able if not self._problem(worker)]
        if not well:
            raise NoPlace(why=f"{able[0].name} is unhealthy: {self._problem(able[0])}")
        return well[0]

    def cancel(self, job: str) -> bool:
        """Stop the work on a job; its outcome comes by the future. False if nobody works on it."""
        with self._lock:
            found = [item for item in self._active.values() if item.order.job == job]
            for item in found:
                item.stop.set()
            return bool(found)

    # --- the end ---

    def drain(self, seconds: float | None = None) -> bool:
        """Take nothing new and wait for what runs; whether all of it ended in time."""
        until = time.monotonic() + (self._policy.drain_s if seconds is None else seconds)
        with self._lock:
            self._draining = True
            while self._active:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                self._lock.wait(left)
            return True

    def close(self) -> None:
        """Stop everything; comes back when every order has its outcome."""
        with self._lock:
            self._draining = True
            for item in self._active.values():
                item.stop.set()
            while self._active:  # the watch gives up on whoever does not stop
                self._lock.wait(_TICK_S)
            self._closed = True
        self._watch.join()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- health ---

    def health(self) -> PoolHealth:
        with self._lock:
            jobs = tuple(item.order.job for item in self._active.values())
            told = tuple(self._health(worker) for worker in self._workers)
            return PoolHealth(self.capacity, len(self._active), len(self._stuck), self._draining, jobs, told)

    def _health(self, worker: Worker) -> WorkerHealth:
        record = self._records[id(worker)]
        total = record.done + record.refused + record.broke_down
        kinds = tuple(sorted(kind.value for kind in worker.types))
        mean_s = record.seconds / total if total else 0.0
        problem = self._problem(worker)
        return WorkerHealth(worker.name, kinds, problem, record.done, record.refused, record.broke_down, mean_s)

    def _problem(self, worker: Worker) -> str:
        left = self._records[id(worker)].rests_until - time.monotonic()
        if left > 0:
            return f"it crashed too often and is paused for {left:.0f} seconds"
        try:
            return worker.problem()
        except Exception as error:  # a worker that cannot even say how it is
            return f"{type(error).__name__} when it was asked"

    # --- work ---

    def _run(self, number: int, item: _Active) -> None:
        """One order in a thread of its own."""
        outcome: FulfilledOrder | None = None
        error: BaseException | None = None
        try:
            outcome = self._fulfils(item.order, item.worker, item.stop.is_set)
        except BaseException as raised:  # also what no worker should raise; the thread ends here
            error = raised if isinstance(raised, BrokeDown) else BrokeDown(why=type(raised).__name__)
        with self._lock:
            self._stuck.discard(number)
            if self._active.pop(number, None) is None:
                self._lock.notify_all()
                return  # it was given up long ago
            self._note(item, outcome)
            self._lock.notify_all()
        _resolve(item.future, outcome, error)

    def _note(self, item: _Active, outcome: FulfilledOrder | None) -> None:
        record = self._records[id(item.worker)]
        record.seconds += time.monotonic() - item.began
        if outcome is not None and outcome.is_done:
            record.done += 1
            record.in_a_row = 0
        elif outcome is not None and not isinstance(outcome.error, BrokeDown | Unavailable):
            record.refused += 1
            record.in_a_row = 0
        else:
            record.broke_down += 1
            record.in_a_row += 1
            if record.in_a_row >= self._policy.failures_in_a_row_max:
                record.rests_until = time.monotonic() + self._policy.rest_s
                record.in_a_row = 0

    def _watch_over(self) -> None:
        """Stop what is past its deadline; give up what does not stop."""
        while True:
            with self._lock:
                if self._closed:
                    return
                lost = [number for number, item in self._active.items() if self._is_stuck(item)]
                given_up = [self._active.pop(number) for number in lost]
                self._stuck.update(lost)
                for item in given_up:
                    self._note(item, None)
                if given_up:
                    self._lock.notify_all()
            for item in given_up:
                _resolve(item.future, None, Stuck(seconds=self._policy.stuck_s))
            time.sleep(_TICK_S)

    def _is_stuck(self, item: _Active) -> bool:
        now = time.monotonic()
        if now > item.order.deadline:
            item.stop.set()
        if not item.stop.is_set():
            return False
        if item.stopping_since is None:
            item.stopping_since = now
        return now - item.stopping_since > self._policy.stuck_s


def _resolve(future: Future[FulfilledOrder], outcome: FulfilledOrder | None, error: BaseException | None) -> None:
    if outcome is not None:
        future.set_result(outcome)
    else:
        future.set_exception(error or BrokeDown(why="no outcome"))


class PooledRunner:
    """Runs specs by the sandbox pool, so that all workers together stay within the machine's means.

    With a tier, everything runs in that one and in no other.
    """

    def __init__(self, pool: Pool, tier: Tier | None = None) -> None:
        self._pool = pool
        self._tier = tier

    def run(
        self, spec: Spec, on_output: OnOutput | None = None, cancelled: Callable[[], bool] = lambda: False
    ) -> Result:
        """Wait for a place, run, and stop when told to, whether it waits or runs."""
        spec = spec if self._tier is None else replace(spec, tier=self._tier)
        future = self._pool.submit(spec, on_output)
        while True:
            try:
                return future.result(timeout=_TICK_S)
            except TimeoutError:
                if future.done():
                    return future.result()
                if cancelled():
                    return self._stopped(future)

    def _stopped(self, future: Future[Result]) -> Result:
        self._pool.stop(future)
        try:
            return future.result()
        except CancelledError:
            raise Stopped from None
