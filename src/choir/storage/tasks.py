"""Background work: one table, claimed by whichever process is free.

Guarantees: a quick task's effect and its completion commit together, so it happens once; a slow task
runs without an open transaction under a lease, and the fencing token keeps a process that was
thought dead from completing what another has taken over. What fails is tried again, later and
later, and set aside with its error at the end, unless it is persistent. A repeating task is rescheduled from its due
time; if that is further away than it repeats itself, the clock went back, and it is done now. A task that is put on the
list is begun at once by a free scheduler of the same process, and within a second by any other. One that is hastened
while it is being done is done once more afterwards, so that nothing which was asked for is lost. Of what is due, a task
that yields comes behind those that became due up to so much later; alone it waits for nobody.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.foundation.clock import MICROSECONDS, Clock
from choir.foundation.errors import ChoirError, Unavailable
from choir.storage.database import Database, Tx
from choir.storage.policy import NodePolicy

log = logging.getLogger(__name__)

_ERROR_CHARS_MAX = 500
_IDLE_S_MAX = 1.0  # how long a free worker sleeps before it looks again


@dataclass(frozen=True, slots=True)
class Task:
    """A claimed task."""

    name: str
    key: str
    due_us: int
    payload: dict[str, Any]
    every_us: int | None
    attempts: int
    token: int  # grows with every claim


class Postponed(Exception):
    """A slow task was left where it is, because this process ends: whoever comes next does it, at once."""


Quick = Callable[[Tx, Task], object]
Slow = Callable[[Task], object]


@dataclass(frozen=True, slots=True)
class Handlers:
    """What is done for a task of some name."""

    quick: Mapping[str, Quick]
    slow: Mapping[str, Slow]
    persistent: Collection[str] = ()  # names of tasks that are never set aside, however often they fail

    @property
    def names(self) -> list[str]:
        return [*self.quick, *self.slow]


def schedule(
    tx: Tx,
    name: str,
    key: str,
    due_us: int,
    *,
    payload: dict[str, Any] | None = None,
    every_us: int | None = None,
    yields_us: int = 0,
) -> bool:
    """Put a task on the list unless one of this name and key is there; says whether it did."""
    tx.wake(name)
    return bool(
        tx.run(
            "insert into tasks (name, key, due_us, payload, every_us, yields_us) values (%s, %s, %s, %s, %s, %s)"
            " on conflict (name, key) do nothing",
            name, key, due_us, Jsonb(payload or {}), every_us, yields_us,
        )
    )  # fmt: skip


def hasten(tx: Tx, name: str, now_us: int) -> None:
    """Have a task without a key done now, also if it was set aside; once more if it is just being done."""
    tx.wake(name)
    tx.run(_HASTEN, name, now_us)


@dataclass(frozen=True, slots=True)
class Failures:
    """How often a task failed since it last succeeded or was hastened, and the last of its errors."""

    attempts: int
    last_error: str | None


def failures(tx: Tx, name: str) -> Failures:
    """Of a task without a key."""
    row = tx.row("select attempts, last_error from tasks where name = %s and key = ''", name)
    return Failures(0, None) if row is None else Failures(*row)


def turn_back(tx: Tx, since_us: int, by_us: int) -> None:
    """The clock was at the one time and is so much earlier now: what was due is due, all else keeps the time left."""
    now_us = since_us - by_us
    tx.run("update tasks set due_us = greatest(due_us - %s, %s) where due_us > %s", by_us, now_us, now_us)
    tx.run("update tasks set leased_until_us = leased_until_us - %s where leased_until_us > %s", by_us, since_us)


def keep_place(tx: Tx, task: Task, payload: dict[str, Any]) -> None:
    """Note in a repeating task where its next round goes on."""
    tx.run("update tasks set payload = %s where name = %s and key = %s", Jsonb(payload), task.name, task.key)


def forget_leases(tx: Tx) -> None:
    """No process of this node lives, so nobody works on what was claimed; one that lives after all is fenced off."""
    tx.run("update tasks set leased_until_us = null where leased_until_us is not null")


class Scheduler:
    """Runs due tasks in a thread of this process."""

    def __init__(self, database: Database, handlers: Handlers, clock: Clock, policy: NodePolicy) -> None:
        self._database = database
        self._handlers = handlers
        self._clock = clock
        self._policy = policy
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._database.wakeups.listen(self._handlers.names, self._hear)
        self._thread = threading.Thread(target=self._loop, name="scheduler", daemon=True)
        self._thread.start()

    def stop(self, wait_s: float = 10.0) -> None:
        self.halt()
        if self._thread is not None:
            self._thread.join(wait_s)

    def halt(self) -> None:
        """Begin nothing more; what is under way goes on."""
        self._database.wakeups.leave(self._hear)
        self._stop.set()
        self.wake()

    def wake(self) -> None:
        """Look for due tasks now, if nothing is being done."""
        self._woken.set()

    def _hear(self, _wakeup: str, _item: UUID | None) -> None:
        self.wake()

    def run_due(self) -> int:
        """Run everything that is due now; says how many tasks were run."""
        count = 0
        while not self._stop.is_set() and self._run_one():
            count += 1
        return count

    def _loop(self) -> None:
        while not self._stop.is_set():
            self._woken.clear()  # before looking: what comes while we look is looked for again
            try:
                self.run_due()
            except ChoirError as error:  # the database is away: the next look may find it
                log.warning("background work is waiting", extra={"error": error.code})
            except Exception:
                log.exception("background work failed")
            self._woken.wait(_IDLE_S_MAX)

    def _run_one(self) -> bool:
        if not self._handlers.quick:  # then nothing has to commit together with the claim
            with self._database.statements() as tx:
                task = self._claim(tx)
            if task is not None:
                self._run_slow(task)
            return task is not None
        quick: Task | None = None
        try:
            with self._database.unit_of_work() as tx:
                task = self._claim(tx)
                if task is None:
                    return False
                if task.name in self._handlers.quick:
                    quick = task
                    self._handlers.quick[task.name](tx, task)
                    self._complete(tx, task)
        except Exception as error:
            if quick is None:
                raise
            self._failed(quick, error)
            return True
        if quick is None:
            self._run_slow(task)
        return True

    def _run_slow(self, task: Task) -> None:
        try:
            with self._renewing(task):
                self._handlers.slow[task.name](task)
        except Postponed:
            self._let_go(task)
        except Exception as error:
            self._failed(task, error)
        else:
            with self._database.statements() as tx:
                self._complete(tx, task)

    @contextmanager
    def _renewing(self, task: Task) -> Iterator[None]:
        """Keep the lease while the work goes on, so that it can be short: a dead process is soon replaced."""
        done = threading.Event()

        def renew() -> None:
            while not done.wait(self._policy.task_lease_s / 3):
                try:
                    self._database.run(lambda tx: self._extend(tx, task))
                except ChoirError as error:  # the next time may be better; if not, somebody else takes over
                    log.warning("a lease could not be renewed", extra={"task": task.name, "error": error.code})

        thread = threading.Thread(target=renew, name="lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    def _extend(self, tx: Tx, task: Task) -> None:
        until_us = self._clock.now_us() + self._policy.task_lease_s * MICROSECONDS
        tx.run(
            "update tasks set leased_until_us = %s where name = %s and key = %s and token = %s",
            until_us, task.name, task.key, task.token,
        )  # fmt: skip

    def _let_go(self, task: Task) -> None:
        with self._database.unit_of_work() as tx:
            tx.run(
                "update tasks set leased_until_us = null where name = %s and key = %s and token = %s",
                task.name, task.key, task.token,
            )  # fmt: skip

    def _claim(self, tx: Tx) -> Task | None:
        now_us = self._clock.now_us()
        leased_until_us = now_us + self._policy.task_lease_s * MICROSECONDS
        row = tx.row(_CLAIM, now_us, now_us, now_us, self._handlers.names, list(self._handlers.slow), leased_until_us)
        return None if row is None else Task(*row)

    def _complete(self, tx: Tx, task: Task) -> None:
        own = (task.name, task.key, task.token)
        if task.every_us is None and tx.run(
            "delete from tasks where name = %s and key = %s and token = %s and due_us = %s", *own, task.due_us
        ):
            return
        next_us = task.due_us
        if task.every_us is not None:
            now_us = self._clock.now_us()
            next_us = min(task.due_us, now_us)  # the clock may have gone back
            next_us += ((now_us - next_us) // task.every_us + 1) * task.every_us  # after a long sleep once
        tx.run(
            "update tasks set due_us = case when due_us = %s then %s else due_us end,"  # else it was hastened meanwhile
            " attempts = 0, last_error = null, leased_until_us = null where name = %s and key = %s and token = %s",
            task.due_us, next_us, *own,
        )  # fmt: skip

    def _may_set_aside(self, task: Task) -> bool:
        return task.every_us is None and task.name not in self._handlers.persistent

    def _failed(self, task: Task, error: Exception) -> None:
        if self._database.stopping and isinstance(error, Unavailable):
            log.info("a task was cut off by the end of this process", extra={"task": task.name, "key": task.key})
            return
        log.warning("a task failed", exc_info=error, extra={"task": task.name, "key": task.key})
        policy = self._policy
        attempts = task.attempts + 1
        pause_s = min(policy.task_backoff_s * 2 ** min(attempts - 1, 30), policy.task_backoff_s_max)
        with self._database.unit_of_work() as tx:
            tx.run(
                "update tasks set attempts = %s, last_error = %s, due_us = %s, leased_until_us = null,"
                " set_aside = %s where name = %s and key = %s and token in (%s, %s) and due_us = %s",
                attempts,
                _storable(f"{type(error).__name__}: {error}")[:_ERROR_CHARS_MAX],
                self._clock.now_us() + pause_s * MICROSECONDS,
                attempts >= policy.task_attempts_max and self._may_set_aside(task),
                task.name,
                task.key,
                task.token,
                task.token - 1,  # a quick task's claim was rolled back with its effect
                task.due_us,  # else another worker has dealt with it meanwhile
            )


def _storable(text: str) -> str:
    """Text as the database takes it: valid Unicode without zero characters."""
    return text.encode(errors="replace").decode().replace("\0", "?")


# A task that is being done gets another due time, by which whoever completes it sees that it has to be done again.
_HASTEN = """
    insert into tasks (name, key, due_us) values (%s, '', %s)
    on conflict (name, key) do update set attempts = 0, set_aside = false, due_us = case
        when tasks.leased_until_us is null then least(tasks.due_us, excluded.due_us)
        else greatest(excluded.due_us, tasks.due_us + 1) end
"""

_CLAIM = """
    with due as (
        select name, key from tasks
        where (due_us <= %s or due_us > %s + every_us and attempts = 0) and not set_aside
            and (leased_until_us is null or leased_until_us <= %s)
            and name = any(%s)
        order by due_us + yields_us limit 1 for update skip locked
    )
    update tasks t set token = t.token + 1, leased_until_us = case when t.name = any(%s) then %s::bigint end
    from due where t.name = due.name and t.key = due.key
    returning t.name, t.key, t.due_us, t.payload, t.every_us, t.attempts, t.token
"""
