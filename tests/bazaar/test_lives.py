"""The life of a job, step by step, and what each step does to the money."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from choir.bazaar.attempts.model import Attempt, AttemptOver, AttemptState, UnknownAttempt
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.lifecycle import VERIFY
from choir.bazaar.jobs.model import BadBudget, JobOver, JobState, JobType, KeyOfAnotherJob, NotReleased, UnknownJob
from choir.bazaar.jobs.service import EXAMINE, Order
from choir.bazaar.providers.model import provider_id
from choir.bazaar.verification.versions import verifier_version
from choir.foundation.canonical import bytes_hash, hash_digest
from choir.foundation.errors import Invalid
from choir.foundation.signing import verify_ed25519
from choir.identity.keys.public_keys import public_key_of
from choir.identity.model import Principal, Role, Scope, ScopeMissing, agent_owner
from choir.ledger.model import InsufficientFunds
from choir.objects.model import Scheme
from tests.bazaar.hall import TRAJECTORY, Hall, verdict
from tests.bazaar.providers.stalls import registration, result_key


def test_verified_work_is_paid_and_the_rest_goes_back(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, 10_000)
    assert (hall.has(buyer), hall.held(job)) == (10_000_000, 10_000_000)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    judged = hall.judge(attempt, verdict(units_milli=2_000))
    assert judged.state is AttemptState.PASSED
    assert (hall.has(provider), hall.fees()) == (2_880_000, 320_000)
    assert (hall.has(buyer), hall.held(job)) == (20_000_000 - 3_200_000, 0)
    done = hall.job(job)
    assert (done.state, done.price, done.winner) == (JobState.PAID, 3_200_000, attempt.id)
    with hall.tx() as tx:
        assert [event.what for event in hall.access.steps(tx, buyer, job.id)] == [
            "opened", "offered", "assigned", "started", "running", "handed_in", "delivered", "verifying", "paid",
        ]  # fmt: skip
    hall.check()


def test_the_receipt_is_signed_and_named_on_the_entry(hall: Hall) -> None:
    buyer = hall.person(20_000)
    hall.provider()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    hall.judge(attempt, verdict())
    receipt = hall.job(job).receipt
    assert receipt is not None
    with hall.tx() as tx:
        atom = hall.objects.get_atom(tx, receipt)
        [signature] = hall.objects.signatures(tx, receipt)
        entries = tx.rows("select content from entries where content like %s", f'%"receipt":"{receipt}"%')
    assert (atom["payer"], atom["outcome"], atom["spent"]) == (
        buyer.source,
        "passed",
        {"amount": "3100000", "asset": "SAT"},
    )
    assert set(atom["objects"]) == {"request", "artifact", "result", "trajectory", "verdict"}
    verify_ed25519(signature.public, hash_digest(receipt), signature.signature)
    assert len(entries) == 1


def test_the_receipt_names_both_keys_the_shares_and_the_verifier(hall: Hall) -> None:
    buyer, provider = hall.person(40_000), hall.provider()
    old = hall.stalls[provider]

    def receipt_of_a_job() -> dict[str, Any]:
        job = hall.order(buyer)
        [attempt] = hall.assign(job)
        hall.hand_in(attempt)
        found = hall.judge(attempt, verdict())
        assert found.receipt is not None
        with hall.tx() as tx:
            receipt: dict[str, Any] = hall.objects.get_atom(tx, found.receipt)
        return receipt

    before = result_key(old.key).public_key_xonly.format().hex()
    first = receipt_of_a_job()
    assert first["keys"] == {"payee": before}  # the buyer has no key
    assert first["shares"] == {"payee": "2790000", "platform": "310000"}
    assert first["verifiers"] == [{"name": "choir.bazaar", "version": verifier_version()}]

    fresh = registration(old.who.source, 3_000)
    with hall.tx() as tx:
        key = hall.agency.keys.create(tx, buyer, buyer.source).key.public
        hall.providers.change_key(tx, old.who, fresh.result_key, fresh.proof)
    hall.stalls[provider] = replace(old, key=3_000)
    hall.clock.advance(1)
    assert receipt_of_a_job()["keys"] == {
        "payer": key.hex(),
        "payee": fresh.result_key.hex(),
    }  # of the very same result


def test_an_agent_that_orders_by_its_own_key_is_named_by_it(hall: Hall) -> None:
    person, public = hall.person(), result_key(77).public_key_xonly.format()
    with hall.tx() as tx:
        assert person.person is not None
        agent = hall.agency.agents.create(tx, person.person, "scout", public)
        account = hall.agency.keys.create(tx, person, person.source).key.public
        assert public_key_of(tx, agent_owner(agent.id)) == public
        assert public_key_of(tx, person.source) == account
        assert public_key_of(tx, "system:bazaar") is None
        hall.agency.keys.retire(tx, person, person.source, account)
        assert public_key_of(tx, person.source) is None


def test_the_artifact_is_in_escrow_until_it_is_paid_for(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    stranger = hall.person()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt, b"the work")
    with hall.tx() as tx, pytest.raises(NotReleased):
        hall.access.bought(tx, buyer, job.id)
    hall.judge(attempt, verdict())
    with hall.tx() as tx:
        assert hall.access.bought(tx, buyer, job.id) == bytes_hash(b"the work")
    with hall.tx() as tx, pytest.raises(UnknownJob):
        hall.access.bought(tx, stranger, job.id)
    with hall.tx() as tx:  # its own work, which it has anyway
        assert hall.access.bought(tx, hall.stalls[provider].who, job.id) == bytes_hash(b"the work")
    with hall.tx() as tx, pytest.raises(UnknownJob):
        hall.access.bought(tx, hall.stalls[hall.provider()].who, job.id)


def test_failed_work_is_not_paid_and_the_next_provider_is_asked(hall: Hall) -> None:
    buyer, providers = hall.person(20_000), {hall.provider(), hall.provider()}
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    first = attempt.provider
    [second] = providers - {first}
    hall.hand_in(attempt)
    hall.judge(attempt, verdict(visible=False))
    assert (hall.has(first), hall.held(job)) == (0, 10_000_000)
    assert hall.job(job).state is JobState.OPEN
    hall.look()
    assert hall.live(job) == []  # not before the pause is over
    hall.wait(1)
    hall.look()
    [attempt] = hall.live(job)
    assert attempt.provider == second
    hall.hand_in(attempt)
    hall.judge(attempt, verdict())
    assert hall.has(second) == 2_790_000
    assert (hall.record(first), hall.record(second)) == ([False], [True])
    hall.check()


def test_after_the_last_attempt_everything_goes_back(hall: Hall) -> None:
    buyer = hall.person(20_000)
    for _ in range(4):
        hall.provider()
    job = hall.order(buyer, attempts=3)
    for _ in range(3):
        hall.wait(2)
        hall.look()
        [attempt] = hall.live(job)
        hall.hand_in(attempt)
        hall.judge(attempt, verdict(visible=False))
    assert hall.job(job).state is JobState.CLOSED
    assert (hall.has(buyer), hall.held(job), hall.fees()) == (20_000_000, 0, 0)
    hall.check()


def test_a_buyer_whose_hidden_check_fails_sees_nothing_and_pays_the_fee(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, attempts=1)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    judged = hall.judge(attempt, verdict(hidden=False))
    assert (judged.state, judged.paid) == (AttemptState.FAILED, 620_000)  # a fifth of 3100 SAT
    assert (hall.has(provider), hall.fees(), hall.has(buyer)) == (558_000, 62_000, 20_000_000 - 620_000)
    with hall.tx() as tx, pytest.raises(NotReleased):
        hall.access.bought(tx, buyer, job.id)
    hall.check()


def test_in_a_race_the_first_is_paid_and_whoever_passed_gets_a_tenth(hall: Hall) -> None:
    buyer = hall.person(20_000)
    first, second, third, fourth = (hall.provider() for _ in range(4))
    job = hall.order(buyer, 20_000, race=4)
    attempts = {attempt.provider: attempt for attempt in hall.assign(job)}
    for provider in (first, second, third):
        hall.hand_in(attempts[provider], str(provider).encode())
    hall.judge(attempts[second], verdict())
    job = hall.job(job)
    assert (job.state, job.winner, job.closed_us) == (JobState.PAID, attempts[second].id, None)
    with hall.tx() as tx, pytest.raises(AttemptOver):  # told that somebody else was first
        hall.attempts.start(tx, hall.stalls[fourth].who, attempts[fourth].id)
    hall.judge(attempts[first], verdict())
    hall.judge(attempts[third], verdict(visible=False))
    assert [hall.has(provider) for provider in (second, first, third, fourth)] == [2_790_000, 279_000, 0, 0]
    assert (hall.held(job), hall.fees(), hall.has(buyer)) == (0, 341_000, 20_000_000 - 3_410_000)
    assert hall.job(job).closed_us is not None
    hall.check()


def pinned(hall: Hall, provider: UUID, seconds: int = 60) -> Attempt:
    """A job of a buyer's own that only this provider may do."""
    strategy = {"kind": "pinned", "provider": provider_id(provider)}
    order = Order(JobType.SANDBOX_RUN, {"argv": ["true"]}, 5_000_000, seconds, strategy=strategy)
    with hall.tx() as tx:
        job = hall.jobs.open(tx, hall.person(10_000), order, "k")
    [attempt] = hall.assign(job)
    return attempt


