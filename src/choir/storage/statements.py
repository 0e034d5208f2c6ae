"""What the database works on while we do something else: questions, and rows that it stores.

A statement is sent at once and its answer is fetched later, over psycopg's libpq layer: its cursors wait for the
answer in the same call. For a connection that nobody else uses meanwhile.

Guarantees: nothing blocks with the interpreter's lock held; between asking and `answer`, and inside a `Copying`, the
connection can be used for nothing else. If a question goes wrong, the connection is broken and its owner must close
it. A `Copying` that is left by an error leaves a connection that can be rolled back, or a closed one. A connection on
which statements are asked is rolled back by `roll_back` alone.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Self
from weakref import WeakKeyDictionary

import psycopg
from psycopg.pq import DiagnosticField, ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from choir.storage import copy_rows
from choir.storage.database import Connection

_ANSWER_MS = 90_000  # the server ends every statement after 60 s; one that then says nothing is gone
_LOST = "the connection was lost before there was an answer"
_NO_MEMORY = "what was sent before is flushed, so only memory can be missing"

_planned: WeakKeyDictionary[Connection, set[bytes]] = WeakKeyDictionary()  # the statements that each server side knows


def roll_back(db: Connection) -> None:
    """Undo the transaction under way, if any; a connection on which that fails is closed.

    The driver then lets the server forget all plans, ours too, but only if it has made some of its own. So that we know
    what is planned, all are forgotten here.
    """
    _planned.pop(db, None)
    try:
        db.rollback()
        db.execute("deallocate all", prepare=False)
    except psycopg.Error:
        db.close()


class Statement:
    """A statement with `$1`, `$2`, …; parameters and answers are in PostgreSQL's binary form.

    It is asked on a connection that commits by itself, inside a transaction or outside.
    """

    def __init__(self, name: str, sql: str) -> None:
        self._name = name.encode()
        self._sql = sql.encode()

    def ask(self, db: Connection, parameters: Sequence[bytes | None]) -> Question:
        """Send it."""
        if db.info.transaction_status not in (TransactionStatus.IDLE, TransactionStatus.INTRANS):
            raise psycopg.OperationalError("the connection is closed, or was left in the middle of something")
        planned = _planned.setdefault(db, set())
        if self._name not in planned:
            _checked(db.pgconn.prepare(self._name, self._sql))
            planned.add(self._name)
        formats = [Format.BINARY] * len(parameters)
        db.pgconn.send_query_prepared(self._name, parameters, formats, result_format=Format.BINARY)
        _flush(db.pgconn)
        return Question(db.pgconn)


class Question:
    """What was asked and not yet answered."""

    def __init__(self, connection: PGconn) -> None:
        self._connection = connection

    def answer(self) -> list[bytes | None]:
        """The fields of its one row, when they are there."""
        result = _result(self._connection)
        if result is None:
            raise psycopg.OperationalError(_LOST)
        _checked(result)
        while _result(self._connection) is not None:
            pass
        return [result.get_value(0, column) for column in range(result.nfields)]


class CopyStatement:
    """Rows for one table after the other by binary COPY, which the database stores while we make the next."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._connection = db.pgconn
        self._statement = b""  # the one that still takes rows

    def __enter__(self) -> Self:
        return self

    def send(self, statement: bytes, rows: bytes) -> None:
        """Send rows; if they are for another table than those before, wait first until those are stored."""
        if statement != self._statement:
            self._begin(statement)
            rows = copy_rows.HEADER + rows
        self._put(rows)

    def end(self) -> None:
        """There are no more rows for this table: let the database store what it has of them."""
        if self._statement:
            self._statement = b""
            self._put(copy_rows.TRAILER)
            queued = self._connection.put_copy_end()
            assert queued, _NO_MEMORY
            _flush(self._connection)

    def _begin(self, statement: bytes) -> None:
        self.end()
        self._wait()
        self._connection.send_query(statement)
        _flush(self._connection)
        self._expect(ExecStatus.COPY_IN)
        self._statement = statement

    def _put(self, data: bytes) -> None:
        queued = self._connection.put_copy_data(data)
        assert queued, _NO_MEMORY
        _flush(self._connection)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            if error is None:
                self.end()
                self._wait()
        finally:
            self._leave()

    def _wait(self) -> None:
        """Until what was sent is stored; raises what the database says against it."""
        if self._connection.transaction_status == TransactionStatus.ACTIVE:
            self._expect(ExecStatus.COMMAND_OK)
            rest = _result(self._connection)
            assert rest is None

    def _expect(self, status: ExecStatus) -> None:
        result = _result(self._connection)
        if result is None:
            raise psycopg.OperationalError(_LOST)
        if result.status != status:
            raise _error_of(result)

    def _leave(self) -> None:
        """End what is still under way, so that the next command on this connection is understood."""
        connection = self._connection
        try:
            while (result := _result(connection)) is not None:
                if result.status == ExecStatus.COPY_IN:
                    connection.put_copy_end(b"interrupted")
                    _flush(connection)
        except psycopg.Error:
            self._db.close()


def _flush(connection: PGconn) -> None:
    while connection.flush():
        if _wait(connection, select.POLLIN | select.POLLOUT) & select.POLLIN:
            connection.consume_input()  # the server may wait for us to read before it reads on


def _result(connection: PGconn) -> PGresult | None:
    while connection.is_busy():
        _wait(connection, select.POLLIN)
        connection.consume_input()
    return connection.get_result()


def _wait(connection: PGconn, what: int) -> int:
    poll = select.poll()  # unlike `select`, it knows no highest number of open files
    poll.register(connection.socket, what)
    for _, found in poll.poll(_ANSWER_MS):
        return found
    raise psycopg.OperationalError("the server does not answer any more")


def _checked(result: PGresult) -> None:
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise _error_of(result)


def _error_of(result: PGresult) -> psycopg.Error:
    """What the server says is wrong; where it says nothing, the connection to it is lost."""
    if result.error_field(DiagnosticField.SQLSTATE) is None:
        return psycopg.OperationalError(result.error_message.decode(errors="replace"))
    return psycopg.errors.error_from_result(result)
