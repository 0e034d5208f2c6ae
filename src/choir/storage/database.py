"""Transactions on PostgreSQL.

Guarantees: a unit of work commits whole or not at all; services are handed a `Tx` and never commit;
what goes wrong below (a lost connection, a full disk, a deadlock) becomes one of our errors, and
work that may be repeated is repeated. Nothing here reads the clock of the database.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import class_row, tuple_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from choir.foundation.deadline import current as current_deadline
from choir.foundation.errors import ChoirError, Invalid, Unavailable
from choir.storage.wakeups import Wakeups

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]

_REPEAT_S = 0.005  # first pause before repeating after a deadlock; grows with each attempt
_REPEATS_MAX = 8
_STREAM_ROWS = 2000  # fetched at a time
_CANCEL_S = 2.0
_CLOSE_S = 0.2  # for the pool's own threads, which may be connecting to a server that does not answer
_PATIENCE: dict[str, str | int] = {  # with a network that swallows everything; statements have a limit of their own
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}

# What is no bug of ours but a server that takes no writes now, or ended a transaction that stood still for too long.
_NOT_NOW = (pg.ReadOnlySqlTransaction, pg.IdleInTransactionSessionTimeout, pg.TransactionTimeout)


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached or stopped answering. Whether the last commit happened is unknown."""

    code = "storage.unavailable"
    sentence = "The database is not available: {why}."
    hint = "It may be restarting; retry with the same key. See `choir doctor`."


class DatabaseBusy(Unavailable):
    """No connection became free in time."""

    code = "storage.busy"
    sentence = "The database is busy: no connection became free within {wait_s} seconds."
    hint = "Retry in a moment."


class WriteDiskFull(Unavailable):
    """The disk below the database is full."""

    code = "storage.write_disk_full"
    sentence = "The disk is full, so nothing was written."
    hint = "Free some space; nothing is damaged and the node recovers by itself."


class StorageConflict(Unavailable):
    """Concurrent work got in the way too often."""

    code = "storage.conflict"
    sentence = "The transaction conflicted {attempts} times; nothing was changed."
    hint = "Retry the request."


class Tx:
    """One open transaction. Parameters are always bound, never formatted into the text."""

    __slots__ = ("connection", "wakeups_due")

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.wakeups_due: set[tuple[str, UUID | None]] = set()

    def wake(self, wakeup: str, item: UUID | None = None) -> None:
        """Wake what waits for this in the same process, once the transaction has committed."""
        self.wakeups_due.add((wakeup, item))

    def run(self, sql: LiteralString, *params: Any) -> int:
        """Execute and say how many rows were touched."""
        return self.connection.execute(sql, params or None).rowcount

    def rows(self, sql: LiteralString, *params: Any) -> list[tuple[Any, ...]]:
        """All rows as tuples."""
        return self.connection.execute(sql, params or None).fetchall()

    def row(self, sql: LiteralString, *params: Any) -> tuple[Any, ...] | None:
        """The first row, or None."""
        return self.connection.execute(sql, params or None).fetchone()

    def value(self, sql: LiteralString, *params: Any) -> Any:
        """The first column of the first row, or None."""
        found = self.row(sql, *params)
        return None if found is None else found[0]

    def all(self, record: type[T], sql: LiteralString, *params: Any) -> list[T]:
        """All rows as records; the columns are named like the record's fields."""
        with self.connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(sql, params or None).fetchall()

    def one_or_none(self, record: type[T], sql: LiteralString, *params: Any) -> T | None:
        """The first row as a record, or None."""
        with self.connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(sql, params or None).fetchone()

    def stream(self, sql: LiteralString, *params: Any, name: str = "stream") -> Iterator[tuple[Any, ...]]:
        """Rows one by one through a server-side cursor, in constant memory. Names must differ at one time."""
        with self.connection.cursor(name=name, row_factory=tuple_row) as cursor:
            cursor.itersize = _STREAM_ROWS
            yield from cursor.execute(sql, params or None)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """What the block wrote is undone if it raises; the transaction itself goes on."""
        if self.connection.info.transaction_status is TransactionStatus.IDLE:
            self.connection.execute("select")  # else the block would be a transaction of its own, and commit
        with self.connection.transaction():
            yield


