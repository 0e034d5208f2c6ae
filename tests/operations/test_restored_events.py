"""Events after a restore: positions are of the old server, and nothing that waited is lost."""

from __future__ import annotations

from collections.abc import Callable

from choir.operations.backup import renumber_events
from choir.operations.preparation import Dsns
from tests.conftest import DatabaseFactory
from tests.storage.test_subscribers import House, Listener, build

__all__ = ["build"]  # a fixture


def test_what_waits_is_handled_after_a_restore_and_what_comes_then_too(
    build: Callable[..., House], databases: DatabaseFactory, database_name: str, owner_dsn: str
) -> None:
    listener = Listener()
    listener.broken.add("bad")
    house = build(listener)
    house.say("bad", "good")
    house.work()
    house.say("late", n=1)  # nobody was told of it yet
    renumber_events(Dsns(databases.server.dsn("choir_app", database_name), owner_dsn))
    listener.broken.clear()
    house.later(10)
    house.say("new", n=2)
    house.work()
    assert set(house.heard()) == {"bad 0", "good 0", "late 1", "new 2"}


def test_who_had_heard_everything_hears_nothing_again(
    build: Callable[..., House], databases: DatabaseFactory, database_name: str, owner_dsn: str
) -> None:
    house = build(Listener())
    house.say("a")
    house.work()
    renumber_events(Dsns(databases.server.dsn("choir_app", database_name), owner_dsn))
    house.say("a", n=1)
    house.work()
    assert house.heard() == ["a 0", "a 1"]
