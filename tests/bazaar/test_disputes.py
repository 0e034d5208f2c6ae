"""Disputes: what can be doubted, who wins, and what that moves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from choir.bazaar.attempts.model import Attempt
from choir.bazaar.disputes.model import (
    BadStatement,
    Dispute,
    DisputeOver,
    DisputeState,
    NotDisputable,
    OperatorsOnly,
    Trigger,
    UnknownDispute,
    Winner,
)
from choir.bazaar.jobs.model import Job, JobState, UnknownJob, Verdict
from choir.identity.model import NamedOperatorNeeded, Principal, Role
from choir.ledger import holds
from choir.ledger.model import Draft, InsufficientFunds, Leg
from choir.storage.database import Database
from choir.storage.outbox import Position
from tests.bazaar.hall import WORLD, Hall, verdict

OPERATOR = Principal(Role.OPERATOR, "operator", credential="operator")
NAMED_OPERATOR = replace(OPERATOR, source="operator:first")
OTHER_OPERATOR = replace(OPERATOR, source="operator:second")


def give(hall: Hall, who: Principal, satoshi: int) -> None:
    with hall.tx() as tx:
        leg = Leg(WORLD, f"{who.source}/available/SAT", satoshi * 1000)
        hall.agency.ledger.post(tx, Draft("deposit", "a test", "test", f"give {who.source}", (leg,)))


class Case:
    """A job that went through verification, and both of its sides."""

    def __init__(self, hall: Hall, found: Verdict) -> None:
        self.hall = hall
        self.buyer = hall.person(20_000)
        self.provider_id = hall.provider()
        self.provider = hall.stalls[self.provider_id].who
        self.job: Job = hall.order(self.buyer, attempts=1)
        [attempt] = hall.assign(self.job)
        hall.hand_in(attempt)
        self.attempt: Attempt = hall.judge(attempt, found)

    def open(self, who: Principal, trigger: Trigger = Trigger.TESTS_FAIL, text: str = "I doubt it") -> Dispute:
        with self.hall.tx() as tx:
            return self.hall.disputes.open(tx, who, self.job.id, self.attempt.id, trigger, text)

    def again(self, dispute: Dispute, found: Verdict) -> Dispute:
        with self.hall.tx() as tx:
            return self.hall.disputes.reverified(tx, dispute.id, found)

    def rule(self, dispute: Dispute, winner: Winner, who: Principal = OPERATOR) -> Dispute:
        with self.hall.tx() as tx:
            return self.hall.disputes.rule(tx, who, dispute.id, winner, "both were heard")


@pytest.fixture
def paid(hall: Hall) -> Case:
    return Case(hall, verdict())


@pytest.fixture
def failed(hall: Hall) -> Case:
    return Case(hall, verdict(visible=False))


def test_a_verdict_that_does_not_hold_is_paid_back(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer)
    assert hall.has(paid.buyer) == 20_000_000 - 3_100_000 - dispute.deposit
    assert paid.again(dispute, verdict(visible=False)).winner is Winner.BUYER
    assert (hall.has(paid.buyer), hall.has(paid.provider), hall.fees()) == (20_000_000, 0, 0)
    assert hall.job(paid.job).state is JobState.RESOLVED
    assert hall.record(paid.provider_id) == [False]  # its record says so too
    hall.check()


def test_a_verdict_that_holds_costs_the_doubter_the_deposit(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer)
    done = paid.again(dispute, verdict())
    assert (done.winner, done.refund, done.state) == (Winner.PROVIDER, 0, DisputeState.RESOLVED)
    assert hall.has(paid.provider) == 2_790_000
    assert hall.fees() == 310_000 + dispute.deposit
    assert paid.again(dispute, verdict(visible=False)) == done  # a second look comes too late
    hall.check()


def test_a_provider_who_was_refused_wrongly_is_paid(failed: Case, hall: Hall) -> None:
    with pytest.raises(InsufficientFunds):  # a provider needs a deposit of its own
        failed.open(failed.provider)
    give(hall, failed.provider, 4_000)
    dispute = failed.open(failed.provider)
    assert failed.again(dispute, verdict()).winner is Winner.PROVIDER
    assert hall.has(failed.provider) == 4_000_000 + 2_790_000
    assert hall.has(failed.buyer) == 20_000_000 - 3_100_000
    hall.check()


def indebted(paid: Case, hall: Hall) -> Dispute:
    """The provider has spent most of what it was paid, then loses."""
    with hall.tx() as tx:
        draft = holds.place(
            f"{paid.provider.source}/available/SAT",
            2_000_000,
            expires_us=hall.clock.now_us() + 10**12,
            reason="spent",
            source="test",
            key="spent",
        )
        hall.agency.ledger.post(tx, draft)
    done = paid.again(paid.open(paid.buyer), verdict(visible=False))
    assert (done.refund, done.owed, hall.has(paid.provider)) == (3_100_000, 2_000_000, 0)
    hall.check()
    return done


def owed(hall: Hall, dispute: Dispute) -> int:
    with hall.tx() as tx:
        left = tx.value("select sum(amount - paid) from dispute_debts where dispute = %s", dispute.id)
        found = hall.disputes.get(tx, OPERATOR, dispute.id)
    assert found.owed == left
    return found.owed


def test_what_is_owed_is_taken_from_later_pay_and_only_once(paid: Case, hall: Hall) -> None:
    dispute = indebted(paid, hall)
    before, other = hall.has(paid.buyer), hall.person(50_000)
    rest = 2_000_000 - 558_000
    for left, has in ((rest, 0), (0, 2_790_000 - rest), (0, 2 * 2_790_000 - rest)):
        # First a fee for a hidden check that failed, then twice the whole price: 2790 SAT of 3100.
        job = hall.order(other, attempts=1)
        [attempt] = hall.assign(job)
        hall.hand_in(attempt)
        for _ in range(2):  # a verdict that comes twice
            hall.judge(attempt, verdict(hidden=left == 0))
        assert (owed(hall, dispute), hall.has(paid.provider)) == (left, has)
        assert hall.has(paid.buyer) == before + 2_000_000 - left
    with hall.tx() as tx:
        told = [event for event in hall.outbox.read(tx, Position(), 1000) if event.type == "bazaar.dispute.owed_paid"]
    assert [event.data["left"] for event in told] == ["1442000", "0"]
    assert set(told[0].audience) == {paid.provider.source, paid.buyer.source}
    hall.check()


def test_several_payments_at_once_take_what_is_owed_once(paid: Case, hall: Hall) -> None:
    dispute = indebted(paid, hall)
    before, other = hall.has(paid.buyer), hall.person(50_000)
    attempts = []
    for _ in range(4):
        [attempt] = hall.assign(hall.order(other, 5_000))
        attempts.append(hall.hand_in(attempt))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda attempt: hall.judge(attempt, verdict()), attempts * 2))
    assert owed(hall, dispute) == 0
    assert hall.has(paid.buyer) == before + 2_000_000
    assert hall.has(paid.provider) == 4 * 2_790_000 - 2_000_000
    hall.check()


def test_what_cannot_be_verified_again_goes_to_people(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer)
    with hall.tx() as tx:
        assert hall.disputes.not_reverified(tx, dispute.id, "bazaar.bad_order").state is DisputeState.UNDER_REVIEW
    assert paid.rule(dispute, Winner.BUYER).winner is Winner.BUYER
    with hall.tx() as tx:
        assert hall.disputes.not_reverified(tx, dispute.id, "bazaar.bad_order").state is DisputeState.RESOLVED
    hall.check()


def test_what_a_machine_cannot_decide_waits_for_a_ruling(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer, Trigger.IRRELEVANT)
    with pytest.raises(NotDisputable):
        paid.rule(dispute, Winner.BUYER)  # before the checks were run again
    assert paid.again(dispute, verdict()).state is DisputeState.UNDER_REVIEW
    with hall.tx() as tx, pytest.raises(OperatorsOnly):
        hall.disputes.rule(tx, paid.buyer, dispute.id, Winner.BUYER, "me")
    with hall.tx() as tx:
        assert hall.disputes.respond(tx, paid.provider, dispute.id, "it does what was asked").response
    done = paid.rule(dispute, Winner.SPLIT)
    assert (done.refund, done.owed) == (1_550_000, 0)
    assert hall.has(paid.buyer) == 20_000_000 - 1_550_000
    with pytest.raises(DisputeOver):
        paid.rule(dispute, Winner.BUYER)
    hall.check()


def test_on_a_production_node_two_operators_must_agree(database: Database) -> None:
    hall = Hall(database, production=True)
    paid = Case(hall, verdict())
    dispute = paid.open(paid.buyer, Trigger.IRRELEVANT)
    paid.again(dispute, verdict())
    with pytest.raises(NamedOperatorNeeded):  # who has the token of the home may have one with a name too
        paid.rule(dispute, Winner.BUYER)
    for _ in range(2):  # one operator counts once
        assert paid.rule(dispute, Winner.BUYER, NAMED_OPERATOR).state is DisputeState.UNDER_REVIEW
    assert paid.rule(dispute, Winner.BUYER, OTHER_OPERATOR).winner is Winner.BUYER
    hall.check()


def test_silence_loses(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer, Trigger.SECURITY)
    paid.again(dispute, verdict())
    with hall.tx() as tx:
        assert hall.disputes.default(tx, dispute.id).state is DisputeState.UNDER_REVIEW  # not yet
    hall.wait(hall.policy.response_s)
    with hall.tx() as tx:
        assert hall.disputes.unanswered(tx, 10) == [dispute.id]
    with hall.tx() as tx:
        assert hall.disputes.default(tx, dispute.id).winner is Winner.BUYER
    assert hall.has(paid.buyer) == 20_000_000
    hall.check()


def test_nobody_is_silent_while_the_node_is_away(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer, Trigger.SECURITY)
    paid.again(dispute, verdict())
    since_us = hall.clock.now_us()
    hall.wait(hall.policy.response_s + 3_600)
    with hall.tx() as tx:
        assert hall.disputes.put_off(tx, since_us, hall.clock.now_us() - since_us) == 1
        assert hall.disputes.unanswered(tx, 10) == []
    hall.wait(hall.policy.response_s - 1)
    with hall.tx() as tx:
        assert hall.disputes.default(tx, dispute.id).state is DisputeState.UNDER_REVIEW
    hall.wait(1)
    with hall.tx() as tx:
        assert hall.disputes.default(tx, dispute.id).winner is Winner.BUYER
    with hall.tx() as tx:
        assert hall.disputes.put_off(tx, since_us, 1) == 0  # what is decided stays
    hall.check()


def test_what_cannot_be_disputed(hall: Hall, paid: Case) -> None:
    with pytest.raises(NotDisputable):
        paid.open(paid.provider)  # it was paid
    with pytest.raises(UnknownJob):
        paid.open(hall.person(5_000))
    with pytest.raises(BadStatement):
        paid.open(paid.buyer, text="")
    running = hall.order(paid.buyer)
    [attempt] = hall.assign(running)
    with hall.tx() as tx, pytest.raises(NotDisputable):
        hall.disputes.open(tx, paid.buyer, running.id, attempt.id, Trigger.TIMEOUT, "slow")
    hall.wait(hall.policy.dispute_s)
    with pytest.raises(NotDisputable):
        paid.open(paid.buyer)
    assert paid.open(paid.buyer, Trigger.SECURITY)  # has a week


def test_a_dispute_is_opened_once_and_seen_by_its_sides_only(hall: Hall, paid: Case) -> None:
    first = paid.open(paid.buyer)
    assert paid.open(paid.buyer, text="again") == first
    with hall.tx() as tx:
        assert hall.disputes.get(tx, paid.provider, first.id) == first
        assert hall.disputes.of_job(tx, OPERATOR, paid.job.id) == [first]
    with hall.tx() as tx, pytest.raises(UnknownDispute):
        hall.disputes.get(tx, hall.person(), first.id)
    with hall.tx() as tx, pytest.raises(UnknownDispute):
        hall.disputes.respond(tx, paid.buyer, first.id, "to myself")


def test_the_fee_for_a_hidden_check_comes_back_if_the_check_was_right(hall: Hall) -> None:
    case = Case(hall, verdict(hidden=False))
    assert case.attempt.paid == 620_000
    dispute = case.open(case.buyer, Trigger.IRRELEVANT)
    case.again(dispute, verdict(hidden=False))
    assert case.rule(dispute, Winner.BUYER).refund == 620_000
    assert hall.has(case.buyer) == 20_000_000
    hall.check()


def test_a_buyer_who_doubts_wrongly_makes_no_failure_a_success(hall: Hall) -> None:
    case = Case(hall, verdict(hidden=False))
    assert hall.record(case.provider_id) == [False]
    assert case.again(case.open(case.buyer), verdict(hidden=False)).winner is Winner.PROVIDER  # the fee stays
    assert hall.record(case.provider_id) == [False]
    hall.check()


@pytest.mark.parametrize("trigger", [Trigger.IRRELEVANT, Trigger.SECURITY, Trigger.TIMEOUT])
def test_what_fails_twice_is_not_won_by_the_buyers_silence(failed: Case, hall: Hall, trigger: Trigger) -> None:
    give(hall, failed.provider, 4_000)
    dispute = failed.open(failed.provider, trigger)
    assert failed.again(dispute, verdict(visible=False)).winner is Winner.BUYER
    assert (hall.has(failed.provider), hall.has(failed.buyer)) == (4_000_000 - dispute.deposit, 20_000_000)
    hall.check()


def test_whether_hidden_checks_were_fair_is_for_people(hall: Hall) -> None:
    case = Case(hall, verdict(hidden=False))
    give(hall, case.provider, 4_000)
    dispute = case.open(case.provider, Trigger.IRRELEVANT)
    assert case.again(dispute, verdict(hidden=False)).state is DisputeState.UNDER_REVIEW
    assert case.rule(dispute, Winner.PROVIDER).refund == 3_100_000 - 620_000
    assert hall.record(case.provider_id) == [True]
    hall.check()
