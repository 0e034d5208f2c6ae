"""Verification in a process: what a node that cannot verify does, what is cleared away, and what waits for nobody."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from choir.bazaar.attempts.model import AttemptState
from choir.bazaar.disputes.model import DisputeState, Trigger
from choir.bazaar.jobs.model import Job, JobState, JobType
from choir.bazaar.jobs.orders import CannotVerify
from choir.bazaar.jobs.service import Jobs
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import promises
from choir.bazaar.providers.model import Qualification
from choir.bazaar.rounds import MarketRounds
from choir.bazaar.verification.runner import NO_SANDBOX, NOT_VERIFIED, Bench, VerificationRunner
from choir.bazaar.verification.service import Verifier
from choir.foundation.clock import MICROSECONDS, SystemEntropy
from choir.foundation.errors import Unavailable
from choir.foundation.settings import load_settings
from choir.ledger import queries
from choir.node import build_node
from choir.operations.background import Background, schedule_repeating
from choir.operations.home import prepare_home
from choir.operations.preparation import Dsns, prepare_database
from choir.storage.database import Database, Tx
from choir.storage.processes import FolderLock
from choir.storage.tasks import Task
from tests.conftest import DatabaseFactory
from tests.operations.market import Market
from tests.operations.nodes import until
from tests.sandbox.conftest import needs_groups

Make = Callable[..., Market]


@pytest.fixture
def make(databases: DatabaseFactory, tmp_path: Path) -> Iterator[Make]:
    """Markets of nodes in this process, with policy values of the test's own."""
    made: list[tuple[Market, str]] = []

    def build(**policy: str) -> Market:
        name = databases.make()
        values = {f"CHOIR_POLICY__{key.upper()}": value for key, value in policy.items()}
        settings = load_settings({"home": str(tmp_path / f"home{len(made)}")}, values)
        prepare_home(settings, SystemEntropy())
        server = databases.server
        prepare_database(settings, Dsns(server.dsn("choir_app", name), server.dsn("choir_owner", name)))
        market = Market(build_node(settings, Database(server.dsn("choir_app", name)).open()))
        made.append((market, name))
        return market

    yield build
    for market, name in made:
        market.close()
        databases.drop(name)


def handed_in(market: Market) -> Job:
    provider = market.provider()
    job = market.order()
    market.assign(job)
    assert market.work(provider) == 1
    return job


def never() -> bool:
    return False


