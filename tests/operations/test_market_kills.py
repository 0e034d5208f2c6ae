"""A real node with a market: newcomers qualify, waiting jobs clear quickly, and kills lose and double nothing.

`CHOIR_TEST_MARKET_KILLS` sets how often the node is killed in the middle of its work; `CHOIR_TEST_SEED` repeats a run.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from choir.bazaar.attempts.model import AttemptOver, AttemptState
from choir.bazaar.jobs.model import Job, JobState
from choir.bazaar.providers.model import Qualification
from choir.sandbox import cgroups
from tests.depth import times
from tests.operations.market import Market
from tests.operations.nodes import NodeUnderTest, all_pids, environment_of, new_node, until
from tests.sandbox.conftest import needs_groups
from tests.storage.servers import exists

KILLS = int(os.environ.get("CHOIR_TEST_MARKET_KILLS", times(3, 5)))
SEED = int(os.environ.get("CHOIR_TEST_SEED", str(random.SystemRandom().randrange(10**9))))
POLICY = {
    "NODE__TASK_LEASE_S": "5",
    "VERIFICATION__RUN_RERUN_BPS": "10000",  # every command is run again, so that verification takes its time
}

LONG_S = 180.0  # how long a busy machine may take

pytestmark = needs_groups


@pytest.fixture(scope="module")
def town() -> Iterator[NodeUnderTest]:
    with new_node(CHOIR_PROCESSES="2", **{f"CHOIR_POLICY__{name}": value for name, value in POLICY.items()}) as node:
        yield node.up()


@pytest.fixture(scope="module")
def market(town: NodeUnderTest) -> Iterator[Market]:
    made = Market.of(town)
    yield made
    made.close()


@pytest.fixture(scope="module")
def provider(market: Market) -> UUID:
    """A newcomer that the node has asked to show what it can do, and that did."""
    made = market.provider(slots=2)
    work_until(market, [made], lambda: market.qualification(made) is Qualification.PASSED)
    return made


def groups_of(node: NodeUnderTest) -> list[str]:
    """The control groups of the runs that this node's home knows of."""
    parents = set(cgroups.discover().parents.values())
    names = [path.stem for path in (node.home / "sandbox" / "runs").glob("*.run")]
    found = [group for parent in parents for group in parent.rglob(f"{cgroups.PREFIX}*")]
    return [str(group) for group in found if group.name.removeprefix(cgroups.PREFIX) in names]


def left_of_runs(node: NodeUnderTest) -> list[str]:
    """What a verification that is not going on any more has left in the node's home."""
    runs = [path.name for path in (node.home / "sandbox" / "runs").glob("*")]
    live = {str(pid) for pid in node.workers()}
    folders = [path.name for path in (node.home / "verifying").iterdir() if path.name.partition("-")[0] not in live]
    return runs + folders


@pytest.mark.deep
def test_a_newcomer_qualifies_within_seconds_and_a_long_line_clears(
    town: NodeUnderTest, market: Market, provider: UUID
) -> None:
    assert market.qualification(provider) is Qualification.PASSED
    jobs = [market.order() for _ in range(12)]
    for job in jobs:
        market.assign(job)
    work_until(market, [provider], lambda: all(market.job(job).state is JobState.PAID for job in jobs))
    market.check()


def work_until(market: Market, providers: list[UUID], done: Callable[[], bool]) -> None:
    """The providers are there and do what they are asked to do."""
    deadline = time.monotonic() + LONG_S
    while not done():
        for provider in providers:
            market.beat(provider)
            market.work(provider)
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.deep
def test_a_stop_does_not_wait_for_a_verification(town: NodeUnderTest, market: Market, provider: UUID) -> None:
    market.beat(provider)
    job = market.order(sleeps_s=15)
    market.assign(job)
    assert market.work(provider) == 1
    until(lambda: any((town.home / "sandbox" / "runs").glob("*.run")), LONG_S)
    assert town.stop() == 0
    assert left_of_runs_after_stop(town) == []
    assert town.left() == []
    town.up()
    until(lambda: market.do(lambda tx: tx.value("select leased_until_us from tasks where name = 'bazaar.verify'")))
    market.do(lambda tx: market.node.bazaar.jobs.cancel(tx, market.buyer, job.id))