def test_a_crowd_of_orders_does_not_keep_deliveries_from_being_verified(hall: Hall) -> None:
    crowd, buyer = hall.person(100_000), hall.person(100_000)
    busy, other = hall.provider(), hall.provider()
    for _ in range(3):
        hall.order(crowd, 10)  # nobody works for so little, but each order has to be examined
    deliveries: dict[UUID, list[Attempt]] = {busy: [], other: []}
    for provider, count in ((busy, 3), (other, 1)):
        for _ in range(count):
            hall.wait(1)
            deliveries[provider].append(hall.hand_in(pinned(hall, provider)))
    hall.order(buyer, 10)
    with hall.tx() as tx:
        turns = tx.rows(
            "select name, key from tasks where name in (%s, %s) order by due_us + yields_us", VERIFY, EXAMINE
        )
    verified = [key for name, key in turns if name == VERIFY]
    first, second, third = (str(attempt.id) for attempt in deliveries[busy])
    assert verified == [first, str(deliveries[other][0].id), second, third]
    assert [name for name, _ in turns][:2] == [
        VERIFY,
        VERIFY,
    ]  # what somebody worked on goes before what may be ordered
    with hall.tx() as tx:
        examined = [job_store.job(tx, UUID(key)) for name, key in turns if name == EXAMINE]
    assert [job and job.buyer for job in examined] == [crowd.source, buyer.source, crowd.source, crowd.source]


