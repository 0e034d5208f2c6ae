"""The outbox: events are there exactly when their transaction committed, in an order without gaps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from choir.foundation.clock import MICROSECONDS, ManualClock, SeededEntropy
from choir.foundation.errors import Invalid
from choir.storage.database import Database, Tx
from choir.storage.outbox import Event, Outbox, Position


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def outbox(clock: ManualClock) -> Outbox:
    return Outbox(clock, SeededEntropy(1))


def say(outbox: Outbox, tx: Tx, subject: str) -> None:
    outbox.announce(tx, "test.said", subject=subject, actor="tester", data={"é": [1, None]}, cause="a test")


def read(database: Database, outbox: Outbox, after: Position | None = None, limit: int = 100) -> list[Event]:
    with database.unit_of_work() as tx:
        return outbox.read(tx, after or Position(), limit)


@contextmanager
def paused(database: Database) -> Iterator[Tx]:
    """A transaction that stays open while the block runs, and then commits."""
    with database.unit_of_work() as tx:
        tx.run("select pg_current_xact_id()")
        yield tx


def test_an_event_comes_back_as_it_was_told(database: Database, outbox: Outbox, clock: ManualClock) -> None:
    with database.unit_of_work() as tx:
        id_ = outbox.announce(
            tx, "bazaar.job.paid", subject="job_1", actor="person_1", data={"é": [1, None]}, version=3, cause="x"
        )
    (event,) = read(database, outbox)
    assert (event.id, event.type, event.version, event.subject) == (id_, "bazaar.job.paid", 3, "job_1")
    assert (event.at_us, event.actor, event.cause, event.data) == (clock.at_us, "person_1", "x", {"é": [1, None]})


def test_what_was_rolled_back_was_never_said(database: Database, outbox: Outbox) -> None:
    def fail() -> None:
        with database.unit_of_work() as tx:
            say(outbox, tx, "lost")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert read(database, outbox) == []


def test_a_reader_pages_through_everything_once(database: Database, outbox: Outbox) -> None:
    for start in range(0, 9, 3):
        with database.unit_of_work() as tx:
            for n in range(start, start + 3):
                say(outbox, tx, str(n))
    position, seen = Position(), []
    while page := read(database, outbox, position, 2):
        seen += [event.subject for event in page]
        position = Position.parse(str(page[-1].position))
    assert seen == [str(n) for n in range(9)]
    with database.unit_of_work() as tx:
        assert outbox.end(tx) == position


def test_a_slow_early_transaction_is_not_skipped(database: Database, outbox: Outbox) -> None:
    """Its events come before those of faster ones, so these wait until it has ended."""
    with paused(database) as slow:
        with database.unit_of_work() as fast:
            say(outbox, fast, "fast")
        assert read(database, outbox) == []
        with database.unit_of_work() as tx:
            assert outbox.end(tx) == Position()
        say(outbox, slow, "slow")
    assert [event.subject for event in read(database, outbox)] == ["slow", "fast"]


def test_a_slow_transaction_that_fails_holds_nothing_back(database: Database, outbox: Outbox) -> None:
    def fail() -> None:
        with paused(database) as slow:
            say(outbox, slow, "slow")
            with database.unit_of_work() as fast:
                say(outbox, fast, "fast")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert [event.subject for event in read(database, outbox)] == ["fast"]


def test_a_reader_that_follows_misses_nothing_of_many_writers(database: Database, outbox: Outbox) -> None:
    writers, each = 6, 25
    done = threading.Event()
    seen: list[Event] = []

    def write(writer: int) -> None:
        for n in range(each):
            with database.unit_of_work() as tx:
                say(outbox, tx, f"{writer}-{n}")
                if n % 5 == writer % 5:
                    threading.Event().wait(0.01)  # some take their time before they commit
                say(outbox, tx, f"{writer}-{n}b")

    def follow() -> None:
        position = Position()
        while True:
            last = done.is_set()
            page = read(database, outbox, position, 7)
            seen.extend(page)
            if page:
                position = page[-1].position
            elif last:
                return

    reader = threading.Thread(target=follow)
    reader.start()
    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    reader.join()
    assert len(seen) == writers * each * 2
    assert len({event.id for event in seen}) == len(seen)
    assert [event.position for event in seen] == sorted(event.position for event in seen)
    for writer in range(writers):
        mine = [event.subject for event in seen if event.subject.startswith(f"{writer}-")]
        assert mine == [f"{writer}-{n}{part}" for n in range(each) for part in ("", "b")]


def test_reading_again_from_an_old_position_gives_the_same(database: Database, outbox: Outbox) -> None:
    for n in range(4):
        with database.unit_of_work() as tx:
            say(outbox, tx, str(n))
    first = read(database, outbox)
    assert read(database, outbox) == first
    assert read(database, outbox, first[1].position) == first[2:]


def test_old_events_are_forgotten_some_at_a_time(database: Database, outbox: Outbox, clock: ManualClock) -> None:
    for n in range(5):
        with database.unit_of_work() as tx:
            say(outbox, tx, str(n))
        clock.advance(1)
    with database.unit_of_work() as tx:
        before_us = clock.at_us - 2 * MICROSECONDS  # the last two are young enough
        assert [outbox.forget(tx, before_us, 2) for _ in range(3)] == [2, 1, 0]
    assert [event.subject for event in read(database, outbox)] == ["3", "4"]


@pytest.mark.parametrize(
    "text", ["", "-", "1", "1-", "-1", "a-b", "1-2-3", "1--2", " 1-2", "9" * 40 + "-1", "1-" + "9" * 20, "²-1"]
)
def test_a_position_that_no_event_came_with_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        Position.parse(text)


def test_the_largest_position_can_be_asked_for(database: Database, outbox: Outbox) -> None:
    assert read(database, outbox, Position.parse(f"{2**63 - 1}-{2**63 - 1}")) == []
