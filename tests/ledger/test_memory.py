"""Balances that a submitter remembers count only where the journal is: whatever others did meanwhile is seen."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import psycopg
import pytest

from choir.foundation.errors import Refusal
from choir.ledger.journal import store
from choir.ledger.journal.appender import Group, PreparedGroup
from choir.ledger.journal.memory import Memory
from choir.ledger.journal.records import NEWS_CHARS_MAX, NEWS_MAX, News, View
from choir.ledger.journal.submitter import Submitter
from choir.ledger.model import BatchTooLarge, Draft, Head, Leg, Posted
from choir.ledger.rules import Outcome
from tests.ledger.books import ALICE, BOB, CAROL, ISSUANCE, Books, draft, moved

FEW = 5
MANY = store.FEW_ENTRIES
SIZES = pytest.mark.parametrize("count", [FEW, MANY], ids=["few", "many"])


def codes(outcomes: Sequence[Outcome]) -> list[str]:
    return [outcome.code if isinstance(outcome, Refusal) else "posted" for outcome in outcomes]


def spends(word: str, count: int = MANY) -> list[list[Draft]]:
    return [[moved(f"{word} {n}", ALICE, BOB, 1)] for n in range(count)]


class Meanwhile:
    """Does something while the next batch is prepared, and counts how the journal was asked."""

    def __init__(self, books: Books, monkeypatch: pytest.MonkeyPatch) -> None:
        self.act: Callable[[], object] = lambda: None
        self.looked_up: list[int] = []  # accounts in each question for news
        self.read = 0  # everything, in the long way
        prepare, read, ask = books.ledger.appender.prepare_batch, store.read_view, store.NewsQuestion

        def slow(groups: Sequence[Group]) -> list[PreparedGroup]:
            act, self.act = self.act, lambda: None
            act()
            return prepare(groups)

        def counted(db: psycopg.Connection, needs: store.Needs) -> View:
            self.read += 1
            return read(db, needs)

        def asked(db: psycopg.Connection, since: Head | None, accounts: dict[str, int]) -> store.NewsQuestion:
            self.looked_up.append(len(accounts))
            return ask(db, since, accounts)

        monkeypatch.setattr(books.ledger.appender, "prepare_batch", slow)
        monkeypatch.setattr(store, "NewsQuestion", asked)
        monkeypatch.setattr(store, "read_view", counted)


@pytest.fixture
def meanwhile(books: Books, monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    books.fund(ALICE, 10 * MANY)
    books.submitter.submit_batch(spends("warm"))  # from here on the accounts are remembered
    return Meanwhile(books, monkeypatch)


@pytest.fixture
def other(books: Books) -> Iterator[Submitter]:
    """As another process has it."""
    submitter = Submitter(books.ledger.appender, books.database)
    yield submitter
    submitter.close()


@pytest.fixture
def carol_is_met(books: Books, meanwhile: Meanwhile, other: Submitter) -> None:
    """Her account is known in this process, but its balance is not remembered by the submitter."""
    other.submit(draft("met", Leg(ALICE, CAROL, 1), memo="m", memo_salt=b"s" * 16))
    with books.tx() as tx:  # its new connection made the process forget who is who
        books.ledger.appender._ids(tx.connection, {ALICE, BOB, CAROL}, committed=True)
    meanwhile.looked_up.clear()


@SIZES
def test_what_is_remembered_is_not_asked_for(books: Books, meanwhile: Meanwhile, count: int) -> None:
    for word in ("a", "b"):
        assert codes(books.submitter.submit_batch(spends(word, count))) == ["posted"] * count
    assert (meanwhile.looked_up, meanwhile.read) == ([], 0)
    assert books.balance(BOB) == MANY + 2 * count
    books.check()


@SIZES
def test_only_what_is_not_remembered_is_looked_up(
    books: Books, meanwhile: Meanwhile, carol_is_met: None, count: int
) -> None:
    drafts = [*spends("a", count), [moved("to another", ALICE, CAROL, 1)]]
    assert codes(books.submitter.submit_batch(drafts)) == ["posted"] * (count + 1)
    assert meanwhile.looked_up == [1]
    books.check()


@SIZES
def test_what_another_writer_spent_before_is_seen(
    books: Books, meanwhile: Meanwhile, other: Submitter, count: int
) -> None:
    other.submit(moved("all but three", ALICE, CAROL, 9 * MANY - 3))
    outcomes = books.submitter.submit_batch(spends("a", count))
    assert codes(outcomes) == ["posted"] * 3 + ["ledger.insufficient_funds"] * (count - 3)
    assert meanwhile.looked_up[-1] == 0  # it came with the news
    assert books.balance(ALICE) == 0
    books.check()


def test_what_another_writer_spent_meanwhile_is_seen(books: Books, meanwhile: Meanwhile, other: Submitter) -> None:
    meanwhile.act = lambda: other.submit(moved("all", ALICE, CAROL, 9 * MANY - 3))
    outcomes = books.submitter.submit_batch(spends("a"))
    assert codes(outcomes) == ["posted"] * 3 + ["ledger.insufficient_funds"] * (MANY - 3)
    assert books.balance(ALICE) == 0
    books.check()


@SIZES
def test_what_another_writer_brought_is_there_for_who_would_be_refused(
    books: Books, meanwhile: Meanwhile, other: Submitter, count: int
) -> None:
    """A refusal writes nothing, so no append shows that the memory was behind."""
    books.submitter.submit(moved("away", ALICE, CAROL, 9 * MANY))
    assert codes(books.submitter.submit_batch(spends("poor", count))) == ["ledger.insufficient_funds"] * count
    other.submit(moved("back", CAROL, ALICE, count))
    assert codes(books.submitter.submit_batch(spends("rich", count))) == ["posted"] * count
    assert books.balance(ALICE) == 0
    books.check()


@SIZES
def test_what_features_post_in_their_own_transactions_is_seen(books: Books, meanwhile: Meanwhile, count: int) -> None:
    books.place(ALICE, 9 * MANY - 2, key="held")
    outcomes = books.submitter.submit_batch(spends("a", count))
    assert codes(outcomes) == ["posted"] * 2 + ["ledger.insufficient_funds"] * (count - 2)
    books.check()


@SIZES
def test_more_news_than_is_worth_hearing_makes_it_forget(
    books: Books, meanwhile: Meanwhile, other: Submitter, count: int
) -> None:
    other.submit_batch([[moved(f"much {n}", ALICE, CAROL, 1)] for n in range(NEWS_MAX + 1)])
    meanwhile.looked_up.clear()
    assert codes(books.submitter.submit_batch(spends("a", count))) == ["posted"] * count
    assert meanwhile.looked_up == [0, 2]
    assert books.balance(ALICE) == 10 * MANY - MANY - NEWS_MAX - 1 - count
    books.check()


@SIZES
def test_an_account_that_was_frozen_before_is_frozen(books: Books, meanwhile: Meanwhile, count: int) -> None:
    for name in (ALICE, BOB):
        books.change("freeze", name)
        outcomes = books.submitter.submit_batch(spends(f"frozen {name}", count))
        assert codes(outcomes) == ["ledger.account.frozen"] * count
        books.change("unfreeze", name)
    assert codes(books.submitter.submit_batch(spends("b", count))) == ["posted"] * count
    books.check()


def test_an_account_that_was_frozen_meanwhile_is_frozen(books: Books, meanwhile: Meanwhile) -> None:
    meanwhile.act = lambda: books.change("freeze", BOB)
    assert codes(books.submitter.submit_batch(spends("a"))) == ["ledger.account.frozen"] * MANY
    books.change("unfreeze", BOB)
    assert codes(books.submitter.submit_batch(spends("b"))) == ["posted"] * MANY
    books.check()


@SIZES
def test_a_round_that_is_undone_leaves_the_memory_where_it_was(books: Books, meanwhile: Meanwhile, count: int) -> None:
    used = spends("warm", 1)
    outcomes = books.submitter.submit_batch([*spends("a", count), *used])
    assert codes(outcomes) == ["posted"] * (count + 1)
    assert books.balance(BOB) == MANY + count
    for n in range(12):  # with keys looked up, and without again
        books.submitter.submit_batch(spends(f"then {n}", FEW))
    assert books.balance(BOB) == MANY + count + 12 * FEW
    books.check()


def test_a_commit_that_is_not_heard_of_is_found(
    books: Books, meanwhile: Meanwhile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks behind the commit: the batch is sent again, and its keys tell that it is there."""
    commit = psycopg.Connection.commit
    broken: list[int] = []

    def lost(db: psycopg.Connection) -> None:
        commit(db)
        if not broken:
            broken.append(1)
            raise psycopg.OperationalError("the connection is lost")

    monkeypatch.setattr(psycopg.Connection, "commit", lost)
    outcomes = books.submitter.submit_batch(spends("a"))
    assert broken
    assert [outcome.again for outcome in outcomes if isinstance(outcome, Posted)] == [True] * MANY
    assert codes(books.submitter.submit_batch(spends("b"))) == ["posted"] * MANY
    assert books.balance(ALICE) == 10 * MANY - 3 * MANY
    books.check()


