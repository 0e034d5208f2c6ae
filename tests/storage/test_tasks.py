"""Background tasks: done once, tried again when they fail, never completed by a worker that was replaced."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from choir.foundation.clock import MICROSECONDS, ManualClock
from choir.storage import tasks
from choir.storage.database import Database, Tx
from choir.storage.policy import NodePolicy
from choir.storage.tasks import Handlers, Postponed, Scheduler, Task, forget_leases, schedule

POLICY = NodePolicy(task_attempts_max=3, task_backoff_s=2, task_backoff_s_max=5, task_lease_s=60)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


class Bench:
    """A database with a table for effects, and schedulers on it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.clock = ManualClock()
        self.policy = POLICY
        self.ran: list[Task] = []

    def scheduler(
        self,
        quick: dict[str, Callable[[Tx, Task], object]] | None = None,
        slow: dict[str, Callable[[Task], None]] | None = None,
    ) -> Scheduler:
        handlers = Handlers(quick or {}, slow or {})
        return Scheduler(self.database, handlers, self.clock, self.policy)

    def add(self, name: str, key: str = "k", *, in_s: int = 0, every_s: int | None = None) -> bool:
        every_us = None if every_s is None else every_s * MICROSECONDS
        with self.database.unit_of_work() as tx:
            return schedule(tx, name, key, self.clock.at_us + in_s * MICROSECONDS, payload={"n": 1}, every_us=every_us)

    def rows(self) -> list[tuple[object, ...]]:
        with self.database.unit_of_work() as tx:
            return tx.rows("select name, key, attempts, set_aside, last_error from tasks order by name, key")

    def due_in_s(self, name: str) -> float:
        with self.database.unit_of_work() as tx:
            due_us = tx.value("select due_us from tasks where name = %s", name)
        return float((due_us - self.clock.at_us) / MICROSECONDS)

    def effects(self) -> list[str]:
        with self.database.unit_of_work() as tx:
            return [row[0] for row in tx.rows("select what from effects order by what")]

    def effect(self, tx: Tx, task: Task) -> None:
        self.ran.append(task)
        tx.run("insert into effects (what) values (%s)", f"{task.name} {task.key}")


@pytest.fixture
def bench(database: Database, owner_dsn: str) -> Bench:
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        owner.execute("create table effects (what text)")
        owner.execute("grant select, insert on effects to choir_app")
    return Bench(database)


def fail(*_: object) -> None:
    raise RuntimeError("it does not work")


def test_a_task_runs_when_it_is_due_and_then_is_gone(bench: Bench) -> None:
    scheduler = bench.scheduler({"q": bench.effect})
    assert bench.add("q", in_s=10)
    assert not bench.add("q", in_s=0), "one of this name and key is there"
    assert scheduler.run_due() == 0
    bench.clock.advance(10)
    assert scheduler.run_due() == 1
    assert bench.effects() == ["q k"]
    assert bench.rows() == []
    assert bench.ran[0].payload == {"n": 1}


def test_a_task_that_nobody_here_knows_waits_for_who_does(bench: Bench) -> None:
    bench.add("other")
    assert bench.scheduler({"q": bench.effect}).run_due() == 0
    assert bench.scheduler({"other": bench.effect}).run_due() == 1


def test_effects_happen_once_however_many_schedulers_race(bench: Bench) -> None:
    for n in range(60):
        bench.add("q", f"{n:02}")
    start = threading.Barrier(4)
    counts: list[int] = []

    def slow_effect(tx: Tx, task: Task) -> None:
        bench.effect(tx, task)
        time.sleep(0.002)

    def work() -> None:
        scheduler = bench.scheduler({"q": slow_effect})
        start.wait()
        counts.append(scheduler.run_due())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert bench.effects() == [f"q {n:02}" for n in range(60)]
    assert sum(counts) == 60
    assert bench.rows() == []


