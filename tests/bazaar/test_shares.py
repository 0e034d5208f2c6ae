"""Who gets which part of a price: providers, the platform, skill creators, referrers and the verifier fund."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.jobs import rules
from choir.bazaar.jobs.model import Check, Job, Verdict, Visibility
from choir.bazaar.jobs.reasons import CHEATING, WORDS, names_cheating
from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.settlement import pricing
from choir.identity.clusters.service import Reason
from choir.identity.model import Principal, Role
from tests.bazaar.hall import Hall, verdict

OPERATOR = Principal(Role.OPERATOR, "operator", credential="operator")
ROLES = ("provider", "platform", "skill", "referrer", "fund")
PRICE = 3_100_000  # of a patch with one file, by the hall's prices


def deliver(hall: Hall, job: Job, found: Verdict) -> Attempt:
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    return hall.judge(attempt, found)


def receipt_shares(hall: Hall, attempt: Attempt) -> dict[str, str]:
    assert attempt.receipt is not None
    with hall.tx() as tx:
        found: dict[str, str] = hall.objects.get_atom(tx, attempt.receipt)["shares"]
    return found


def test_all_four_get_their_part_and_it_adds_up(hall: Hall) -> None:
    buyer, creator, referrer, provider = hall.person(20_000), hall.person(), hall.person(), hall.provider()
    hall.refer(buyer, referrer)
    before = hall.fees()
    done = deliver(hall, hall.order(buyer, skill=hall.skill(creator).id), verdict())
    assert done.paid == PRICE
    assert (hall.has(provider), hall.has(creator), hall.fees() - before, hall.has(referrer)) == (
        2_170_000, 465_000, 310_000, 155_000,
    )  # fmt: skip
    assert receipt_shares(hall, done) == {
        "payee": "2170000", "platform": "310000", "skill": "465000", "referrer": "155000",
    }  # fmt: skip
    hall.check()


def test_a_skill_that_asks_for_less_leaves_the_rest_to_the_provider(hall: Hall) -> None:
    buyer, creator, provider = hall.person(20_000), hall.person(), hall.provider()
    deliver(hall, hall.order(buyer, skill=hall.skill(creator, share_bps=100).id), verdict())
    assert (hall.has(creator), hall.has(provider)) == (31_000, 2_759_000)
    hall.check()


def test_whoever_is_one_with_the_buyer_gets_nothing_and_the_provider_gets_it(hall: Hall) -> None:
    buyer, creator, referrer, provider = hall.person(20_000), hall.person(), hall.person(), hall.provider()
    hall.refer(buyer, referrer)
    with hall.tx() as tx:
        for other in (creator, referrer):
            hall.bazaar.settlement._clusters.join(tx, buyer.source, other.source, Reason.PAYOUT, "a shared target")
    deliver(hall, hall.order(buyer, skill=hall.skill(creator).id), verdict())
    assert (hall.has(creator), hall.has(referrer), hall.has(provider)) == (0, 0, 2_790_000)
    hall.check()


def test_a_creator_who_does_the_work_has_both_parts(hall: Hall) -> None:
    buyer, creator = hall.person(20_000), hall.person()
    hall.provider(who=creator)
    deliver(hall, hall.order(buyer, skill=hall.skill(creator).id), verdict())
    assert hall.has(creator) == 2_790_000
    hall.check()


def test_a_referrer_has_a_part_for_a_time(hall: Hall) -> None:
    buyer, referrer = hall.person(40_000), hall.person()
    hall.provider()
    hall.refer(buyer, referrer, seconds=3_600)
    in_time, late = hall.order(buyer), None
    hall.wait(3_600)
    late = hall.order(buyer)
    deliver(hall, in_time, verdict())
    assert hall.has(referrer) == 155_000  # it was ordered in time
    deliver(hall, late, verdict())
    assert hall.has(referrer) == 155_000


def test_a_refund_takes_from_each_exactly_what_they_got(hall: Hall) -> None:
    buyer, creator, referrer, provider = hall.person(20_000), hall.person(), hall.person(), hall.provider()
    hall.refer(buyer, referrer)
    fees = hall.fees()
    job = hall.order(buyer, skill=hall.skill(creator).id, attempts=1)
    done = deliver(hall, job, verdict())
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, buyer, job.id, done.id, Trigger.TESTS_FAIL, "It fails here.")
    with hall.tx() as tx:
        decided = hall.disputes.reverified(tx, dispute.id, verdict(visible=False))
    assert (decided.winner, decided.refund, decided.owed) == (Winner.BUYER, PRICE, 0)
    assert (hall.has(provider), hall.has(creator), hall.has(referrer), hall.fees()) == (0, 0, 0, fees)
    assert hall.has(buyer) == 20_000_000
    hall.check()


def test_half_of_a_payment_goes_back_in_proportion(hall: Hall) -> None:
    buyer, creator, provider = hall.person(20_000), hall.person(), hall.provider()
    job = hall.order(buyer, skill=hall.skill(creator).id, attempts=1)
    done = deliver(hall, job, verdict())
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, buyer, job.id, done.id, Trigger.IRRELEVANT, "It is beside the point.")
        hall.disputes.reverified(tx, dispute.id, verdict())
        decided = hall.disputes.rule(tx, OPERATOR, dispute.id, Winner.SPLIT, "so")
    assert decided.refund == PRICE // 2
    assert (hall.has(creator), hall.has(provider)) == (232_500, 1_162_500)
    hall.check()


@given(parts=st.dictionaries(st.sampled_from(ROLES), st.integers(1, 10**9), min_size=1), share=st.integers(0, 10_000))
def test_what_is_given_back_adds_up_and_nobody_gives_more_than_they_got(parts: dict[str, int], share: int) -> None:
    due = sum(parts.values()) * share // 10_000
    back = pricing.returned(parts, due)
    assert sum(back.values()) == due
    assert all(back[who] <= parts[who] for who in back)


# Hidden failures


def test_the_fee_goes_to_the_provider_up_to_a_fifth_of_its_last_twenty(hall: Hall) -> None:
    buyer, provider = hall.person(200_000), hall.provider()
    fee = PRICE * 2_000 // 10_000
    for failures in range(1, 7):
        had, fund = hall.has(provider), hall.fund()
        done = deliver(hall, hall.order(buyer, attempts=1), verdict(hidden=False))
        assert (done.state, done.paid) == (AttemptState.FAILED, fee)
        to_fund = failures > 4
        assert hall.has(provider) - had == (0 if to_fund else fee - fee // 10)
        assert hall.fund() - fund == (fee - fee // 10 if to_fund else 0)
        hall.clock.advance(1)
        with hall.tx() as tx:  # five failures in a row have to be qualified for again
            tx.run("update provider_offers set qualification = 'passed'")
    assert receipt_shares(hall, done) == {"payee": "0", "platform": "62000", "verifier_fund": "558000"}
    hall.check()


def test_old_hidden_failures_leave_the_window(hall: Hall) -> None:
    buyer, provider = hall.person(400_000), hall.provider()
    for n in range(24):
        deliver(hall, hall.order(buyer, attempts=1), verdict(hidden=n >= 4))
        hall.clock.advance(1)
    had = hall.has(provider)
    deliver(hall, hall.order(buyer, attempts=1), verdict(hidden=False))  # one of the last twenty, this one among them
    assert hall.has(provider) > had
    assert hall.fund() == 0


def test_nobody_is_given_anything_for_cheating(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    for reason in ("cheat.answers_tests", *sorted(CHEATING)):
        found = verdict(hidden=False)
        cheated = replace(found.checks[1], reason=reason)
        done = deliver(hall, hall.order(buyer, attempts=1), replace(found, checks=(found.checks[0], cheated)))
        assert (done.state, done.paid, hall.has(provider), hall.fund()) == (AttemptState.FAILED, 0, 0, 0)
        hall.clock.advance(1)
        with hall.tx() as tx:
            tx.run("update provider_offers set qualification = 'passed'")
    hall.check()


def test_reasons_that_name_cheating_are_known_reasons() -> None:
    assert set(WORDS) >= CHEATING
    assert names_cheating("cheat.anything")
    assert not names_cheating("hidden.failed")


def test_upheld_hidden_checks_cost_the_buyer_nothing(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, attempts=1)
    done = deliver(hall, job, verdict(hidden=False))
    hall.endow(provider, 10_000)
    who = hall.stalls[provider].who
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, who, job.id, done.id, Trigger.IRRELEVANT, "They are unfair.")
        hall.disputes.reverified(tx, dispute.id, verdict(hidden=False))
        decided = hall.disputes.rule(tx, OPERATOR, dispute.id, Winner.BUYER, "They are fair.")
    assert decided.refund == done.paid
    assert hall.has(buyer) == 20_000_000
    with hall.tx() as tx:  # and it does not come back twice
        again = hall.disputes.open(tx, buyer, job.id, done.id, Trigger.IRRELEVANT, "Give it back.")
        hall.disputes.reverified(tx, again.id, verdict(hidden=False))
        twice = hall.disputes.rule(tx, OPERATOR, again.id, Winner.BUYER, "Once is enough.")
    assert twice.refund == 0
    hall.check()


def test_unfair_hidden_checks_pay_the_provider_in_full(hall: Hall) -> None:
    buyer, provider = hall.person(200_000), hall.provider()
    for _ in range(5):
        job = hall.order(buyer, attempts=1)
        done = deliver(hall, job, verdict(hidden=False))
        hall.clock.advance(1)
    assert hall.fund() > 0
    before = hall.has(provider)
    hall.endow(provider, 10_000)
    with hall.tx() as tx:
        who = hall.stalls[provider].who
        dispute = hall.disputes.open(tx, who, job.id, done.id, Trigger.IRRELEVANT, "They are unfair.")
        hall.disputes.reverified(tx, dispute.id, verdict(hidden=False))
        hall.disputes.rule(tx, OPERATOR, dispute.id, Winner.PROVIDER, "They are.")
    assert hall.has(provider) - before - 10_000_000 == PRICE - PRICE // 10  # with what the fund had of it
    assert hall.fund() == 0
    hall.check()


@given(failures=st.integers(0, 40))
def test_the_fund_gets_the_fee_above_a_fifth(failures: int) -> None:
    assert rules.fee_to_fund(failures, MarketPolicy()) == (failures > 4)


def test_what_a_job_pays_the_platform_at_least() -> None:
    policy = BazaarPolicy()
    for amount in (10_000, 10_001, 50_000):
        parts = pricing.shares(amount, policy, skill=True, referrer=True)
        assert parts.platform == 10_000
        assert parts.total == amount


@pytest.mark.parametrize("hidden", [True, False])
def test_only_hidden_checks_make_a_hidden_failure(hidden: bool) -> None:
    visibility = Visibility.HIDDEN if hidden else Visibility.VISIBLE
    found = Verdict(False, (Check("one", False, "hidden.failed", visibility=visibility),), 0, "bubblewrap")
    assert rules.is_hidden_failure(found) == hidden
