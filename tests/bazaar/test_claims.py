"""Who cannot be paid now is owed it: pay, debts and disputes with accounts that are frozen, closed or erased."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Event
from uuid import UUID

import pytest

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.disputes.model import Dispute, DisputeState, Trigger, Winner
from choir.bazaar.jobs.model import JobState
from choir.bazaar.settlement.service import PLATFORM, available
from choir.identity.model import Principal
from tests.bazaar.hall import Hall, verdict
from tests.bazaar.test_disputes import Case, give, indebted, owed

SHARE, FEE = 2_790_000, 310_000  # of 3100 SAT, the price of what is judged here


@pytest.fixture
def paid(hall: Hall) -> Case:
    return Case(hall, verdict())


@pytest.fixture
def failed(hall: Hall) -> Case:
    return Case(hall, verdict(visible=False))


def handed_in(hall: Hall, buyer: Principal) -> Attempt:
    [attempt] = hall.assign(hall.order(buyer, 5_000, attempts=1))
    return hall.hand_in(attempt)


def erase(hall: Hall, who: Principal) -> None:
    """What erasing does in the market and the ledger."""
    with hall.tx() as tx:
        hall.forget(tx, who.source)
    hall.freeze(available(who.source))


def owner(hall: Hall, provider: UUID) -> Principal:
    return hall.stalls[provider].who


# Pay


def test_good_work_of_who_is_frozen_before_the_verdict_is_paid_and_comes_home(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    attempt = handed_in(hall, buyer)
    who = owner(hall, provider)
    hall.freeze(available(who.source))
    assert hall.judge(attempt, verdict()).state is AttemptState.PASSED
    assert (hall.has(provider), hall.claim(who.source), hall.fees()) == (0, SHARE, FEE)
    assert hall.has(buyer) == 20_000_000 - SHARE - FEE
    hall.check()
    hall.unfreeze(available(who.source))
    assert (hall.has(provider), hall.claim(who.source)) == (SHARE, 0)
    hall.freeze(available(who.source))  # once more: nothing comes home twice
    hall.judge(handed_in_by_frozen(hall, buyer, who), verdict())
    hall.unfreeze(available(who.source))
    assert (hall.has(provider), hall.claim(who.source)) == (2 * SHARE, 0)
    hall.check()


def handed_in_by_frozen(hall: Hall, buyer: Principal, who: Principal) -> Attempt:
    """Who is frozen can still work."""
    attempt = handed_in(hall, buyer)
    assert attempt.owner == who.source
    return attempt


def test_good_work_of_who_was_erased_is_paid(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    attempt = handed_in(hall, buyer)
    erase(hall, owner(hall, provider))
    hall.judge(attempt, verdict())
    assert (hall.claim(owner(hall, provider).source), hall.fees()) == (SHARE, FEE)
    hall.check()


def test_a_closed_account_is_owed_what_it_cannot_be_paid(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    attempt = handed_in(hall, buyer)
    with hall.tx() as tx:
        hall.agency.accounts.close(tx, available(owner(hall, provider).source), reason="a test", source="test")
    hall.judge(attempt, verdict())
    assert hall.claim(owner(hall, provider).source) == SHARE
    hall.check()


def test_a_frozen_platform_stops_nobody(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    attempt = handed_in(hall, buyer)
    hall.freeze(PLATFORM)
    hall.judge(attempt, verdict())
    assert (hall.has(provider), hall.fees(), hall.claim("system:platform")) == (SHARE, 0, FEE)
    hall.unfreeze(PLATFORM)
    assert (hall.fees(), hall.claim("system:platform")) == (FEE, 0)
    hall.check()


def test_a_verdict_that_is_cut_off_pays_a_claim_once(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    attempt = handed_in(hall, buyer)
    who = owner(hall, provider)
    hall.freeze(available(who.source))
    with hall.tx() as tx:
        hall.attempts.begin_verifying(tx, attempt.id)
    with suppress(InterruptedError), hall.tx() as tx:
        assert hall.attempts.conclude(tx, attempt.id, verdict()).paid
        raise InterruptedError
    assert hall.claim(who.source) == 0
    for _ in range(2):  # and one that comes twice
        hall.judge(attempt, verdict())
    assert hall.claim(who.source) == SHARE
    hall.check()


def test_a_freeze_that_comes_first_by_a_moment_is_seen(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    attempt = handed_in(hall, buyer)
    who = owner(hall, provider)
    waits = "select count(*) from pg_locks where not granted and pg_backend_pid() = any(pg_blocking_pids(pid))"
    with ThreadPoolExecutor(1) as pool:
        with hall.tx() as tx:
            hall.agency.accounts.freeze(tx, available(who.source), reason="a test", source="test")
            judging = pool.submit(hall.judge, attempt, verdict())
            while tx.value(waits) == 0:  # until the payment waits for the head
                assert not judging.done()
        assert judging.result().state is AttemptState.PASSED
    assert hall.claim(who.source) == SHARE
    hall.check()


def test_pay_and_freezing_at_once_lose_nothing(hall: Hall) -> None:
    buyer, provider = hall.person(100_000), hall.provider()
    attempts = [handed_in(hall, buyer) for _ in range(5)]
    account, over = available(owner(hall, provider).source), Event()

    def flicker() -> int:
        times = 0
        while not over.is_set() or times < 3:
            hall.freeze(account)
            hall.unfreeze(account)
            times += 1
        hall.freeze(account)
        return times

    def judge(attempt: Attempt) -> AttemptState:
        return hall.judge(attempt, verdict()).state

    with ThreadPoolExecutor(6) as pool:
        flickering = pool.submit(flicker)
        try:
            judged = list(pool.map(judge, attempts))
        finally:
            over.set()
        flickering.result()
    assert set(judged) == {AttemptState.PASSED}
    assert hall.has(provider) + hall.claim(owner(hall, provider).source) == 5 * SHARE
    hall.unfreeze(account)
    assert (hall.has(provider), hall.claim(owner(hall, provider).source)) == (5 * SHARE, 0)
    hall.check()


# Debts


def test_a_creditor_who_cannot_be_paid_stops_nobodys_pay(paid: Case, hall: Hall) -> None:
    dispute = indebted(paid, hall)
    erase(hall, paid.buyer)
    assert hall.judge(handed_in(hall, hall.person(20_000)), verdict()).state is AttemptState.PASSED
    assert owed(hall, dispute) == 0
    assert (hall.claim(paid.buyer.source), hall.has(paid.provider)) == (2_000_000, SHARE - 2_000_000)
    hall.check()


def test_a_debt_of_the_platform_to_who_was_erased_stops_no_market(paid: Case, hall: Hall) -> None:
    hall._between(PLATFORM, "world:lightning/external/SAT", hall.fees())
    done = paid.again(paid.open(paid.buyer), verdict(visible=False))
    assert done.owed == FEE
    erase(hall, paid.buyer)
    hall.provider()
    for left in (0, FEE):
        assert hall.judge(handed_in(hall, hall.person(20_000)), verdict()).state is AttemptState.PASSED
        assert (hall.claim(paid.buyer.source), hall.fees()) == (FEE, left)
    hall.check()


# Disputes


def decided(case: Case, hall: Hall, dispute: Dispute, how: str) -> Dispute:
    """By an operator's ruling, or because nobody answers."""
    if how == "ruling":
        return case.rule(dispute, Winner(dispute.side.value))
    hall.wait(hall.policy.response_s)
    with hall.tx() as tx:
        return hall.disputes.default(tx, dispute.id)


