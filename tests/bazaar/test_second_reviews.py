"""Second reviews: somebody independent looks at a patch before it is paid, for an extra that the buyer holds."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.contracts import (
    Approval,
    ReviewFocus,
    ReviewIssue,
    SecondReview,
    Severity,
    Statement,
    StructuredReview,
)
from choir.bazaar.disputes.model import DisputeState, Trigger, Winner
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import DIFF, HoldOfJob, Job, JobState, JobType, NotReleased, UnknownJob
from choir.bazaar.jobs.service import Order
from choir.bazaar.seconds.model import SecondOutcome, SecondReviewClosed, SecondReviewRow, SecondState
from choir.foundation.canonical import bytes_hash
from choir.identity.clusters.service import Reason
from choir.identity.model import Principal, Role
from choir.ledger.model import InsufficientFunds
from choir.storage.database import Tx
from tests.bazaar.hall import Hall, verdict

OPERATOR = Principal(Role.OPERATOR, "operator", credential="operator")
HELD = 2_050_000  # for one review of one file
PATCH = b"a patch in escrow"


def review(*severities: Severity, quoted: bool = True) -> bytes:
    issues = tuple(
        ReviewIssue(each, ReviewFocus.LOGIC, "a.py", (1, 1), "It is wrong.", current="x = 1" if quoted else "")
        for each in severities
    )
    said = StructuredReview(
        "A look at what the change does.", Approval.COMMENT, issues, examined=(Statement("a.py", "I read all of it."),)
    )
    return said.to_bytes()


@dataclass
class Case:
    """A patch whose checks have passed, and people who could review it."""

    hall: Hall
    buyer: Principal
    job: Job
    attempt: Attempt

    @property
    def row(self) -> SecondReviewRow:
        with self.hall.tx() as tx:
            return self.hall.bazaar.seconds.of_job(tx, self.job.id)[0]

    @property
    def review(self) -> Job:
        assert self.row.review is not None
        with self.hall.tx() as tx:
            found = job_store.job(tx, self.row.review)
        assert found is not None
        return found

    def reviewed(self, artifact: bytes) -> Attempt:
        """Somebody is drawn, reviews it, and the review is verified."""
        [drawn] = self.hall.assign(self.review)
        self.hall.hand_in(drawn, artifact)
        return self.hall.judge(drawn, verdict())

    def go_on(self) -> Attempt:
        self.hall.look_at_seconds()
        [found] = [one for one in self.hall.tries(self.job) if one.id == self.attempt.id]
        return found


def reviewer(hall: Hall, who: Principal | None = None) -> UUID:
    provider = hall.provider(who=who)
    with hall.tx() as tx:
        hall.providers.declare(tx, hall.stalls[provider].who, [JobType.CODE_REVIEW], 5)
    return provider


def parked(hall: Hall, how: SecondReview = SecondReview.BEST_EFFORT, *, attempts: int = 1) -> Case:
    buyer = hall.person(50_000)
    hall.provider()
    job = hall.order(buyer, attempts=attempts, second_review=how)
    [attempt] = hall.assign(job)
    hall.hand_in(attempt, PATCH)
    attempt = hall.judge(attempt, verdict())
    return Case(hall, buyer, job, attempt)


def checks(hall: Hall, attempt: Attempt) -> list[dict[str, Any]]:
    assert attempt.verdict is not None
    with hall.tx() as tx:
        found: list[dict[str, Any]] = hall.objects.get_atom(tx, attempt.verdict)["checks"]
    return found


def test_money_is_held_for_each_try_and_what_is_not_needed_goes_back(hall: Hall) -> None:
    buyer = hall.person(50_000)
    hall.provider()
    job = hall.order(buyer, attempts=3, second_review=SecondReview.BEST_EFFORT)
    assert hall.second_holds([job.id]) == 3 * HELD
    assert hall.has(buyer) == 50_000_000 - 10_000_000 - 3 * HELD
    with hall.tx() as tx:
        rows = hall.bazaar.seconds.of_job(tx, job.id)
        with pytest.raises(HoldOfJob):
            hall.bazaar.check_not_ours(tx, rows[0].hold)
        hall.jobs.cancel(tx, buyer, job.id)
    assert hall.has(buyer) == 50_000_000
    with hall.tx() as tx:
        hall.bazaar.check_not_ours(tx, rows[0].hold)
    hall.check()


def test_who_cannot_pay_the_extra_has_ordered_nothing(hall: Hall) -> None:
    buyer = hall.person(11_000)
    with pytest.raises(InsufficientFunds):
        hall.order(buyer, second_review=SecondReview.BEST_EFFORT)
    assert hall.has(buyer) == 11_000_000


def test_a_patch_waits_for_its_review_and_is_paid_when_nothing_blocks(hall: Hall) -> None:
    case = parked(hall)
    assert case.attempt.state is AttemptState.VERIFYING
    assert hall.job(case.job).state is JobState.VERIFYING
    other = reviewer(hall)
    drawn = case.reviewed(review(Severity.LOW, Severity.MEDIUM))
    assert drawn.provider == other
    done = case.go_on()
    assert done.state is AttemptState.PASSED
    assert checks(hall, done)[-1] == {
        "name": "second_review", "passed": True, "details": "A second reviewer reported 2 findings; none blocks.",
    }  # fmt: skip
    assert (case.row.outcome, case.row.findings, case.row.blocking) == (SecondOutcome.CLEAR, 2, 0)
    assert hall.has(other) == HELD * 9 // 10  # one file reviewed
    assert hall.has(case.buyer) == 50_000_000 - 3_100_000 - HELD
    assert hall.second_holds([case.job.id]) == 0
    hall.check()


@pytest.mark.parametrize("severity", [Severity.CRITICAL, Severity.HIGH])
def test_a_severe_finding_with_a_quote_blocks(hall: Hall, severity: Severity) -> None:
    case = parked(hall)
    reviewer(hall)
    case.reviewed(review(severity, Severity.INFO))
    done = case.go_on()
    assert (done.state, done.reason, done.paid) == (AttemptState.FAILED, "second_review.blocking", 0)
    said = checks(hall, done)[-1]
    assert not said["passed"]
    assert "x = 1" not in str(said)  # nothing of the work
    assert hall.job(case.job).state is JobState.CLOSED
    assert hall.has(case.buyer) == 50_000_000 - HELD  # the review was done and is paid
    hall.check()


def test_a_severe_finding_without_a_quote_does_not_block(hall: Hall) -> None:
    case = parked(hall)
    reviewer(hall)
    case.reviewed(review(Severity.CRITICAL, quoted=False))
    assert case.go_on().state is AttemptState.PASSED


def test_the_next_try_has_a_review_of_its_own(hall: Hall) -> None:
    case = parked(hall, attempts=2)
    reviewer(hall)
    hall.provider()
    case.reviewed(review(Severity.HIGH))
    case.go_on()
    hall.wait(2)
    [second] = hall.assign(case.job)
    hall.hand_in(second, b"another patch")
    second = hall.judge(second, verdict())
    assert second.state is AttemptState.VERIFYING
    with hall.tx() as tx:
        rows = hall.bazaar.seconds.of_job(tx, case.job.id)
    assert [row.state for row in rows] == [SecondState.DONE, SecondState.WAITING]
    hall.wait(3_600)
    hall.look()
    hall.look()
    assert hall.job(case.job).state is JobState.PAID
    hall.check()


def test_without_a_reviewer_the_best_effort_is_enough(hall: Hall) -> None:
    case = parked(hall)
    hall.wait(1_800)
    hall.look()
    done = case.go_on()
    assert done.state is AttemptState.PASSED
    assert case.row.outcome is SecondOutcome.NONE
    assert hall.has(case.buyer) == 50_000_000 - 3_100_000  # the extra came back
    hall.check()


def test_without_a_reviewer_a_required_one_calls_it_off_and_nobody_has_failed(hall: Hall) -> None:
    case = parked(hall, SecondReview.REQUIRED)
    hall.wait(1_800)
    hall.look()
    done = case.go_on()
    assert (done.state, done.reason) == (AttemptState.LOST, "second_review.missing")
    assert done.paid == 310_000  # as after any cancellation: it had passed what it could see
    assert hall.job(case.job).state is JobState.CANCELLED
    assert hall.record(done.provider) == [True]
    assert hall.has(case.buyer) == 50_000_000 - 310_000
    hall.check()


def test_whoever_is_one_with_a_side_does_not_review(hall: Hall) -> None:
    case = parked(hall)
    of_buyer, of_provider = hall.person(), hall.person()
    owner = hall.stalls[case.attempt.provider].who
    with hall.tx() as tx:
        clusters = hall.bazaar.settlement._clusters
        clusters.join(tx, case.buyer.source, of_buyer.source, Reason.PAYOUT, "one target")
        clusters.join(tx, owner.source, of_provider.source, Reason.INSTRUMENT, "one card")
    reviewer(hall, of_buyer)
    reviewer(hall, of_provider)
    with hall.tx() as tx:  # nor the provider itself
        hall.providers.declare(tx, owner, [JobType.PATCH_GEN, JobType.CODE_REVIEW], 5)
    assert hall.assign(case.review) == []
    apart = reviewer(hall)
    hall.wait(40)
    [drawn] = hall.assign(case.review)
    assert drawn.provider == apart


def test_reviewers_are_drawn_and_not_the_best_first(hall: Hall) -> None:
    drawn: set[UUID] = set()
    reviewers = [reviewer(hall) for _ in range(4)]
    with hall.tx() as tx:
        tx.run("update provider_market set reputation_bps = 9000 where provider = %s", reviewers[0])
    for _ in range(8):
        case = parked(hall)
        hall.vanish(case.attempt.provider)
        drawn.update(one.provider for one in hall.assign(case.review))
        hall.clock.advance(1)
    assert len(drawn) > 1


def test_the_patch_stays_in_escrow_and_the_reviewer_gets_it(hall: Hall) -> None:
    case = parked(hall)
    other = reviewer(hall)
    [drawn] = hall.assign(case.review)
    who = hall.stalls[other].who
    with hall.tx() as tx:
        assert hall.access.input(tx, who, case.review.id, DIFF) == bytes_hash(PATCH)
        with pytest.raises(NotReleased):
            hall.access.bought(tx, case.buyer, case.job.id)
        with pytest.raises(UnknownJob):
            hall.access.input(tx, case.buyer, case.review.id, DIFF)
    hall.hand_in(drawn, review(Severity.HIGH))
    hall.judge(drawn, verdict())
    case.go_on()
    provider = hall.stalls[case.attempt.provider].who
    with hall.tx() as tx:
        with pytest.raises(SecondReviewClosed):  # it quotes what the buyer did not pay for
            hall.access.second_review(tx, case.buyer, case.job.id, 1)
        assert hall.access.second_review(tx, provider, case.job.id, 1) == bytes_hash(review(Severity.HIGH))
        [seen] = hall.access.second_reviews(tx, case.buyer, case.job.id)
    assert (seen.outcome, seen.blocking) == (SecondOutcome.BLOCKING, 1)


def test_a_buyer_who_paid_reads_what_the_second_reviewer_said(hall: Hall) -> None:
    case = parked(hall)
    reviewer(hall)
    case.reviewed(review(Severity.LOW))
    case.go_on()
    with hall.tx() as tx:
        assert hall.access.second_review(tx, case.buyer, case.job.id, 1) == bytes_hash(review(Severity.LOW))


def test_a_provider_disputes_a_blocking_review_before_people(hall: Hall) -> None:
    case = parked(hall)
    reviewer(hall)
    case.reviewed(review(Severity.HIGH))
    done = case.go_on()
    hall.endow(done.provider, 10_000)
    who = hall.stalls[done.provider].who
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, who, case.job.id, done.id, Trigger.TESTS_FAIL, "It is right.")
    with hall.tx() as tx:  # the machine's checks pass again, which says nothing about what the reviewer saw
        looked = hall.disputes.reverified(tx, dispute.id, verdict())
    assert looked.state is DisputeState.UNDER_REVIEW
    with hall.tx() as tx:
        decided = hall.disputes.rule(tx, OPERATOR, dispute.id, Winner.PROVIDER, "It is.")
    assert decided.refund == 3_100_000
    hall.check()


def test_verdicts_and_ends_count_once_however_often_and_together(hall: Hall) -> None:
    case = parked(hall)
    reviewer(hall)
    for _ in range(3):  # a verdict that is told again finds the delivery waiting
        with hall.tx() as tx:
            hall.attempts.conclude(tx, case.attempt.id, verdict())
    with hall.tx() as tx:
        assert tx.value("select count(*) from jobs where key like 'second:%%'") == 1
    case.reviewed(review())
    database = hall.agency.database

    def conclude(_: int) -> None:
        database.run(lambda tx: hall.attempts.conclude_seconds(tx, case.job.id))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(conclude, range(8)))
    assert hall.has(case.attempt.provider) == 2_790_000
    hall.check()


def test_nothing_is_lost_when_it_dies_before_the_commit(hall: Hall) -> None:
    case = parked(hall)
    reviewer(hall)
    case.reviewed(review(Severity.HIGH))

    def dies(tx: Tx) -> None:
        hall.attempts.conclude_seconds(tx, case.job.id)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        hall.agency.database.run(dies)
    assert case.row.state is SecondState.WAITING
    assert case.go_on().reason == "second_review.blocking"
    hall.check()


# Of a review


def ordered_review(hall: Hall, firsts: Sequence[bytes]) -> Case:
    buyer = hall.person(50_000)
    with hall.tx() as tx:
        diff = hall.objects.put_blob(tx, [b"a diff"], buyer.source).hash
        order = Order(
            JobType.CODE_REVIEW,
            {"diff": diff, "second_review": "best_effort"},
            5_000_000,
            900,
            inputs={DIFF: diff},
            strategy={"kind": "sequential_retry", "attempts": 1},
            second_review=SecondReview.BEST_EFFORT,
        )
        job = hall.jobs.open(tx, buyer, order, "a review")
    [first] = hall.assign(job)
    hall.hand_in(first, firsts[0])
    return Case(hall, buyer, job, hall.judge(first, verdict()))


@pytest.mark.parametrize("agree", [True, False])
def test_two_reviews_of_one_diff_are_paid_apart_and_compared(hall: Hall, agree: bool) -> None:
    one, two = reviewer(hall), reviewer(hall)
    case = ordered_review(hall, [review(Severity.HIGH)])
    assert case.attempt.state is AttemptState.PASSED  # it does not wait for the other
    other = two if case.attempt.provider == one else one
    drawn = case.reviewed(review(Severity.CRITICAL) if agree else review(Severity.INFO))
    assert drawn.provider == other
    case.go_on()
    assert case.row.agrees is agree
    assert (hall.has(one), hall.has(two)) == (HELD * 9 // 10, HELD * 9 // 10)
    with hall.tx() as tx:
        hall.access.second_review(tx, case.buyer, case.job.id, 1)
    assert hall.has(case.buyer) == 50_000_000 - 2 * HELD
    hall.check()
