"""The worker pool: capacity, health, drain, cancellation; nothing that one job does touches another."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future

import pytest

from choir.bazaar.contracts import SandboxRunRequest, SandboxRunResult, TextGenRequest
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.trajectories.writer import TrajectoryWriter
from choir.bazaar.workers.fulfilment import FulfilledOrder, Fulfilment
from choir.bazaar.workers.model import (
    BrokeDown,
    IsCancelled,
    NoPlace,
    NotDone,
    Stopped,
    Stuck,
    TimeUp,
    WorkOrder,
    WorkProduct,
)
from choir.bazaar.workers.pool import PooledRunner, WorkerPool
from choir.bazaar.workers.run_worker import RunWorker
from choir.bazaar.workers.shop import Workshop
from choir.foundation.clock import SystemClock
from choir.sandbox.model import EndReason, Limits, Spec
from choir.sandbox.pool import Pool, PoolCapacity
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import TERMS
from tests.bazaar.workers.scene import KEY

POLICY = WorkersPolicy(capacity=3, stuck_s=1, rest_s=60, failures_in_a_row_max=2)
TEXT = TextGenRequest("x", TERMS, max_tokens=1)


class Scripted:
    """A worker that does what the job's name says."""

    name = "scripted"
    types = frozenset({JobType.SANDBOX_RUN})

    def __init__(self) -> None:
        self.go = threading.Event()
        self.ill = ""

    def problem(self) -> str:
        if self.ill == "raises":
            raise RuntimeError
        return self.ill

    def work(self, order: WorkOrder, trajectory: TrajectoryWriter, cancelled: IsCancelled) -> WorkProduct:
        what = order.attempt
        trajectory.answer(what)
        if what == "raise":
            raise KeyError("a piece of the order")
        if what == "exit":
            raise SystemExit(1)
        if what == "refuse":
            raise NotDone(why="it is too hard")
        if what == "wait":
            while not self.go.is_set():
                if cancelled():
                    raise Stopped
                time.sleep(0.01)
        if what == "hang":
            self.go.wait()
        return WorkProduct(b"done", SandboxRunResult(0), "done")


def order(what: str = "", kind: JobType = JobType.SANDBOX_RUN, seconds: float = 60) -> WorkOrder:
    request = SandboxRunRequest(("true",), TERMS, cpu_s_max=5)
    return WorkOrder(f"job_{what}", kind, request, attempt=what, deadline=time.monotonic() + seconds)


@pytest.fixture
def worker() -> Iterator[Scripted]:
    found = Scripted()
    yield found
    found.go.set()


@pytest.fixture
def pool(worker: Scripted) -> Iterator[WorkerPool]:
    with WorkerPool([worker], Fulfilment(KEY, SystemClock(), POLICY), POLICY) as found:
        yield found
        worker.go.set()


def wait_until(true: Callable[[], bool], seconds: float = 10) -> None:
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def error_of(future: Future[FulfilledOrder]) -> object:
    return future.result(20).error


def test_one_job_does_not_touch_another(pool: WorkerPool, worker: Scripted) -> None:
    waiting = pool.submit(order("wait"))
    broken = error_of(pool.submit(order("raise")))
    assert isinstance(broken, BrokeDown)
    assert "piece of the order" not in str(broken)
    refused = error_of(pool.submit(order("refuse")))
    assert type(refused) is NotDone
    assert pool.submit(order("fine")).result(20).artifact == b"done"
    with pytest.raises(BrokeDown):
        pool.submit(order("exit")).result(20)
    assert not waiting.done()
    worker.go.set()
    assert waiting.result(20).is_done


def test_capacity(pool: WorkerPool, worker: Scripted) -> None:
    taken = [pool.submit(order("wait")) for _ in range(3)]
    with pytest.raises(NoPlace, match="all 3 slots are in use"):
        pool.submit(order())
    assert pool.health().free == 0
    assert pool.health().jobs == ("job_wait",) * 3
    worker.go.set()
    assert all(future.result(20).is_done for future in taken)
    wait_until(lambda: pool.health().free == 3)
    with pytest.raises(NoPlace, match="no worker here does text_gen"):
        pool.submit(order(kind=JobType.TEXT_GEN))


def test_cancelling_and_deadlines(pool: WorkerPool) -> None:
    future = pool.submit(order("wait"))
    assert pool.cancel("job_wait")
    assert isinstance(error_of(future), Stopped)
    assert not pool.cancel("job_wait")
    late = error_of(pool.submit(order("wait", seconds=0.2)))
    assert isinstance(late, TimeUp | Stopped)  # by its own clock, or by the pool's


