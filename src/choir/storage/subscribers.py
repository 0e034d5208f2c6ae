"""Events that features handle: each subscriber is a durable task for each subject that something happened to.

Guarantees: a subscriber handles every event of its types that commits after it was first there, at least once, and
exactly once as far as its effects are in the transaction it is given. Events of one subject are handled one after the
other in the order of the outbox; those of other subjects, and other subscribers, wait for none of them. What fails is
tried again, later and later, for as long as it takes, and is shown by `failing`. A process that is killed loses
nothing: positions, deliveries and effects commit together. Any number of processes may do this on one database.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from choir.foundation.clock import MICROSECONDS, Clock
from choir.storage.database import Database, Tx
from choir.storage.outbox import END, Event, event_from_row, event_wakeup
from choir.storage.tasks import Quick, Task

log = logging.getLogger(__name__)

_PAGE_ROWS = 1000  # looked at in one transaction
_EVENTS_AT_ONCE = 50  # of one subject, handled in one transaction
_TASK = "event:"

Handle = Callable[[Tx, Event], None]


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Who handles which events."""

    name: str  # the feature and what it does, such as "novelty.score"
    types: tuple[str, ...]
    handle: Handle


@dataclass(frozen=True, slots=True)
class FailingSubscriber:
    """An event that could not be handled so far, and what keeps it from being handled."""

    subscriber: str
    subject: str
    attempts: int
    error: str


class Subscribers:
    """Hands events out to the subscribers of a node."""

    def __init__(self, subscribers: Sequence[Subscriber], database: Database, clock: Clock, keep_s: int) -> None:
        names = [subscriber.name for subscriber in subscribers]
        assert len(set(names)) == len(names), "each subscriber has a name of its own"
        self._subscribers = tuple(subscribers)
        self._database = database
        self._clock = clock
        self._keep_s = keep_s  # how long events are kept, and so is the place of a subscriber that is gone

    @property
    def wakeups(self) -> tuple[str, ...]:
        """What rings when something was announced that somebody here handles."""
        return tuple(sorted({event_wakeup(type_) for one in self._subscribers for type_ in one.types}))

    def handlers(self) -> dict[str, Quick]:
        """What the scheduler does for each subscriber's tasks."""
        return {_TASK + one.name: self._handler(one) for one in self._subscribers}

    def register(self, tx: Tx) -> None:
        """Note who is there: a new subscriber begins behind what happened so far.

        One that is gone keeps its place for as long as events are kept; then it is forgotten, and so is what waits.
        """
        names = [one.name for one in self._subscribers]
        now_us = self._clock.now_us()
        tx.run("update event_subscribers set gone_us = null where name = any(%s)", names)
        tx.run("update event_subscribers set gone_us = %s where gone_us is null and not name = any(%s)", now_us, names)
        gone = tx.rows(
            "delete from event_subscribers where gone_us <= %s returning name", now_us - self._keep_s * MICROSECONDS
        )
        for (name,) in gone:
            tx.run("delete from tasks where name = %s", _TASK + name)
            log.warning("a subscriber is no longer there", extra={"subscriber": name})
        xid, n = tx.row(END) or (0, 0)
        for name in names:
            tx.run(
                "insert into event_subscribers (name, xid, n) values (%s, %s::text::xid8, %s) on conflict do nothing",
                name, str(xid), n,
            )  # fmt: skip

    def hand_out(self) -> int:
        """Give every subscriber what happened since the last time; says how many deliveries that made."""
        return sum(self._all_of(one) for one in self._subscribers)

    def _all_of(self, subscriber: Subscriber) -> int:
        total = 0
        while True:
            seen, made = self._database.run(lambda tx: self._page(tx, subscriber))
            total += made
            if seen < _PAGE_ROWS:
                return total

    def _page(self, tx: Tx, subscriber: Subscriber) -> tuple[int, int]:
        """The next events: note which wait for the subscriber, and that they have been looked at."""
        position = tx.row(
            "select xid::text, n from event_subscribers where name = %s for update skip locked", subscriber.name
        )
        if position is None:  # another process is at it
            return 0, 0
        page = tx.rows(_NEXT, *position, _PAGE_ROWS)
        wanted = [row for row in page if row[3] in subscriber.types]
        if wanted:
            self._deliver(tx, subscriber, wanted)
        if page:
            tx.run(
                "update event_subscribers set xid = %s::text::xid8, n = %s where name = %s",
                page[-1][0], page[-1][1], subscriber.name,
            )  # fmt: skip
        return len(page), len(wanted)

    def _deliver(self, tx: Tx, subscriber: Subscriber, rows: Sequence[tuple[str, int, str, str]]) -> None:
        tx.run(
            "insert into event_deliveries (subscriber, xid, n, subject)"
            " select %s, x::xid8, i, s from unnest(%s::text[], %s::bigint[], %s::text[]) as rows (x, i, s)"
            " on conflict do nothing",  # after a restore some are looked at again
            subscriber.name, [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows],
        )  # fmt: skip
        name = _TASK + subscriber.name
        tx.wake(name)
        for subject in sorted({row[2] for row in rows}):
            tx.run(_WAKE, name, subject, self._clock.now_us())

    def _handler(self, subscriber: Subscriber) -> Quick:
        def handle(tx: Tx, task: Task) -> None:
            self._handle(tx, task, subscriber)

        return handle

    def _handle(self, tx: Tx, task: Task, subscriber: Subscriber) -> None:
        """Handle the subject's events in order; at one that fails, keep what was done and stop."""
        rows = tx.rows(_WAITING, subscriber.name, task.key, _EVENTS_AT_ONCE + 1)
        for number, row in enumerate(rows[:_EVENTS_AT_ONCE]):
            event = event_from_row(*row)
            try:
                with tx.savepoint():
                    subscriber.handle(tx, event)
            except Exception:
                if number == 0:
                    raise  # the task fails, and is tried again later
                _go_on(tx, task)
                return
            tx.run(
                _HANDLED,
                subscriber.name, task.key, str(event.position.xid), event.position.n,
            )  # fmt: skip
        if len(rows) > _EVENTS_AT_ONCE:
            _go_on(tx, task)


