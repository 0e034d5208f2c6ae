"""Connections: who holds one never waits for a second, and who is given up on lets go."""

from __future__ import annotations

import threading
import time

import psycopg
import pytest

from choir.foundation.clock import MICROSECONDS, SystemClock, SystemEntropy
from choir.foundation.deadline import Deadline
from choir.foundation.errors import Invalid
from choir.storage.database import Database, DatabaseBusy, DatabaseUnavailable
from choir.storage.identity import clock_offset, make_identity, move_clock
from tests.conftest import DatabaseFactory


@pytest.fixture
def lone(databases: DatabaseFactory, database_name: str) -> Database:
    """A pool of one connection, and no patience to wait for a second."""
    return Database(databases.server.dsn("choir_app", database_name), connections_max=1, wait_s=120).open()


def test_the_clock_is_looked_up_beside_the_pool(lone: Database) -> None:
    """Else a caller that holds the head of the journal could wait for those that wait for it."""
    try:
        with lone.unit_of_work() as tx:
            identity = make_identity(tx.connection, "dev", SystemClock(), SystemEntropy())
            move_clock(tx, identity, 5)
        with lone.unit_of_work() as tx:
            began = time.monotonic()
            assert clock_offset(identity, lone)() == 5
            assert time.monotonic() - began < 60
    finally:
        lone.close()


def test_a_statement_that_nobody_waits_for_is_cancelled(database: Database) -> None:
    deadline = Deadline(60)

    def work() -> None:
        with deadline.holds(), pytest.raises(DatabaseUnavailable), database.unit_of_work() as tx:
            tx.run("select pg_sleep(50)")

    thread = threading.Thread(target=work)
    began = time.monotonic()
    thread.start()
    time.sleep(0.5)
    deadline.expire()
    thread.join(40)
    assert not thread.is_alive()
    assert time.monotonic() - began < 40
    with database.unit_of_work() as tx:
        assert tx.value("select 1") == 1  # the connection is as good as before


@pytest.mark.parametrize(
    ("setting", "work"),
    [
        ("set transaction_read_only = on", "update node set mode = mode"),
        ("set idle_in_transaction_session_timeout = '50ms'", "select 1"),
    ],
    ids=["a server that takes no writes", "a transaction that stood still"],
)
def test_what_a_server_refuses_for_now_is_no_bug(database: Database, setting: str, work: str) -> None:
    def refused() -> None:
        with database.unit_of_work() as tx:
            tx.connection.execute(setting)
            time.sleep(0.5)
            tx.connection.execute(work)

    with pytest.raises(DatabaseUnavailable):
        refused()


def test_whoever_remembers_is_told_of_every_new_connection(database: Database, owner_dsn: str) -> None:
    told: list[bool] = []
    database.when_connected(lambda: told.append(True))
    database.dedicated().close()
    assert told == [True]
    with pytest.raises(DatabaseUnavailable), database.unit_of_work() as tx:
        tx.connection.execute("select pg_terminate_backend(pg_backend_pid())")
    with database.unit_of_work() as tx:
        assert tx.value("select 1") == 1
    assert len(told) > 1


def test_a_clock_is_moved_no_further_than_times_can_be_told(database: Database) -> None:
    with database.unit_of_work() as tx:
        identity = make_identity(tx.connection, "dev", SystemClock(), SystemEntropy())
        with pytest.raises(Invalid):
            move_clock(tx, identity, 101 * 366 * 86_400 * MICROSECONDS)


def test_who_is_given_up_on_gets_no_connection_any_more(lone: Database) -> None:
    deadline = Deadline(0.2)
    try:
        with lone.unit_of_work():

            def work() -> None:
                with deadline.holds(), pytest.raises(DatabaseBusy), lone.unit_of_work():
                    pass

            thread = threading.Thread(target=work)
            thread.start()
            thread.join(60)
            assert not thread.is_alive()
    finally:
        lone.close()


def test_nobody_waits_for_a_database_that_is_given_up(lone: Database) -> None:
    with lone.unit_of_work():
        refused: list[DatabaseUnavailable] = []

        def work() -> None:
            try:
                with lone.unit_of_work():
                    pass
            except DatabaseUnavailable as error:
                refused.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.2)
        lone.stop_waiting()
        thread.join(60)
    assert len(refused) == 1
    lone.close()


def test_the_time_is_told_though_the_database_does_not_answer(database: Database, owner_dsn: str) -> None:
    with database.unit_of_work() as tx:
        identity = make_identity(tx.connection, "dev", SystemClock(), SystemEntropy())
        move_clock(tx, identity, 5)
    offset = clock_offset(identity, database)
    assert offset() == 5
    with psycopg.connect(owner_dsn) as owner:  # holds the row's table until its transaction ends
        owner.execute("lock table node in access exclusive mode")
        time.sleep(1.1)  # what is known is no longer fresh
        began = time.monotonic()
        assert [offset() for _ in range(100)] == [5] * 100
        assert time.monotonic() - began < 10  # else it waited for the lock, or for its time limit
