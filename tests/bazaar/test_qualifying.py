"""Newcomers: qualification jobs are worked on by real workers, verified for real, and cost and pay nothing."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.attempts.service import StoredDelivery
from choir.bazaar.contracts import (
    Approval,
    CodeReviewResult,
    ReviewFocus,
    ReviewIssue,
    Severity,
    StructuredReview,
    Terms,
    TextGenResult,
    read_request,
)
from choir.bazaar.disputes.model import NotDisputable, Trigger
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.model import DIFF, HIDDEN, REPOSITORY, Job, JobState, JobType, job_id
from choir.bazaar.policy import ProvidersPolicy, VerificationPolicy, WorkersPolicy
from choir.bazaar.providers.model import NotQualifying, Offer, Qualification
from choir.bazaar.qualification import trials
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.verification.inspection import Inspection
from choir.bazaar.workers.catalogue import workers
from choir.bazaar.workers.fix_worker import FixWorker
from choir.bazaar.workers.fulfilment import FulfilledOrder, fulfil
from choir.bazaar.workers.index_worker import IndexWorker
from choir.bazaar.workers.model import IsCancelled, Worker, WorkOrder, WorkProduct
from choir.bazaar.workers.review_worker import ReviewWorker
from choir.bazaar.workers.run_worker import RunWorker
from choir.foundation.clock import SeededEntropy
from choir.identity.keys.secret_values import SecretKey
from choir.storage.database import Database
from tests.bazaar.hall import Hall
from tests.bazaar.machines import Machines
from tests.bazaar.providers.stalls import result_key

FIXER = Path(__file__).parents[2] / "examples" / "workers" / "simple_fixer.py"


class School:
    """A hall where newcomers must qualify, with a verifier and a provider's workshop."""

    def __init__(self, hall: Hall, machines: Machines, folder: Path) -> None:
        self.hall = hall
        self.folder = folder
        self.shop = machines.shop
        self.inspection = Inspection(
            hall.agency.database,
            hall.objects,
            hall.jobs,
            hall.attempts,
            hall.disputes,
            hall.market,
            lambda: machines.verifier,
            folder,
            WorkersPolicy(),
        )
        self.provider = hall.provider()
        self.who = hall.stalls[self.provider].who
        with hall.tx() as tx:
            hall.providers.declare(tx, self.who, list(JobType), 5)

    def trial(self, type_: JobType) -> tuple[Job, Attempt]:
        with self.hall.tx() as tx:
            job = self.hall.qualification.begin(tx, self.provider, type_)
        [attempt] = self.hall.live(job)
        return job, attempt

    def work(self, job: Job, worker: Worker) -> FulfilledOrder:
        """What a provider's machine does with what it is given, which is not what is hidden."""
        hall = self.hall
        with hall.tx() as tx:
            request = read_request(job.type, hall.objects.get_atom(tx, job.request), VerificationPolicy())
            given = {name: b"".join(hall.objects.open(tx, job.inputs[name])) for name in job.inputs if name != HIDDEN}
        bundle = None
        if REPOSITORY in given:
            bundle = self.folder / "given.bundle"
            bundle.write_bytes(given[REPOSITORY])
        deadline = time.monotonic() + 120
        order = WorkOrder(job_id(job.id), job.type, request, bundle, diff=given.get(DIFF), deadline=deadline)
        key = SecretKey(result_key(hall.stalls[self.provider].key).secret)
        return fulfil(order, worker, key, hall.clock, WorkersPolicy(), lambda: False)

    def judged(self, attempt: Attempt, done: FulfilledOrder) -> Attempt:
        assert done.is_done, done.error
        assert done.claimed is not None
        assert done.result is not None
        hall = self.hall
        with hall.tx() as tx:
            artifact = hall.objects.put_blob(tx, [done.artifact], self.who.source).hash
            trajectory = hall.objects.put_blob(tx, [done.trajectory], self.who.source).hash
            signed = (done.result_signature, done.signed.signature)
            handed = StoredDelivery(artifact, done.claimed, done.result.to_json(), trajectory, *signed)
            hall.attempts.hand_in(tx, self.who, attempt.id, handed)
        self.inspection.verify(attempt.id)
        with hall.tx() as tx:
            found = job_store.attempt(tx, attempt.id)
        assert found is not None
        return found

    def offer(self, type_: JobType) -> Offer:
        with self.hall.tx() as tx:
            offers = self.hall.providers.view(tx, self.provider).offers
        return next(offer for offer in offers if offer.type is type_)


