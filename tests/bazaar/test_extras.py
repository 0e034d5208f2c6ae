"""Stronger checks are paid for once per job, to the verifier fund, in the entry that settles the verdict."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from choir.bazaar.attempts.model import AttemptState
from choir.bazaar.contracts import PatchGenRequest
from choir.bazaar.disputes.model import Trigger
from choir.bazaar.jobs.model import SOURCE, BudgetBelowExtras, Level
from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.settlement import extras
from choir.bazaar.settlement.service import VERIFIER_FUND, pay_key
from choir.ledger import queries
from tests.bazaar.hall import Hall, verdict

EXTRAS = 700  # satoshi
MSAT = EXTRAS * 1000
PRICE = 3_100_000  # of a patch of one file


def test_verified_work_pays_the_extras_in_the_same_entry_and_the_rest_goes_back(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, extras=EXTRAS)
    [attempt] = hall.assign(job)
    assert attempt.ceiling == 10_000_000 - MSAT  # what a provider may ask leaves room for them
    done = hall.judge(hall.hand_in(attempt), verdict())
    assert (done.paid, done.extras, hall.verifier_fund()) == (PRICE, MSAT, MSAT)
    assert hall.job(job).price == PRICE
    assert hall.has(buyer) == 20_000_000 - PRICE - MSAT
    with hall.tx() as tx:
        entry = queries.entry_of_key(tx, SOURCE, pay_key(attempt.id))
        assert done.receipt is not None
        receipt = hall.objects.get_atom(tx, done.receipt)
    assert entry is not None
    assert [leg["amount"] for leg in entry.content["legs"] if leg["to"] == VERIFIER_FUND] == [str(MSAT)]
    assert receipt["spent"]["amount"] == str(PRICE + MSAT)
    assert receipt["shares"]["verification"] == str(MSAT)
    assert hall.has(provider) + hall.fees() == PRICE
    hall.check()


def test_failing_only_hidden_checks_pays_them_and_the_next_verdict_does_not_again(hall: Hall) -> None:
    buyer = hall.person(20_000)
    for _ in range(2):
        hall.provider()
    job = hall.order(buyer, extras=EXTRAS)
    [first] = hall.assign(job)
    failed = hall.judge(hall.hand_in(first), verdict(hidden=False))
    assert (failed.state, failed.extras) == (AttemptState.FAILED, MSAT)
    hall.wait(5)
    hall.look()
    [second] = hall.live(job)
    assert second.ceiling == 10_000_000 - MSAT - failed.paid
    done = hall.judge(hall.hand_in(second), verdict())
    assert (done.state, done.extras, hall.verifier_fund()) == (AttemptState.PASSED, 0, MSAT)
    assert hall.has(buyer) == 20_000_000 - failed.paid - PRICE - MSAT
    hall.check()


def test_a_job_without_a_verdict_that_needed_them_costs_nothing(hall: Hall) -> None:
    buyer = hall.person(20_000)
    hall.provider()
    job = hall.order(buyer, attempts=1, extras=EXTRAS)
    [attempt] = hall.assign(job)
    hall.judge(hall.hand_in(attempt), verdict(visible=False))
    assert hall.job(job).closed_us is not None
    assert (hall.has(buyer), hall.verifier_fund()) == (20_000_000, 0)
    hall.check()


@pytest.mark.parametrize("racing", [2, 3])
def test_a_race_pays_them_once_and_has_room_for_all(hall: Hall, racing: int) -> None:
    buyer = hall.person(20_000)
    for _ in range(racing):
        hall.provider()
    job = hall.order(buyer, 6_000, race=racing, extras=EXTRAS)
    handed = [hall.hand_in(attempt, str(attempt.n).encode()) for attempt in hall.assign(job)]
    for attempt in handed:
        hall.judge(attempt, verdict(hidden=attempt is handed[-1], units_milli=10**9))
    tries = hall.tries(job)
    assert [attempt.extras for attempt in tries] == [MSAT] + [0] * (racing - 1)
    assert tries[-1].state is AttemptState.PASSED
    assert hall.has(buyer) == 20_000_000 - MSAT - sum(attempt.paid for attempt in tries)
    hall.check()


def test_two_verdicts_at_once_pay_them_once(hall: Hall) -> None:
    buyer = hall.person(20_000)
    for _ in range(2):
        hall.provider()
    job = hall.order(buyer, race=2, extras=EXTRAS)
    handed = [hall.hand_in(attempt, str(attempt.n).encode()) for attempt in hall.assign(job)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda attempt: hall.judge(attempt, verdict()), handed * 2))
    assert sorted(attempt.extras for attempt in hall.tries(job)) == [0, MSAT]
    assert hall.verifier_fund() == MSAT
    hall.check()


def test_who_cancels_pays_them_if_what_was_handed_in_is_good(hall: Hall) -> None:
    buyer = hall.person(20_000)
    hall.provider()
    job = hall.order(buyer, extras=EXTRAS)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    with hall.tx() as tx:
        hall.jobs.cancel(tx, buyer, job.id)
    lost = hall.judge(attempt, verdict())
    assert (lost.state, lost.extras, hall.verifier_fund()) == (AttemptState.LOST, MSAT, MSAT)
    hall.check()


def test_a_dispute_moves_the_price_and_leaves_the_extras(hall: Hall) -> None:
    buyer = hall.person(20_000)
    hall.provider()
    job = hall.order(buyer, extras=EXTRAS)
    [attempt] = hall.assign(job)
    done = hall.judge(hall.hand_in(attempt), verdict())
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, buyer, job.id, done.id, Trigger.TESTS_FAIL, "it fails here")
    with hall.tx() as tx:
        resolved = hall.disputes.reverified(tx, dispute.id, verdict(visible=False))
    assert (resolved.refund, hall.verifier_fund()) == (PRICE, MSAT)
    assert hall.has(buyer) == 20_000_000 - MSAT
    hall.check()


def test_a_frozen_fund_stops_nobody(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, extras=EXTRAS)
    [attempt] = hall.assign(job)
    hall.freeze(VERIFIER_FUND)
    assert hall.judge(hall.hand_in(attempt), verdict()).state is AttemptState.PASSED
    assert hall.has(provider) > 0
    assert (hall.verifier_fund(), hall.claim("system:verifiers")) == (0, MSAT)
    hall.check()


def test_a_budget_that_leaves_nothing_for_the_work_is_refused_and_holds_nothing(hall: Hall) -> None:
    buyer = hall.person(20_000)
    with pytest.raises(BudgetBelowExtras) as refused:
        hall.order(buyer, 709, extras=EXTRAS)
    assert "cost 700" in str(refused.value)
    assert hall.has(buyer) == 20_000_000
    hall.order(buyer, 710, extras=EXTRAS)


def test_each_extra_has_its_price() -> None:
    policy = BazaarPolicy()

    def price(level: Level = Level.V2, *, suite: bool = False, mutation: bool = False) -> int:
        return sum(cost for _, cost in extras.named(level, policy, whole_suite=suite, mutation=mutation))

    assert [price(level) for level in Level] == [0, 0, policy.level_v3_msat, policy.level_v4_msat]
    assert price(suite=True) == policy.extra_suite_msat
    together = price(Level.V4, suite=True, mutation=True)
    assert together == policy.extra_mutation_msat + policy.extra_suite_msat + policy.level_v4_msat
    terms = {"max_cost_msat": "1", "time_limit_s": 60, "idempotency_key": "k"}
    old = {"title": "t", "base_commit": "0" * 40, "test_command": "pytest", **terms}
    assert extras.price(PatchGenRequest.from_json(old, VerificationPolicy()), policy) == 0
