"""Bells: rung by a commit, by nothing else, with all that they rang for."""

from __future__ import annotations

import threading
from uuid import UUID

import psycopg
import pytest

from choir.storage.database import Database, Tx
from choir.storage.wakeups import WakeupListener

ONE, TWO = UUID(int=1), UUID(int=2)


def test_a_commit_rings_and_a_rollback_does_not(database: Database) -> None:
    heard: list[tuple[str, UUID | None]] = []

    def hear(name: str, item: UUID | None) -> None:
        heard.append((name, item))

    database.wakeups.listen(["a"], hear)
    with database.unit_of_work() as tx:
        tx.wake("a", ONE)
        tx.wake("a", ONE)
        tx.wake("b", TWO)
        assert heard == []
    assert heard == [("a", ONE)]

    def fail(tx: Tx) -> None:
        tx.wake("a", TWO)
        tx.run("select 1 / 0")

    with pytest.raises(psycopg.errors.DivisionByZero):
        database.run(fail)
    assert len(heard) == 1
    database.wakeups.leave(hear)
    with database.unit_of_work() as tx:
        tx.wake("a", ONE)
    assert len(heard) == 1


def test_an_attendant_gets_everything_that_came_while_it_was_busy(database: Database) -> None:
    begun, go_on, done = threading.Event(), threading.Event(), threading.Event()
    seen: list[set[UUID]] = []

    def work(items: set[UUID]) -> None:
        seen.append(items)
        begun.set()
        assert go_on.wait(60)
        if len(seen) == 2:
            done.set()
        if len(seen) == 1:
            raise ValueError  # which must not end it

    wakeup_listener = WakeupListener(database.wakeups, {"a": work})
    wakeup_listener.start()
    try:
        database.wakeups.wake("a", ONE)
        assert begun.wait(60)
        database.wakeups.wake("a", ONE)
        database.wakeups.wake("a", TWO)
        go_on.set()
        assert done.wait(60)
        assert seen == [{ONE}, {ONE, TWO}]
    finally:
        wakeup_listener.stop()
