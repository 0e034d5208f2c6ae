"""What ends while the node is away is held against nobody."""

from __future__ import annotations

import pytest

from choir.bazaar.attempts.model import NODE_AWAY, AttemptState
from choir.bazaar.disputes.model import NotDisputable, Trigger
from choir.bazaar.jobs import rules
from choir.bazaar.jobs.model import Job, JobState
from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.uploads.model import UnknownUpload
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import MICROSECONDS
from choir.storage.database import Database
from tests.bazaar.hall import Hall, verdict


def away(hall: Hall, seconds: float) -> None:
    """The node is away for that long, then there again, and looks first at what it has missed."""
    since_us = hall.clock.now_us()
    hall.wait(seconds)
    with hall.tx() as tx:
        hall.bazaar.excuse(tx, since_us, hall.clock.now_us())
        hall.bazaar.excuse(tx, since_us, hall.clock.now_us())  # once more is no more
    hall.look()


def turn_back(hall: Hall, seconds: int) -> None:
    """Somebody sets the clock back."""
    since_us = hall.clock.now_us()
    hall.wait(-seconds)
    with hall.tx() as tx:
        hall.bazaar.turn_back(tx, since_us, seconds * MICROSECONDS)


def test_a_deadline_that_passed_while_the_node_was_away_costs_neither_record_nor_try(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, seconds=60, attempts=1)
    [cut_off] = hall.assign(job)
    away(hall, 600)
    hall.wait(2)
    hall.look()
    ended, again = hall.tries(job)
    assert (ended.id, ended.state, ended.reason) == (cut_off.id, AttemptState.CANCELLED, NODE_AWAY)
    assert hall.record(provider) == []
    assert (again.provider, again.state) == (provider, AttemptState.ASSIGNED)  # its one try is still to come
    hall.hand_in(again)
    hall.judge(again, verdict())
    assert hall.job(job).state is JobState.PAID
    assert hall.record(provider) == [True]
    hall.check()


@pytest.mark.parametrize(("left_s", "state"), [(10, AttemptState.CANCELLED), (40, AttemptState.TIMED_OUT)])
def test_who_has_time_left_when_the_node_is_back_is_late_like_anybody(
    hall: Hall, left_s: int, state: AttemptState
) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, seconds=60)
    [attempt] = hall.assign(job)
    away(hall, 60 - left_s)
    [attempt] = hall.tries(job)
    assert attempt.state is AttemptState.ASSIGNED
    hall.wait(left_s)
    hall.look()
    assert hall.tries(job)[0].state is state
    assert hall.record(provider) == ([] if state is AttemptState.CANCELLED else [False])
    hall.check()


