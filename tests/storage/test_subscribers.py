"""Subscribers: every event is handled, in order for each subject, whatever fails or is killed in between."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from choir.foundation.clock import MICROSECONDS, ManualClock, SeededEntropy
from choir.storage.database import Database, Tx, connect
from choir.storage.outbox import Event, Outbox
from choir.storage.policy import NodePolicy
from choir.storage.subscribers import FailingSubscriber, Subscriber, Subscribers, failing
from choir.storage.tasks import Handlers, Scheduler
from tests.storage.test_tasks import until

KEEP_S = 1000
POLICY = NodePolicy(task_attempts_max=2, task_backoff_s=2, task_backoff_s_max=5)


class Listener:
    """A feature that writes down what it hears, and fails where it is told to."""

    def __init__(self, name: str = "notes.keep", *types: str) -> None:
        self.name = name
        self.types = types or ("test.said",)
        self.broken: set[str] = set()

    def handle(self, tx: Tx, event: Event) -> None:
        if event.subject in self.broken:
            raise KeyError(event.subject)
        tx.run("insert into heard (subscriber, what) values (%s, %s)", self.name, f"{event.subject} {event.data['n']}")


class House:
    def __init__(self, database: Database, *listeners: Listener) -> None:
        self.database = database
        self.clock = ManualClock()
        self.outbox = Outbox(self.clock, SeededEntropy(1))
        subscribers = [Subscriber(one.name, one.types, one.handle) for one in listeners]
        self.subscribers = Subscribers(subscribers, database, self.clock, KEEP_S)
        handlers = self.subscribers.handlers()
        self.scheduler = Scheduler(database, Handlers(handlers, {}, handlers.keys()), self.clock, POLICY)
        with database.unit_of_work() as tx:
            self.subscribers.register(tx)

    def say(self, *subjects: str, type_: str = "test.said", n: int = 0) -> None:
        with self.database.unit_of_work() as tx:
            for subject in subjects:
                self.tell(tx, subject, type_=type_, n=n)

    def tell(self, tx: Tx, subject: str, *, type_: str = "test.said", n: int = 0) -> None:
        self.outbox.announce(tx, type_, subject=subject, actor="tester", data={"n": n})

    def work(self) -> int:
        self.subscribers.hand_out()
        return self.scheduler.run_due()

    def later(self, seconds: int) -> None:
        self.clock.advance(seconds * MICROSECONDS)

    def heard(self, name: str = "notes.keep") -> list[str]:
        with self.database.unit_of_work() as tx:
            return [row[0] for row in tx.rows("select what from heard where subscriber = %s order by n", name)]

    def failing(self) -> list[FailingSubscriber]:
        with self.database.unit_of_work() as tx:
            return failing(tx, 10)


@pytest.fixture
def build(database: Database, owner_dsn: str) -> Callable[..., House]:
    with connect(owner_dsn, autocommit=True) as owner:
        owner.execute("create table heard (n bigint generated always as identity, subscriber text, what text)")
        owner.execute("grant select, insert on heard to choir_app")
    return lambda *listeners: House(database, *listeners)


def test_a_subscriber_hears_its_types_in_order_and_once(build: Callable[..., House]) -> None:
    house = build(Listener())
    for n in range(3):
        house.say("a", "b", n=n)
    house.say("a", type_="test.else")
    house.work()
    house.work()
    assert [what for what in house.heard() if what[0] == "a"] == ["a 0", "a 1", "a 2"]
    assert [what for what in house.heard() if what[0] == "b"] == ["b 0", "b 1", "b 2"]
    with house.database.unit_of_work() as tx:
        assert tx.value("select count(*) from event_deliveries") == 0
        assert tx.value("select count(*) from tasks") == 0


def test_a_new_subscriber_begins_with_what_happens_then(build: Callable[..., House]) -> None:
    first = build(Listener())
    first.say("a")
    first.work()
    second = build(Listener(), Listener("notes.count"))
    second.say("b")
    second.work()
    assert second.heard() == ["a 0", "b 0"]
    assert second.heard("notes.count") == ["b 0"]


def test_what_fails_holds_up_its_own_subject_alone_and_is_tried_until_it_works(build: Callable[..., House]) -> None:
    broken, other = Listener(), Listener("notes.count")
    house = build(broken, other)
    house.say("a", "bad", "c")
    house.work()
    broken.broken.add("bad")
    house.say("a", "bad", "c", n=1)
    house.say("bad", "a", n=2)
    for _ in range(6):  # more often than a task is tried before it is set aside
        house.work()
        house.later(10)
    assert sorted(house.heard()) == ["a 0", "a 1", "a 2", "bad 0", "c 0", "c 1"]
    assert len(house.heard("notes.count")) == 8
    (shown,) = house.failing()
    assert (shown.subscriber, shown.subject, shown.error) == ("notes.keep", "bad", "KeyError: 'bad'")
    assert shown.attempts > POLICY.task_attempts_max
    broken.broken.clear()
    house.later(10)
    house.work()
    assert [what for what in house.heard() if what.startswith("bad")] == ["bad 0", "bad 1", "bad 2"]
    assert house.failing() == []


def test_what_was_done_before_a_failure_is_kept(build: Callable[..., House]) -> None:
    listener = Listener()
    calls: list[int] = []

    def handle(tx: Tx, event: Event) -> None:
        calls.append(event.data["n"])
        if event.data["n"] == 2:
            raise KeyError
        Listener.handle(listener, tx, event)

    house = build(Listener())
    own = [Subscriber("notes.keep", ("test.said",), handle)]
    house.subscribers = Subscribers(own, house.database, house.clock, KEEP_S)
    handlers = house.subscribers.handlers()
    house.scheduler = Scheduler(house.database, Handlers(handlers, {}, handlers.keys()), house.clock, POLICY)
    for n in range(4):
        house.say("a", n=n)
    house.work()
    house.later(10)
    house.work()
    assert house.heard() == ["a 0", "a 1"]
    assert calls == [0, 1, 2, 2, 2], "what worked is not done again"


def test_many_events_of_one_subject_take_several_turns(build: Callable[..., House]) -> None:
    house = build(Listener())
    for start in range(0, 130, 10):
        with house.database.unit_of_work() as tx:
            for n in range(start, start + 10):
                house.tell(tx, "a", n=n)
    house.work()
    assert house.heard() == [f"a {n}" for n in range(130)]


def test_what_is_killed_in_the_middle_is_done_again(build: Callable[..., House]) -> None:
    """A kill ends the transaction: the effect, the delivery and the task are back where they were."""
    house = build(Listener())
    house.say("a")
    house.subscribers.hand_out()
    (handler,) = house.subscribers.handlers().values()

    class Killed(BaseException):
        pass

    def die() -> None:
        with house.database.unit_of_work() as tx:
            task = house.scheduler._claim(tx)
            assert task is not None
            handler(tx, task)
            raise Killed

    with pytest.raises(Killed):
        die()
    assert house.heard() == []
    house.work()
    assert house.heard() == ["a 0"]


def test_an_event_of_a_transaction_that_ends_late_is_not_missed(build: Callable[..., House]) -> None:
    house = build(Listener())
    with house.database.unit_of_work() as early:
        house.tell(early, "a", n=0)
        house.say("b", n=1)
        house.work()
        assert house.heard() == [], "what came after it waits too"
    house.work()
    assert sorted(house.heard()) == ["a 0", "b 1"]


def test_processes_share_the_work_and_nothing_is_handled_twice_or_lost(build: Callable[..., House]) -> None:
    build(Listener())
    houses = [build(Listener()) for _ in range(3)]
    stop = threading.Event()

    def work(house: House) -> None:
        while not stop.is_set():
            house.work()

    with ThreadPoolExecutor(len(houses)) as pool:
        workers = [pool.submit(work, house) for house in houses]
        for n in range(60):
            houses[n % 3].say(f"s{n % 4}", n=n)
        stop.set()
        for worker in workers:
            worker.result()
    until(lambda: houses[0].work() >= 0 and len(houses[0].heard()) >= 60)  # some may be held back for a moment
    heard = houses[0].heard()
    assert len(heard) == len(set(heard)) == 60
    for subject in range(4):
        numbers = [int(what.split()[1]) for what in heard if what.startswith(f"s{subject} ")]
        assert numbers == sorted(numbers)


def test_events_that_wait_are_not_forgotten(build: Callable[..., House]) -> None:
    listener = Listener()
    listener.broken.add("bad")
    house = build(listener)
    house.say("bad", "good")
    house.work()
    house.say("bad", n=1)  # nobody was told of it yet
    house.later(1_000_000)
    with house.database.unit_of_work() as tx:
        assert house.outbox.forget(tx, house.clock.now_us(), 100) == 1
    listener.broken.clear()
    house.work()
    assert house.heard() == ["good 0", "bad 0", "bad 1"]


def test_a_subscriber_that_is_gone_for_a_moment_goes_on_where_it_was(build: Callable[..., House]) -> None:
    """As when an older version is started by mistake."""
    build(Listener()).say("a")
    build().say("b", n=1)
    again = build(Listener())
    again.work()
    assert sorted(again.heard()) == ["a 0", "b 1"]


def test_a_subscriber_that_stays_away_keeps_nothing(build: Callable[..., House]) -> None:
    listener = Listener()
    listener.broken.add("bad")
    house = build(listener)
    house.say("bad")
    house.work()
    after = build()
    after.later(2 * KEEP_S)
    with after.database.unit_of_work() as tx:
        after.subscribers.register(tx)
    assert after.failing() == []
    with after.database.unit_of_work() as tx:
        assert tx.value("select count(*) from event_deliveries") == 0
        assert after.outbox.forget(tx, after.clock.now_us() + 1, 100) == 1


def test_a_commit_rings_for_what_is_listened_to(build: Callable[..., House]) -> None:
    house = build(Listener())
    woken: list[str] = []
    house.database.wakeups.listen(house.subscribers.wakeups, lambda wakeup, _item: woken.append(wakeup))
    house.say("a", type_="test.else")
    assert woken == []
    house.say("a")
    assert woken == list(house.subscribers.wakeups) == ["outbox:test.said"]
