"""Events that commit together with what they tell of, read afterwards in an order without gaps.

Guarantees: an event is there exactly when its transaction committed; readers see events in one
order, and nothing ever appears before a position they have passed. That order is by transaction,
not by a counter, because counters are given out before the commit: rows are shown once every older
transaction has ended. Delivery is at least once; the id makes it once for whoever looks at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.foundation.clock import Clock, Entropy
from choir.foundation.errors import Invalid
from choir.foundation.ids import uuid7
from choir.storage.database import Tx

_NUMBER_MAX = 2**63 - 1


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
            raise Invalid(what="event position", why="it must be one that an event came with")
        return cls(int(xid), int(n))


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
    ) -> UUID:
        """Say that something happened; it is told when the transaction commits."""
        at_us = self._clock.now_us()
        random = self._entropy.bytes(8)
        id_ = uuid7(at_us, int.from_bytes(random[6:]), random[:6])
        tx.run(
            "insert into outbox (id, type, version, subject, at_us, actor, cause, data)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s)",
            id_, type_, version, subject, at_us, actor, cause, Jsonb(data),
        )  # fmt: skip
        return id_

    def read(self, tx: Tx, after: Position, limit: int) -> list[Event]:
        """The next events behind a position."""
        rows = tx.rows(
            "select id, type, version, subject, at_us, actor, cause, data, xid::text::bigint, n from outbox"
            " where (xid, n) > (%s::text::xid8, %s) and xid < pg_snapshot_xmin(pg_current_snapshot())"
            " order by xid, n limit %s",
            str(after.xid), after.n, limit,
        )  # fmt: skip
        return [_event(*row) for row in rows]

    def end(self, tx: Tx) -> Position:
        """A position behind everything that is readable now."""
        row = tx.row(
            "select xid::text::bigint, n from outbox where xid < pg_snapshot_xmin(pg_current_snapshot())"
            " order by xid desc, n desc limit 1"
        )
        return Position(*row) if row else Position()

    def forget(self, tx: Tx, before_us: int, limit: int) -> int:
        """Remove old events, some at a time; says how many."""
        return tx.run(
            "delete from outbox where (xid, n) in (select xid, n from outbox where at_us < %s order by at_us limit %s)",
            before_us,
            limit,
        )


def _event(*row: Any) -> Event:
    id_, type_, version, subject, at_us, actor, cause, data, xid, n = row
    return Event(id_, type_, version, subject, at_us, actor, cause, data, Position(xid, n))
