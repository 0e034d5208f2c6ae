"""Rows that the database stores while we make the next: whatever happens, the connection is left in order."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg.errors import CheckViolation, DivisionByZero, UniqueViolation
from psycopg.pq import TransactionStatus

from choir.storage import statements
from choir.storage.copy_rows import fixed_row
from choir.storage.database import Connection, Database
from choir.storage.statements import CopyStatement, Statement, roll_back

FIRST = b"copy first from stdin (format binary)"
SECOND = b"copy second from stdin (format binary)"
MANY = 20_000  # more than the socket takes at once

_row = fixed_row("q").pack


def rows(*numbers: int) -> bytes:
    return b"".join([_row(1, 8, number) for number in numbers])


@pytest.fixture
def db(database: Database) -> Iterator[Connection]:
    with database.dedicated() as connection:
        connection.execute("create temp table first (n bigint primary key)")
        connection.execute("create temp table second (n bigint primary key check (n > 0))")
        yield connection


def stored(db: Connection, table: str) -> list[int]:
    return [row[0] for row in db.execute(f"select n from {table} order by n").fetchall()]


def test_rows_come_in_bits_and_table_by_table(db: Connection) -> None:
    with db.transaction(), CopyStatement(db) as copying:
        copying.send(FIRST, rows(1, 2))
        copying.send(FIRST, rows(3))
        copying.send(SECOND, rows(4))  # without an end in between
        copying.end()
        copying.send(SECOND, rows(5))  # and again, after one
    assert stored(db, "first") == [1, 2, 3]
    assert stored(db, "second") == [4, 5]


def test_no_rows_at_all_are_no_rows(db: Connection) -> None:
    with db.transaction(), CopyStatement(db) as copying:
        copying.end()
        copying.send(FIRST, b"")
    assert stored(db, "first") == []


def test_more_than_the_socket_takes_arrives_whole(db: Connection) -> None:
    with db.transaction(), CopyStatement(db) as copying:
        for start in range(0, 3 * MANY, MANY):
            copying.send(FIRST, rows(*range(start, start + MANY)))
    assert stored(db, "first") == list(range(3 * MANY))


def send(db: Connection, *bits: tuple[bytes, bytes], then: Callable[[], object] = lambda: None) -> None:
    """Send these in a transaction; afterwards, with the last still under way, do something."""
    with db.transaction(), CopyStatement(db) as copying:
        for statement, data in bits:
            copying.send(statement, data)
        then()


@pytest.mark.parametrize(("second", "error"), [(rows(7, 7), UniqueViolation), (rows(0), CheckViolation)])
def test_what_the_database_refuses_is_raised_and_undone(db: Connection, second: bytes, error: type[Exception]) -> None:
    with pytest.raises(error):
        send(db, (FIRST, rows(1)), (SECOND, second))
    assert db.info.transaction_status == TransactionStatus.IDLE
    assert stored(db, "first") == stored(db, "second") == []


def test_what_is_refused_shows_at_the_next_table(db: Connection) -> None:
    reached: list[bool] = []
    with pytest.raises(UniqueViolation):
        send(db, (FIRST, rows(1, 1)), (SECOND, rows(2)), then=lambda: reached.append(True))
    assert not reached
    assert stored(db, "second") == []


def test_an_error_of_ours_leaves_nothing_under_way(db: Connection) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        send(db, (FIRST, rows(*range(MANY))), then=interrupt)
    assert not db.closed
    assert stored(db, "first") == []


def test_a_lost_connection_says_so(db: Connection, database: Database) -> None:
    victim = db.info.backend_pid

    def cut() -> None:
        with database.unit_of_work() as tx:
            assert tx.value("select pg_terminate_backend(%s, 5000)", victim)

    with pytest.raises(psycopg.OperationalError):
        send(db, (FIRST, rows(1)), then=cut)
    assert db.closed


def _cut_off(db: Connection) -> None:
    """As when the server's machine is gone: it can no longer say why."""
    with socket.socket(fileno=os.dup(db.pgconn.socket)) as wire:
        wire.shutdown(socket.SHUT_RDWR)


def test_a_server_that_can_say_nothing_any_more_is_a_lost_connection(database: Database) -> None:
    """Not an error of the statement, which would be taken for a bug and not tried again."""
    slow = Statement("slow", "select int8send(1) from pg_sleep(0.5)")
    fresh, planned = database.dedicated(), database.dedicated()
    _cut_off(fresh)
    with pytest.raises(psycopg.OperationalError):
        slow.ask(fresh, [])  # where it is planned
    assert slow.ask(planned, []).answer() == [bytes(7) + b"\x01"]
    question = slow.ask(planned, [])
    _cut_off(planned)
    with pytest.raises(psycopg.OperationalError):
        question.answer()


def test_a_statement_is_planned_again_after_its_connection_was_rolled_back(db: Connection) -> None:
    one = Statement("one", "select int8send(1)")
    for _ in range(4):  # from the third on the driver has statements of its own to forget
        db.execute("begin")
        db.execute("select 1")
        assert one.ask(db, []).answer() == [bytes(7) + b"\x01"]
        roll_back(db)
    assert db.info.transaction_status == TransactionStatus.IDLE


def test_what_is_wrong_with_a_statement_is_told_as_it_is(db: Connection) -> None:
    """Not as a lost connection: it would be tried again and again."""
    with pytest.raises(DivisionByZero):
        Statement("wrong", "select int8send(1 / $1::int)").ask(db, [bytes(4)]).answer()
    db.close()  # as its owner must


def test_a_server_that_never_answers_is_a_lost_connection(db: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statements, "_ANSWER_MS", 50)
    with pytest.raises(psycopg.OperationalError):
        Statement("sleep", "select int8send(1) from pg_sleep(60)").ask(db, []).answer()
    db.close()