class Says:
    """A worker that hands in what it is told to."""

    def __init__(self, type_: JobType, produced: WorkProduct) -> None:
        self.name, self.types, self._produced = "says", frozenset({type_}), produced

    def problem(self) -> str:
        return ""

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        trajectory.user("asked")
        return self._produced


@pytest.fixture
def school(database: Database, machines: Machines, tmp_path: Path) -> School:
    return School(Hall(database, providers=ProvidersPolicy(newcomer_share_bps=0)), machines, tmp_path)


def test_the_built_in_workers_qualify_and_get_real_jobs_then(school: School) -> None:
    hall, buyer = school.hall, school.hall.person(20_000)
    job = hall.order(buyer)
    assert hall.assign(job) == []  # nobody is qualified
    makers: dict[JobType, Worker] = {
        JobType.SANDBOX_RUN: RunWorker(school.shop),
        JobType.CODE_REVIEW: ReviewWorker(school.shop),
        JobType.PATCH_GEN: FixWorker(school.shop),
        JobType.REPO_INDEX: IndexWorker(school.shop),
    }
    for type_, worker in makers.items():
        trial, attempt = school.trial(type_)
        assert school.offer(type_).qualification is Qualification.RUNNING
        judged = school.judged(attempt, school.work(trial, worker))
        assert (judged.state, judged.reason, judged.paid) == (AttemptState.PASSED, "", 0)
        assert school.offer(type_).qualification is Qualification.PASSED
    with hall.tx() as tx:
        seen = hall.providers.view(tx, school.provider)
        history = [event.what for event in hall.access.steps(tx, school.who, trial.id)]
    assert (seen.jobs, seen.raw_volume, seen.market.in_use, hall.has(school.provider)) == (0, 0, 0, 0)
    assert history == ["opened", "offered", "handed_in", "qualified"]
    hall.wait(2)
    assert len(hall.assign(job)) == 1
    hall.check()


def test_the_example_of_a_worker_qualifies_too(school: School) -> None:
    [worker] = [item for item in workers([str(FIXER)], school.shop, os.environ) if JobType.PATCH_GEN in item.types]
    trial, attempt = school.trial(JobType.PATCH_GEN)
    assert school.judged(attempt, school.work(trial, worker)).state is AttemptState.PASSED


def test_a_text_must_have_the_word_of_this_very_order(school: School) -> None:
    first, attempt = school.trial(JobType.TEXT_GEN)
    with school.hall.tx() as tx:
        schema = school.hall.objects.get_atom(tx, first.request)["schema"]
    [word] = schema["properties"]["echo"]["enum"]
    text = json.dumps({"echo": word, "text": "Boxes are useful things."}).encode()
    says = Says(JobType.TEXT_GEN, WorkProduct(text, TextGenResult(), "said it"))
    assert school.judged(attempt, school.work(first, says)).state is AttemptState.PASSED
    other = trials.make(JobType.TEXT_GEN, trials.Chance(SeededEntropy(5)), Terms(0, 60, "k"))
    assert other.request["schema"] != schema


def review(path: str, lines: list[int], of: int) -> WorkProduct:
    issues = tuple(
        ReviewIssue(Severity.HIGH, ReviewFocus.LOGIC, path, (line, line), f"line {line} of {of} is wrong")
        for line in lines
    )
    made = StructuredReview("Something is wrong in here, and more than once.", Approval.COMMENT, issues)
    return WorkProduct(made.to_bytes(), CodeReviewResult(), "reviewed")