class Database:
    """A pool of connections to one database."""

    def __init__(self, conninfo: str, *, connections_max: int = 16, wait_s: float = 10.0) -> None:
        self.wait_s = wait_s
        self.conninfo = conninfo
        self.wakeups = Wakeups()
        self._stopping = threading.Event()
        self._when_connected: list[Callable[[], None]] = []
        self._spare: Connection | None = None
        self._spare_lock = threading.Lock()
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            conninfo,
            min_size=1,
            max_size=connections_max,
            timeout=wait_s,
            open=False,
            name="choir",
            configure=self._welcome,
            reconnect_timeout=0,
            kwargs={"prepare_threshold": 2} | _patience(conninfo),
        )

    def open(self) -> Database:
        try:
            self._pool.open(wait=True, timeout=self.wait_s)
        except PoolTimeout:
            self._pool.close()
            raise self._unreachable() from None
        return self

    def close(self) -> None:
        self.stop_waiting()
        self._pool.close()
        with self._spare_lock:
            self._drop_spare()

    def stop_waiting(self) -> None:
        """Nobody waits for this database any more: who does is told that it is away, and so is who comes later.

        What already has a connection goes on with it.
        """
        self._stopping.set()
        self._pool.close(timeout=_CLOSE_S)

    @property
    def stopping(self) -> bool:
        """Whether the process ends, so that nothing is worth another try."""
        return self._stopping.is_set()

    def dedicated(self) -> Connection:
        """A connection outside the pool, committing by itself, for a caller that keeps it."""
        connection = connect(self.conninfo, autocommit=True)
        connection.prepare_threshold = 2
        self._welcome(connection)
        return connection

    def when_connected(self, act: Callable[[], None]) -> None:
        """Do this whenever there is a new connection, before it is used.

        The database behind it may have gone back: a backup was restored, or another server that missed something took
        over. Whoever remembers what was read on earlier connections forgets it here.
        """
        self._when_connected.append(act)

    def _welcome(self, connection: Connection) -> None:
        _configure(connection)
        for act in self._when_connected:
            act()

    @contextmanager
    def aside(self) -> Iterator[Tx]:
        """A statement beside the pool, for a caller that may hold a connection and others that wait for it.

        Such a caller must not ask the pool for a second one: all others may be in the hands of who waits for it.
        """
        with self._spare_lock:
            try:
                if self._spare is None:
                    self._spare = self.dedicated()
                yield Tx(self._spare)
            except psycopg.Error as error:
                self._drop_spare()
                raise translated(error) from error

    def _drop_spare(self) -> None:
        if self._spare is not None:
            self._spare.close()
            self._spare = None

    @contextmanager
    def unit_of_work(self) -> Iterator[Tx]:
        """A transaction that commits when the block ends and rolls back when it raises.

        It works for whoever set the deadline of this context: when they have given up, its statement is cancelled.
        """
        with self._connected() as connection:
            tx = Tx(connection)
            yield tx
        self._wake(tx)

    @contextmanager
    def statements(self) -> Iterator[Tx]:
        """Statements that each commit by themselves: one round trip instead of three, for who needs no more."""
        with self._connected() as connection:
            connection.autocommit = True  # said to nobody: the driver just does not begin a transaction
            try:
                tx = Tx(connection)
                yield tx
            finally:
                if not connection.closed:
                    connection.autocommit = False
        self._wake(tx)

    def _wake(self, tx: Tx) -> None:
        for wakeup, item in tx.wakeups_due:
            self.wakeups.wake(wakeup, item)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """A connection of the pool, within the caller's time, its errors translated."""
        deadline = current_deadline()
        wait_s = self.wait_s if deadline is None else min(self.wait_s, deadline.remaining_s)
        try:
            with self._pool.connection(timeout=wait_s) as connection:
                if deadline is None:
                    yield connection
                    return
                with deadline.interrupting(partial(_cancel, connection)):
                    if deadline.expired:
                        raise DatabaseBusy(wait_s=round(wait_s, 1))
                    yield connection
        except ChoirError:
            raise
        except PoolClosed:
            raise DatabaseUnavailable(why="this process is stopping") from None
        except PoolTimeout:
            raise self._unreachable() from None
        except psycopg.Error as error:
            if isinstance(error, psycopg.OperationalError) and not isinstance(error, pg.QueryCanceled):
                self._forget_dead_connections()
            raise translated(error) from error

    def run(self, work: Callable[[Tx], T]) -> T:
        """Do the work in a transaction, again if concurrent work got in the way."""
        for attempt in range(1, _REPEATS_MAX + 1):
            try:
                with self.unit_of_work() as tx:
                    return work(tx)
            except StorageConflict:
                if attempt == _REPEATS_MAX:
                    raise StorageConflict(attempts=attempt) from None
                time.sleep(_REPEAT_S * attempt * (1 + random.random()))  # noqa: S311 - only spreads retries
        raise AssertionError

    def _unreachable(self) -> ChoirError:
        """Tell a database that is gone from one that is only busy."""
        try:
            psycopg.connect(self.conninfo, connect_timeout=2).close()
        except psycopg.OperationalError as error:
            return DatabaseUnavailable(why=_first_line(error))
        return DatabaseBusy(wait_s=self.wait_s)

    def _forget_dead_connections(self) -> None:
        """After one connection died its siblings are suspect too: ask each once, now."""
        try:
            self._pool.check()
        except psycopg.Error:
            return


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn what the driver raises in the block into our own errors."""
    try:
        yield
    except psycopg.Error as error:
        raise translated(error) from error


def translated(error: psycopg.Error) -> ChoirError:
    """Our error for one of the driver's; what is a bug of ours is raised as it is."""
    if isinstance(error, pg.DeadlockDetected | pg.SerializationFailure):
        return StorageConflict(attempts=1)
    if isinstance(error, pg.DiskFull):
        return WriteDiskFull()
    if isinstance(error, pg.ProgramLimitExceeded):
        raise error  # not a lost connection but a value that fits no row: a bug of ours
    if isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError, *_NOT_NOW)):
        return DatabaseUnavailable(why=_first_line(error))
    raise error


