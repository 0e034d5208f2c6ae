"""A question that the database works on while we do something else.

A statement is sent at once and its answer is fetched later, over psycopg's libpq layer: its cursors wait for the
answer in the same call. For a connection that commits by itself, that nobody else uses meanwhile, and that has no
transaction open.

Guarantees: nothing blocks with the interpreter's lock held; between asking and `answer` the connection can be used
for nothing else; if something goes wrong, the connection is broken and its owner must close it.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from weakref import WeakSet

import psycopg
from psycopg.pq import ExecStatus, Format, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from choir.storage.database import Connection


class Statement:
    """A statement with `$1`, `$2`, …; parameters and answers are in PostgreSQL's binary form."""

    def __init__(self, name: str, sql: str) -> None:
        self._name = name.encode()
        self._sql = sql.encode()
        self._known: WeakSet[Connection] = WeakSet()  # the connections that have planned it

    def ask(self, db: Connection, parameters: Sequence[bytes]) -> Question:
        """Send it."""
        if db.info.transaction_status == TransactionStatus.UNKNOWN:
            raise psycopg.OperationalError("the connection is closed")
        assert db.info.transaction_status == TransactionStatus.IDLE, "a question has a transaction of its own"
        if db not in self._known:
            _checked(db.pgconn.prepare(self._name, self._sql), db.pgconn)
            self._known.add(db)
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
        assert result is not None
        _checked(result, self._connection)
        while _result(self._connection) is not None:
            pass
        return [result.get_value(0, column) for column in range(result.nfields)]


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
    [(_, found)] = poll.poll()
    return found


def _checked(result: PGresult, connection: PGconn) -> None:
    if result.status not in (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK):
        raise psycopg.OperationalError(connection.error_message.decode(errors="replace"))