def task_name(subscriber: str) -> str:
    """What the tasks of a subscriber are called."""
    return _TASK + subscriber


def failing(tx: Tx, limit: int) -> list[FailingSubscriber]:
    """What could not be handled so far, the most tried first."""
    rows = tx.rows(
        "select substr(name, %s), key, attempts, coalesce(last_error, '') from tasks"
        " where starts_with(name, %s) and attempts > 0 order by attempts desc, name, key limit %s",
        len(_TASK) + 1, _TASK, limit,
    )  # fmt: skip
    return [FailingSubscriber(*row) for row in rows]


def _go_on(tx: Tx, task: Task) -> None:
    """There is more to do: another due time keeps the task on the list."""
    tx.run("update tasks set due_us = due_us - 1 where name = %s and key = %s", task.name, task.key)


_HANDLED = """
    delete from event_deliveries where subscriber = %s and subject = %s and xid = %s::text::xid8 and n = %s
"""
_NEXT = """
    select xid::text, n, subject, type from outbox
    where (xid, n) > (%s::text::xid8, %s) and xid < pg_snapshot_xmin(pg_current_snapshot()) order by xid, n limit %s
"""
# The update does nothing but lock the row: whoever handles this subject just now has either seen these deliveries, or
# has ended and removed the task before it is made again.
_WAKE = """
    insert into tasks (name, key, due_us) values (%s, %s, %s)
    on conflict (name, key) do update set token = tasks.token
"""
_WAITING = """
    select o.id, o.type, o.version, o.subject, o.at_us, o.actor, o.cause, o.data, o.audience, o.xid::text::bigint, o.n
    from event_deliveries d join outbox o on o.xid = d.xid and o.n = d.n
    where d.subscriber = %s and d.subject = %s order by d.xid, d.n limit %s
"""