def test_deliveries_of_one_provider_are_verified_in_the_order_in_which_they_came(hall: Hall) -> None:
    busy, other = hall.provider(), hall.provider()
    came: list[Attempt] = []
    for _ in range(4):
        hall.wait(1)
        came.append(hall.hand_in(pinned(hall, busy)))
    for early in came[:2]:
        with hall.tx() as tx:
            tx.run("delete from tasks where name = %s and key = %s", VERIFY, str(early.id))
        hall.judge(early, verdict())
    hall.wait(1)
    came.append(hall.hand_in(pinned(hall, busy)))  # fewer wait now than when the two before it came
    newcomer = hall.hand_in(pinned(hall, other))
    with hall.tx() as tx:
        turns = tx.rows("select key from tasks where name = %s order by due_us + yields_us", VERIFY)
    assert [key for (key,) in turns] == [str(attempt.id) for attempt in (newcomer, *came[2:])]


def test_a_provider_that_vanished_is_noticed_behind_any_crowd_that_works(hall: Hall) -> None:
    there, gone = hall.provider(), hall.provider()
    for _ in range(3):
        pinned(hall, there, seconds=60)
    job = pinned(hall, gone, seconds=600).job
    hall.vanish(gone)
    with hall.tx() as tx:
        assert hall.jobs.to_look_at(tx, 2) == [job]


def test_a_result_that_many_have_given_before_can_still_be_handed_in(hall: Hall) -> None:
    hall.provider()
    [attempt] = hall.assign(hall.order(hall.person(20_000)))
    with hall.tx() as tx:
        name = hall.objects.put_atom(tx, {"status": "success"}, None).hash
        for n in range(hall.objects.policy.signatures_max):
            key = result_key(5_000 + n)
            signature = key.sign_schnorr(hash_digest(name))
            hall.objects.add_signature(tx, name, Scheme.BIP340, key.public_key_xonly.format(), signature)
    assert hall.hand_in(attempt).state is AttemptState.DELIVERED
    with hall.tx() as tx:
        [signed] = hall.objects.signatures(tx, name, hall.market.result_keys(tx, attempt))
        assert signed.public == hall.market.result_key(tx, attempt)


