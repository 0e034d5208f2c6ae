"""Reading the ledger: balances now and in the past, statements by page, the trial balance."""

from __future__ import annotations

from uuid import uuid4

import pytest

from choir.foundation.errors import Refusal
from choir.foundation.ids import show_id
from choir.ledger import queries
from choir.ledger.hashing import ZERO_HASH
from choir.ledger.model import Leg, UnknownAccount, UnknownEntry, UnknownHold, entry_id, parse_entry_id
from tests.ledger.books import ALICE, ALICE_SAT, BOB, CAROL, ISSUANCE, START_US, Books, draft, moved


@pytest.fixture
def history(books: Books) -> Books:
    """Entry n moves n to Alice, a second apart; entries 3 and 4 share their microsecond."""
    for n in range(1, 7):
        books.post(moved(f"k{n}", ISSUANCE, ALICE, n))
        if n != 3:
            books.clock.advance(1)
    return books


def test_a_past_balance_is_exact_at_every_entry(history: Books) -> None:
    with history.tx() as tx:
        found = [queries.balance_at_seq(tx, ALICE, seq) for seq in range(8)]
        assert found == [0, 1, 3, 6, 10, 15, 21, 21]
        assert queries.balance_at_seq(tx, ISSUANCE, 4) == -10
        assert queries.balance_at_seq(tx, BOB, 4) == 0


def test_a_past_balance_is_exact_at_every_microsecond(history: Books) -> None:
    second = 1_000_000
    with history.tx() as tx:
        for at_us, expected in [
            (0, 0),
            (START_US - 1, 0),
            (START_US, 1),
            (START_US + second - 1, 1),
            (START_US + second, 3),
            (START_US + 2 * second - 1, 3),
            (START_US + 2 * second, 10),
            (START_US + 3 * second, 15),
            (START_US + 4 * second - 1, 15),
            (START_US + 4 * second, 21),
            (2**62, 21),
        ]:
            assert queries.balance_at_time(tx, ALICE, at_us) == expected, at_us


def test_nothing_is_known_before_the_first_entry(empty_books: Books) -> None:
    with empty_books.tx() as tx:
        assert queries.seq_at(tx, 2**62) == 0
        assert queries.head(tx).hash == ZERO_HASH
        assert queries.entries(tx) == []
        assert queries.trial_balance(tx) == []
        assert queries.accounts(tx) == []


def test_a_statement_pages_without_gaps_or_repetition(history: Books) -> None:
    both = draft("round trip", Leg(ALICE, BOB, 5), Leg(BOB, ALICE, 5), Leg(ALICE, CAROL, 1))
    history.post(both)
    with history.tx() as tx:
        whole = queries.statement(tx, ALICE)
        pages, after = [], (0, -1)
        while page := queries.statement(tx, ALICE, after_seq=after[0], after_leg=after[1], limit=2):
            pages += page
            after = (page[-1].seq, page[-1].leg)
    assert pages == whole
    assert [line.delta for line in whole] == [1, 2, 3, 4, 5, 6, -5, 5, -1]
    assert [line.balance for line in whole] == [1, 3, 6, 10, 15, 21, 16, 21, 20]
    assert [line.other for line in whole] == [ISSUANCE] * 6 + [BOB, BOB, CAROL]
    assert [line.leg for line in whole[-3:]] == [0, 3, 4]


def test_entries_page_in_order_and_each_names_the_one_before(history: Books) -> None:
    with history.tx() as tx:
        first, rest = queries.entries(tx, limit=2), queries.entries(tx, after_seq=2)
        assert [one.seq for one in first + rest] == [1, 2, 3, 4, 5, 6]
        assert [one.prev for one in first + rest] == [ZERO_HASH, *[one.hash for one in first + rest][:-1]]
        assert queries.entry(tx, rest[0].id) == rest[0]


def test_accounts_page_by_name_and_prefix(history: Books) -> None:
    with history.tx() as tx:
        names = [account.name for account in queries.accounts(tx)]
        assert names == sorted(names)
        assert len(names) == 7
        people = [account.name for account in queries.accounts(tx, prefix="person:alice/")]
        assert people == [ALICE, ALICE_SAT]
        found: list[str] = []
        while page := queries.accounts(tx, prefix="person:", after=found[-1] if found else "", limit=2):
            found += [account.name for account in page]
        assert found == [name for name in names if name.startswith("person:")]
        assert queries.accounts(tx, prefix="person:", after="zzz") == []


def test_the_trial_balance_sums_to_zero_for_each_asset(history: Books) -> None:
    history.fund(ALICE_SAT, 2**62)
    history.place(ALICE, 4)
    with history.tx() as tx:
        lines = {(line.asset, line.role): (line.accounts, line.balance) for line in queries.trial_balance(tx)}
    assert lines == {
        ("CREDIT", "available"): (3, 17),
        ("CREDIT", "escrow"): (1, 4),
        ("CREDIT", "issuance"): (1, -21),
        ("SAT", "available"): (2, 2**62),
        ("SAT", "external"): (1, -(2**62)),
    }


def test_sums_may_pass_64_bits(books: Books) -> None:
    books.open("treasury:main/issuance/CREDIT")
    books.post(moved("1", ISSUANCE, ALICE, 2**63 - 1), moved("2", "treasury:main/issuance/CREDIT", BOB, 2**63 - 1))
    with books.tx() as tx:
        assert [line.balance for line in queries.trial_balance(tx) if line.asset == "CREDIT"] == [2**64 - 2, 2 - 2**64]
    books.check()


def test_what_does_not_exist_is_said_not_to_exist(books: Books) -> None:
    nobody = "person:nobody/available/CREDIT"
    with books.tx() as tx:
        for look in (
            lambda: queries.balance(tx, nobody),
            lambda: queries.balance_at_seq(tx, nobody, 1),
            lambda: queries.statement(tx, nobody),
        ):
            with pytest.raises(UnknownAccount):
                look()
        with pytest.raises(UnknownEntry):
            queries.entry(tx, uuid4())
        with pytest.raises(UnknownHold):
            queries.hold(tx, uuid4())
        assert queries.memo(tx, 1) is None


def test_an_entry_is_found_by_its_shown_id_or_its_uuid(books: Books) -> None:
    id_ = books.fund(ALICE, 1).id
    assert parse_entry_id(entry_id(id_)) == parse_entry_id(str(id_)) == id_
    for wrong in ("", "entry_", show_id("hold", id_), str(id_)[:-1], "x" * 8 + str(id_)[8:], "-" * 36):
        with pytest.raises(Refusal):
            parse_entry_id(wrong)
