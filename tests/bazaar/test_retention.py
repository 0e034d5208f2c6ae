"""Retention: the bytes of closed jobs go after a time, what explains payments stays, keeping longer is paid once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.attempts.model import Attempt
from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.jobs.model import REPOSITORY, Job, Removed, UnknownJob
from choir.bazaar.policy import BazaarPolicy, MarketPolicy
from choir.bazaar.retention import rules
from choir.bazaar.retention.model import BadDays, Keep, KeyOfAnotherKeep, StillOpen
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.clock import MICROSECONDS
from choir.identity.model import Principal, Role
from choir.ledger.model import InsufficientFunds
from choir.objects.service import Objects
from tests.bazaar.hall import TRAJECTORY, Hall, verdict

OPERATOR = Principal(Role.OPERATOR, "operator", credential="operator")
DAY = 86_400
QUARTER = 90 * DAY
BUNDLE = b"a bundle" * 1000


class Case:
    """A job that was paid for, with an input."""

    def __init__(self, hall: Hall, artifact: bytes = b"a patch", bundle: bytes = BUNDLE) -> None:
        self.hall, self.artifact = hall, artifact
        self.buyer = hall.person(20_000)
        self.provider = hall.provider()
        with hall.tx() as tx:
            self.bundle = hall.objects.put_blob(tx, [bundle], self.buyer.source).hash
        self.job: Job = hall.order(self.buyer, attempts=1, inputs={REPOSITORY: self.bundle})
        [attempt] = hall.assign(self.job)
        hall.hand_in(attempt, artifact)
        self.attempt: Attempt = hall.judge(attempt, verdict())

    def is_there(self, name: ObjectHash) -> bool:
        with self.hall.tx() as tx:
            return self.hall.objects.exists(tx, name)

    def keep(self, days: int, key: str) -> Keep:
        database, retention = self.hall.agency.database, self.hall.bazaar.retention
        return database.run(lambda tx: retention.keep(tx, self.buyer, self.job.id, days, key))


def round_(hall: Hall) -> int:
    """What the scheduler does; says how many jobs lost their bytes."""
    with hall.tx() as tx:
        due = hall.bazaar.retention.due(tx)
    removed = 0
    for id_ in due:
        with hall.tx() as tx:
            removed += hall.bazaar.retention.remove(tx, id_)
    return removed


def collect(hall: Hall) -> None:
    """Remove what nothing points to, as if enough time had passed."""
    objects: Objects = hall.objects
    later_us = hall.clock.now_us() + (objects.policy.unreferenced_s + 1) * MICROSECONDS
    for _ in range(10):
        with hall.tx() as tx:
            if not objects.collect(tx, later_us).more:
                return


def test_bytes_go_after_their_time_and_explanations_stay(hall: Hall) -> None:
    case = Case(hall)
    hall.wait(QUARTER - 1)
    assert round_(hall) == 0
    hall.wait(1)
    assert round_(hall) == 1
    collect(hall)
    for name in (case.bundle, bytes_hash(case.artifact), bytes_hash(TRAJECTORY)):
        assert not case.is_there(name)
    done = case.attempt
    with hall.tx() as tx:
        for kept in (case.job.request, done.verdict, done.receipt, done.result):
            assert kept is not None
            hall.objects.get_atom(tx, kept)
        assert hall.access.receipt(tx, case.buyer, done.id) == done.receipt
        hall.access.verdict(tx, case.buyer, done.id)
        assert hall.access.request(tx, case.buyer, case.job.id) == case.job.request
    assert round_(hall) == 0
    hall.check()


def test_reading_what_was_removed_says_when(hall: Hall) -> None:
    case = Case(hall)
    hall.wait(QUARTER)
    round_(hall)
    with hall.tx() as tx:
        with pytest.raises(Removed) as refused:
            hall.access.bought(tx, case.buyer, case.job.id)
        for read in (hall.access.artifact, hall.access.trajectory):
            with pytest.raises(Removed):
                read(tx, case.buyer, case.attempt.id)
        with pytest.raises(Removed):
            hall.access.input(tx, case.buyer, case.job.id, REPOSITORY)
    assert refused.value.fields["at"].startswith("20")
    assert "removed at 20" in str(refused.value)


def test_what_another_job_needs_stays(hall: Hall) -> None:
    early = Case(hall)
    hall.wait(10 * DAY)
    late = Case(hall)  # the very same bytes
    hall.wait(QUARTER - 10 * DAY)
    assert round_(hall) == 1
    collect(hall)
    assert late.is_there(late.bundle)
    with hall.tx() as tx:
        assert hall.access.bought(tx, late.buyer, late.job.id) == bytes_hash(b"a patch")
        with pytest.raises(Removed):
            hall.access.bought(tx, early.buyer, early.job.id)


def test_nothing_goes_while_a_dispute_is_undecided(hall: Hall) -> None:
    case = Case(hall)
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, case.buyer, case.job.id, case.attempt.id, Trigger.SECURITY, "It opens a door.")
        hall.disputes.reverified(tx, dispute.id, verdict())
    hall.wait(2 * QUARTER)
    assert round_(hall) == 0
    with hall.tx() as tx:
        assert not hall.bazaar.retention.remove(tx, case.job.id)  # also if it began after the round had looked
        hall.disputes.rule(tx, OPERATOR, dispute.id, Winner.PROVIDER, "It does not.")
    assert round_(hall) == 1


def test_nothing_of_an_open_job_goes(hall: Hall) -> None:
    buyer = hall.person(20_000)
    job = hall.order(buyer, seconds=80_000)
    hall.wait(DAY // 24)
    with hall.tx() as tx:
        assert not hall.bazaar.retention.remove(tx, job.id)
        with pytest.raises(StillOpen):
            hall.bazaar.retention.keep(tx, buyer, job.id, 1, "k")


def test_keeping_longer_is_charged_once_and_keeps(hall: Hall) -> None:
    case = Case(hall)
    had, fees = hall.has(case.buyer), hall.fees()
    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(lambda _: case.keep(30, "one"), range(8)))
    [kept] = made
    assert kept.price == 1_000  # a few kilobytes cost the minimum
    assert (had - hall.has(case.buyer), hall.fees() - fees) == (1_000, 1_000)
    with pytest.raises(KeyOfAnotherKeep):
        case.keep(31, "one")
    hall.wait(QUARTER)
    assert round_(hall) == 0
    case.keep(10, "two")  # on top
    hall.wait(40 * DAY - 1)
    assert round_(hall) == 0
    hall.wait(1)
    assert round_(hall) == 1
    with pytest.raises(Removed):
        case.keep(1, "three")
    assert had - hall.has(case.buyer) == 2_000
    hall.check()


def test_who_cannot_pay_or_has_no_part_in_it_keeps_nothing(hall: Hall) -> None:
    case = Case(hall)
    hall._between(f"{case.buyer.source}/available/SAT", "world:lightning/external/SAT", hall.has(case.buyer))
    with pytest.raises(InsufficientFunds):
        case.keep(10, "k")
    with hall.tx() as tx, pytest.raises(UnknownJob):
        hall.bazaar.retention.keep(tx, hall.person(100), case.job.id, 1, "k")
    hall.wait(QUARTER)
    assert round_(hall) == 1  # a refusal kept nothing


def test_rounds_are_bounded(hall: Hall) -> None:
    for _ in range(3):
        Case(hall)
    hall.wait(QUARTER)
    with hall.tx() as tx:
        assert len(hall.bazaar.retention.due(tx)) == 3
        assert len(tx.rows("select 1 from jobs where removed_us is null")) == 3
    assert round_(hall) == 3


def test_the_time_in_which_the_node_was_away_counts_for_nobody(hall: Hall) -> None:
    case = Case(hall)
    hall.wait(QUARTER)
    with hall.tx() as tx:
        hall.bazaar.excuse(tx, hall.clock.now_us() - 5 * DAY * MICROSECONDS, hall.clock.now_us())
    assert round_(hall) == 0
    hall.wait(5 * DAY)
    assert round_(hall) == 1
    assert case.job.id is not None


def test_price_and_time() -> None:
    policy = MarketPolicy()
    assert rules.price(50_000_000, 30, policy) == 50_000
    assert rules.price(1, 1, policy) == policy.keep_msat_min
    for days in (0, -1, policy.keep_days_max + 1):
        with pytest.raises(BadDays):
            rules.price(1, days, policy)
    short = MarketPolicy(retention_s=8 * DAY)
    long_ = BazaarPolicy(security_dispute_s=30 * DAY)
    assert rules.until_us(0, None, short, long_) == 31 * DAY * MICROSECONDS  # never before the last dispute


@given(size=st.integers(0, 10**12), days=st.integers(1, 3_650), more=st.integers(0, 1_000))
def test_more_bytes_and_more_days_never_cost_less(size: int, days: int, more: int) -> None:
    policy = MarketPolicy()
    assert rules.price(size + more, days, policy) >= rules.price(size, days, policy)
    assert rules.price(size, min(days + more, 3_650), policy) >= rules.price(size, days, policy)
