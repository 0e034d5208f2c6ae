"""Many writers at once: every request has one effect, whoever sends it and however often."""

from __future__ import annotations

import multiprocessing
import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress

import psycopg
import pytest

from choir.foundation.clock import SystemClock, SystemEntropy
from choir.foundation.errors import Refusal
from choir.foundation.money import Asset
from choir.ledger import holds, queries
from choir.ledger.accounts import Accounts
from choir.ledger.journal.submitter import Submitter
from choir.ledger.model import Draft, Leg, hold_account
from choir.ledger.policy import LedgerPolicy
from choir.ledger.service import Ledger
from choir.storage.database import Database, DatabaseUnavailable, Tx
from tests.ledger.books import ALICE, BOB, ISSUANCE, START_US, Books, moved

PROCESSES, THREADS, REQUESTS = 2, 32, 960
PEOPLE = [f"person:p{n}/available/CREDIT" for n in range(5)]
FAR_US = START_US + 2 * 365 * 86_400 * 1_000_000
Answer = tuple[str, int, bool]  # key, seq, again


def request(n: int) -> list[Draft]:
    """The n-th request: a transfer, two linked ones, or a hold with its end."""
    payer, payee = PEOPLE[n % 5], PEOPLE[(n * 3 + 1) % 5]
    if payer == payee:
        payee = PEOPLE[(n + 1) % 5]
    if n % 6 == 1:
        return [moved(f"{n}a", payer, payee, 2), moved(f"{n}b", payee, payer, 1)]
    if n % 6 == 2:
        id_ = holds.placed_id("test", f"{n}p")
        leg = Leg(hold_account(id_, Asset.CREDIT), payee, 3)
        return [
            holds.place(payer, 5, expires_us=FAR_US, reason="r", source="test", key=f"{n}p"),
            holds.capture(id_, (leg,), reason="r", source="test", key=f"{n}c"),
        ]
    return [moved(f"{n}", payer, payee, 1)]