def connect(conninfo: str, *, autocommit: bool = False) -> Connection:
    """One connection outside a pool, for migrations and command-line tools."""
    try:
        return psycopg.connect(conninfo, autocommit=autocommit, connect_timeout=10, **_patience(conninfo))
    except psycopg.OperationalError as error:
        raise DatabaseUnavailable(why=_first_line(error)) from None
    except psycopg.ProgrammingError:  # its text could repeat a password
        raise Invalid(what="the database URL", why="write it like postgresql://role@host/database") from None


def _patience(conninfo: str) -> dict[str, Any]:
    """How long to wait for a network without an answer, where the address does not say."""
    try:
        said = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError:
        return {}  # refused in `connect`, with words of ours
    return {name: value for name, value in _PATIENCE.items() if name not in said}


def _cancel(connection: Connection) -> None:
    """Stop the statement under way, if any; if that cannot be done, its own time limit will."""
    with suppress(psycopg.Error):
        connection.cancel_safe(timeout=_CANCEL_S)


def _configure(connection: Connection) -> None:
    connection.execute(
        "set application_name = 'choir'; set statement_timeout = '60s';"
        " set idle_in_transaction_session_timeout = '60s';"
        " set default_transaction_isolation = 'read committed';"  # whatever the server's default is
        # Statements are few and written for their index: plan each once, not at every call.
        " set plan_cache_mode = force_generic_plan"
    )
    if not connection.autocommit:
        connection.commit()


def _first_line(error: BaseException) -> str:
    lines: Sequence[str] = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__