@pytest.mark.parametrize("how", ["ruling", "silence"])
def test_a_provider_that_is_erased_loses_all_the_same(paid: Case, hall: Hall, how: str) -> None:
    dispute = paid.open(paid.buyer, Trigger.IRRELEVANT)
    paid.again(dispute, verdict())
    erase(hall, paid.provider)
    done = decided(paid, hall, dispute, how)
    assert (done.state, done.winner, done.refund, done.owed) == (DisputeState.RESOLVED, Winner.BUYER, 3_100_000, SHARE)
    assert hall.deposits([dispute.id]) == 0
    assert hall.has(paid.buyer) == 20_000_000 - SHARE  # the deposit and the platform's share are back
    assert hall.job(paid.job).state is JobState.RESOLVED
    hall.check()


def test_a_refund_is_taken_from_the_claim_that_the_pay_went_to(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    who = owner(hall, provider)
    attempt = handed_in(hall, buyer)
    hall.freeze(available(who.source))
    attempt = hall.judge(attempt, verdict())
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, buyer, attempt.job, attempt.id, Trigger.TESTS_FAIL, "it does not")
    with hall.tx() as tx:
        done = hall.disputes.reverified(tx, dispute.id, verdict(visible=False))
    assert (done.winner, done.owed, hall.has(buyer), hall.claim(who.source)) == (Winner.BUYER, 0, 20_000_000, 0)
    hall.check()


def test_what_a_frozen_loser_owes_is_paid_when_the_account_is_unfrozen(paid: Case, hall: Hall) -> None:
    """Freezing is what an operator does about fraud: it must not cost the victim the refund."""
    account = available(paid.provider.source)
    hall.freeze(account)
    dispute = paid.open(paid.buyer, Trigger.TESTS_FAIL)
    done = paid.again(dispute, verdict(visible=False))
    assert (done.winner, done.owed) == (Winner.BUYER, SHARE)
    had = hall.has(paid.buyer)
    hall.unfreeze(account)
    assert (hall.has(paid.provider), hall.has(paid.buyer)) == (0, had + SHARE)
    with hall.tx() as tx:
        assert hall.disputes.of_job(tx, paid.buyer, paid.job.id)[0].owed == 0
    hall.freeze(account)
    hall.unfreeze(account)
    assert hall.has(paid.buyer) == had + SHARE, "it was owed once"
    hall.check()


def test_a_buyer_who_is_erased_is_owed_the_refund_and_gets_the_deposit_back(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer, Trigger.IRRELEVANT)
    paid.again(dispute, verdict())
    before = hall.has(paid.buyer)
    erase(hall, paid.buyer)
    done = paid.rule(dispute, Winner.BUYER)
    assert (done.owed, hall.claim(paid.buyer.source)) == (0, 3_100_000)
    assert hall.has(paid.buyer) == before + dispute.deposit  # what remains in a hold always finds its way back
    hall.check()


def test_a_buyer_who_is_frozen_and_loses_owes(failed: Case, hall: Hall) -> None:
    give(hall, failed.provider, 4_000)
    dispute = failed.open(failed.provider)
    hall.freeze(available(failed.buyer.source))
    done = failed.again(dispute, verdict())
    assert (done.winner, done.owed) == (Winner.PROVIDER, 3_100_000)
    assert hall.has(failed.provider) == 4_000_000
    hall.check()


def test_a_lost_deposit_goes_to_a_platform_that_is_frozen(paid: Case, hall: Hall) -> None:
    dispute = paid.open(paid.buyer)
    hall.freeze(PLATFORM)
    done = paid.again(dispute, verdict())
    assert (done.state, hall.claim("system:platform")) == (DisputeState.RESOLVED, dispute.deposit)
    assert hall.deposits([dispute.id]) == 0
    hall.check()