def test_a_worker_that_never_stops_loses_its_place_and_nothing_else(pool: WorkerPool, worker: Scripted) -> None:
    hung = pool.submit(order("hang"))
    assert pool.cancel("job_hang")
    with pytest.raises(Stuck):
        hung.result(20)
    assert (pool.health().stuck, pool.health().free) == (1, 2)
    assert pool.submit(order("fine")).result(20).is_done
    worker.go.set()
    wait_until(lambda: pool.health().stuck == 0)


def test_who_breaks_down_too_often_rests(pool: WorkerPool) -> None:
    for _ in range(2):
        assert isinstance(error_of(pool.submit(order("raise"))), BrokeDown)
    wait_until(lambda: bool(pool.health().workers[0].problem))
    with pytest.raises(NoPlace, match="paused for"):
        pool.submit(order())
    assert pool.types() == frozenset()
    health = pool.health().workers[0]
    assert (health.name, health.done, health.broke_down) == ("scripted", 0, 2)


def test_a_refusal_is_no_break_down(pool: WorkerPool) -> None:
    for what in ("raise", "refuse", "raise", "refuse"):
        error_of(pool.submit(order(what)))
    wait_until(lambda: pool.health().active == 0)
    assert pool.health().workers[0].problem == ""


def test_a_worker_that_is_not_well_gets_nothing(pool: WorkerPool, worker: Scripted) -> None:
    assert pool.types() == {JobType.SANDBOX_RUN}
    worker.ill = "its program is gone"
    with pytest.raises(NoPlace, match="its program is gone"):
        pool.submit(order())
    worker.ill = "raises"
    with pytest.raises(NoPlace, match="RuntimeError"):
        pool.submit(order())
    assert pool.types() == frozenset()


def test_draining_takes_nothing_new_and_waits(pool: WorkerPool, worker: Scripted) -> None:
    future = pool.submit(order("wait"))
    assert not pool.drain(0.1)
    assert pool.health().draining
    with pytest.raises(NoPlace, match="stopping"):
        pool.submit(order())
    threading.Timer(0.1, worker.go.set).start()
    assert pool.drain(20)
    assert future.result(20).is_done


def test_closing_gives_every_order_its_outcome(worker: Scripted) -> None:
    pool = WorkerPool([worker], Fulfilment(KEY, SystemClock(), POLICY), POLICY)
    waiting, hung = pool.submit(order("wait")), pool.submit(order("hang"))
    pool.close()
    assert isinstance(error_of(waiting), Stopped)
    assert isinstance(hung.exception(5), Stuck)


def test_real_jobs_stay_within_the_means_of_the_sandbox_pool(sandboxes: Sandboxes, shop: Workshop) -> None:
    memory = sandboxes.policy.memory_bytes
    runs = Pool(sandboxes, sandboxes.policy, PoolCapacity(memory * 2, 2, 50, 50))
    with runs, Workshop(PooledRunner(runs), shop.folder / "own", shop.policy, sandbox=sandboxes.policy) as own:
        policy = WorkersPolicy(hand_in_s=0)
        fulfils = Fulfilment(KEY, SystemClock(), policy)
        with WorkerPool([RunWorker(own)], fulfils, policy, capacity=6) as pool:
            request = SandboxRunRequest(("sh", "-c", "echo $$; sleep 0.2"), TERMS, cpu_s_max=5)
            made = [pool.submit(WorkOrder(f"job_{n}", JobType.SANDBOX_RUN, request)) for n in range(6)]
            assert all(future.result(60).is_done for future in made)
        assert runs.memory_peak_bytes <= memory * 2


def test_a_run_is_stopped_while_it_waits_and_while_it_runs(sandboxes: Sandboxes) -> None:
    spec = Spec(argv=("sleep", "60"), limits=Limits(memory_bytes=50_000_000))
    with Pool(sandboxes, sandboxes.policy, PoolCapacity(50_000_000, 1, 5, 5)) as runs:
        stop = threading.Event()
        outcome: list[object] = []
        first = threading.Thread(target=lambda: outcome.append(PooledRunner(runs).run(spec, None, stop.is_set).ended))
        first.start()
        wait_until(lambda: runs.state()["active"] == 1)
        with pytest.raises(Stopped):
            PooledRunner(runs).run(spec, None, lambda: True)
        stop.set()
        first.join(20)
        assert outcome == [EndReason.CANCELLED]
        assert PooledRunner(runs).run(Spec(argv=("true",), limits=spec.limits)).ok
