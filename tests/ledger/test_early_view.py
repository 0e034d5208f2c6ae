"""Balances that were looked up while a batch was prepared count only if nothing happened meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import psycopg
import pytest

from choir.foundation.errors import Refusal
from choir.ledger import store
from choir.ledger.model import BatchTooLarge, Posted
from choir.ledger.rules import Outcome
from choir.ledger.service import Group, PreparedGroup
from choir.ledger.submitting import Submitter
from tests.ledger.books import ALICE, BOB, CAROL, Books, moved

MANY = store.FEW_ENTRIES


def codes(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.code if isinstance(outcome, Refusal) else "posted" for outcome in outcomes]


def spends(word: str, count: int = MANY) -> list[list]:  # type: ignore[type-arg]
    return [[moved(f"{word} {n}", ALICE, BOB, 1)] for n in range(count)]


class Meanwhile:
    """Does something while the next batch is prepared, and counts what was read again under the lock."""

    def __init__(self, books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
        self.act: Callable[[], object] = lambda: None
        self.read_again = 0
        self.early = 0
        prepare, read, ask = books.ledger.prepare_batch, store.read_view, books.ledger.ask_early

        def slow(groups: Sequence[Group]) -> list[PreparedGroup]:
            act, self.act = self.act, lambda: None
            act()
            return prepare(groups)

        def counted(*args: object) -> object:
            self.read_again += 1
            return read(*args)  # type: ignore[arg-type]

        def asked(*args: object) -> object:
            found = ask(*args)  # type: ignore[arg-type]
            self.early += found is not None
            return found

        monkeypatch.setattr(books.ledger, "prepare_batch", slow)
        monkeypatch.setattr(books.ledger, "ask_early", asked)
        monkeypatch.setattr(store, "read_view", counted)


@pytest.fixture
def meanwhile(books: Books, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    books.fund(ALICE, 10 * MANY)
    books.submitter.submit_batch(spends("warm"))  # from here on the accounts are known
    return Meanwhile(books, monkeypatch)


def test_a_quiet_ledger_is_read_once_and_early(books: Books, meanwhile: Meanwhile) -> None:
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    assert (meanwhile.early, meanwhile.read_again) == (1, 0)
    assert books.balance(BOB) == 2 * MANY
    books.check()


def test_what_another_writer_spent_meanwhile_is_seen(books: Books, meanwhile: Meanwhile) -> None:
    other = Submitter(books.ledger, books.database)
    meanwhile.act = lambda: other.submit(moved("all", ALICE, CAROL, 9 * MANY - 3))
    outcomes = books.submitter.submit_batch(spends("a"))
    assert codes(outcomes) == ["posted"] * 3 + ["ledger.insufficient_funds"] * (MANY - 3)
    assert (meanwhile.early, meanwhile.read_again) == (1, 2)  # the other's own, and ours again
    assert books.balance(ALICE) == 0
    other.close()
    books.check()


def test_an_account_that_was_frozen_meanwhile_is_frozen(books: Books, meanwhile: Meanwhile) -> None:
    meanwhile.act = lambda: books.change("freeze", BOB)
    assert codes(books.submitter.submit_batch(spends("a"))) == ["ledger.account.frozen"] * MANY
    assert meanwhile.early == 1
    books.change("unfreeze", BOB)
    assert codes(books.submitter.submit_batch(spends("b"))) == ["posted"] * MANY
    books.check()


def test_an_account_that_was_frozen_before_is_frozen(books: Books, meanwhile: Meanwhile) -> None:
    books.change("freeze", ALICE)
    assert codes(books.submitter.submit_batch(spends("a"))) == ["ledger.account.frozen"] * MANY


def test_a_batch_that_is_refused_whole_leaves_nothing_behind(books: Books, meanwhile: Meanwhile) -> None:
    limit = books.policy.batch_entries_max
    with pytest.raises(BatchTooLarge):
        books.submitter.submit_batch([[moved("many", ALICE, BOB, 1)] * (limit + 1)])
    assert meanwhile.early == 1
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    books.check()


def test_a_connection_that_breaks_meanwhile_is_made_again(books: Books, meanwhile: Meanwhile) -> None:
    connection = books.submitter._connection
    assert connection is not None
    victim = connection.info.backend_pid

    def cut() -> None:
        with books.tx() as tx:
            assert tx.value("select pg_terminate_backend(%s, 5000)", victim)

    meanwhile.act = cut
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    assert books.balance(BOB) == 2 * MANY
    books.check()


def test_used_keys_are_still_found(books: Books, meanwhile: Meanwhile) -> None:
    again = books.submitter.submit_batch(spends("warm"))
    assert [outcome.again for outcome in again if isinstance(outcome, Posted)] == [True] * MANY
    assert books.balance(BOB) == MANY


def test_whoever_waits_meanwhile_is_served(books: Books, meanwhile: Meanwhile) -> None:
    import threading

    done: list[Posted] = []
    thread = threading.Thread(target=lambda: done.extend(books.submitter.submit(moved("one", ALICE, CAROL, 1))))
    meanwhile.act = thread.start
    books.submitter.submit_batch(spends("a"))
    thread.join(30)
    assert len(done) == 1
    assert books.balance(CAROL) == 1
    books.check()


def test_a_closed_connection_is_no_reason_to_fail(books: Books, meanwhile: Meanwhile) -> None:
    assert books.submitter._connection is not None
    books.submitter._connection.close()
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    assert isinstance(books.submitter._connection, psycopg.Connection)
    books.check()
