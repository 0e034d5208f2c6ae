"""Many runs at once, within the machine's means.

Guarantees: the memory promised to active runs never exceeds the pool's, and no more runs are active than it
has places; owners take turns, so that one with a thousand runs cannot keep another waiting behind them; what
does not fit in the queue is refused at once with a typed error. A run at the head of its owner's queue that
needs much memory is waited for and not overtaken for ever.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from choir.sandbox import rules
from choir.sandbox.model import PoolClosed, PoolFull, PoolTooSmall, Result, Spec
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.pump import OnOutput


class Runner(Protocol):
    """What the pool runs specs with."""

    def run(self, spec: Spec, on_output: OnOutput | None = None, cancelled: Callable[[], bool] = ...) -> Result: ...


@dataclass(frozen=True, slots=True)
class PoolCapacity:
    """What the pool may use."""

    memory_bytes: int
    runs: int
    waiting: int
    waiting_per_owner: int


@dataclass(slots=True, eq=False)
class _Waiting:
    spec: Spec
    memory_bytes: int
    on_output: OnOutput | None
    future: Future[Result]
    stop: threading.Event = field(default_factory=threading.Event)


def means_of_machine(policy: SandboxPolicy, shares: int = 1) -> PoolCapacity:
    """The part of this machine that runs may use, divided among so many processes of the node."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0))
    return PoolCapacity(
        memory_bytes=memory * policy.pool_memory_percent // 100 // shares,
        runs=max(1, cores * policy.pool_runs_per_core // shares),
        waiting=policy.pool_waiting_max,
        waiting_per_owner=policy.pool_waiting_per_owner_max,
    )


class Pool:
    """Takes specs from many owners and runs them in turns."""

    def __init__(self, runner: Runner, policy: SandboxPolicy, means: PoolCapacity | None = None) -> None:
        self.means = means or means_of_machine(policy)
        self._runner = runner
        self._policy = policy
        self._changed = threading.Condition()
        self._queues: OrderedDict[str, deque[_Waiting]] = OrderedDict()  # the first owner is next
        self._waiting = 0
        self._memory_used = 0
        self._active: set[_Waiting] = set()
        self._closed = False
        self.memory_peak_bytes = 0  # most that was promised at once
        self._threads = [threading.Thread(target=self._work, name=f"choir-run-{n}") for n in range(self.means.runs)]
        for thread in self._threads:
            thread.daemon = True
            thread.start()

    def submit(self, spec: Spec, on_output: OnOutput | None = None) -> Future[Result]:
        """Queue a run; its result or refusal comes by the future. `stop` takes it back or stops it."""
        limits = rules.effective_limits(spec.limits, self._policy)
        if limits.memory_bytes > self.means.memory_bytes:
            raise PoolTooSmall(needed=limits.memory_bytes, limit=self.means.memory_bytes)
        waiting = _Waiting(spec, limits.memory_bytes, on_output, Future())
        with self._changed:
            if self._closed:
                raise PoolClosed
            queue = self._queues.get(spec.owner)
            if self._waiting >= self.means.waiting or len(queue or ()) >= self.means.waiting_per_owner:
                self._drop_cancelled()
                queue = self._queues.get(spec.owner)
            if self._waiting >= self.means.waiting:
                raise PoolFull(waiting=self._waiting, limit=self.means.waiting)
            if queue is not None and len(queue) >= self.means.waiting_per_owner:
                raise PoolFull(waiting=len(queue), limit=self.means.waiting_per_owner)
            self._queues.setdefault(spec.owner, deque()).append(waiting)
            self._waiting += 1
            self._changed.notify()
        return waiting.future

    def run(self, spec: Spec, on_output: OnOutput | None = None) -> Result:
        """Queue a run and wait for it."""
        return self.submit(spec, on_output).result()

    def stop(self, future: Future[Result]) -> None:
        """Stop a run, whether it waits or is going on; what it did so far is its result."""
        if future.cancel():
            return
        with self._changed:
            for waiting in self._active:
                if waiting.future is future:
                    waiting.stop.set()

    def state(self) -> dict[str, int]:
        """How full the pool is."""
        with self._changed:
            return {"active": len(self._active), "waiting": self._waiting, "memory_bytes": self._memory_used}

    def close(self) -> None:
        """Refuse what waits, stop what runs, and come back when all is gone."""
        with self._changed:
            self._closed = True
            waiting = [item for queue in self._queues.values() for item in queue]
            self._queues.clear()
            self._waiting = 0
            for item in self._active:
                item.stop.set()
            self._changed.notify_all()
        for item in waiting:
            if item.future.set_running_or_notify_cancel():
                item.future.set_exception(PoolClosed())
        for thread in self._threads:
            thread.join()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        while (item := self._next()) is not None:
            try:
                result = self._runner.run(item.spec, item.on_output, item.stop.is_set)
            except BaseException as error:
                item.future.set_exception(error)
            else:
                item.future.set_result(result)
            finally:
                self._done(item)

    def _next(self) -> _Waiting | None:
        """The next run that fits; blocks until there is one, None when the pool is closed."""
        with self._changed:
            while True:
                if self._closed:
                    return None
                item = self._take()
                if item is not None:
                    return item
                self._changed.wait()

    def _take(self) -> _Waiting | None:
        """The head of the next owner's queue, if its memory is free."""
        while self._queues:
            owner, queue = next(iter(self._queues.items()))
            item = queue[0]
            if item.future.cancelled():
                self._drop(owner, queue)
                continue
            if self._memory_used + item.memory_bytes > self.means.memory_bytes:
                return None  # it is next, and nobody overtakes it
            self._drop(owner, queue)
            if not item.future.set_running_or_notify_cancel():
                continue
            self._memory_used += item.memory_bytes
            self.memory_peak_bytes = max(self.memory_peak_bytes, self._memory_used)
            self._active.add(item)
            return item
        return None

    def _drop_cancelled(self) -> None:
        """What was taken back needs no place in the queue, even if its turn has not come."""
        for owner, queue in list(self._queues.items()):
            kept = deque(item for item in queue if not item.future.cancelled())
            self._waiting -= len(queue) - len(kept)
            if kept:
                self._queues[owner] = kept
            else:
                del self._queues[owner]

    def _drop(self, owner: str, queue: deque[_Waiting]) -> None:
        queue.popleft()
        self._waiting -= 1
        if queue:
            self._queues.move_to_end(owner)
        else:
            del self._queues[owner]

    def _done(self, item: _Waiting) -> None:
        with self._changed:
            self._active.discard(item)
            self._memory_used -= item.memory_bytes
            self._changed.notify_all()