def test_a_batch_that_is_refused_whole_leaves_nothing_behind(
    books: Books, meanwhile: Meanwhile, carol_is_met: None
) -> None:
    limit = books.policy.batch_entries_max
    with pytest.raises(BatchTooLarge):
        books.submitter.submit_batch([[moved("many", CAROL, BOB, 1)] * (limit + 1)])
    assert meanwhile.looked_up == [1]  # under way when the batch was refused
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    books.check()


def test_a_connection_that_breaks_meanwhile_is_made_again(
    books: Books, meanwhile: Meanwhile, carol_is_met: None
) -> None:
    connection = books.submitter._connection
    assert connection is not None
    victim = connection.info.backend_pid

    def cut() -> None:
        with books.tx() as tx:
            assert tx.value("select pg_terminate_backend(%s, 5000)", victim)

    meanwhile.act = cut
    drafts = [*spends("a"), [moved("to another", ALICE, CAROL, 1)]]
    assert codes(books.submitter.submit_batch(drafts)) == ["posted"] * (MANY + 1)
    assert books.balance(BOB) == 2 * MANY
    books.check()


def test_used_keys_are_still_found(books: Books, meanwhile: Meanwhile) -> None:
    again = books.submitter.submit_batch(spends("warm"))
    assert [outcome.again for outcome in again if isinstance(outcome, Posted)] == [True] * MANY
    assert books.balance(BOB) == MANY


