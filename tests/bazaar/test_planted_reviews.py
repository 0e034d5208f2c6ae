"""Planted reviews: orders of the node's own that look like any other, and what comes of finding nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.contracts import CodeReviewRequest, Terms
from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.jobs import rules
from choir.bazaar.jobs import store as job_store
from choir.bazaar.jobs.lifecycle import FOLLOW
from choir.bazaar.jobs.model import DIFF, HIDDEN, REPOSITORY, SOURCE, Job, JobState, JobType
from choir.bazaar.jobs.service import Order
from choir.bazaar.policy import BazaarPolicy, ProvidersPolicy
from choir.bazaar.providers.model import Qualification
from choir.bazaar.qualification.bundles import bundle_of
from choir.bazaar.sampling import defects as planting
from choir.bazaar.sampling.service import PlantedReviews
from choir.bazaar.settlement.pricing import Terms as Terms_
from choir.bazaar.settlement.service import PLATFORM
from choir.bazaar.verification.diffs import read_diff
from choir.bazaar.workers.review_worker import ReviewWorker
from choir.doors.jobs.shapes import StartedOut
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import SeededEntropy
from choir.ledger.model import Draft, Leg
from choir.storage.database import Database
from tests.bazaar.hall import WORLD, Hall
from tests.bazaar.machines import Machines
from tests.bazaar.test_qualifying import Says, School, review

FEES = 50_000_000
PLENTY = 100_000_000
BUDGET = 15_000_000


class Fair:
    """A hall in which every review is followed by a planted one, and a provider that may do reviews."""

    def __init__(self, school: School, fees: int = FEES) -> None:
        self.school, self.hall = school, school.hall
        self.buyer = self.hall.person(PLENTY // 1000)
        self.orders = 0
        if fees:
            with self.hall.tx() as tx:
                self.hall.agency.ledger.post(
                    tx, Draft("deposit", "a test", "test", "fees", (Leg(WORLD, PLATFORM, fees),))
                )
        trial, attempt = school.trial(JobType.CODE_REVIEW)
        assert school.judged(attempt, school.work(trial, ReviewWorker(school.shop))).state is AttemptState.PASSED

    def paid(self, *, repository: bool = False) -> tuple[Job, Attempt]:
        """A review that somebody ordered and paid for."""
        job, attempt = self.ordered(repository=repository)
        done = self.school.judged(attempt, self.school.work(job, ReviewWorker(self.school.shop)))
        assert done.state is AttemptState.PASSED
        return job, done

    def ordered(self, *, repository: bool = False) -> tuple[Job, Attempt]:
        """A review that somebody orders."""
        made = planting.make(SeededEntropy(5))
        assert made is not None
        self.orders += 1
        request = CodeReviewRequest(bytes_hash(made.diff), Terms(BUDGET, 600, f"k{self.orders}"))
        contents = {DIFF: made.diff} | ({REPOSITORY: bundle_of({made.path: made.content}).data} if repository else {})
        with self.hall.tx() as tx:
            inputs = {
                name: self.hall.objects.put_blob(tx, [data], self.buyer.source).hash for name, data in contents.items()
            }
            order = Order(JobType.CODE_REVIEW, request.to_json(), BUDGET, 600, inputs)
            job = self.hall.jobs.open(tx, self.buyer, order, f"k{self.orders}")
        return job, self.offered(job)

    def offered(self, job: Job) -> Attempt:
        with self.hall.tx() as tx:
            self.hall.jobs.examined(tx, job.id)
        [attempt] = self.hall.live(job)
        return attempt

    def followed(self, attempt: Attempt) -> Job | None:
        """What the node does when the time has come."""
        planted_reviews = self.hall.planted_reviews
        with self.hall.tx() as tx:
            after = planted_reviews.followed(tx, attempt.id)
        made = planted_reviews.made()
        assert made is not None
        if after is None:
            return None
        with self.hall.tx() as tx:
            return planted_reviews.order(tx, after, made)

    def planted(self) -> tuple[Job, Attempt]:
        _, attempt = self.paid()
        job = self.followed(attempt)
        assert job is not None
        return job, self.offered(job)

    def lazy(self, job: Job) -> Says:
        """A worker that says something about a line that is all right."""
        with self.hall.tx() as tx:
            hidden = json.loads(b"".join(self.hall.objects.open(tx, job.inputs[HIDDEN])))
        bad = {item["line"] for item in hidden["planted"]}
        path, line = hidden["planted"][0]["file"], min(set(range(1, hidden["lines"] + 1)) - bad)
        return Says(JobType.CODE_REVIEW, review(path, [line], hidden["lines"]))

    def miss(self) -> Attempt:
        self.hall.wait(1)
        job, attempt = self.planted()
        return self.school.judged(attempt, self.school.work(job, self.lazy(job)))

    @property
    def qualification(self) -> Qualification:
        return self.school.offer(JobType.CODE_REVIEW).qualification


@pytest.fixture
def school(database: Database, machines: Machines, tmp_path: Path) -> School:
    policy = BazaarPolicy(examine_s_max=0, planted_one_in=1, planted_after_s_max=60)
    return School(Hall(database, policy, providers=ProvidersPolicy(newcomer_share_bps=0)), machines, tmp_path)


@pytest.fixture
def fair(school: School) -> Fair:
    return Fair(school)


@given(st.integers(0, 2**32))
def test_made_diffs_are_whole_and_wrong_just_where_it_is_said(seed: int) -> None:
    made = planting.make(SeededEntropy(seed))
    assert made is not None
    [file] = read_diff(made.diff).files
    assert (file.path, file.added) == (made.path, set(range(1, made.planted.all_lines + 1)))
    assert "".join(f"{file.new_lines[n]}\n" for n in sorted(file.new_lines)).encode() == made.content
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # `is` with a number, which is one of the defects
        compile(made.content, made.path, "exec", dont_inherit=True)
    assert len(made.planted.lines) == 3


@pytest.mark.parametrize("seed", range(20))
def test_what_is_planted_can_be_found_by_a_linter(seed: int, tmp_path: Path) -> None:
    made = planting.make(SeededEntropy(seed))
    assert made is not None
    (tmp_path / made.path).write_bytes(made.content)
    words = [
        "check",
        "--isolated",
        "--no-cache",
        "--exit-zero",
        "--output-format",
        "json",
        "--select",
        "F,E7,B006,RUF013",
    ]
    ruff = Path(sys.executable).with_name("ruff")
    done = subprocess.run([ruff, *words, made.path], cwd=tmp_path, capture_output=True, check=True)
    found = {(made.path, item["location"]["row"]) for item in json.loads(done.stdout)}
    assert found & set(made.planted.lines)
    assert 2 * len(found) <= made.planted.all_lines


def test_how_many_are_taken() -> None:
    entropy = SeededEntropy(1)
    drawn = [entropy.bytes(8) for _ in range(20_000)]
    assert 900 < sum(rules.is_sampled(chance, 20) for chance in drawn) < 1_100
    assert not any(rules.is_sampled(chance, 0) for chance in drawn)


def test_a_review_is_followed_by_one_that_looks_like_it(fair: Fair) -> None:
    hall = fair.hall
    _, attempt = fair.paid(repository=True)
    job, asked_too = fair.ordered(repository=True)
    with hall.tx() as tx:
        [(key, due_us)] = tx.rows("select key, due_us from tasks where name = %s", FOLLOW)
    assert key == str(attempt.id)  # what was only asked for, and may be called off for nothing, is not followed
    now_us = hall.clock.now_us()
    assert now_us <= due_us <= now_us + 60_000_000
    own = fair.followed(attempt)
    assert own is not None
    assert (own.buyer, own.budget, own.time_limit_s) == (SOURCE, 2_100_000, 600)  # it has cost 2050 SAT
    tried = fair.offered(own)
    assert tried.provider == attempt.provider == asked_too.provider
    provider = fair.school.who
    with hall.tx() as tx:
        theirs, ours = (hall.access.job(tx, provider, each.id).job for each in (job, own))
        steps = [hall.access.steps(tx, provider, each.id) for each in (job, own)]
        asked = [hall.objects.get_atom(tx, each.request) for each in (job, own)]
        waiting = tx.rows("select key from tasks where name = %s", FOLLOW)
    assert (theirs.buyer, theirs.actor, ours.buyer, ours.actor) == ("", "", "", "")
    assert set(theirs.inputs) == set(ours.inputs) == {DIFF, REPOSITORY}
    assert [[(step.what, step.actor) for step in each] for each in steps] == [
        [("opened", ""), ("offered", SOURCE)],
        [("opened", ""), ("offered", SOURCE)],
    ]
    shown = [StartedOut.of(tried, each, asked[0]).order for each in (job, own)]
    assert [set(order.inputs) for order in shown if order is not None] == [{DIFF, REPOSITORY}] * 2
    assert set(asked[0]) == set(asked[1])
    assert len(asked[1]["head_commit"]) == 40
    assert waiting == [(str(attempt.id),)]  # what follows is not followed again
    assert fair.followed(attempt) is None  # one order is followed once
    hall.check()


def test_a_tool_that_reads_passes_and_is_paid_by_the_platform_and_rises_by_nothing(fair: Fair) -> None:
    hall, school = fair.hall, fair.school
    job, attempt = fair.planted()
    before = hall.fees()
    with hall.tx() as tx:
        seen = hall.providers.view(tx, school.provider)
    judged = school.judged(attempt, school.work(job, ReviewWorker(school.shop)))
    assert (judged.state, judged.reason) == (AttemptState.PASSED, "")
    assert judged.paid == attempt.base + attempt.per_unit
    assert hall.has(school.provider) == 2 * judged.paid * 9 // 10  # for this one, and for the order before
    assert hall.fees() == before + job.budget - judged.paid + judged.paid // 10
    with hall.tx() as tx:
        after = hall.providers.view(tx, school.provider)
    assert (after.jobs, after.passed) == (seen.jobs + 1, seen.passed + 1)
    assert (after.buyers, after.organic_volume, after.market.reputation_bps, after.independent_jobs) == (
        seen.buyers,
        seen.organic_volume,
        seen.market.reputation_bps,
        seen.independent_jobs,
    )
    with hall.tx() as tx:
        assert hall.access.job(tx, school.who, job.id).job.buyer == SOURCE  # now it may know
    hall.check()


def test_who_does_not_read_is_not_paid_and_qualifies_anew(fair: Fair) -> None:
    hall, school = fair.hall, fair.school
    first = fair.miss()
    assert (first.state, first.reason) == (AttemptState.FAILED, "review.planted_missed")
    assert first.paid == (first.base + first.per_unit) // 5  # as for any check that was hidden
    assert fair.qualification is Qualification.PASSED
    hall.wait(1)
    job, attempt = fair.planted()
    assert school.judged(attempt, school.work(job, ReviewWorker(school.shop))).state is AttemptState.PASSED
    fair.miss()
    assert fair.qualification is Qualification.PASSED  # not twice in a row
    fair.miss()
    offer = school.offer(JobType.CODE_REVIEW)
    assert offer.qualification is Qualification.NEEDED
    assert offer.retry_us > hall.clock.now_us()
    assert hall.record(school.provider).count(False) == 3
    hall.check()


def test_without_fees_there_is_none(school: School) -> None:
    fair = Fair(school, fees=0)
    _, attempt = fair.paid()
    fees = fair.hall.fees()
    assert (attempt.paid, fees) == (2_050_000, 205_000)
    assert fair.followed(attempt) is None
    for key, amount, enough in (("some", 2_100_000 - fees - 1, False), ("more", 1, True)):
        with fair.hall.tx() as tx:
            leg = Leg(WORLD, PLATFORM, amount)
            fair.hall.agency.ledger.post(tx, Draft("deposit", "a test", "test", key, (leg,)))
        assert (fair.followed(attempt) is not None) == enough
    assert fair.hall.fees() == 0
    fair.hall.check()


def test_it_pays_no_more_than_the_order_before_has_cost(fair: Fair) -> None:
    """Whoever orders from themselves for next to nothing does not get the list price for what follows."""
    hall, school = fair.hall, fair.school
    with hall.tx() as tx:
        hall.providers.publish(tx, school.who, JobType.CODE_REVIEW, Terms_(11_000_000 // 1000, 0, 15_000_000))
    hall.wait(1)
    _, attempt = fair.paid()
    assert attempt.paid == 11_000
    with hall.tx() as tx:
        hall.providers.publish(tx, school.who, JobType.CODE_REVIEW, Terms_(2_000_000, 50_000, 15_000_000))
    hall.wait(1)
    own = fair.followed(attempt)
    assert own is not None
    assert own.budget == 11_000
    with hall.tx() as tx:
        hall.jobs.examined(tx, own.id)
    assert hall.live(own) == []  # it is too dear now
    hall.check()


@pytest.mark.parametrize(
    "content",
    [b"def f(:\n" * 600, b"x = " + b"-" * 5000 + b"1\n", b"\f\n" * 2500, "é = 1\n".encode() * 1000, b"\0" * 5000],
)
def test_a_library_with_odd_files_is_no_reason_to_fail(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd.py").write_bytes(content)
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    planting._modules.cache_clear()
    try:
        assert planting.make(SeededEntropy(1)) is None
    finally:
        planting._modules.cache_clear()


def test_asked_for_at_once_by_many_it_is_ordered_once(fair: Fair) -> None:
    _, attempt = fair.paid()
    before = fair.hall.fees()
    planted_reviews: PlantedReviews = fair.hall.planted_reviews
    database = fair.hall.agency.database
    with fair.hall.tx() as tx:
        after = planted_reviews.followed(tx, attempt.id)
    assert after is not None

    def order(_: int) -> UUID:
        made = planted_reviews.made()
        assert made is not None
        found = database.run(lambda tx: planted_reviews.order(tx, after, made))
        assert found is not None
        return found.id

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(order, range(16)))
    assert len(ids) == 1
    assert fair.hall.fees() == before - 2_100_000
    fair.hall.check()


@pytest.mark.parametrize("trigger", [Trigger.TESTS_FAIL, Trigger.IRRELEVANT])
def test_a_dispute_about_it_is_decided_by_the_checks(fair: Fair, trigger: Trigger) -> None:
    hall, school = fair.hall, fair.school
    missed = fair.miss()
    hall.endow(school.provider, 10_000)
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, school.who, missed.job, missed.id, trigger, "I read it all.")
    school.inspection.reverify(dispute.id)
    with hall.tx() as tx:
        decided = hall.disputes.get(tx, school.who, dispute.id)
    assert (decided.winner, decided.refund) == (Winner.BUYER, missed.paid)  # the checks are upheld: no fee for them
    hall.check()


def test_a_dispute_that_the_provider_wins_is_paid_by_the_platform(fair: Fair) -> None:
    hall, school = fair.hall, fair.school
    missed = fair.miss()
    hall.endow(school.provider, 10_000)
    with hall.tx() as tx:
        dispute = hall.disputes.open(tx, school.who, missed.job, missed.id, Trigger.IRRELEVANT, "I read it all.")
        hall.disputes.not_reverified(tx, dispute.id, "a test")
    before, fees = hall.has(school.provider), hall.fees()
    hall.wait(86_400 + 1)
    with hall.tx() as tx:
        decided = hall.disputes.default(tx, dispute.id)
        job = job_store.job(tx, missed.job)
    assert job is not None
    assert (decided.winner, decided.owed, job.state) == (Winner.PROVIDER, 0, JobState.RESOLVED)
    rest = missed.base + missed.per_unit - missed.paid
    assert decided.refund == rest
    gained = hall.has(school.provider) - before - decided.deposit
    assert gained == rest * 9 // 10
    assert hall.fees() == fees - gained
    hall.check()


def test_nobody_else_is_asked_to_do_it(fair: Fair) -> None:
    _, attempt = fair.paid()
    before = fair.hall.fees()
    own = fair.followed(attempt)
    assert own is not None
    fair.hall.vanish(attempt.provider)
    other = fair.hall.provider()
    with fair.hall.tx() as tx:
        fair.hall.providers.declare(tx, fair.hall.stalls[other].who, list(JobType), 5)
    with fair.hall.tx() as tx:
        fair.hall.jobs.examined(tx, own.id)
    assert fair.hall.live(own) == []
    fair.hall.wait(2 * 86_400)
    fair.hall.look()
    assert fair.hall.job(own).state is JobState.EXPIRED
    assert fair.hall.fees() == before
    fair.hall.check()