def test_an_order_that_nobody_could_take_waits_as_long_as_it_would_have(hall: Hall) -> None:
    buyer = hall.person(20_000)
    job = hall.order(buyer)
    left_us = job.expires_us - hall.clock.now_us()
    away(hall, left_us // MICROSECONDS + 3_600)
    assert (hall.job(job).state, hall.job(job).expires_us) == (JobState.OPEN, hall.clock.now_us() + left_us)
    hall.provider()
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    hall.judge(attempt, verdict())
    assert hall.job(job).state is JobState.PAID
    hall.check()


def test_an_order_is_not_offered_unexamined_because_the_node_was_away(database: Database) -> None:
    hall = Hall(database, BazaarPolicy(examine_s_max=300))
    hall.provider()
    job = hall.order(hall.person(20_000))
    away(hall, 3_600)
    assert hall.job(job).offer_us == hall.clock.now_us() + 300 * MICROSECONDS
    assert hall.tries(job) == []
    hall.wait(300)
    hall.look()
    assert len(hall.tries(job)) == 1  # nobody has examined it in time


def test_an_order_waits_no_longer_than_its_budget_is_held(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, seconds=60)
    hall.assign(job)
    away(hall, hall.policy.away_s_max + hall.policy.open_s + 1_000)
    ended = hall.job(job)
    assert ended.state is JobState.EXPIRED
    assert ended.held_until_us is not None
    assert ended.expires_us + rules.verify_us(hall.policy) == ended.held_until_us  # that much longer, and no more
    assert (hall.record(provider), hall.has(buyer)) == ([], 20_000_000)
    hall.check()


def test_a_verdict_can_be_doubted_as_long_as_the_node_was_there_for_it(hall: Hall) -> None:
    buyer = hall.person(20_000)
    hall.provider()
    doubted, late = hall.order(buyer), hall.order(buyer)
    for job in (doubted, late):
        [attempt] = hall.assign(job)
        hall.hand_in(attempt)
        hall.judge(attempt, verdict())
    hall.wait(hall.policy.dispute_s - 60)
    away(hall, 86_400)
    hall.wait(59)

    def doubt(job: Job) -> None:
        with hall.tx() as tx:
            hall.disputes.open(tx, buyer, job.id, hall.tries(job)[0].id, Trigger.TESTS_FAIL, "I doubt it")

    doubt(doubted)
    hall.wait(1)
    with pytest.raises(NotDisputable):
        doubt(late)


def test_an_upload_that_was_cut_off_can_be_finished(hall: Hall) -> None:
    buyer, uploads = hall.person(), hall.bazaar.uploads
    with hall.tx() as tx:
        begun = uploads.begin(tx, buyer, 3, bytes_hash(b"abc"))
    away(hall, hall.policy.upload_s + 1)
    with hall.tx() as tx:
        uploads.put_part(tx, buyer, begun.upload.id, 0, b"abc")
        assert uploads.finish(tx, buyer, begun.upload.id).missing == []
    hall.wait(hall.policy.upload_s)
    with hall.tx() as tx, pytest.raises(UnknownUpload):
        uploads.get(tx, buyer, begun.upload.id)


def test_work_goes_on_when_the_clock_was_moved_back(hall: Hall) -> None:
    """The ledger's time stays where it was. What was ordered before the move, and after it, is done and paid."""
    hall.wait(86_400)
    buyer, provider = hall.person(60_000), hall.provider()
    at_work, handed_in, waiting = (hall.order(buyer, seconds=600) for _ in range(3))
    for job in (at_work, handed_in):
        hall.assign(job)
    hall.hand_in(hall.live(handed_in)[0])
    turn_back(hall, 86_400)
    later = hall.order(buyer, seconds=600)
    assert later.held_until_us == waiting.held_until_us  # from the ledger's time on
    hall.look()
    for job in (at_work, waiting, later):
        [attempt] = hall.live(job)
        assert attempt.deadline_us == hall.clock.now_us() + 600 * MICROSECONDS
        hall.hand_in(attempt)
    for job in (at_work, handed_in, waiting, later):
        hall.judge(hall.live(job)[0], verdict())
        assert hall.job(job).state is JobState.PAID
    with hall.tx() as tx:
        hall.disputes.open(tx, buyer, later.id, hall.tries(later)[0].id, Trigger.TESTS_FAIL, "I doubt it")
    hall.beat()
    with hall.tx() as tx:
        heard_us = tx.value("select alive_until_us from provider_market where provider = %s", provider)
    assert heard_us < hall.clock.now_us() + 86_400 * MICROSECONDS
    hall.check()


def test_what_was_handed_in_before_is_verified_and_paid_afterwards(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    away(hall, hall.policy.verify_s_max * hall.policy.verify_tries_max + 1)
    assert hall.job(job).state is JobState.DELIVERED
    hall.judge(attempt, verdict())
    assert hall.job(job).state is JobState.PAID
    assert hall.record(provider) == [True]
    hall.check()


def test_what_can_no_longer_be_paid_is_called_off_to_nobodys_harm(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt)
    away(hall, hall.policy.away_s_max + 2 * 86_400)
    [ended] = hall.tries(job)
    assert (ended.state, ended.reason) == (AttemptState.CANCELLED, "bazaar.not_verified_in_time")
    assert (hall.record(provider), hall.has(buyer)) == ([], 20_000_000)
    hall.check()