def test_whoever_waits_meanwhile_is_served(books: Books, meanwhile: Meanwhile) -> None:
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


def test_random_writers_agree_with_the_journal(books: Books, other: Submitter) -> None:
    """Two submitters, features and acts in any order: every memory is what the database has, after each of them."""
    chance = random.Random(7)
    people = [ALICE, BOB, CAROL]
    books.fund(ALICE, 10_000)
    frozen: set[str] = set()
    for n in range(150):
        submitter = chance.choice([books.submitter, other])
        count = chance.choice([1, 1, 3, FEW, MANY])
        pairs = [chance.sample(people, 2) for _ in range(count)]
        drafts = [moved(f"{n} {k}", a, b, chance.randrange(1, 400)) for k, (a, b) in enumerate(pairs)]
        step = chance.random()
        if step < 0.7:
            submitter.submit_batch([[each] for each in drafts])
        elif step < 0.8:
            books.batch([[each] for each in drafts])
        elif step < 0.9:
            books.place(ISSUANCE, 5, key=f"hold {n}")
        else:
            name = chance.choice(people)
            books.change("unfreeze" if name in frozen else "freeze", name)
            frozen ^= {name}
        for each in (books.submitter, other):
            assert not books.misremembered(each)
    books.check()


HEAD = Head(3, b"h" * 32, 10, 1, b"a" * 32)


def news(
    head: Head = HEAD, since: Head | None = HEAD, contents: Sequence[str] = (), balances: dict[str, int] | None = None
) -> News:
    """What somebody hears who was at `since`."""
    hash_, acts_hash = (None, None) if since is None else (since.hash, since.acts_hash)
    return News(head, hash_, acts_hash, list(contents), [], balances or {})


def _knowing(**balances: int) -> Memory:
    memory = Memory(100)
    memory.hear(news(since=None, balances=balances))
    return memory


def test_another_journal_makes_it_forget() -> None:
    """As after a rollback: the entry that it knows last is another one, or is not there."""
    for hash_ in (b"x" * 32, None):
        memory = _knowing(a=1)
        memory.hear(replace(news(replace(HEAD, hash=b"y" * 32), balances={"b": 2}), since_hash=hash_))
        assert memory.missing({"a": 1, "b": 2}) == {"a": 1}
        assert memory.head == replace(HEAD, hash=b"y" * 32)


