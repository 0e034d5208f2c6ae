"""Accounts: opened once, frozen and closed with a reason, each act in a chain of its own."""

from __future__ import annotations

import hashlib
import threading

import pytest

from choir.foundation.canonical import canonical_bytes
from choir.foundation.errors import Refusal
from choir.ledger import queries
from choir.ledger.model import AccountInUse, BadAccountName, Posted, UnknownAccount, WrongState, account_name
from tests.ledger.books import ALICE, BOB, ISSUANCE, START_US, Books, check_export, moved


@pytest.mark.parametrize(
    "name",
    [
        "person:alice/available/CREDIT",
        "treasury:main/pool.citation/USDC",
        "world:lightning/external/SAT",
        "system:main/issuance/AID",
        "agent:A-z_09/stake/CHIP",
    ],
)
def test_a_name_says_whose_account_it_is_what_for_and_in_which_asset(name: str) -> None:
    found = account_name(name)
    purpose = f".{found.purpose}" if found.purpose else ""
    assert f"{found.owner_kind}:{found.owner_id}/{found.role}{purpose}/{found.asset.name}" == name
    assert found.may_overdraw == (found.role in ("issuance", "external"))


@pytest.mark.parametrize(
    "name",
    [
        "", "alice", "person:alice/available", "person:alice/available/credit", "person:alice/available/CREDIT/",
        "person:/available/CREDIT", "person:al ice/available/CREDIT", "person:alice/available/CREDIT\n",
        "robot:alice/available/CREDIT", "person:alice/wallet/CREDIT", "person:alice/pool./CREDIT",
        "person:alice/pool.Big/CREDIT", "person:alice/issuance/CREDIT", "person:alice/external/SAT",
        "world:x/issuance/SAT", "system:x/external/SAT", "person:é/available/CREDIT", "person:a\0/available/CREDIT",
        "person:" + "a" * 65 + "/available/CREDIT", "person:alice/available/EUR", "person:ａ/available/CREDIT",
    ],
)  # fmt: skip
def test_what_is_not_a_name_is_refused(books: Books, name: str) -> None:
    with pytest.raises(Refusal):
        books.open(name)


def test_opening_twice_is_opening_once(empty_books: Books) -> None:
    assert empty_books.open(ALICE, BOB, ALICE) == [ALICE, BOB]
    assert empty_books.open(BOB, ISSUANCE, ALICE) == [ISSUANCE]
    assert empty_books.open(BOB) == []
    assert empty_books.open() == []
    with empty_books.tx() as tx:
        assert queries.head(tx).acts == 3
    empty_books.check()