def left_of_runs_after_stop(node: NodeUnderTest) -> list[str]:
    found = [*(node.home / "sandbox" / "runs").glob("*"), *(node.home / "verifying").glob("*")]
    return [path.name for path in found]


@pytest.mark.scaled
def test_kills_in_the_middle_lose_nothing_and_pay_nothing_twice(
    town: NodeUnderTest, market: Market, provider: UUID
) -> None:
    chance = random.Random(SEED)
    print(f"CHOIR_TEST_SEED={SEED} CHOIR_TEST_MARKET_KILLS={KILLS}")  # noqa: T201 - shown when the test fails
    jobs: list[Job] = []
    runs: set[str] = set()
    for number in range(KILLS):
        market.beat(provider)
        verifies = number % 2 == 1  # else the node itself is about to assign them
        jobs += [market.order(sleeps_s=2.0 if verifies else chance.choice([0.0, 1.0])) for _ in range(3)]
        if verifies:
            for job in jobs[-3:]:
                market.assign(job)
            until(lambda: market.work(provider), LONG_S)
            until(lambda: groups_of(town), LONG_S)
            runs |= set(groups_of(town))
        time.sleep(chance.uniform(0.0, 0.8))
        kill(town, whole=chance.random() < 0.7)
    assert runs or KILLS < 2  # there really were verifications under way
    work_until(market, [provider], lambda: all(market.job(job).state is JobState.PAID for job in jobs))
    until(market.all_over, LONG_S)  # also what was called off before
    market.check()
    until(lambda: left_of_runs(town) == [], LONG_S)
    assert [group for group in runs if Path(group).exists()] == []


def kill(node: NodeUnderTest, *, whole: bool) -> None:
    """The whole node with all its parts at once, or one server process."""
    assert node.process is not None
    victims = node.workers()
    if whole:
        victims = [node.process.pid, *victims, *([node.database_pid()] if node.database_pid() else [])]  # type: ignore[list-item]
    for pid in victims if whole else victims[:1]:
        if exists(pid):
            os.kill(pid, signal.SIGKILL)
    if whole:
        node.process.wait()
        marker = f"CHOIR_HOME={node.home}\0".encode()
        until(lambda: not any(marker in environment_of(pid) for pid in all_pids()))
        until(lambda: sandboxes_of(node) == [])  # the kernel ends them with who started them
        node.up()


def sandboxes_of(node: NodeUnderTest) -> list[str]:
    """Processes of sandboxed runs."""
    files = [Path(group, "cgroup.procs") for group in groups_of(node)]
    return [pid for file in files if file.exists() for pid in file.read_text().split()]


def test_a_provider_that_vanishes_is_replaced_and_its_late_result_refused(
    town: NodeUnderTest, market: Market, provider: UUID
) -> None:
    silent = market.provider()
    work_until(market, [silent], lambda: market.qualification(silent) is Qualification.PASSED)
    who, _ = market.keys[provider]
    market.do(lambda tx: market.node.bazaar.providers.drain(tx, who, True))
    market.beat(silent)
    job = market.order()
    market.assign(job)
    [attempt] = market.attempts(job)
    assert attempt.provider == silent
    market.do(lambda tx: market.node.bazaar.providers.drain(tx, who, False))
    market.vanish(silent)
    work_until(market, [provider], lambda: market.job(job).state is JobState.PAID)
    assert market.attempts(job)[0].state is AttemptState.GONE
    with pytest.raises(AttemptOver):
        market.hand_in(attempt)
    assert [tried.provider for tried in market.attempts(job)] == [silent, provider]
