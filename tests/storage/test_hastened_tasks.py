"""Tasks that somebody wants done now: never two at once, never forgotten."""

from __future__ import annotations

import pytest

from choir.storage.database import Database
from choir.storage.tasks import Task, failures, hasten
from tests.storage.test_tasks import Bench, fail


@pytest.fixture
def bench(database: Database) -> Bench:
    return Bench(database)


def hastened(bench: Bench) -> None:
    with bench.database.unit_of_work() as tx:
        hasten(tx, "s", bench.clock.at_us)


def test_a_hastened_task_is_done_now_and_then_goes_on_as_before(bench: Bench) -> None:
    bench.add("s", "", in_s=500, every_s=1000)
    scheduler = bench.scheduler({}, {"s": bench.ran.append})
    assert scheduler.run_due() == 0
    hastened(bench)
    hastened(bench)
    assert scheduler.run_due() == 1
    assert bench.due_in_s("s") == 1000
    with bench.database.unit_of_work() as tx:
        tx.run("delete from tasks")
    hastened(bench)  # also if it is not on the list: then once
    assert scheduler.run_due() == 1
    assert bench.rows() == []


@pytest.mark.parametrize("every_s", [None, 1000])
def test_a_task_that_is_hastened_while_it_is_done_is_done_once_more(bench: Bench, every_s: int | None) -> None:
    """Whoever asked for it may have come too late for the first time."""
    bench.add("s", "", every_s=every_s)

    def slow(task: Task) -> None:
        bench.ran.append(task)
        if len(bench.ran) == 1:
            for _ in range(3):
                hastened(bench)
            assert bench.scheduler({}, {"s": fail}).run_due() == 0, "only one is at it"
            bench.clock.advance(1)

    assert bench.scheduler({}, {"s": slow}).run_due() == 2
    if every_s is None:
        assert bench.rows() == []
    else:
        assert 998 < bench.due_in_s("s") <= 1000


def test_a_task_that_was_set_aside_can_be_hastened(bench: Bench) -> None:
    hastened(bench)
    scheduler = bench.scheduler({}, {"s": fail})
    for _ in range(3):
        assert scheduler.run_due() == 1
        bench.clock.advance(5)
    assert scheduler.run_due() == 0
    assert bench.rows()[0][3] is True
    hastened(bench)
    with bench.database.unit_of_work() as tx:
        found = failures(tx, "s")
    assert (found.attempts, found.last_error) == (0, "RuntimeError: it does not work")
    assert bench.scheduler({}, {"s": bench.ran.append}).run_due() == 1
    assert bench.rows() == []
