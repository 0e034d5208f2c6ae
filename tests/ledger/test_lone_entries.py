"""A lone entry is decided and chained inside the database; it must come out as if a round had done it."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import MICROSECONDS
from choir.foundation.errors import Refusal
from choir.foundation.money import AMOUNT_MAX
from choir.ledger import queries
from choir.ledger.journal import acceptance, links, store
from choir.ledger.journal.records import View
from choir.ledger.model import Head, Leg, Posted
from choir.ledger.rules import prepare
from tests.depth import times
from tests.ledger.books import ALICE, BOB, CAROL, ISSUANCE, Books, draft, moved


class Spy:
    """Counts how often an entry was posted by the one call."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.posted: list[Posted | None] = []
        plain = store.post_one

        def counted(*args: object, **named: object) -> Posted | None:
            found = plain(*args, **named)  # type: ignore[arg-type]
            self.posted.append(found)
            return found

        monkeypatch.setattr(store, "post_one", counted)


@pytest.fixture
def spy(books: Books, monkeypatch: pytest.MonkeyPatch) -> Spy:
    books.submitter.submit(moved("fund", ISSUANCE, ALICE, 1000))
    for name in (BOB, CAROL):  # from here on the accounts are known
        books.submitter.submit(moved(f"warm {name}", ALICE, name, 1))
    return Spy(monkeypatch)


def decided(books: Books, head: Head, balances: dict[str, int], key: str, leg: Leg, at_us: int, chance: int) -> Posted:
    """What a round makes of the same entry."""
    view = View(head, {name: n for n, name in enumerate(balances)}, dict(enumerate(balances.values())))
    random = chance.to_bytes(4)
    [outcome] = acceptance.decide(
        [[prepare(draft(key, leg), books.policy)]], view, at_us, random, books.policy
    ).outcomes
    assert isinstance(outcome, Posted)
    return outcome


@pytest.mark.scaled
def test_it_comes_out_as_a_round_would_have_it(books: Books, spy: Spy) -> None:
    calls = 0

    @settings(max_examples=times(20, 60), deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        step_us=st.integers(-MICROSECONDS, 3 * MICROSECONDS),
        amount=st.integers(1, 3),
        back=st.booleans(),
        key=st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20),
    )
    def check(step_us: int, amount: int, back: bool, key: str) -> None:
        nonlocal calls
        calls += 1
        books.clock.at_us += step_us
        leg = Leg(BOB, ISSUANCE, 1) if back and books.balance(BOB) else Leg(ISSUANCE, BOB, amount)
        with books.tx() as tx:
            head = queries.head(tx)
            balances = {name: queries.balance(tx, name).balance for name in (leg.from_, leg.to)}
        [posted] = books.submitter.submit(draft(f"{calls} {key}", leg))
        chance = int.from_bytes(posted.id_bytes[12:]) & links.ID_CHANCE_MASK
        assert posted == decided(books, head, balances, f"{calls} {key}", leg, books.clock.at_us, chance)

    check()
    assert len(spy.posted) == calls
    assert None not in spy.posted
    books.check()


@pytest.mark.parametrize(
    ("leg", "code"),
    [
        (Leg(BOB, CAROL, 2), "ledger.insufficient_funds"),
        (Leg(ISSUANCE, BOB, AMOUNT_MAX), "ledger.balance_out_of_range"),
    ],
)
def test_what_is_not_simply_accepted_is_refused_by_a_round(books: Books, spy: Spy, leg: Leg, code: str) -> None:
    with books.tx() as tx:
        before = queries.head(tx)
    with pytest.raises(Refusal) as refused:
        books.submitter.submit(draft("no", leg))
    assert refused.value.code == code
    assert spy.posted == [None]
    with books.tx() as tx:
        assert queries.head(tx) == before
    books.check()


def test_the_largest_amounts_fit_or_are_refused(books: Books, spy: Spy) -> None:
    room = AMOUNT_MAX - 1000  # of the issuer, which owes as much as it has given
    books.submitter.submit(moved("all", ISSUANCE, BOB, room))
    assert spy.posted[0] is not None
    with pytest.raises(Refusal) as refused:
        books.submitter.submit(moved("more", ISSUANCE, CAROL, 1))
    assert refused.value.code == "ledger.balance_out_of_range"
    books.check()


def test_frozen_accounts_neither_pay_nor_receive(books: Books, spy: Spy) -> None:
    for name in (ALICE, BOB):
        books.change("freeze", name)
        with pytest.raises(Refusal) as refused:
            books.submitter.submit(moved(f"to {name}", ALICE, BOB, 1))
        assert refused.value.code == "ledger.account.frozen"
        books.change("unfreeze", name)
    assert spy.posted == [None, None]
    assert books.submitter.submit(moved("then", ALICE, BOB, 1))


def test_the_same_key_again_has_one_effect(books: Books, spy: Spy) -> None:
    first = books.submitter.submit(moved("once", ALICE, BOB, 5))
    again = books.submitter.submit(moved("once", ALICE, BOB, 5))
    assert (first[0].again, again[0].again, first[0].seq) == (False, True, again[0].seq)
    assert books.balance(BOB) == 6
    books.check()


def test_entries_with_more_to_them_go_another_way(books: Books, spy: Spy) -> None:
    two = draft("two legs", Leg(ALICE, BOB, 1), Leg(ALICE, CAROL, 1))
    noted = draft("memo", Leg(ALICE, BOB, 1), memo="thanks", memo_salt=b"s" * 16)
    pointing = draft("receipt", Leg(ALICE, BOB, 1), receipt=bytes_hash(b"r"), refs=("job_1",))
    for item in (two, noted):
        books.submitter.submit(item)
    assert spy.posted == []
    books.submitter.submit(pointing)  # what is inside its content needs no row of its own
    assert len(spy.posted) == 1
    books.check()
