"""What ends while the node is away is held against nobody."""

from __future__ import annotations

import pytest

from choir.bazaar.model import NODE_AWAY, AttemptState, JobState
from tests.bazaar.hall import Hall, verdict


def back(hall: Hall) -> None:
    """The node is there again, and looks first at what it has missed."""
    with hall.tx() as tx:
        hall.jobs.excuse(tx)
    hall.look()


def away(hall: Hall, seconds: float) -> None:
    hall.wait(seconds)
    back(hall)


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


def test_a_job_that_is_over_when_the_node_is_back_costs_nobody_anything(hall: Hall) -> None:
    buyer, provider = hall.person(20_000), hall.provider()
    job = hall.order(buyer, seconds=60)
    hall.assign(job)
    away(hall, hall.policy.open_s + 1_000)
    assert hall.job(job).state is JobState.EXPIRED
    assert (hall.record(provider), hall.has(buyer)) == ([], 20_000_000)
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
    away(hall, 7 * 86_400)
    [ended] = hall.tries(job)
    assert (ended.state, ended.reason) == (AttemptState.CANCELLED, "bazaar.not_verified_in_time")
    assert (hall.record(provider), hall.has(buyer)) == ([], 20_000_000)
    hall.check()
