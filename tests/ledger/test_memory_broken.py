"""The connection breaks before or after any call of a round to the database: money stays exact, the memory stays true.

What breaks is the real connection: the server ends its backend, before the call is made or after it was answered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from choir.foundation.errors import Refusal
from choir.ledger import holds
from choir.ledger.journal import store
from choir.ledger.journal.submitter import Submitter
from choir.ledger.model import Leg, Posted
from choir.storage import statements
from tests.depth import times
from tests.ledger.books import ALICE, BOB, CAROL, Books, draft, moved

FEW, MANY = 3, store.FEW_ENTRIES
CALLS: list[tuple[type, str]] = [
    (psycopg.Connection, "execute"),
    (psycopg.Connection, "commit"),
    (psycopg.Connection, "rollback"),
    (statements.Statement, "ask"),
    (statements.Question, "answer"),
    (statements.CopyStatement, "send"),
    (statements.CopyStatement, "end"),
]


class Breaking:
    """Ends the submitter's backend around the n-th call."""

    def __init__(self, books: Books, superuser_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._superuser = psycopg.connect(superuser_dsn, autocommit=True)
        self._end = psycopg.Connection.execute
        self._books = books
        self.left = 0
        self.after = False
        self.where = ""
        for owner, name in CALLS:
            monkeypatch.setattr(owner, name, self._wrapped(getattr(owner, name), name))

    def close(self) -> None:
        self._superuser.close()

    def _wrapped(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wrapper(on: Any, *args: Any, **more: Any) -> Any:
            ours = self._books.submitter._connection
            if self.left == 0 or ours is None or ours.closed:
                return call(on, *args, **more)
            self.left -= 1
            hit = self.left == 0
            pid = ours.info.backend_pid
            if hit and not self.after:
                self._cut(pid, name)
            result = call(on, *args, **more)
            if hit and self.after:
                self._cut(pid, name)
            return result

        return wrapper

    def _cut(self, pid: int, name: str) -> None:
        self.where = f"{'after' if self.after else 'before'} {name}"
        self._end(self._superuser, "select pg_terminate_backend(%s, 5000)", [pid])


@pytest.fixture
def breaking(books: Books, superuser_dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Breaking]:
    found = Breaking(books, superuser_dsn, monkeypatch)
    yield found
    found.close()


@pytest.mark.scaled
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("what", ["one", "few", "many", "many early", "memos", "hold", "again"])
def test_a_connection_that_breaks_around_any_call_changes_nothing_but_time(
    books: Books, breaking: Breaking, what: str, after: bool
) -> None:
    other = Submitter(books.ledger.appender, books.database)
    books.fund(ALICE, 1_000_000)
    keys = iter(range(1_000_000))

    def moves(count: int) -> list[list[Any]]:
        return [[moved(f"k{next(keys)}", ALICE, BOB, 1)] for _ in range(count)]

    def batch() -> list[list[Any]]:
        if what == "memos":
            return [[draft(f"k{next(keys)}", Leg(ALICE, BOB, 1), memo="m")] for _ in range(FEW)]
        if what == "hold":
            expires_us = books.clock.at_us + 1_000_000
            return [
                [holds.place(ALICE, 1, expires_us=expires_us, reason="r", source="test", key=f"k{next(keys)}")],
                *moves(FEW),
            ]
        if what == "again":
            return [*moves(FEW), [moved("first", ALICE, CAROL, 1)]]
        return moves({"one": 1, "few": FEW}.get(what, MANY))

    other.submit(moved("first", ALICE, CAROL, 1))
    spent = 1
    for at in range(1, 200, times(2, 1)):
        books.submitter.submit_batch(moves(FEW))
        other.submit_batch(moves(2))
        spent += FEW + 2
        if what == "many early":
            books.submitter._rounds._memory._balances.pop(BOB, None)
        breaking.left, breaking.after, breaking.where = at, after, ""
        groups = batch()
        outcomes = books.submitter.submit_batch(groups)
        breaking.left = 0
        assert all(isinstance(outcome, Posted) for outcome in outcomes), breaking.where
        spent += len(groups) - (what == "again")
        assert not books.misremembered(books.submitter), (breaking.where, at)
        for count in (FEW, MANY):
            assert not any(isinstance(each, Refusal) for each in books.submitter.submit_batch(moves(count)))
            spent += count
        assert books.balance(ALICE) == 1_000_000 - spent, (breaking.where, at)
        if not breaking.where:
            break
    else:
        raise AssertionError("it never ended")
    other.close()
    books.check()