@pytest.mark.parametrize("racing", [2, 3, 5])
def test_who_fails_hidden_checks_in_a_race_takes_nothing_from_the_winner(hall: Hall, racing: int) -> None:
    buyer = hall.person(20_000)
    for _ in range(racing):
        hall.provider()
    job = hall.order(buyer, 6_000, race=racing)
    *others, last = hall.assign(job)
    assert len(others) == racing - 1
    for attempt in (*others, last):
        hall.hand_in(attempt, str(attempt.id).encode())
    for attempt in others:  # so many units that the ceiling alone limits the price
        hall.judge(attempt, verdict(hidden=False, units_milli=10**6))
    assert hall.judge(last, verdict(units_milli=10**6)).paid == last.ceiling
    assert (hall.job(job).state, hall.held(job)) == (JobState.PAID, 0)
    hall.check()


def test_cancelling_pays_a_tenth_to_who_has_handed_in_good_work(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    with hall.tx() as tx:
        assert hall.jobs.cancel(tx, buyer, job.id).state is JobState.DELIVERED
    with hall.tx() as tx:
        hall.jobs.cancel(tx, buyer, job.id)  # again
    hall.judge(attempt, verdict())
    assert (hall.has(provider), hall.fees(), hall.held(job)) == (279_000, 31_000, 0)
    assert hall.job(job).state is JobState.CANCELLED
    with hall.tx() as tx, pytest.raises(NotReleased):
        hall.access.bought(tx, buyer, job.id)
    hall.check()


def test_cancelling_before_anything_is_handed_in_costs_nothing(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    with hall.tx() as tx:
        assert hall.jobs.cancel(tx, buyer, job.id).state is JobState.CANCELLED
    assert (hall.has(buyer), hall.in_use(provider)) == (20_000_000, 0)
    with pytest.raises(AttemptOver):
        hall.hand_in(attempt)
    done = hall.order(buyer)
    [attempt] = hall.assign(done)
    hall.hand_in(attempt)
    hall.judge(attempt, verdict())
    with hall.tx() as tx, pytest.raises(JobOver):
        hall.jobs.cancel(tx, buyer, done.id)
    hall.check()


def test_a_provider_that_is_too_slow_or_vanishes_is_replaced_and_its_late_result_refused(hall: Hall) -> None:
    buyer = hall.person(20_000)
    providers = {hall.provider() for _ in range(3)}
    job = hall.order(buyer, seconds=60)
    [late] = hall.assign(job)
    slow = late.provider
    hall.wait(61)
    with pytest.raises(AttemptOver):  # even before anybody has looked
        hall.hand_in(late)
    hall.look()
    hall.wait(2)
    hall.look()
    [vanished] = hall.live(job)
    gone = vanished.provider
    [good] = providers - {slow, gone}
    hall.vanish(gone)
    hall.look()
    with pytest.raises(AttemptOver):
        hall.hand_in(vanished)
    hall.wait(2)
    hall.look()
    [attempt] = hall.live(job)
    assert attempt.provider == good
    hall.hand_in(attempt)
    hall.judge(attempt, verdict())
    assert hall.job(job).state is JobState.PAID
    assert [hall.record(id_) for id_ in (slow, gone, good)] == [[False], [False], [True]]
    hall.check()


def test_a_job_that_nobody_takes_expires_and_the_budget_goes_back(hall: Hall) -> None:
    buyer = hall.person(20_000)
    job = hall.order(buyer)
    for _ in range(10):
        hall.look()
        hall.wait(30)
    assert hall.job(job).state is JobState.OPEN
    hall.wait(hall.policy.open_s + 4 * 1000)
    hall.look()
    assert hall.job(job).state is JobState.EXPIRED
    assert hall.has(buyer) == 20_000_000
    hall.check()


def test_work_that_the_node_cannot_verify_counts_against_nobody(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, attempts=1)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    hall.wait(hall.policy.verify_s_max * hall.policy.verify_tries_max + 1)
    hall.look()
    assert hall.record(provider) == []
    assert hall.judge(attempt, verdict()).state is AttemptState.CANCELLED  # a verdict that comes now is too late
    hall.wait(hall.policy.open_s + 1000)
    hall.look()
    assert hall.has(buyer) == 20_000_000
    hall.check()


def test_the_same_order_twice_is_one_job(hall: Hall) -> None:
    buyer = hall.person(20_000)
    with ThreadPoolExecutor(8) as pool:
        jobs = list(pool.map(lambda _: hall.order(buyer, key="one"), range(16)))
    assert len({job.id for job in jobs}) == 1
    assert hall.has(buyer) == 10_000_000
    with pytest.raises(KeyOfAnotherJob):
        hall.order(buyer, 9_000, key="one")
    hall.check()


def test_what_cannot_be_paid_is_not_ordered(hall: Hall) -> None:
    buyer = hall.person(5_000)
    with pytest.raises(InsufficientFunds):
        hall.order(buyer)
    for satoshi in (0, 9, -5, 10**12):
        with pytest.raises(BadBudget):
            hall.order(buyer, satoshi)
    nobody = Principal(Role.AGENT, "agent:x", person=buyer.person, scopes=frozenset({Scope.READ}))
    with pytest.raises(ScopeMissing):
        hall.order(nobody)
    with hall.tx() as tx:
        assert tx.value("select count(*) from jobs") == 0


def test_only_who_was_asked_can_hand_in_and_only_once(hall: Hall) -> None:
    buyer, providers = hall.person(20_000), {hall.provider(), hall.provider()}
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    provider = attempt.provider
    [other] = providers - {provider}
    handed = hall.handed(attempt.provider, b"x")
    for who in (hall.stalls[other].who, buyer):
        with hall.tx() as tx, pytest.raises(UnknownAttempt):
            hall.attempts.hand_in(tx, who, attempt.id, handed)
    first = hall.hand_in(attempt, b"mine")
    who = hall.stalls[provider].who
    with hall.tx() as tx:
        assert hall.attempts.hand_in(tx, who, attempt.id, hall.handed(attempt.provider, b"mine")) == first
    with hall.tx() as tx, pytest.raises(AttemptOver):
        hall.attempts.hand_in(tx, who, attempt.id, handed)


def test_what_somebody_else_signed_is_not_taken(hall: Hall) -> None:
    buyer, providers = hall.person(20_000), {hall.provider(), hall.provider()}
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    who = hall.stalls[attempt.provider].who
    [other] = providers - {attempt.provider}
    good, foreign = hall.handed(attempt.provider, b"mine"), hall.handed(other, b"mine")
    with hall.tx() as tx:
        for data in (b"mine", TRAJECTORY):
            hall.objects.put_blob(tx, [data], who.source)
    for forged in (
        replace(good, result_signature=foreign.result_signature),
        replace(good, trajectory_signature=foreign.trajectory_signature),
        replace(good, result={"status": "other"}),
    ):
        with hall.tx() as tx, pytest.raises(Invalid):
            hall.attempts.hand_in(tx, who, attempt.id, forged)
    assert hall.live(job)[0].state is AttemptState.ASSIGNED


def test_two_verdicts_at_once_pay_once(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: hall.judge(attempt, verdict()), range(8)))
    assert hall.has(provider) == 2_790_000
    hall.check()


def test_a_provider_may_give_a_job_back(hall: Hall) -> None:
    buyer, providers = hall.person(20_000), {hall.provider(), hall.provider()}
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    first = attempt.provider
    with hall.tx() as tx:
        hall.attempts.give_back(tx, hall.stalls[first].who, attempt.id, "no disk")
    hall.wait(1)
    hall.look()
    [attempt] = hall.live(job)
    assert {attempt.provider} == providers - {first}
    hall.check()


@pytest.mark.parametrize(("again", "asked"), [(False, 0), (True, 1)])
def test_who_cannot_do_it_is_not_asked_again_and_who_only_stopped_is(hall: Hall, again: bool, asked: int) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    for _ in range(2):  # a repeated request changes nothing
        with hall.tx() as tx:
            hall.attempts.give_back(tx, hall.stalls[provider].who, attempt.id, "no", again=again)
    for _ in range(3):
        hall.wait(2)
        hall.look()
    assert len(hall.live(job)) == asked
    assert hall.job(job).state is (JobState.ASSIGNED if asked else JobState.OPEN)
    hall.check()
