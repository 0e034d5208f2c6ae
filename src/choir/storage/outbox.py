"""Events that commit together with what they tell of, read afterwards in an order without gaps.

Guarantees: an event is there exactly when its transaction committed; readers see events in one
order, and nothing ever appears before a position they have passed. That order is by transaction,
not by a counter, because counters are given out before the commit: rows are shown once every older
transaction has ended. Delivery is at least once; the id makes it once for whoever looks at it.

Each event has an audience: the owners it is addressed to, `EVERYONE`, or nobody but the operator. A commit
rings `CHANNEL`; who listens there (`feed`) need not poll. Ringing makes the commits of transactions that
announce something wait for each other, so it is for what people and agents want to hear of, not for entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, LiteralString
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.foundation.clock import Clock, Entropy
from choir.foundation.errors import Invalid
from choir.foundation.ids import uuid7
from choir.storage.database import Tx

EVERYONE = "everyone"  # whoever is signed in
CHANNEL: LiteralString = "choir_outbox"
_NUMBER_MAX = 2**63 - 1


class UnknownPosition(Invalid):
    """A position that no event of this database can have come with."""

    code = "events.unknown_position"
    sentence = "There is no event with the position {position} yet."
    hint = "The node may have been restored from a backup: start over, without Last-Event-ID."


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """How far a reader has come."""

    xid: int = 0
    n: int = 0

    def __str__(self) -> str:
        return f"{self.xid}-{self.n}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """From its text, as a client gives it back."""
        xid, _, n = text.partition("-")
        if not (xid.isdecimal() and n.isdecimal() and len(text) < 48 and max(int(xid), int(n)) <= _NUMBER_MAX):
            raise Invalid(what="event position", why="it must be the position of an event")
        return cls(int(xid), int(n))


class EventType(str):
    """The name of something that can happen, with what it means; each feature's `events.py` has its own."""

    __slots__ = ("doc",)
    doc: str

    def __new__(cls, name: str, doc: str) -> EventType:
        made = super().__new__(cls, name)
        made.doc = doc
        return made


@dataclass(frozen=True, slots=True)
class Event:
    """What happened: `type` such as "bazaar.job.paid", `subject` what it happened to."""

    id: UUID
    type: str
    version: int
    subject: str
    at_us: int
    actor: str
    cause: str | None
    data: dict[str, Any]
    audience: tuple[str, ...]
    position: Position


class Outbox:
    """Writing and reading events."""

    def __init__(self, clock: Clock, entropy: Entropy) -> None:
        self._clock = clock
        self._entropy = entropy

    def announce(
        self,
        tx: Tx,
        type_: str,
        *,
        subject: str,
        actor: str,
        data: dict[str, Any],
        version: int = 1,
        cause: str | None = None,
        audience: Sequence[str] = (),
    ) -> UUID:
        """Say that something happened; it is told when the transaction commits, to its audience and the operator."""
        at_us = self._clock.now_us()
        id_ = self.new_id(at_us)
        tx.wake(event_wakeup(type_))
        tx.run(_ANNOUNCE, id_, type_, version, subject, at_us, actor, cause, Jsonb(data), list(audience), CHANNEL)
        return id_

    def announce_all(
        self, tx: Tx, type_: str, news: Sequence[tuple[str, dict[str, Any]]], *, actor: str, audience: Sequence[str]
    ) -> None:
        """Say that the same happened to several subjects, each with its data, in this order."""
        if not news:
            return
        at_us = self._clock.now_us()
        ids = [self.new_id(at_us) for _ in news]
        tx.wake(event_wakeup(type_))
        subjects, data = [subject for subject, _ in news], [Jsonb(item) for _, item in news]
        tx.run(_ANNOUNCE_ALL, type_, at_us, actor, list(audience), ids, subjects, data, CHANNEL)

    def new_id(self, at_us: int) -> UUID:
        """An id for an event of this time."""
        random = self._entropy.bytes(8)
        return uuid7(at_us, int.from_bytes(random[6:]), random[:6])

    def read(self, tx: Tx, after: Position, limit: int) -> list[Event]:
        """The next events behind a position."""
        return readable(tx.rows(PAGE, str(after.xid), after.n, limit))[0]

    def check_position(self, tx: Tx, position: Position) -> bool:
        """Whether everything behind a position is still there; raises if no event can have come with it."""
        xmin, forgotten_xid, forgotten_n = tx.rows(
            "select pg_snapshot_xmin(pg_current_snapshot())::text::bigint, xid::text::bigint, n from outbox_forgotten"
        )[0]
        if position.xid >= xmin:
            raise UnknownPosition(position=str(position))
        return position >= Position(forgotten_xid, forgotten_n)

    def end(self, tx: Tx) -> Position:
        """A position behind everything that is readable now."""
        row = tx.row(END)
        return Position(*row) if row else Position()

    def forget(self, tx: Tx, before_us: int, limit: int) -> int:
        """Remove old events, some at a time; says how many. What a subscriber has not handled yet stays."""
        rows = tx.rows(_FORGET, before_us, limit)
        if rows:
            last = max(Position(xid, n) for xid, n in rows)
            tx.run(
                "update outbox_forgotten set xid = %s::text::xid8, n = %s where (xid, n) < (%s::text::xid8, %s)",
                str(last.xid), last.n, str(last.xid), last.n,
            )  # fmt: skip
        return len(rows)


