"""Bells: rung by a commit, by nothing else, with all that they rang for."""

from __future__ import annotations

import threading
from uuid import UUID

import psycopg
import pytest

from choir.storage.database import Database, Tx
from choir.storage.wakeups import Attendant

ONE, TWO = UUID(int=1), UUID(int=2)


def test_a_commit_rings_and_a_rollback_does_not(database: Database) -> None:
    heard: list[tuple[str, UUID | None]] = []

    def hear(name: str, item: UUID | None) -> None:
        heard.append((name, item))

    database.bells.listen(["a"], hear)
    with database.unit_of_work() as tx:
        tx.ring("a", ONE)
        tx.ring("a", ONE)
        tx.ring("b", TWO)
        assert heard == []
    assert heard == [("a", ONE)]

    def fail(tx: Tx) -> None:
        tx.ring("a", TWO)
        tx.run("select 1 / 0")

    with pytest.raises(psycopg.errors.DivisionByZero):
        database.run(fail)
    assert len(heard) == 1
    database.bells.leave(hear)
    with database.unit_of_work() as tx:
        tx.ring("a", ONE)
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

    attendant = Attendant(database.bells, {"a": work})
    attendant.start()
    try:
        database.bells.ring("a", ONE)
        assert begun.wait(60)
        database.bells.ring("a", ONE)
        database.bells.ring("a", TWO)
        go_on.set()
        assert done.wait(60)
        assert seen == [{ONE}, {ONE, TWO}]
    finally:
        attendant.stop()
