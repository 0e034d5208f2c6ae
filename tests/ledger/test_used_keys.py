"""Keys that were used before are found, though rounds do not look them up first."""

from __future__ import annotations

import psycopg
import pytest

from choir.foundation.errors import Refusal
from choir.ledger.journal import store
from choir.ledger.journal.submitter import Submitter
from choir.ledger.model import InsufficientFunds, LinkedRefused, Posted
from tests.ledger.books import ALICE, BOB, Books, moved


def codes(outcomes: list[Posted | Refusal]) -> list[str]:
    return [outcome.code if isinstance(outcome, Refusal) else "posted" for outcome in outcomes]


def numbers(outcomes: list[Posted | Refusal]) -> list[int]:
    return [outcome.seq for outcome in outcomes if isinstance(outcome, Posted)]


def test_an_entry_sent_again_after_the_money_is_gone_is_found_not_refused(books: Books) -> None:
    books.fund(ALICE, 10)
    first = books.submitter.submit(moved("all", ALICE, BOB, 10))
    again = books.submitter.submit(moved("all", ALICE, BOB, 10))
    assert again[0].again
    assert again[0].seq == first[0].seq
    assert codes(books.submitter.submit_batch([[moved("all", ALICE, BOB, 9)]])) == ["ledger.conflicting_key"]
    assert (books.balance(ALICE), books.balance(BOB)) == (0, 10)


def test_an_entry_sent_again_while_there_is_money_has_one_effect(books: Books) -> None:
    books.fund(ALICE, 1000)
    for size in (1, 5, store.FEW_ENTRIES + 1):
        groups = [[moved(f"{size} {n}", ALICE, BOB, 1)] for n in range(size)]
        first = books.submitter.submit_batch(groups)
        for _ in range(12):
            again = books.submitter.submit_batch([*groups, [moved(f"other {size}", ALICE, BOB, 1)]])
            assert [o.seq for o in again[:-1] if isinstance(o, Posted)] == [
                o.seq for o in first if isinstance(o, Posted)
            ]
    assert books.balance(BOB) == 1 + 5 + store.FEW_ENTRIES + 1 + 3
    books.check()


@pytest.mark.parametrize("others", [1, 2, store.FEW_ENTRIES])
def test_what_is_posted_beside_a_used_key_is_new(books: Books, others: int) -> None:
    """The round that met the key is undone as a whole, so that nothing is told to be there already."""
    books.fund(ALICE, 300)
    [used] = books.submitter.submit(moved("used", ALICE, BOB, 150))
    groups = [[moved(f"new {n}", ALICE, BOB, 1)] for n in range(others)]
    outcomes = books.submitter.submit_batch([*groups, [moved("used", ALICE, BOB, 150)]])
    assert [outcome.again for outcome in outcomes if isinstance(outcome, Posted)] == [False] * others + [True]
    assert numbers(outcomes)[-1] == used.seq
    assert books.balance(BOB) == 150 + others
    books.check()


def test_linked_entries_of_which_one_was_posted_before_fall_together(books: Books) -> None:
    books.fund(ALICE, 10)
    books.submitter.submit(moved("a", ALICE, BOB, 1))
    outcomes = books.submitter.submit_batch([[moved("b", ALICE, BOB, 1), moved("a", ALICE, BOB, 1)]])
    assert isinstance(outcomes[0], LinkedRefused)
    assert codes(outcomes)[1] == "ledger.conflicting_key"
    assert books.balance(BOB) == 1


@pytest.mark.parametrize("size", [1, store.FEW_ENTRIES])
def test_what_another_writer_did_is_seen(books: Books, size: int) -> None:
    books.fund(ALICE, 10)
    books.submitter.submit(moved("warm", ALICE, BOB, 10))
    other = Submitter(books.ledger.appender, books.database)
    other.submit(moved("back", BOB, ALICE, 10))
    groups = [[moved(f"spend {n}", ALICE, BOB, 1)] for n in range(size)]
    outcomes = books.submitter.submit_batch(groups)
    assert codes(outcomes) == (["posted"] * 10 + ["ledger.insufficient_funds"] * 90)[:size]
    other.close()
    books.check()


def test_the_connection_is_kept_when_a_round_meets_a_used_key(books: Books) -> None:
    """Undoing that round makes the server forget what it has planned; the next questions are planned again."""
    many = store.FEW_ENTRIES
    books.fund(ALICE, 20 * many)
    other = Submitter(books.ledger.appender, books.database)
    connections = set()
    for turn, word in enumerate(["first", "second", "used", "used", *map(str, range(12))]):
        other.submit(moved(f"by another {turn}", ALICE, BOB, 1))  # so that there are news
        outcomes = books.submitter.submit_batch([[moved(f"{word} {n}", ALICE, BOB, 1)] for n in range(many)])
        assert codes(outcomes) == ["posted"] * many
        connections.add(books.submitter._connection)
    assert len(connections) == 1
    other.close()
    books.check()


def test_a_refusal_is_judged_anew(books: Books) -> None:
    books.fund(ALICE, 1)
    books.submitter.submit(moved("warm", ALICE, BOB, 1))
    books.fund(ALICE, 5)
    assert books.submitter.submit(moved("now there is money", ALICE, BOB, 5))
    with pytest.raises(InsufficientFunds):
        books.submitter.submit(moved("and now there is none", ALICE, BOB, 5))


@pytest.mark.parametrize("act", ["freeze", "close"])
def test_an_account_that_was_frozen_or_closed_meanwhile_takes_nothing(books: Books, act: str) -> None:
    books.fund(ALICE, 10)
    books.submitter.submit(moved("warm", ALICE, BOB, 1))
    books.submitter.submit(moved("and back", BOB, ALICE, 1))
    books.change(act, BOB)
    state = {"freeze": "frozen", "close": "closed"}[act]
    assert codes(books.submitter.submit_batch([[moved("late", ALICE, BOB, 1)]])) == [f"ledger.account.{state}"]
    books.check()


def test_every_entry_is_there_once_when_connections_break(books: Books) -> None:
    books.fund(ALICE, 100)
    for n in range(20):
        books.submitter.submit(moved(f"before {n}", ALICE, BOB, 1))
        connection = books.submitter._connection
        assert connection is not None
        with psycopg.connect(books.database.conninfo, autocommit=True) as owner:
            owner.execute("select pg_terminate_backend(%s)", [connection.info.backend_pid])
            owner.execute("select pg_sleep(0.01)")
        books.submitter.submit(moved(f"after {n}", ALICE, BOB, 1), moved(f"linked {n}", BOB, ALICE, 1))
    assert books.balance(BOB) == 20
    books.check()
