"""Background work as operators see it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from choir.storage import work_list
from choir.storage.database import Tx
from choir.storage.tasks import Handlers, Scheduler, Task, schedule
from choir.storage.work_list import shown_error
from tests.storage.test_subscribers import POLICY, House, Listener, build

__all__ = ["build"]  # with the table that listeners write to


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("Refusal: there is no job\nand more", "Refusal: there is no job"),
        (
            "OperationalError: postgresql://choir:hunter2@db:5432/choir",
            "OperationalError: postgresql://…@db:5432/choir",
        ),
        ("Error: password=hunter2 is wrong", "Error: password=… is wrong"),
        ("Error: token: abc.def", "Error: token: …"),
        ("Error: choir_pat_" + "a" * 36, "Error: choir_…"),
        ("Error: provider_01h455vb4pex5vsknk084sn02q", "Error: provider_01h455vb4pex5vsknk084sn02q"),
        ("x " * 200, ("x " * 200)[:199] + "…"),
    ],
)
def test_an_error_is_shown_in_a_line_without_secrets(text: str, shown: str) -> None:
    assert shown_error(text) == shown


def test_what_fails_is_listed_with_its_error(build: Callable[..., House]) -> None:
    house = build()
    database = house.database

    def fail(_: Tx, task: Task) -> None:
        raise ValueError(f"no luck with {task.key}")

    with database.unit_of_work() as tx:
        for key in ("a", "b", "c"):
            schedule(tx, "test.fail", key, house.clock.now_us())
        schedule(tx, "test.later", "", house.clock.now_us() + 10**9, every_us=10**9)
    Scheduler(database, Handlers({"test.fail": fail}, {}), house.clock, POLICY).run_due()
    with database.statements() as tx:
        first = work_list.tasks(tx, limit=2)
        rest = work_list.tasks(tx, after=(first[-1].name, first[-1].key), limit=10)
        failing = work_list.failing_tasks(tx, limit=2)
    assert [(line.name, line.key) for line in first + rest] == [
        ("test.fail", "a"), ("test.fail", "b"), ("test.fail", "c"), ("test.later", ""),
    ]  # fmt: skip
    assert [(line.key, line.attempts, line.error) for line in failing] == [
        ("a", 1, "ValueError: no luck with a"), ("b", 1, "ValueError: no luck with b"),
    ]  # fmt: skip
    assert rest[-1].every_us == 10**9


def test_a_subscriber_shows_how_far_it_is_and_what_it_is_stuck_at(build: Callable[..., House]) -> None:
    listener = Listener()
    house = build(listener)
    database = house.database
    listener.broken.add("leaf")
    house.say("leaf", "stone", "leaf")
    with database.statements() as tx:
        (line,) = work_list.subscribers(tx)
    assert (line.name, line.behind, line.waiting, line.stuck) == ("notes.keep", 3, 0, None)
    house.work()
    with database.statements() as tx:
        (line,) = work_list.subscribers(tx)
    assert (line.behind, line.waiting, line.gone_us) == (0, 2, None)
    assert line.waiting_since_us is not None
    assert line.stuck is not None
    assert (line.stuck.subject, line.stuck.attempts, line.stuck.error) == ("leaf", 1, "KeyError: 'leaf'")