def test_many_openers_at_once_open_each_account_once(empty_books: Books) -> None:
    names = [f"person:p{n}/available/CREDIT" for n in range(20)]
    opened: list[str] = []

    def work(shift: int) -> None:
        opened.extend(empty_books.open(*names[shift:], *names[:shift]))

    threads = [threading.Thread(target=work, args=(n * 5,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(opened) == sorted(names)
    empty_books.check()


def test_the_account_of_a_hold_cannot_be_opened_frozen_or_closed_by_hand(books: Books) -> None:
    with pytest.raises(BadAccountName):
        books.open("hold:0190b3f0-0000-7000-8000-000000000000/escrow/CREDIT")
    books.fund(ALICE, 10)
    account = books.hold(books.place(ALICE, 10)).account
    for act in ("freeze", "unfreeze", "close"):
        with pytest.raises(BadAccountName):
            books.change(act, account)
    books.check()


def test_a_frozen_account_neither_pays_nor_receives_until_it_is_unfrozen(books: Books) -> None:
    books.fund(ALICE, 10)
    books.change("freeze", ALICE)
    for draft in (moved("k", ALICE, BOB, 1), moved("k", ISSUANCE, ALICE, 1)):
        assert books.refused(draft).code == "ledger.account.frozen"
        assert [getattr(one, "code", "") for one in books.submitter.submit_batch([[draft]])] == [
            "ledger.account.frozen"
        ]
    with books.tx() as tx:
        assert queries.balance(tx, ALICE).state == "frozen"
    books.change("unfreeze", ALICE)
    books.post(moved("k", ALICE, BOB, 1))
    books.check()


def test_a_closed_account_is_empty_and_stays_closed(books: Books) -> None:
    books.fund(ALICE, 10)
    with pytest.raises(AccountInUse):
        books.change("close", ALICE)
    books.post(moved("away", ALICE, BOB, 10))
    books.change("close", ALICE)
    assert books.refused(moved("k", ISSUANCE, ALICE, 1)).code == "ledger.account.closed"
    for act in ("freeze", "unfreeze", "close"):
        with pytest.raises(WrongState):
            books.change(act, ALICE)
    assert books.open(ALICE) == []
    assert books.refused(moved("k", ISSUANCE, ALICE, 1)).code == "ledger.account.closed"
    books.check()


def test_an_account_below_zero_cannot_be_closed(books: Books) -> None:
    books.fund(ALICE, 10)
    with pytest.raises(AccountInUse):
        books.change("close", ISSUANCE)


@pytest.mark.parametrize(("before", "act"), [((), "unfreeze"), (("freeze",), "freeze"), (("freeze",), "close")])
def test_an_act_must_fit_the_state(books: Books, before: tuple[str, ...], act: str) -> None:
    for one in before:
        books.change(one, ALICE)
    with pytest.raises(WrongState):
        books.change(act, ALICE)
    books.check()


def test_an_act_on_an_account_that_is_not_there_is_refused(books: Books) -> None:
    with pytest.raises(UnknownAccount):
        books.change("freeze", "person:nobody/available/CREDIT")


@pytest.mark.parametrize("bad", ["", "x" * 201, "a\0b", "\ud800"])
def test_every_act_needs_a_reason_and_a_source(books: Books, bad: str) -> None:
    with books.tx() as tx:
        for reason, source in ((bad, "s"), ("r", bad)):
            with pytest.raises(Refusal):
                books.accounts.open(tx, ["person:new/available/CREDIT"], reason=reason, source=source)
            with pytest.raises(Refusal):
                books.accounts.freeze(tx, ALICE, reason=reason, source=source)
    books.check()


def test_acts_stand_in_a_chain_that_anyone_can_compute(books: Books) -> None:
    books.fund(ALICE, 1)
    books.fund(ALICE, 2)
    books.clock.advance(1)
    with books.tx() as tx:
        books.accounts.freeze(tx, ALICE, reason="Prüfung", source="operator")
        rows = tx.rows(
            "select x.n, a.name, x.act, x.after_seq, x.at_us, x.reason, x.source, x.hash"
            " from account_acts x join accounts a on a.id = x.account order by n"
        )
        head = queries.head(tx)
    prev = bytes(32)
    for number, (n, name, act, after, at_us, reason, source, hash_) in enumerate(rows, start=1):
        assert after == (2 if act == "freeze" else 0)
        content = canonical_bytes({"account": name, "act": act, "after": after, "reason": reason, "source": source})
        prev = hashlib.sha256(
            b"choir-account-v1"
            + prev
            + n.to_bytes(8, "big")
            + at_us.to_bytes(8, "big")
            + hashlib.sha256(content).digest()
        ).digest()
        assert (n, hash_) == (number, prev)
    assert (head.acts, head.acts_hash, head.at_us) == (len(rows), prev, START_US + 1_000_000)


def test_time_goes_forward_over_acts_and_entries_whatever_the_clock_does(books: Books) -> None:
    """A clock that is set back moves neither of them back: each goes on from the head's time."""
    late = START_US + 5_000_000
    books.clock.at_us = late
    books.change("freeze", BOB)
    books.clock.at_us = START_US
    posted = books.fund(ALICE, 1)
    (submitted,) = books.submitter.submit_batch([[moved("s", ISSUANCE, ALICE, 1)]])
    books.clock.at_us = START_US + 1
    books.change("unfreeze", BOB)
    books.clock.at_us = late + 3
    books.fund(BOB, 1)
    books.clock.at_us = late + 2
    books.open("person:new/available/CREDIT")
    with books.tx() as tx:
        acts = tx.rows("select after_seq, at_us from account_acts where n > 7 order by n")
        assert acts == [(0, late), (2, late), (3, late + 3)]
        assert queries.head(tx).at_us == late + 3
    assert posted.at_us == late
    assert isinstance(submitted, Posted)
    assert submitted.at_us == late
    books.check()


def test_opening_freezing_and_paying_in_one_transaction_keep_their_order(books: Books) -> None:
    new = "person:new/available/CREDIT"
    with books.tx() as tx:
        books.accounts.open(tx, [new], reason="r", source="s")
        books.ledger.post(tx, moved("in", ISSUANCE, new, 5), moved("out", new, BOB, 5))
        books.accounts.freeze(tx, BOB, reason="r", source="s")
        books.accounts.close(tx, new, reason="r", source="s")
        assert tx.rows("select act, after_seq from account_acts where n > 7 order by n") == [
            ("open", 0), ("freeze", 2), ("close", 2),
        ]  # fmt: skip
    books.check()
    report = check_export(books.export())
    assert report.good, report.differences


def test_an_act_that_is_rolled_back_never_happened(books: Books) -> None:
    class Stop(Exception):
        pass

    def open_pay_and_stop() -> None:
        with books.tx() as tx:
            books.accounts.open(tx, ["person:new/available/CREDIT"], reason="r", source="s")
            books.ledger.post(tx, moved("k", ISSUANCE, "person:new/available/CREDIT", 5))
            raise Stop

    with pytest.raises(Stop):
        open_pay_and_stop()
    assert books.refused(moved("k", ISSUANCE, "person:new/available/CREDIT", 5)).code == "ledger.account.unknown"
    outcomes = books.submitter.submit_batch([[moved("k", ISSUANCE, "person:new/available/CREDIT", 5)]])
    assert [getattr(one, "code", "") for one in outcomes] == ["ledger.account.unknown"]
    books.check()


def test_a_freeze_is_seen_by_the_very_next_submission_of_another_process(books: Books) -> None:
    """The submitter reads without a lock; a freeze in between makes it decide again."""
    books.fund(ALICE, 100)
    other = Books(books.database, clock=books.clock)
    other.submitter.submit(moved("warm", ALICE, BOB, 1))
    with books.tx() as tx:
        books.accounts.freeze(tx, ALICE, reason="r", source="s")
        found: list[object] = []
        thread = threading.Thread(
            target=lambda: found.extend(other.submitter.submit_batch([[moved("k", ALICE, BOB, 1)]]))
        )
        thread.start()
        thread.join(0.5)  # it decided on what it could see and now waits at the head
        assert thread.is_alive()
    thread.join()
    assert [getattr(one, "code", "posted") for one in found] == ["ledger.account.frozen"]
    other.close()
    books.check()
