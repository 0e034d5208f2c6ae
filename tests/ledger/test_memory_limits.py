"""What news cost, and what they cannot be mistaken about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import psycopg
import pytest
from psycopg.pq.abc import PGconn

from choir.foundation.errors import Refusal
from choir.ledger.journal import store
from choir.ledger.journal.records import NEWS_MAX
from choir.ledger.journal.submitter import Submitter
from choir.ledger.model import Leg
from choir.storage import statements
from choir.storage.database import DatabaseUnavailable
from tests.ledger.books import ALICE, BOB, CAROL, ISSUANCE, Books, draft, moved

T = TypeVar("T")


def test_news_are_found_by_index_however_small_the_tables_were_when_they_were_first_asked_for(
    books: Books, superuser_dsn: str
) -> None:
    """A plan is made once for each connection; one for empty tables reads all of them when they are large."""
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        db.execute("set plan_cache_mode = force_generic_plan")
        db.execute("prepare news (bigint[], bigint, bigint, bigint, bigint) as " + store._NEWS._sql.decode())
        plan = [row[0] for row in db.execute("explain (costs off) execute news ('{1}', 5, 1, 256, 999)").fetchall()]
    assert not [line.strip() for line in plan if "Seq Scan on entries" in line]
    assert not [line.strip() for line in plan if "Seq Scan on accounts a_1" in line or "Hash Join" in line]


@pytest.mark.parametrize(
    ("types", "statement", "values"),
    [
        ("text[], text[]", store._ANY_KNOWN, "'{s}', '{k}'"),
        ("text[], text[], bigint[]", store._READ, "'{s}', '{k}', '{1}'"),
    ],
)
def test_keys_are_found_by_index_however_small_the_tables_were(
    books: Books, superuser_dsn: str, types: str, statement: str, values: str
) -> None:
    numbers = {"%(sources)b": "$1", "%(keys)b": "$2", "%(ids)b": "$3"}
    for name, number in numbers.items():
        statement = statement.replace(name, number)
    statement = statement.replace("%b", "$1", 1).replace("%b", "$2", 1)
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        db.execute("set plan_cache_mode = force_generic_plan")
        db.execute(f"prepare asked ({types}) as {statement}")
        plan = [row[0] for row in db.execute(f"explain (costs off) execute asked ({values})").fetchall()]
    assert any(
        "Index Scan using entries_source_key" in line or "Index Only Scan using entries_source_key" in line
        for line in plan
    )
    assert not [line.strip() for line in plan if "Seq Scan on entries" in line or "Join" in line]


def test_after_a_restore_an_account_that_was_frozen_since_is_frozen(books: Books, superuser_dsn: str) -> None:
    """The node runs on while the database goes back by one act, and another act takes its number."""
    books.fund(ALICE, 1000)
    books.submitter.submit_batch([[moved(f"warm {n}", ALICE, BOB, 1)] for n in range(3)])
    with books.tx() as tx:
        before = tx.row("select acts, acts_hash, at_us from ledger_head")
    assert before is not None
    books.change("freeze", CAROL)
    books.submitter.submit_batch([[moved(f"poor {n}", ALICE, BOB, 5000)] for n in range(2)])  # hears of it
    with psycopg.connect(superuser_dsn, autocommit=True) as db:  # what a restore to before the freeze comes to
        db.execute("alter table account_acts disable trigger append_only")
        db.execute("delete from account_acts where n > %s", [before[0]])
        db.execute("alter table account_acts enable always trigger append_only")
        db.execute("update accounts set state = 'open'")
        db.execute("update ledger_head set acts = %s, acts_hash = %s, at_us = %s", before)
    books.change("freeze", ALICE)
    outcomes = books.submitter.submit_batch([[moved(f"frozen {n}", ALICE, BOB, 1)] for n in range(3)])
    assert all(isinstance(outcome, Refusal) for outcome in outcomes)
    books.check()


@pytest.mark.parametrize("way", ["lone", "few", "many", "in a transaction"])
def test_after_a_restore_an_account_that_is_not_there_any_more_is_unknown(
    empty_books: Books, superuser_dsn: str, way: str
) -> None:
    """The node runs on while the database goes back to before the account was opened; its number may be given again."""
    books = empty_books
    books.open(ISSUANCE, ALICE)
    books.fund(ALICE, 1000)
    with books.tx() as tx:
        before = tx.row("select seq, hash, at_us, acts, acts_hash from ledger_head")
    assert before is not None
    books.open(BOB)
    books.submitter.submit_batch([[moved(f"warm {n}", ALICE, BOB, 1)] for n in range(3)])
    with psycopg.connect(superuser_dsn, autocommit=True) as db:
        db.execute("set session_replication_role = replica")
        for table in ("entries", "postings", "account_acts"):
            db.execute(f"alter table {table} disable trigger append_only")
        db.execute("delete from entries where seq > %s", [before[0]])
        db.execute("delete from postings where seq > %s", [before[0]])
        db.execute("delete from account_acts where n > %s", [before[3]])
        db.execute("delete from accounts where name = %s", [BOB])
        db.execute("select setval(pg_get_serial_sequence('accounts', 'id'), (select max(id) from accounts))")
        db.execute("update ledger_head set seq = %s, hash = %s, at_us = %s, acts = %s, acts_hash = %s", before)
        for table in ("entries", "postings", "account_acts"):
            db.execute(f"alter table {table} enable always trigger append_only")
        db.execute(  # nobody restores a database under open connections
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )
    drafts = [[moved(f"{way} {n}", ALICE, BOB, 1)] for n in range({"lone": 1, "few": 3}.get(way, store.FEW_ENTRIES))]
    post = books.batch if way == "in a transaction" else books.submitter.submit_batch
    outcomes = _patiently(lambda: post(drafts))
    assert {outcome.code if isinstance(outcome, Refusal) else "posted" for outcome in outcomes} == {
        "ledger.account.unknown"
    }
    _patiently(lambda: books.open(CAROL))
    assert books.balance(CAROL) == 0
    books.check()


def _patiently(work: Callable[[], T]) -> T:
    """The first who uses a connection of the pool that is gone is told so."""
    while True:
        try:
            return work()
        except DatabaseUnavailable:
            continue


def test_an_interrupt_right_after_an_early_question_harms_no_later_batch(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    books.fund(ALICE, 1000)
    many = store.FEW_ENTRIES
    for to in (BOB, CAROL):  # known in this process
        books.submitter.submit_batch([[moved(f"warm {to} {n}", ALICE, to, 1)] for n in range(2)])
    books.submitter._rounds._memory._balances.pop(CAROL)  # so that it is asked for early
    with monkeypatch.context() as patched:
        flush = statements._flush

        def interrupted(connection: PGconn) -> None:
            flush(connection)
            raise KeyboardInterrupt

        patched.setattr(statements, "_flush", interrupted)
        with pytest.raises(KeyboardInterrupt):
            books.submitter.submit_batch([[moved(f"lost {n}", ALICE, CAROL, 1)] for n in range(many)])
    failures: list[str] = []
    for attempt in range(3):
        try:
            books.submitter.submit_batch([[moved(f"next {attempt} {n}", ALICE, CAROL, 1)] for n in range(many)])
        except AssertionError as error:
            failures.append(str(error))
    assert failures == []
    books.check()


@pytest.mark.parametrize("behind", [NEWS_MAX - 1, NEWS_MAX, NEWS_MAX + 1])
@pytest.mark.parametrize("count", [1, 3, store.FEW_ENTRIES])
def test_at_the_border_of_what_is_heard_balances_are_exact(books: Books, behind: int, count: int) -> None:
    other = Submitter(books.ledger.appender, books.database)
    books.fund(ALICE, 1000)
    books.submitter.submit_batch([[moved(f"warm {n}", ALICE, BOB, 1)] for n in range(3)])
    left = 1000 - 3 - behind
    other.submit_batch([[moved(f"other {n}", ALICE, BOB, 1)] for n in range(behind)])
    spends = [[moved(f"all {n}", ALICE, BOB, left if n == 0 else 1)] for n in range(count)]
    outcomes = books.submitter.submit_batch(spends)
    assert [isinstance(outcome, Refusal) for outcome in outcomes] == [False] + [True] * (count - 1)
    assert books.balance(ALICE) == 0
    other.close()
    books.check()


ODD = ["\n", "\r\n", "\u2028", "\u0085", "\x0b\x0c\x1c\x1d\x1e", '"', "\\", "\\n", "\\\\n", "\x7f", "\U0001f600", "},{"]


@pytest.mark.parametrize("count", [2, store.FEW_ENTRIES])
def test_what_people_write_does_not_divide_the_news(books: Books, count: int) -> None:
    other = Submitter(books.ledger.appender, books.database)
    books.fund(ALICE, 1000)
    books.submitter.submit_batch([[moved(f"warm {n}", ALICE, BOB, 1)] for n in range(2)])
    for n, odd in enumerate(ODD):
        one = draft(f"{n}{odd}", Leg(ALICE, BOB, 2), Leg(BOB, ALICE, 1), kind=f"k{odd}", source=f"s{odd}")
        other.submit(replace(one, refs=(odd, f"{odd}{odd}"), memo=odd))
    left = 1000 - 2 - len(ODD)
    spends = [[moved(f"all {n}", ALICE, BOB, left if n == 0 else 1)] for n in range(count)]
    outcomes = books.submitter.submit_batch(spends)
    assert [isinstance(outcome, Refusal) for outcome in outcomes] == [False] + [True] * (count - 1)
    other.close()
    books.check()


def test_from_the_very_beginning(books: Books) -> None:
    """The journal is empty when it is first looked at."""
    other = Submitter(books.ledger.appender, books.database)
    refused = books.submitter.submit_batch([[moved(f"poor {n}", ALICE, BOB, 1)] for n in range(2)])
    assert all(isinstance(outcome, Refusal) for outcome in refused)
    head = books.submitter._rounds._memory.head
    assert head is not None
    assert head.seq == 0
    books.fund(ALICE, 5)
    other.submit(moved("one", ALICE, BOB, 1))
    outcomes = books.submitter.submit_batch([[moved(f"rich {n}", ALICE, BOB, 2)] for n in range(3)])
    assert [isinstance(outcome, Refusal) for outcome in outcomes] == [False, False, True]
    other.close()
    books.check()