_ANNOUNCE = """
    with told as (
        insert into outbox (id, type, version, subject, at_us, actor, cause, data, audience)
        values (%s, %s, %s, %s, %s, %s, %s, %s, %s) returning 1
    )
    select pg_notify(%s, '') from told
"""
_ANNOUNCE_ALL = """
    with told as (
        insert into outbox (id, type, version, subject, at_us, actor, cause, data, audience)
        select o.id, %s, 1, o.subject, %s, %s, null, o.data, %s
        from unnest(%s::uuid[], %s::text[], %s::jsonb[]) with ordinality as o (id, subject, data, n) order by o.n
        returning 1
    )
    select pg_notify(%s, '') from told limit 1
"""
# The end of a statement that writes something else too and announces what its `news` has: n, id, type, subject, at_us,
# actor, data, audience.
ANNOUNCE_NEWS: LiteralString = f"""
    announced as (
        insert into outbox (id, type, version, subject, at_us, actor, cause, data, audience)
        select id, type, 1, subject, at_us, actor, null, data, audience from news order by n returning 1
    )
    select pg_notify('{CHANNEL}', '') from announced limit 1
"""  # noqa: S608 - a constant
# Rows that cannot be shown yet come behind those that can, because both are in one order.
PAGE: LiteralString = """
    select id, type, version, subject, at_us, actor, cause, data, audience, xid::text::bigint, n,
        xid < pg_snapshot_xmin(pg_current_snapshot())
    from outbox where (xid, n) > (%s::text::xid8, %s) order by xid, n limit %s
"""
END: LiteralString = """
    select xid::text::bigint, n from outbox where xid < pg_snapshot_xmin(pg_current_snapshot())
    order by xid desc, n desc limit 1
"""
_FORGET = """
    delete from outbox where (xid, n) in (
        select o.xid, o.n from outbox o
        where o.at_us < %s
            and not exists (select from event_subscribers s where (s.xid, s.n) < (o.xid, o.n))
            and not exists (select from event_deliveries d where d.xid = o.xid and d.n = o.n)
        order by o.at_us limit %s)
    returning xid::text::bigint, n
"""


def readable(rows: Sequence[Sequence[Any]]) -> tuple[list[Event], bool]:
    """The events of a page that may be shown, and whether others wait for an older transaction to end."""
    events = [event_from_row(*row[:-1]) for row in rows if row[-1]]
    return events, len(events) < len(rows)


def event_wakeup(type_: str) -> str:
    """What rings in this process when an event of this type has been announced."""
    return f"outbox:{type_}"


def event_from_row(*row: Any) -> Event:
    """An event from its columns, in the order of `PAGE`."""
    id_, type_, version, subject, at_us, actor, cause, data, audience, xid, n = row
    return Event(id_, type_, version, subject, at_us, actor, cause, data, tuple(audience), Position(xid, n))