def test_a_job_at_which_the_node_stumbles_keeps_no_other_waiting(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    market = make(providers__qualification_required="0")
    market.provider()
    bad, good = market.order(), market.order()
    assign = Jobs.assign

    def stumble(jobs: Jobs, tx: Tx, id_: UUID) -> Job:
        assert id_ != bad.id
        return assign(jobs, tx, id_)

    monkeypatch.setattr(Jobs, "assign", stumble)
    due_us = market.node.clock.now_us()
    MarketRounds(market.node, str).tend_jobs(Task("bazaar.jobs", "", due_us, {}, None, 0, 1))
    assert (market.job(bad).state, market.job(good).state) == (JobState.OPEN, JobState.ASSIGNED)


def test_a_node_without_a_sandbox_says_so_and_lets_nobody_wait(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    market = make(sandbox__stranger_tier_min="5", providers__qualification_required="0")
    job = handed_in(market)
    verifying = VerificationRunner(market.node, never)
    verifying.start()
    try:
        until(lambda: market.job(job).state is JobState.CANCELLED, 120)
    finally:
        verifying.stop()
    [attempt] = market.attempts(job)
    assert (attempt.state, attempt.reason, attempt.paid) == (AttemptState.CANCELLED, NO_SANDBOX, 0)
    assert any("cannot verify" in record.message for record in caplog.records)
    market.check()
    outcomes = market.do(lambda tx: market.node.bazaar.providers.outcomes(tx, attempt.provider))
    assert outcomes == []  # nobody's fault


def test_no_money_is_held_for_what_cannot_be_verified_here(make: Make) -> None:
    market = make(sandbox__stranger_tier_min="5")
    node, account = market.node, f"{market.buyer.source}/available/SAT"
    terms = {"max_cost_msat": "1000000", "time_limit_s": 120, "idempotency_key": "k"}
    request = {"argv": ["true"], **terms}

    def order() -> Job:
        asked = node.bazaar.orders.read(JobType.SANDBOX_RUN, request, {}, {}, {})
        return market.do(lambda tx: node.bazaar.orders.open(tx, market.buyer, asked))[0]

    before = market.do(lambda tx: queries.balance(tx, account).balance)
    background = Background(node)
    with pytest.raises(CannotVerify, match="cannot verify work now, so it accepts no orders") as refused:
        order()
    assert "choir doctor" in refused.value.advice
    assert market.do(lambda tx: queries.balance(tx, account).balance) == before
    assert market.do(lambda tx: tx.value("select count(*) from jobs")) == 0
    (verification,) = [one for one in background.runners if isinstance(one, VerificationRunner)]
    node.bazaar.orders.watch(str)
    job = order()
    node.bazaar.orders.watch(verification.bench.verifier_problem)
    assert order().id == job.id  # who asks after an order that stands is told of it
    verification.bench.close()


def test_nobody_is_asked_to_qualify_where_nothing_can_be_verified(make: Make) -> None:
    market = make(sandbox__stranger_tier_min="5")
    schedule_repeating(market.node)
    background = Background(market.node)
    background.start()
    try:
        provider = market.provider()
        (verification,) = [one for one in background.runners if isinstance(one, VerificationRunner)]
        until(lambda: verification.bench.verifier_problem() != "")
        time.sleep(0.5)
        assert market.waiting(provider) == []
        assert market.qualification(provider) is Qualification.NEEDED
    finally:
        background.stop()


class Broken(Bench):
    """A bench on which everything breaks down."""

    def verifier_problem(self) -> str:
        return ""

    def verifier(self) -> Verifier:
        raise Unavailable(what="The bench", why="it broke down")


def test_what_the_node_fails_at_again_and_again_is_called_off(make: Make) -> None:
    market = make(bazaar__verify_tries_max="2", node__task_backoff_s="1", providers__qualification_required="0")
    job = handed_in(market)
    verifying = VerificationRunner(market.node, never, Broken(market.node))
    verifying.start()
    try:
        until(lambda: market.job(job).state is JobState.CANCELLED, 120)
    finally:
        verifying.stop()
    assert market.attempts(job)[0].reason == NOT_VERIFIED
    market.check()


@needs_groups
def test_a_job_is_verified_at_once_and_a_dispute_too(make: Make) -> None:
    """Qualified, offered, verified, paid, disputed: by bells alone, since no repeating task is on the list."""
    market = make()
    background = Background(market.node)
    background.start()
    try:
        provider = market.provider(slots=1)
        until(lambda: market.work(provider), 120)
        until(lambda: market.qualification(provider) is Qualification.PASSED, 120)
        jobs = [market.order() for _ in range(4)]
        for job in jobs:
            market.assign(job)
        assert len(market.waiting(provider)) == 1  # it has one slot; the others wait for it
        until(lambda: market.work(provider) * 0 or all(market.job(job).state is JobState.PAID for job in jobs), 120)
        [attempt] = market.attempts(jobs[0])
        opened = market.do(
            lambda tx: market.node.bazaar.disputes.open(
                tx, market.buyer, jobs[0].id, attempt.id, Trigger.TESTS_FAIL, "I doubt it"
            )
        )
        operator = market.operator
        get = market.node.bazaar.disputes.get
        until(lambda: market.do(lambda tx: get(tx, operator, opened.id)).state is DisputeState.RESOLVED, 120)
    finally:
        background.stop()
    assert not any((market.node.settings.home / "verifying").iterdir())


def test_what_a_killed_process_left_is_removed_and_what_lives_is_not(make: Make) -> None:
    market = make()
    home = market.node.settings.home / "verifying"
    dead, live = home / "1-dead", home / "2-live"
    for folder in (dead, live):
        (folder / "deep").mkdir(parents=True)
        (folder / "deep" / "file").write_text("left")
        folder.with_suffix(".lock").touch(mode=0o600)
    held = FolderLock(live.with_suffix(".lock"))
    assert held.acquire()
    bench = Bench(market.node)
    own = bench.folder()
    bench.clean()
    assert sorted(path.name for path in home.iterdir()) == sorted(
        [live.name, f"{live.name}.lock", own.name, f"{own.name}.lock"]
    )
    bench.close()
    held.release()
    Bench(market.node).clean()
    assert list(home.iterdir()) == []


def test_rounds_go_over_all_providers_and_come_back(make: Make) -> None:
    market = make(providers__qualification_required="0")
    for _ in range(25):
        market.provider()
    market.do(lambda tx: tx.run("update provider_offers set promised_by = 7"))
    market.do(lambda tx: tx.run("update provider_records set jobs = 5"))
    schedule_repeating(market.node)
    background = Background(market.node)
    scheduler = background._scheduler

    def cursor() -> str:
        payload = market.do(lambda tx: tx.value("select payload from tasks where name = 'bazaar.records'"))
        return str(payload.get("after", ""))

    scheduler.run_due()
    assert UUID(cursor())  # twenty at a time, so there is more
    market.do(lambda tx: tx.run("update tasks set due_us = 0 where name = 'bazaar.records'"))
    scheduler.run_due()
    assert cursor() == ""
    assert market.do(lambda tx: tx.value("select sum(jobs) from provider_records")) == 0
    name = promises.policy_name(market.node.policy.of(ProvidersPolicy))
    assert market.do(lambda tx: tx.rows("select distinct promised_by from provider_offers")) == [(name,)]


def test_a_stopping_process_leaves_its_task_to_the_next(make: Make) -> None:
    market = make(providers__qualification_required="0")
    job = handed_in(market)
    stopping = threading.Event()
    seen = threading.Event()

    class Slow(Broken):
        def verifier(self) -> Verifier:
            seen.set()
            assert stopping.wait(60)
            raise Unavailable(what="The bench", why="it was told to stop")

    verifying = VerificationRunner(market.node, stopping.is_set, Slow(market.node))
    verifying.start()
    assert seen.wait(60)
    stopping.set()
    facts = "select attempts, leased_until_us from tasks where name = 'bazaar.verify'"
    until(lambda: market.do(lambda tx: tx.row(facts)) == (0, None))
    verifying.stop()
    assert market.job(job).state is JobState.VERIFYING
    assert list((market.node.settings.home / "verifying").iterdir()) == []


def late_round(market: Market, seconds: int, rounds: MarketRounds | None = None) -> None:
    """Let the market's rounds come so late, after a provider was not heard from for longer than it should be."""
    market.do(lambda tx: tx.run("update provider_market set alive_until_us = %s", market.node.clock.now_us() - 1))
    rounds = rounds or MarketRounds(market.node, lambda: "")
    task = Task("bazaar.jobs", "", market.node.clock.now_us() - seconds * MICROSECONDS, {}, MICROSECONDS, 0, 1)
    rounds.tend_jobs(task)
    market.do(lambda tx: rounds.silence(tx, task))


def test_that_the_node_was_away_is_held_against_no_provider(make: Make) -> None:
    market = make(providers__qualification_required="0")
    provider = market.provider()
    job = market.order()
    market.assign(job)
    late_round(market, 60)
    [attempt] = market.attempts(job)
    assert attempt.state is AttemptState.ASSIGNED
    assert market.do(lambda tx: market.node.bazaar.providers.gone(tx, [provider], market.node.clock.now_us())) == set()
    late_round(market, 1)  # nobody was away but the provider
    [attempt, *_] = market.attempts(job)
    assert attempt.state is AttemptState.GONE


def test_a_clock_that_was_moved_is_no_absence(make: Make) -> None:
    """Whoever moves a development node's clock wants to see what time does."""
    market = make(providers__qualification_required="0")
    market.provider()
    job = market.order()
    market.assign(job)
    rounds = MarketRounds(market.node, lambda: "")
    late_round(market, 60, rounds)  # this process has just come
    [attempt] = market.attempts(job)
    assert (attempt.state, attempt.resumed_us is not None) == (AttemptState.ASSIGNED, True)
    late_round(market, 60, rounds)  # and was there all the time since
    [attempt, *_] = market.attempts(job)
    assert attempt.state is AttemptState.GONE