def test_other_acts_make_it_forget() -> None:
    """As after a restore: as many acts, but not the same ones; an account may be frozen that was open."""
    memory = _knowing(a=1)
    memory.hear(replace(news(replace(HEAD, acts_hash=b"b" * 32)), since_acts_hash=b"b" * 32))
    assert not memory.knows(["a"])


def test_accounts_that_others_open_change_nothing_that_is_remembered(books: Books, meanwhile: Meanwhile) -> None:
    books.open(*[f"person:p{n}/available/CREDIT" for n in range(NEWS_MAX + 1)])
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    assert meanwhile.looked_up == [0]


def test_more_changes_of_accounts_than_are_worth_hearing_make_it_forget(books: Books, meanwhile: Meanwhile) -> None:
    for _ in range(NEWS_MAX // 2 + 1):
        books.change("freeze", BOB)
        books.change("unfreeze", BOB)
    assert codes(books.submitter.submit_batch(spends("a"))) == ["posted"] * MANY
    assert meanwhile.looked_up == [0, 2]


def test_news_that_are_long_to_read_make_it_forget(books: Books, meanwhile: Meanwhile, other: Submitter) -> None:
    there_and_back = [Leg(ALICE, CAROL, 1), Leg(CAROL, ALICE, 1)] * 45
    for n in range(NEWS_CHARS_MAX // (90 * 80) + 1):
        other.submit(draft(f"wide {n}", *there_and_back))
    meanwhile.looked_up.clear()
    assert codes(books.submitter.submit_batch(spends("a", FEW))) == ["posted"] * FEW
    assert meanwhile.looked_up == [0, 2]
    books.check()


class Interrupted(BaseException):
    """As Ctrl-C comes: anywhere."""


def test_who_is_interrupted_while_it_learns_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = news(replace(HEAD, seq=4), contents=[_content("a", "b", 5)])
    move = Memory._move
    for victim in ("a", "b"):  # before the leg's first side, and between its sides
        memory = _knowing(a=10, b=0)

        def interrupted(self: Memory, name: str, amount: int, victim: str = victim) -> None:
            if name == victim:
                raise Interrupted
            move(self, name, amount)

        monkeypatch.setattr(Memory, "_move", interrupted)
        with pytest.raises(Interrupted):
            memory.hear(heard)
        monkeypatch.setattr(Memory, "_move", move)
        assert not memory.knows(["a"])
        memory.hear(news(replace(HEAD, seq=4), since=None, balances={"a": 5}))
        assert memory.view({"a": 1}).balances == {1: 5}
        assert memory.missing({"b": 2})  # what was half learned is gone


def _content(from_: str, to: str, amount: int) -> str:
    return json.dumps({"legs": [{"amount": str(amount), "from": from_, "to": to}]})


def test_a_round_that_began_elsewhere_is_not_learned() -> None:
    memory = _knowing(a=1)
    memory.follow(View(replace(HEAD, seq=4), {"a": 1}, {1: 7}), replace(HEAD, seq=5))
    assert memory.head == HEAD
    assert memory.view({"a": 1}).balances == {1: 1}


def test_a_round_does_not_change_what_is_remembered_before_it_is_committed() -> None:
    memory = _knowing(a=1)
    memory.view({"a": 1}).balances[1] = 99
    assert memory.view({"a": 1}).balances == {1: 1}


def test_it_is_bounded() -> None:
    memory = Memory(accounts_max=10)
    for n in range(0, 40, 4):
        names = {str(n + k): n + k for k in range(4)}
        memory.hear(news(balances=dict.fromkeys(names, 1)))
        assert memory.knows(names)  # what was just asked for is there, whatever else
        assert 4 <= len(memory) <= 14
        memory.follow(memory.view(names), HEAD)
        assert len(memory) <= 10


@SIZES
def test_it_can_be_turned_off(books: Books, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    books.fund(ALICE, 10 * MANY)
    forgetful = Submitter(books.ledger.appender, books.database, remembered_accounts_max=0)
    forgetful.submit_batch(spends("warm", count))
    meanwhile = Meanwhile(books, monkeypatch)
    for n in range(3):
        assert codes(forgetful.submit_batch(spends(f"{n}", count))) == ["posted"] * count
    assert (meanwhile.looked_up, meanwhile.read) == ([2, 2, 2], 0)
    forgetful.close()
    books.check()
