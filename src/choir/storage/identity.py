"""Who this node is: its id, the name of its ledger, its mode, and its clock's offset.

Guarantees: made once with the database; the mode never changes; only a development node's clock can
be moved, and all processes on the database see the same time within a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, Clock, Entropy
from choir.foundation.errors import ChoirError, Invalid, Refusal, Unavailable
from choir.foundation.ids import show_id, uuid7
from choir.storage.database import Connection, Database, Tx

_OFFSET_FRESH_S = 1.0
_OFFSET_WAIT_S = 0.05
_OFFSET_MAX_US = 100 * 366 * 86_400 * MICROSECONDS  # entries keep their times, and no time is after the year 9999


class ModeIsFixed(Refusal):
    """A database keeps the mode it was made with."""

    code = "node.mode_fixed"
    sentence = "This database was created as a {made} node and cannot run as {asked}."
    hint = "Set CHOIR_MODE={made}, or use another CHOIR_HOME."


class ProductionClock(Refusal):
    """A production node runs on real time."""

    code = "node.production_clock"
    sentence = "The clock of a production node cannot be moved."


class NotPrepared(Unavailable):
    """The database was migrated and never made a node."""

    code = "node.not_prepared"
    sentence = "This database has no node yet."
    hint = "Start one with `choir up`."


@dataclass(frozen=True, slots=True)
class NodeIdentity:
    """The row that makes a database a node."""

    id: UUID
    mode: str
    origin: str  # the ledger's name in checkpoints
    created_us: int

    @property
    def production(self) -> bool:
        return self.mode == "production"

    def must_be(self, mode: str) -> None:
        """Raise unless the database was made with this mode."""
        if self.mode != mode:
            raise ModeIsFixed(made=self.mode, asked=mode)


def make_identity(db: Connection, mode: str, clock: Clock, entropy: Entropy) -> NodeIdentity:
    """Make this database a node, once; a node that exists keeps its mode."""
    now_us = clock.now_us()
    random = entropy.bytes(8)
    id_ = uuid7(now_us, int.from_bytes(random[6:]), random[:6])
    origin = f"choir/{show_id('node', id_)}"
    db.execute(
        "insert into node (id, mode, origin, created_us) values (%s, %s, %s, %s) on conflict do nothing",
        [id_, mode, origin, now_us],
    )
    row = db.execute("select id, mode, origin, created_us from node").fetchone()
    assert row is not None
    return NodeIdentity(*row)


def read_identity(tx: Tx) -> NodeIdentity:
    """Who this database is."""
    found = tx.one_or_none(NodeIdentity, "select id, mode, origin, created_us from node")
    if found is None:
        raise NotPrepared
    return found


def clock_offset(identity: NodeIdentity, database: Database) -> Callable[[], int]:
    """The offset of this node's clock, looked up at most once a second; always zero in production."""
    if identity.production:
        return lambda: 0
    read_at = -_OFFSET_FRESH_S
    offset_us = 0
    known = False
    reading = threading.Lock()

    def look() -> None:
        nonlocal offset_us, known
        try:
            # Beside the pool: a caller that holds a connection must never wait for another one here.
            with database.aside() as tx:
                offset_us = offset_of(tx)
            known = True
        except ChoirError:
            pass  # the database is away; whoever asked will notice by itself
        finally:
            reading.release()

    def current() -> int:
        nonlocal read_at
        stale = time.monotonic() - read_at >= _OFFSET_FRESH_S
        # One caller has it looked up, the others go on with what is known. Nobody waits for a database that
        # does not answer: whoever asks for the time may be the event loop of a server.
        if stale and reading.acquire(blocking=False):
            read_at = time.monotonic()
            looking = threading.Thread(target=look, name="clock", daemon=True)
            looking.start()
            looking.join(_OFFSET_WAIT_S if known else None)
        return offset_us

    return current


def offset_of(tx: Tx) -> int:
    """How far this node's clock is moved."""
    return int(tx.value("select clock_offset_us from node") or 0)


def move_clock(tx: Tx, identity: NodeIdentity, offset_us: int) -> None:
    """Set the offset of a development node's clock."""
    if identity.production:
        raise ProductionClock
    if offset_us > _OFFSET_MAX_US:
        raise Invalid(what="the clock", why="it can be moved at most a hundred years ahead")
    tx.run("update node set clock_offset_us = %s", offset_us)