def test_a_failed_effect_leaves_no_trace_and_waits_longer_each_time(bench: Bench) -> None:
    def half(tx: Tx, task: Task) -> None:
        bench.effect(tx, task)
        fail()

    scheduler = bench.scheduler({"q": half})
    bench.add("q")
    assert scheduler.run_due() == 1
    assert bench.rows() == [("q", "k", 1, False, "RuntimeError: it does not work")]
    assert bench.due_in_s("q") == 2
    bench.clock.advance(2)
    scheduler.run_due()
    assert bench.due_in_s("q") == 4
    bench.clock.advance(4)
    scheduler.run_due()
    assert bench.rows() == [("q", "k", 3, True, "RuntimeError: it does not work")]
    bench.clock.advance(10_000)
    assert scheduler.run_due() == 0, "it was set aside"
    assert bench.effects() == []


def test_a_broken_statement_in_a_task_is_a_failure_like_any_other(bench: Bench) -> None:
    bench.add("q")
    bench.add("good")
    scheduler = bench.scheduler({"q": lambda tx, _: tx.run("select 1 / 0"), "good": bench.effect})
    assert scheduler.run_due() == 2
    assert bench.effects() == ["good k"]
    assert bench.rows()[0][:3] == ("q", "k", 1)


def test_an_error_that_cannot_be_stored_is_stored_as_far_as_it_can_be(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    """Else the task would stay due for ever and everything behind it would wait."""

    def odd(_tx: Tx, _task: Task) -> None:
        raise ValueError("zero \0, lone \ud800, " + "long " * 500)

    bench.add("q")
    bench.clock.advance(1)
    bench.add("good")
    caplog.set_level(logging.CRITICAL)  # a report of this test could not carry the message either
    assert bench.scheduler({"q": odd, "good": bench.effect}).run_due() == 2
    assert bench.effects() == ["good k"]
    (row,) = bench.rows()
    assert row[2] == 1
    assert str(row[4]).startswith("ValueError: zero ")


def test_a_repeating_task_keeps_its_rhythm(bench: Bench) -> None:
    scheduler = bench.scheduler({"q": bench.effect})
    bench.add("q", every_s=10)
    assert scheduler.run_due() == 1
    assert bench.due_in_s("q") == 10
    bench.clock.advance(13)
    assert scheduler.run_due() == 1
    assert bench.due_in_s("q") == 7, "from its due time, not from when it ran"


def test_after_a_long_sleep_a_repeating_task_runs_once(bench: Bench) -> None:
    scheduler = bench.scheduler({"q": bench.effect})
    bench.add("q", every_s=10)
    bench.clock.advance(1234)
    assert scheduler.run_due() == 1
    assert bench.due_in_s("q") == 6
    assert scheduler.run_due() == 0


def test_a_repeating_task_is_never_set_aside_and_recovers(bench: Bench) -> None:
    bench.add("q", every_s=10)
    bad, good = bench.scheduler({"q": fail}), bench.scheduler({"q": bench.effect})
    for _ in range(5):
        assert bad.run_due() == 1
        bench.clock.advance(5)
    assert bench.rows()[0][2:4] == (5, False)
    assert good.run_due() == 1
    assert bench.rows() == [("q", "k", 0, False, None)]


def test_a_failure_does_not_undo_what_another_worker_did_meanwhile(bench: Bench) -> None:
    """Worker one fails; before it can say so, worker two runs the repeating task and reschedules it."""
    bench.add("q", every_s=100)
    good = bench.scheduler({"q": bench.effect})
    bad = bench.scheduler({"q": fail})
    say_failed = bad._failed

    def late(task: Task, error: Exception) -> None:
        assert good.run_due() == 1
        say_failed(task, error)

    bad._failed = late  # type: ignore[method-assign]
    bad.run_due()
    assert bench.due_in_s("q") == 100
    assert bench.rows() == [("q", "k", 0, False, None)]


def test_slow_work_holds_a_lease_and_no_transaction(bench: Bench) -> None:
    seen: list[object] = []

    def slow(task: Task) -> None:
        assert bench.scheduler({}, {"s": fail}).run_due() == 0, "nobody else may take it now"
        with bench.database.unit_of_work() as tx:
            seen.append(tx.value("select leased_until_us from tasks"))
            tx.run("update tasks set payload = '{}' where name = 's'")  # nothing is locked

    bench.add("s")
    assert bench.scheduler({}, {"s": slow}).run_due() == 1
    assert seen == [bench.clock.at_us + 60 * MICROSECONDS]
    assert bench.rows() == []


def test_slow_work_renews_its_lease_for_as_long_as_it_takes(bench: Bench) -> None:
    def until() -> int:
        with bench.database.unit_of_work() as tx:
            return int(tx.value("select leased_until_us from tasks"))

    def slow(task: Task) -> None:
        first = until()
        bench.clock.advance(4)
        give_up_at = time.monotonic() + 30
        while until() == first:
            assert time.monotonic() < give_up_at, "the lease was not renewed"
            time.sleep(0.05)
        assert until() == bench.clock.at_us + 5 * MICROSECONDS

    bench.add("s")
    bench.policy = NodePolicy(task_lease_s=5)
    assert bench.scheduler({}, {"s": slow}).run_due() == 1
    assert bench.rows() == []


def test_a_node_that_starts_takes_up_at_once_what_a_killed_one_had_claimed(bench: Bench) -> None:
    done: list[int] = []

    def second(task: Task) -> None:
        done.append(task.token)

    def first(task: Task) -> None:
        scheduler = bench.scheduler({}, {"s": second})
        assert scheduler.run_due() == 0  # somebody has it
        with bench.database.unit_of_work() as tx:
            forget_leases(tx)
        assert scheduler.run_due() == 1

    bench.add("s")
    assert bench.scheduler({}, {"s": first}).run_due() == 1
    assert done == [2]
    assert bench.rows() == []


def test_a_stale_worker_cannot_complete_what_another_has_taken_over(bench: Bench) -> None:
    bench.add("s", every_s=1000)
    tokens: list[int] = []

    def second(task: Task) -> None:
        tokens.append(task.token)

    def first(task: Task) -> None:
        tokens.append(task.token)
        bench.clock.advance(61)  # it was thought dead
        assert bench.scheduler({}, {"s": second}).run_due() == 1
        with bench.database.unit_of_work() as tx:
            tx.run("update tasks set last_error = 'mark of the second'")

    assert bench.scheduler({}, {"s": first}).run_due() == 1
    assert tokens == [1, 2]
    assert bench.rows() == [("s", "k", 0, False, "mark of the second")]


def test_a_stale_worker_cannot_fail_it_either(bench: Bench) -> None:
    bench.add("s")

    def second(task: Task) -> None:
        bench.clock.advance(1)
        with bench.database.unit_of_work() as tx:
            before = tx.rows("select * from tasks")
        with pytest.raises(RuntimeError):
            fail()
        stale._failed(claimed[0], RuntimeError("stale"))
        with bench.database.unit_of_work() as tx:
            assert tx.rows("select * from tasks") == before

    claimed: list[Task] = []
    stale = bench.scheduler({}, {"s": claimed.append})
    with bench.database.unit_of_work() as tx:
        task = stale._claim(tx)
        assert task is not None
        claimed.append(task)
    bench.clock.advance(61)
    assert bench.scheduler({}, {"s": second}).run_due() == 1
    assert bench.rows() == []


def test_slow_work_that_fails_is_tried_again(bench: Bench) -> None:
    bench.add("s")
    assert bench.scheduler({}, {"s": fail}).run_due() == 1
    assert bench.rows() == [("s", "k", 1, False, "RuntimeError: it does not work")]
    bench.clock.advance(2)
    done: list[Task] = []
    assert bench.scheduler({}, {"s": done.append}).run_due() == 1
    assert done[0].attempts == 1
    assert bench.rows() == []


def test_work_goes_on_in_a_thread_until_it_is_stopped(bench: Bench) -> None:
    done = threading.Event()
    scheduler = bench.scheduler({"q": lambda _tx, _task: done.set()})
    bench.add("q")
    scheduler.start()
    assert done.wait(10)
    scheduler.stop()
    bench.add("q", "later")
    assert scheduler.run_due() == 0


def test_a_task_is_begun_as_soon_as_it_is_committed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_IDLE_S_MAX", 3600.0)  # so that it never looks by itself
    began = threading.Event()
    scheduler = bench.scheduler(slow={"a": lambda _: began.set()})
    scheduler.start()
    try:
        for _ in range(3):
            bench.add("a")
            assert began.wait(60)
            began.clear()
            until(lambda: bench.rows() == [])

        def fail(tx: Tx) -> None:
            schedule(tx, "a", "k", bench.clock.at_us)
            tx.run("select 1 / 0")

        with pytest.raises(psycopg.errors.DivisionByZero):
            bench.database.run(fail)
        assert not began.wait(0.3)
    finally:
        scheduler.stop()


def test_what_a_stopping_process_leaves_is_anybodys_at_once(bench: Bench) -> None:
    def leave(_: Task) -> None:
        first.halt()
        raise Postponed

    first = bench.scheduler(slow={"a": leave})
    bench.add("a")
    assert first.run_due() == 1
    assert bench.rows() == [("a", "k", 0, False, None)]  # no failure of the task
    done: list[Task] = []
    assert bench.scheduler(slow={"a": done.append}).run_due() == 1
    assert len(done) == 1
    assert bench.rows() == []


def test_what_yields_goes_behind_what_comes_a_little_later_and_waits_for_nobody_else(bench: Bench) -> None:
    def add(key: str, in_s: int, yields_s: int) -> None:
        with bench.database.unit_of_work() as tx:
            due_us = bench.clock.at_us + in_s * MICROSECONDS
            schedule(tx, "work", key, due_us, yields_us=yields_s * MICROSECONDS)

    ran: list[str] = []
    worker = bench.scheduler(slow={"work": lambda task: ran.append(task.key)})
    add("alone", 0, 1_000)
    worker.run_due()
    assert ran == ["alone"]
    for key, in_s, yields_s in (("yields much", 0, 100), ("yields little", 0, 5), ("later", 10, 0), ("latest", 101, 0)):
        add(key, in_s, yields_s)
    bench.clock.at_us += 200 * MICROSECONDS
    worker.run_due()
    assert ran[1:] == ["yields little", "later", "yields much", "latest"]


def test_what_repeats_itself_goes_on_when_the_clock_went_back(bench: Bench) -> None:
    """Else a node would expire no holds and sign no checkpoints until the clock has caught up."""
    bench.add("q", every_s=10)
    scheduler = bench.scheduler({"q": bench.effect, "once": bench.effect})
    assert scheduler.run_due() == 1
    bench.clock.advance(-86_400)
    assert scheduler.run_due() == 1
    assert (scheduler.run_due(), bench.due_in_s("q")) == (0, 10)


def test_what_is_still_to_come_keeps_the_time_that_was_left_when_the_clock_is_turned_back(bench: Bench) -> None:
    bench.add("due")
    bench.add("later", in_s=100)
    bench.clock.advance(1)
    since_us = bench.clock.at_us
    bench.clock.advance(-86_400)
    with bench.database.unit_of_work() as tx:
        tasks.turn_back(tx, since_us, 86_400 * MICROSECONDS)
    assert (bench.due_in_s("due"), bench.due_in_s("later")) == (0, 99)


def test_a_task_that_failed_is_not_tried_sooner_because_it_repeats_itself_more_often(bench: Bench) -> None:
    bench.add("q", every_s=1)
    scheduler = bench.scheduler({"q": fail})
    assert scheduler.run_due() == 1
    assert (scheduler.run_due(), bench.due_in_s("q")) == (0, 2)
