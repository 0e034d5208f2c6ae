"""Background work as an operator looks at it: tasks, those that fail, and how far each subscriber of events has come.

Guarantees: everything is read by an index and bounded; counts stop at `COUNT_MAX`; an error is shown in one short line,
and what looks like a secret in it is cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from choir.storage.database import Tx
from choir.storage.subscribers import task_name

COUNT_MAX = 1_000  # from here on "that many or more"
_ERROR_CHARS = 200
_SUBSCRIBERS_MAX = 200
_CREDENTIALS = re.compile(r"(?<=://)[^\s/@]+@")
_NAMED_SECRET = re.compile(r"(?i)\b(password|passwd|secret|token|authorization|api[_-]?key)\b(\s*[=:]\s*|\s+)\S+")
_LONG = re.compile(r"[A-Za-z0-9+/_=-]{40,}")  # keys and tokens; ids are shorter, and a hash is known by its beginning
_LONG_SHOWN = 6


@dataclass(frozen=True, slots=True)
class TaskLine:
    """A task as it stands on the list."""

    name: str
    key: str
    due_us: int
    every_us: int | None  # set: it repeats
    attempts: int  # failed ones since it last succeeded
    error: str  # the last one; empty: none
    set_aside: bool  # it is not tried again
    leased_until_us: int | None  # somebody works on it


@dataclass(frozen=True, slots=True)
class StuckEvent:
    """What keeps a subscriber from going on, for one subject."""

    subject: str
    attempts: int
    due_us: int  # when it is tried again
    error: str


@dataclass(frozen=True, slots=True)
class SubscriberLine:
    """How far a subscriber has come."""

    name: str
    behind: int  # events that it has not looked at, up to COUNT_MAX
    waiting: int  # events that it has to handle, up to COUNT_MAX
    waiting_since_us: int | None  # the time of the oldest of them
    gone_us: int | None  # set: no process of the node knows it since then
    stuck: StuckEvent | None  # the most tried of what fails


def tasks(tx: Tx, *, after: tuple[str, str] = ("", ""), limit: int) -> list[TaskLine]:
    """All tasks, in the order of name and key."""
    rows = tx.rows(_TASKS + " where (name, key) > (%s, %s) order by name, key limit %s", *after, limit)
    return [_shown(row) for row in rows]


def failing_tasks(tx: Tx, *, limit: int) -> list[TaskLine]:
    """Tasks whose last attempts failed, the most tried first."""
    rows = tx.rows(_TASKS + " where attempts > 0 order by attempts desc, name, key limit %s", limit)
    return [_shown(row) for row in rows]


def subscribers(tx: Tx) -> list[SubscriberLine]:
    """Every subscriber by name; there are as many as features declare."""
    rows = tx.rows(_SUBSCRIBERS, COUNT_MAX, COUNT_MAX, _SUBSCRIBERS_MAX)
    return [SubscriberLine(row[0], row[1], row[2], row[3], row[4], _stuck(tx, row[0])) for row in rows]


def shown_error(text: str) -> str:
    """An error in one short line, without what may be secret."""
    line = text.strip().partition("\n")[0]
    line = _NAMED_SECRET.sub(r"\1\2…", _CREDENTIALS.sub("…@", line))
    line = _LONG.sub(lambda found: f"{found.group()[:_LONG_SHOWN]}…", line)
    return line if len(line) <= _ERROR_CHARS else f"{line[: _ERROR_CHARS - 1]}…"


def _shown(row: tuple[Any, ...]) -> TaskLine:
    line = TaskLine(*row)
    return replace(line, error=shown_error(line.error))


def _stuck(tx: Tx, subscriber: str) -> StuckEvent | None:
    row = tx.row(
        "select key, attempts, due_us, coalesce(last_error, '') from tasks where name = %s and attempts > 0"
        " order by attempts desc, key limit 1",
        task_name(subscriber),
    )
    return None if row is None else StuckEvent(row[0], row[1], row[2], shown_error(row[3]))


_TASKS = """
    select name, key, due_us, every_us, attempts, coalesce(last_error, ''), set_aside, leased_until_us from tasks
"""
_SUBSCRIBERS = """
    select s.name,
        (select count(*) from (select from outbox o where (o.xid, o.n) > (s.xid, s.n) limit %s) as later),
        (select count(*) from (select from event_deliveries d where d.subscriber = s.name limit %s) as noted),
        (select min(o.at_us) from (
            select d.xid, d.n from event_deliveries d where d.subscriber = s.name limit 1000) as d
            join outbox o on o.xid = d.xid and o.n = d.n),
        s.gone_us
    from event_subscribers s order by s.name limit %s
"""