def send_all(dsn: str, process: int) -> tuple[list[Answer], list[str]]:
    """What one process does: 32 threads share its submitter and send every request once."""
    database = Database(dsn, wait_s=60).open()
    submitter = Submitter(
        Ledger(SystemClock(), SystemEntropy(), LedgerPolicy(hold_s_max=10 * 366 * 86_400)).appender, database
    )
    answers: list[Answer] = []
    errors: list[str] = []

    def work(thread: int) -> None:
        order = range(thread, REQUESTS, THREADS)
        for n in order if process == 0 else reversed(order):
            drafts = request(n)
            try:
                posted = submitter.submit(*drafts)
                answers.extend((draft.key, one.seq, one.again) for draft, one in zip(drafts, posted, strict=True))
            except Exception as error:  # whatever a caller would see
                errors.append(f"{type(error).__name__}: {error}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    submitter.close()
    database.close()
    return answers, errors


def test_sixty_four_writers_in_two_processes_send_everything_twice_and_it_happens_once(books: Books) -> None:
    books.open(*PEOPLE)
    for name in PEOPLE:
        books.fund(name, 10_000)
    dsn = books.database.conninfo
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        results = list(pool.map(send_all, [dsn] * PROCESSES, range(PROCESSES)))
    assert [errors for _, errors in results] == [[], []]
    keys = {draft.key for n in range(REQUESTS) for draft in request(n)}
    seen = Counter((key, seq) for answers, _ in results for key, seq, _ in answers)
    assert {key for key, _ in seen} == keys
    assert set(seen.values()) == {2}, "both senders were told of the same entry"
    first = [key for answers, _ in results for key, _, again in answers if not again]
    assert sorted(first) == sorted(keys), "exactly one of them caused it"
    expected = Counter(dict.fromkeys(PEOPLE, 10_000))
    for n in range(REQUESTS):
        payer, payee = (request(n)[0].legs[0].from_, request(n)[-1].legs[0].to)
        if n % 6 == 1:
            payee = request(n)[0].legs[0].to
        amount = 3 if n % 6 == 2 else 1
        expected.subtract({payer: amount})
        expected.update({payee: amount})
    assert {name: books.balance(name) for name in PEOPLE} == dict(expected)
    with books.tx() as tx:
        assert tx.value("select count(*) from holds where closed_seq is null") == 0
        assert queries.head(tx).seq == len(keys) + len(PEOPLE)
    books.check()


def test_the_last_coin_is_spent_once(books: Books) -> None:
    books.fund(ALICE, 10)
    others = [Submitter(books.ledger.appender, books.database) for _ in range(4)]

    def spend(n: int) -> str:
        (outcome,) = others[n % 4].submit_batch([[moved(f"spend {n}", ALICE, BOB, 1)]])
        return outcome.code if isinstance(outcome, Refusal) else "posted"

    with ThreadPoolExecutor(16) as pool:
        assert Counter(pool.map(spend, range(64))) == {"posted": 10, "ledger.insufficient_funds": 54}
    assert (books.balance(ALICE), books.balance(BOB)) == (0, 10)
    for other in others:
        other.close()
    books.check()


def test_features_with_locks_of_their_own_and_submitters_do_not_block_each_other(books: Books, owner_dsn: str) -> None:
    """A feature locks its row, then posts: the head is the last lock, so there is no circle."""
    books.fund(ALICE, 100_000)
    with psycopg.connect(owner_dsn, autocommit=True) as owner:
        owner.execute("create table chores (id integer primary key, paid_seq bigint)")
        owner.execute("insert into chores select generate_series(0, 9)")
        owner.execute("grant select, update on chores to choir_app")
    clock = SystemClock()
    ledger = Ledger(clock, SystemEntropy(), LedgerPolicy())
    submitter = Submitter(ledger.appender, books.database)
    accounts = Accounts(clock, LedgerPolicy())

    def pay_job(n: int) -> None:
        def work(tx: Tx) -> None:
            (paid,) = tx.row("select paid_seq from chores where id = %s for update", n % 10) or (None,)
            posted = ledger.post(tx, moved(f"job {n % 10}", ALICE, BOB, 10), moved(f"tip {n % 10}", ALICE, BOB, 1))
            assert (paid is None) == (not posted[0].again)
            tx.run("update chores set paid_seq = %s where id = %s", posted[0].seq, n % 10)

        books.database.run(work)

    def submit(n: int) -> None:
        submitter.submit(moved(f"single {n}", ALICE, BOB, 1))

    def act(n: int) -> None:
        with books.tx() as tx:
            accounts.open(tx, [f"person:x{n % 7}/available/CREDIT"], reason="r", source="s")
            ledger.post(tx, moved(f"gift {n}", ISSUANCE, f"person:x{n % 7}/available/CREDIT", 1))

    work = [pay_job, submit, act]
    with ThreadPoolExecutor(24) as pool:
        for future in [pool.submit(work[n % 3], n) for n in range(360)]:
            future.result()
    submitter.close()
    assert books.balance(BOB) == 10 * 11 + 120
    with books.tx() as tx:
        assert tx.value("select count(*) from chores where paid_seq is not null") == 10
    books.check()


def test_a_transaction_that_rolls_back_leaves_the_head_to_the_next(books: Books) -> None:
    books.fund(ALICE, 10)

    def fail() -> None:
        with books.tx() as tx:
            books.ledger.post(tx, moved("lost", ALICE, BOB, 4))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert books.submitter.submit(moved("kept", ALICE, BOB, 3))[0].seq == 2
    assert books.post(moved("lost", ALICE, BOB, 4))[0].seq == 3
    books.check()


def test_a_broken_connection_is_opened_again_and_the_batch_has_one_effect(books: Books, superuser_dsn: str) -> None:
    books.fund(ALICE, 10)
    books.submitter.submit(moved("first", ALICE, BOB, 1))
    for n in range(3):
        with psycopg.connect(superuser_dsn, autocommit=True) as superuser:
            superuser.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where usename = 'choir_app' and datname = current_database()"
            )
        assert not books.submitter.submit(moved(f"after {n}", ALICE, BOB, 1))[0].again
    with suppress(DatabaseUnavailable):  # a transaction is never repeated behind its caller's back
        books.balance(BOB)
    assert books.balance(BOB) == 4
    books.check()


def test_one_bad_request_harms_nobody_that_shares_its_commit(books: Books) -> None:
    books.fund(ALICE, 1000)
    blocked, release = threading.Event(), threading.Event()

    def hold_the_head() -> None:
        with books.tx() as tx:
            tx.run("select from ledger_head for update")
            blocked.set()
            release.wait(10)

    holder = threading.Thread(target=hold_the_head)
    holder.start()
    blocked.wait(10)
    drafts = [moved(f"k{n}", ALICE, BOB if n % 3 else "person:nobody/available/CREDIT", 1) for n in range(30)]
    with ThreadPoolExecutor(30) as pool:
        futures = [pool.submit(books.submitter.submit_batch, [[draft]]) for draft in drafts]
        threading.Event().wait(0.2)
        release.set()
        found = [getattr(future.result()[0], "code", "posted") for future in futures]
    holder.join()
    assert found == ["posted" if n % 3 else "ledger.account.unknown" for n in range(30)]
    books.check()
