"""Holds: money that was set aside is paid out, given back or expires, each unit exactly once."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID, uuid4

import pytest

from choir.foundation.clock import MICROSECONDS
from choir.foundation.money import Asset
from choir.ledger import holds, queries
from choir.ledger.model import Draft, HoldTerms, HoldUse, Leg, hold_account
from choir.ledger.policy import LedgerPolicy
from tests.ledger.books import ALICE, ALICE_SAT, BOB, CAROL, ISSUANCE, START_US, Books, draft, moved


def pay(id_: UUID, *parts: tuple[str, int], key: str = "capture", final: bool = True) -> Draft:
    account = hold_account(id_, Asset.CREDIT)
    legs = tuple(Leg(account, to, amount) for to, amount in parts)
    return holds.capture(id_, legs, final=final, reason="done", source="test", key=key)


def give_back(id_: UUID, key: str = "release") -> Draft:
    return holds.release(id_, reason="cancelled", source="test", key=key)


@pytest.fixture
def funded(books: Books) -> Books:
    books.fund(ALICE, 1000)
    return books


def test_placing_a_hold_takes_the_money_from_its_payer(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    hold = funded.hold(id_)
    assert (hold.payer, hold.remaining, hold.closed, hold.captures) == (ALICE, 300, False, 0)
    assert funded.balance(ALICE) == 700
    assert funded.balance(hold.account) == 300
    assert funded.refused(moved("k", ALICE, BOB, 701)).code == "ledger.insufficient_funds"
    funded.check()


def test_a_final_capture_returns_what_remains(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    funded.post(pay(id_, (BOB, 100), (CAROL, 50)))
    assert [funded.balance(name) for name in (ALICE, BOB, CAROL)] == [850, 100, 50]
    hold = funded.hold(id_)
    assert (hold.remaining, hold.closed, hold.captures) == (0, True, 1)
    funded.check()


def test_capturing_everything_leaves_nothing_to_return(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    posted = funded.post(pay(id_, (BOB, 300)))[0]
    with funded.tx() as tx:
        assert len(queries.entry(tx, posted.id).content["legs"]) == 1
    assert funded.hold(id_).closed
    funded.check()


def test_several_captures_take_parts_and_the_last_one_must_be_final(funded: Books) -> None:
    id_ = funded.place(ALICE, 300, captures=3)
    funded.post(pay(id_, (BOB, 100), key="1", final=False))
    funded.post(pay(id_, (BOB, 50), key="2", final=False))
    assert (funded.hold(id_).remaining, funded.hold(id_).captures) == (150, 2)
    assert "must be final" in str(funded.refused(pay(id_, (BOB, 1), key="3", final=False)))
    funded.check()
    funded.post(pay(id_, (BOB, 1), key="3"))
    assert (funded.balance(BOB), funded.balance(ALICE)) == (151, 849)
    funded.check()


def test_a_last_capture_of_everything_need_not_call_itself_final(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    funded.post(pay(id_, (BOB, 300), final=False))
    assert funded.hold(id_).closed
    funded.check()


def test_an_early_final_capture_ends_the_hold(funded: Books) -> None:
    id_ = funded.place(ALICE, 300, captures=5)
    funded.post(pay(id_, (BOB, 1)))
    assert funded.refused(pay(id_, (BOB, 1), key="more")).code == "ledger.hold.closed"
    funded.check()


def test_a_part_that_empties_the_hold_closes_it(funded: Books) -> None:
    id_ = funded.place(ALICE, 300, captures=5)
    funded.post(pay(id_, (BOB, 300), final=False))
    assert funded.refused(give_back(id_)).code == "ledger.hold.closed"
    funded.check()


def test_no_more_can_be_captured_than_remains(funded: Books) -> None:
    id_ = funded.place(ALICE, 300, captures=2)
    refusal = funded.refused(pay(id_, (BOB, 200), (CAROL, 101)))
    assert (refusal.code, refusal.fields["asked"], refusal.fields["available"]) == (
        "ledger.insufficient_funds", "301", "300",
    )  # fmt: skip
    funded.post(pay(id_, (BOB, 200), final=False))
    assert funded.refused(pay(id_, (BOB, 101), key="2")).code == "ledger.insufficient_funds"
    funded.check()


def test_a_release_gives_everything_back_once(funded: Books) -> None:
    id_ = funded.place(ALICE, 300, captures=2)
    funded.post(pay(id_, (BOB, 100), final=False))
    first = funded.post(give_back(id_))[0]
    assert funded.balance(ALICE) == 900
    assert funded.post(give_back(id_))[0] == first._replace(again=True)
    assert funded.refused(give_back(id_, "other")).code == "ledger.hold.closed"
    assert funded.balance(ALICE) == 900
    funded.check()


def test_a_capture_one_microsecond_before_expiry_counts_and_at_expiry_it_does_not(funded: Books) -> None:
    id_ = funded.place(ALICE, 300, seconds=10, captures=2)
    funded.clock.at_us = START_US + 10 * MICROSECONDS - 1
    assert funded.refused(holds.expire(id_)).code == "ledger.hold.not_expired"
    funded.post(pay(id_, (BOB, 100), key="1", final=False))
    funded.clock.at_us += 1
    refusal = funded.refused(pay(id_, (BOB, 100), key="2"))
    assert (refusal.code, refusal.fields["expired_at"]) == ("ledger.hold.expired", "2027-01-15T08:00:10.000000Z")
    with funded.tx() as tx:
        assert queries.expired_holds(tx, funded.clock.at_us - 1, 10) == []
        assert queries.expired_holds(tx, funded.clock.at_us, 10) == [id_]
    funded.post(holds.expire(id_))
    assert funded.balance(ALICE) == 900
    with funded.tx() as tx:
        assert queries.expired_holds(tx, funded.clock.at_us, 10) == []
    funded.check()


def test_expiry_is_judged_by_the_ledgers_time_not_by_a_clock_that_went_back(funded: Books) -> None:
    id_ = funded.place(ALICE, 300, seconds=10)
    funded.clock.advance(10)
    funded.fund(BOB, 1)
    funded.clock.at_us = START_US
    assert funded.refused(pay(id_, (BOB, 100))).code == "ledger.hold.expired"


def test_an_expired_hold_can_still_be_released_and_expires_once(funded: Books) -> None:
    one, two = funded.place(ALICE, 300, key="1", seconds=5), funded.place(ALICE, 200, key="2", seconds=5)
    funded.clock.advance(99)
    funded.post(give_back(one))
    first = funded.post(holds.expire(two))[0]
    assert funded.post(holds.expire(two))[0] == first._replace(again=True)
    assert funded.refused(holds.expire(one)).code == "ledger.hold.closed"
    assert funded.balance(ALICE) == 1000
    funded.check()


def test_the_same_request_to_a_hold_gets_the_same_acceptance(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    assert funded.place(ALICE, 300) == id_
    assert (
        funded.refused(
            holds.place(ALICE, 301, expires_us=START_US + 10**8, reason="a job", source="test", key="place")
        ).code
        == "ledger.conflicting_key"
    )
    first = funded.post(pay(id_, (BOB, 100)))[0]
    assert funded.post(pay(id_, (BOB, 100)))[0] == first._replace(again=True)
    for other in (
        pay(id_, (BOB, 101)),
        pay(id_, (BOB, 100), final=False),
        pay(id_, (BOB, 100), (ALICE, 200)),
        pay(uuid4(), (BOB, 100)),
        give_back(id_, "capture"),
    ):
        assert funded.refused(other).code == "ledger.conflicting_key"
    assert funded.balance(ALICE) == 900
    funded.check()


def test_a_hold_lives_and_dies_within_one_batch(funded: Books) -> None:
    placed = holds.place(ALICE, 100, expires_us=START_US + 10**6, captures=2, reason="r", source="test", key="p")
    id_ = holds.placed_id("test", "p")
    outcomes = funded.submitter.submit_batch(
        [[placed], [pay(id_, (BOB, 30), key="1", final=False)], [pay(id_, (CAROL, 10), key="2")], [give_back(id_)]]
    )
    assert [getattr(outcome, "code", "posted") for outcome in outcomes] == ["posted"] * 3 + ["ledger.hold.closed"]
    assert [funded.balance(name) for name in (ALICE, BOB, CAROL)] == [960, 30, 10]
    hold = funded.hold(id_)
    assert (hold.captures, hold.closed) == (2, True)
    funded.check()


def test_a_refused_group_takes_its_hold_with_it(funded: Books) -> None:
    placed = holds.place(ALICE, 100, expires_us=START_US + 10**6, reason="r", source="test", key="p")
    id_ = holds.placed_id("test", "p")
    other = funded.place(ALICE, 50, key="other", captures=2)
    funded.batch(
        [
            [placed, pay(other, (BOB, 10), key="1", final=False), moved("broke", CAROL, BOB, 1)],
            [moved("k", ALICE, BOB, 900)],
        ]
    )
    with funded.tx() as tx:
        assert tx.value("select count(*) from holds") == 1
        assert tx.value("select count(*) from accounts where name like 'hold:%%'") == 1
    assert (funded.hold(other).captures, funded.hold(other).remaining) == (0, 50)
    assert funded.refused(pay(id_, (BOB, 1))).code == "ledger.hold.unknown"
    funded.fund(ALICE, 100)
    funded.post(placed)
    funded.check()


def test_an_unknown_hold_is_said_to_be_unknown(funded: Books) -> None:
    for wrong in (pay(uuid4(), (BOB, 1)), give_back(uuid4()), holds.expire(uuid4())):
        assert funded.refused(wrong).code == "ledger.hold.unknown"


@pytest.mark.parametrize("seconds", [0, -1, 366 * 86_400 + 1])
def test_a_hold_ends_in_the_future_and_not_too_far(funded: Books, seconds: int) -> None:
    terms = holds.place(ALICE, 1, expires_us=START_US + seconds * MICROSECONDS, reason="r", source="test", key="p")
    assert funded.refused(terms).code == "ledger.entry.invalid"


@pytest.mark.parametrize("captures", [0, -1, 2**31])
def test_a_hold_allows_a_sensible_number_of_captures(funded: Books, captures: int) -> None:
    terms = holds.place(ALICE, 1, expires_us=START_US + 1, captures=captures, reason="r", source="test", key="p")
    assert funded.refused(terms).code == "ledger.entry.invalid"


def test_money_in_a_hold_moves_only_the_hold_s_way(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    other = funded.place(ALICE, 100, key="other")
    inside, elsewhere = funded.hold(id_).account, funded.hold(other).account
    wrong = [
        moved("k", inside, BOB, 1),
        moved("k", ALICE, inside, 1),
        draft("k", Leg(inside, BOB, 1), kind="hold.capture"),
        draft("k", Leg(inside, BOB, 1), kind="transfer", hold=HoldUse(id_)),
        draft("k", Leg(inside, BOB, 1), kind="hold.release", hold=HoldUse(id_)),
        draft("k", Leg(inside, BOB, 1), kind="hold.expire", hold=HoldUse(id_)),
        draft("k", Leg(elsewhere, BOB, 1), kind="hold.capture", hold=HoldUse(id_)),
        draft("k", Leg(ALICE, BOB, 1), kind="hold.capture", hold=HoldUse(id_)),
        draft("k", Leg(inside, elsewhere, 1), kind="hold.capture", hold=HoldUse(id_)),
        draft("k", Leg(inside, BOB, 1, rest=True), kind="hold.capture", hold=HoldUse(id_)),
        draft("k", kind="hold.capture", hold=HoldUse(id_)),
        draft("k", Leg(ALICE, elsewhere, 1), kind="hold.place", hold=HoldTerms(id_, START_US + 5)),
        draft("k", Leg(ALICE, inside, 1), kind="hold.place", hold=HoldTerms(id_, START_US + 5)),
        draft("k", Leg(inside, elsewhere, 1), kind="hold.place", hold=HoldTerms(other, START_US + 5)),
        draft("k", Leg(ALICE, inside, 1), kind="hold.place", hold=HoldUse(id_)),
        draft("k", Leg(ALICE, BOB, 1), kind="hold.place"),
    ]
    for one in wrong:
        assert funded.refused(one).code == "ledger.entry.invalid", one
    assert funded.refused(pay(id_, (ALICE_SAT, 1))).code == "ledger.asset_mismatch"
    funded.check()


def test_a_hold_that_ended_cannot_be_placed_again(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    funded.post(give_back(id_))
    again = draft(
        "new", Leg(ALICE, hold_account(id_, Asset.CREDIT), 5), kind="hold.place", hold=HoldTerms(id_, START_US + 5)
    )
    assert "exists already" in str(funded.refused(again))
    funded.check()


def test_a_hold_that_cannot_be_paid_is_not_placed(funded: Books) -> None:
    placed = holds.place(ALICE, 1001, expires_us=START_US + 5, reason="r", source="test", key="p")
    assert funded.refused(placed).code == "ledger.insufficient_funds"
    assert funded.refused(replace(placed, legs=(placed.legs[0]._replace(amount=0),))).code == "money.out_of_range"
    with funded.tx() as tx:
        assert tx.value("select count(*) from accounts where name like 'hold:%%'") == 0


def test_what_remains_finds_its_way_back_to_a_frozen_payer(funded: Books) -> None:
    id_, other = funded.place(ALICE, 300), funded.place(ALICE, 50, key="other", seconds=5)
    funded.change("freeze", ALICE)
    placed = holds.place(ALICE, 1, expires_us=START_US + 5, reason="r", source="test", key="p")
    assert funded.refused(placed).code == "ledger.account.frozen"
    assert funded.refused(pay(id_, (ALICE, 5))).code == "ledger.account.frozen"
    funded.post(pay(id_, (BOB, 100)))
    funded.clock.advance(5)
    funded.post(holds.expire(other))
    assert funded.balance(ALICE) == 900
    funded.check()


def test_a_payer_with_an_open_hold_cannot_be_closed(funded: Books) -> None:
    id_ = funded.place(ALICE, 1000)
    with pytest.raises(Exception, match="open hold"):
        funded.change("close", ALICE)
    funded.post(pay(id_, (BOB, 1000)))
    funded.change("close", ALICE)
    funded.check()


def test_a_memo_on_a_hold_is_compared_like_any_other(funded: Books) -> None:
    placed = holds.place(ALICE, 300, expires_us=START_US + 5, reason="r", source="test", key="p")
    first = funded.post(replace(placed, memo="for the garden"))[0]
    assert funded.post(replace(placed, memo="for the garden"))[0] == first._replace(again=True)
    assert funded.refused(replace(placed, memo="for the roof")).code == "ledger.conflicting_key"
    id_ = holds.placed_id("test", "p")
    paid = replace(pay(id_, (BOB, 100)), memo="thanks")
    second = funded.post(paid)[0]
    assert funded.post(paid)[0] == second._replace(again=True)
    assert funded.refused(replace(paid, memo="no thanks")).code == "ledger.conflicting_key"
    funded.check()


def test_the_same_key_always_names_the_same_hold_and_other_keys_others() -> None:
    assert holds.placed_id("a", "b") == holds.placed_id("a", "b")
    assert len({holds.placed_id(*pair) for pair in (("a", "b"), ("b", "a"), ("ab", ""), ("", "ab"))}) == 4
    assert holds.placed_id("a", "b").version == 8


def test_more_captures_than_the_limit_of_legs_are_refused(funded: Books) -> None:
    id_ = funded.place(ALICE, 300)
    limit = LedgerPolicy().entry_legs_max
    assert funded.refused(pay(id_, *[(BOB, 1)] * (limit + 1))).code == "ledger.entry.invalid"
    funded.post(pay(id_, *[(BOB, 1)] * limit))
    funded.check()


def test_no_other_kind_begins_like_those_of_holds(books: Books) -> None:
    """An auditor would take it for a kind of hold entry that does not exist."""
    for kind in ("hold.", "hold.steal", "hold.place.again"):
        refused = books.refused(draft("k", Leg(ISSUANCE, ALICE, 1), kind=kind))
        assert refused.code == "ledger.entry.invalid"
    books.post(draft("k", Leg(ISSUANCE, ALICE, 1), kind="holding"))
    books.check()


def test_a_hold_lasts_from_the_ledgers_time_on_when_the_clock_went_back(funded: Books) -> None:
    """Also where that is further ahead than a hold may last by the clock."""
    funded.clock.advance(2 * funded.policy.hold_s_max)
    funded.post(moved("ahead", ALICE, BOB, 1))
    ledger_us = funded.clock.at_us
    funded.clock.advance(-2 * funded.policy.hold_s_max)
    with funded.tx() as tx:
        assert queries.time_us(tx, funded.clock.at_us) == ledger_us

    def place(key: str, expires_us: int) -> Draft:
        return holds.place(ALICE, 10, expires_us=expires_us, reason="a job", source="test", key=key)

    assert "in the future" in str(funded.refused(place("by the clock", funded.clock.at_us + 100 * MICROSECONDS)))
    funded.post(place("good", ledger_us + 100 * MICROSECONDS))
    longest_us = ledger_us + funded.policy.hold_s_max * MICROSECONDS
    assert "at most" in str(funded.refused(place("long", longest_us + 1)))
    funded.post(pay(holds.placed_id("test", "good"), (BOB, 10)))
    funded.check()