def test_a_review_that_finds_nothing_or_everything_is_not_enough(school: School) -> None:
    for missed, reason in ((True, "review.planted_missed"), (False, "review.points_everywhere")):
        trial, attempt = school.trial(JobType.CODE_REVIEW)
        with school.hall.tx() as tx:
            planted = json.loads(b"".join(school.hall.objects.open(tx, trial.inputs[HIDDEN])))
        path, count = planted["planted"][0]["file"], planted["lines"]
        bad = {item["line"] for item in planted["planted"]}
        assert len(bad) == 3
        lines = [min(set(range(1, count + 1)) - bad)] if missed else list(range(1, count + 1))
        produced = review(path, lines, count)
        judged = school.judged(attempt, school.work(trial, Says(JobType.CODE_REVIEW, produced)))
        assert (judged.state, judged.reason, judged.paid) == (AttemptState.FAILED, reason, 0)
        failed = school.offer(JobType.CODE_REVIEW)
        assert failed.qualification is Qualification.FAILED
        assert failed.retry_us > school.hall.clock.now_us()
        school.hall.wait((failed.retry_us - school.hall.clock.now_us()) / 10**6 + 1)
    assert school.hall.job(trial).state is JobState.CLOSED
    with school.hall.tx() as tx, pytest.raises(NotDisputable):
        school.hall.disputes.open(tx, school.who, trial.id, attempt.id, Trigger.TESTS_FAIL, "it was good")
    school.hall.check()


@pytest.fixture
def newcomers(database: Database) -> Hall:
    return Hall(database, providers=ProvidersPolicy(newcomer_share_bps=0))


def state(hall: Hall, type_: JobType = JobType.SANDBOX_RUN) -> tuple[Qualification, bool]:
    [provider] = hall.stalls
    with hall.tx() as tx:
        offers = hall.providers.view(tx, provider).offers
    offer = next(offer for offer in offers if offer.type is type_)
    return offer.qualification, offer.retry_us > hall.clock.now_us()


def begun(hall: Hall) -> tuple[Job, Attempt]:
    [provider] = hall.stalls
    with hall.tx() as tx:
        job = hall.qualification.begin(tx, provider, JobType.SANDBOX_RUN)
    [attempt] = hall.live(job)
    return job, attempt


@pytest.mark.parametrize("how", ["too slow", "gone", "given back"])
def test_however_it_comes_to_nothing_it_does_not_stay_under_way(newcomers: Hall, how: str) -> None:
    hall = newcomers
    provider = hall.provider()
    job, attempt = begun(hall)
    assert state(hall) == (Qualification.RUNNING, True)
    with hall.tx() as tx, pytest.raises(NotQualifying), tx.savepoint():
        hall.qualification.begin(tx, provider, JobType.SANDBOX_RUN)
    if how == "too slow":
        hall.wait(901)
    elif how == "gone":
        hall.vanish(provider)
    else:
        with hall.tx() as tx:
            hall.attempts.give_back(tx, hall.stalls[provider].who, attempt.id, "cannot")
    hall.look()
    assert state(hall) == (Qualification.FAILED, True)
    assert hall.job(job).state is JobState.CLOSED
    assert (hall.in_use(provider), hall.record(provider)) == (0, [])
    hall.check()


def test_what_the_node_could_not_verify_is_not_held_against_a_newcomer(newcomers: Hall) -> None:
    provider = newcomers.provider()
    job, attempt = begun(newcomers)
    newcomers.hand_in(attempt)
    with newcomers.tx() as tx:
        newcomers.attempts.begin_verifying(tx, attempt.id)
        newcomers.attempts.abandon(tx, attempt.id, "bazaar.no_sandbox")
    assert state(newcomers) == (Qualification.NEEDED, True)
    assert newcomers.job(job).state is JobState.CANCELLED
    newcomers.wait(601)
    with newcomers.tx() as tx:
        assert (provider, JobType.SANDBOX_RUN) in newcomers.providers.to_qualify(tx, 10)
    newcomers.check()


def test_no_order_of_anybody_else_can_be_for_nothing(newcomers: Hall) -> None:
    newcomers.provider()
    job, _ = begun(newcomers)
    buyer = newcomers.person(20_000)
    paid = newcomers.order(buyer)
    new, hold = newcomers.jobs._lifecycle.new_id(), newcomers.jobs._lifecycle.new_id()
    own = replace(job, id=new, hold=new, key="another")
    bought = replace(paid, id=new, hold=hold, key="another")
    for wrong in (
        replace(own, buyer=buyer.source),
        replace(own, budget=5),
        replace(own, qualifies=None),
        replace(own, hold=hold),
        replace(bought, budget=0),
        replace(bought, qualifies=job.qualifies),
    ):
        with newcomers.tx() as tx, pytest.raises(psycopg.errors.CheckViolation), tx.savepoint():
            job_store.insert_job(tx, wrong, "")
    with newcomers.tx() as tx:
        assert job_store.insert_job(tx, bought, "")
