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


class Hopes:
    """Counts the rounds that write their entries before they are settled, and those that came true."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tried = self.true = 0
        append = store.append_in_hope

        def counted(*args: object) -> object:
            self.tried += 1
            decision = append(*args)  # type: ignore[arg-type]
            self.true += decision is not None
            return decision

        monkeypatch.setattr(store, "append_in_hope", counted)


@pytest.fixture
def hopes(books: Books, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch) -> Hopes:
    books.submitter.submit_batch([[moved(f"carol {n}", ALICE, CAROL, 1)] for n in range(MANY)])
    return Hopes(monkeypatch)


def test_entries_are_written_in_the_hope_that_all_are_accepted(books: Books, hopes: Hopes) -> None:
    before = books.balance(BOB)
    for word in ("a", "b"):
        assert codes(books.submitter.submit_batch(spends(word))) == ["posted"] * MANY
    assert (hopes.tried, hopes.true) == (2, 2)
    assert books.balance(BOB) == before + 2 * MANY
    books.check()


def test_where_one_is_refused_nothing_is_left_of_the_hope(books: Books, hopes: Hopes) -> None:
    poor = [[moved(f"poor {n}", CAROL, BOB, MANY + 1)] for n in range(3)]
    mixed = [*spends("a", MANY // 2), *poor, *spends("b", MANY // 2)]
    outcomes = books.submitter.submit_batch(mixed)
    refused = ["ledger.insufficient_funds"] * 3
    assert codes(outcomes) == ["posted"] * (MANY // 2) + refused + ["posted"] * (MANY // 2)
    assert (hopes.tried, hopes.true) == (1, 0)
    seqs = [outcome.seq for outcome in outcomes if isinstance(outcome, Posted)]
    assert seqs == list(range(seqs[0], seqs[0] + MANY))  # as if it had never been tried
    books.check()


def test_doubt_grows_with_every_disappointment_and_ends(books: Books, hopes: Hopes) -> None:
    def round_(word: str, *, refuse: bool) -> None:
        groups = spends(word) if not refuse else [*spends(word), [moved(f"{word} poor", CAROL, BOB, MANY + 1)]]
        codes(books.submitter.submit_batch(groups))

    books.fund(ALICE, 100 * MANY, key="more")
    for n in range(12):
        round_(f"r{n}", refuse=True)
    assert (hopes.tried, hopes.true) == (3, 0)  # rounds 0, 2 and 6; 14 would be the next
    for n in range(16):
        round_(f"s{n}", refuse=False)
    assert hopes.true > 0
    books.check()


def test_a_key_that_was_used_is_found_after_the_hope(books: Books, hopes: Hopes) -> None:
    first = books.submitter.submit_batch(spends("a"))
    again = books.submitter.submit_batch([*spends("a"), *spends("b", 1)])
    assert hopes.tried == 2
    assert [outcome.again for outcome in again if isinstance(outcome, Posted)] == [True] * MANY + [False]
    assert [each.seq for each in again[:MANY] if isinstance(each, Posted)] == [
        each.seq for each in first if isinstance(each, Posted)
    ]
    books.check()


def test_a_question_that_breaks_meanwhile_is_asked_again(books: Books, meanwhile: Meanwhile, hopes: Hopes) -> None:
    asking = books.submitter._asking
    assert asking is not None

    def cut() -> None:
        with books.tx() as tx:
            assert tx.value("select pg_terminate_backend(%s, 5000)", asking.info.backend_pid)

    before = books.balance(BOB)
    meanwhile.act = cut
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    assert codes(books.submitter.submit_batch(spends("b"))) == ["posted"] * MANY
    assert books.balance(BOB) == before + 2 * MANY
    books.check()


def test_linked_drafts_are_accepted_in_hope_too(books: Books, hopes: Hopes) -> None:
    groups = [[moved(f"l {n}", ALICE, BOB, 1), moved(f"m {n}", BOB, CAROL, 1)] for n in range(MANY)]
    assert codes(books.submitter.submit_batch(groups)) == ["posted"] * 2 * MANY
    assert (hopes.tried, hopes.true) == (1, 1)
    assert books.balance(CAROL) == 2 * MANY
    books.check()
