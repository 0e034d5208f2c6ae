"""The pool: fair, within its means, and honest when it is full."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

import pytest

from choir.sandbox.model import Limits, PoolClosed, PoolFull, PoolTooSmall, Result, Spec
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.pool import Pool, PoolCapacity, means_of_machine
from choir.sandbox.pump import OnOutput
from choir.sandbox.service import Sandboxes

POLICY = SandboxPolicy()


class Slow:
    """Stands in for the sandbox where only the order matters: notes who ran and how much memory was promised."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.gate = threading.Event()

    def run(
        self, spec: Spec, on_output: OnOutput | None = None, cancelled: Callable[[], bool] = lambda: False
    ) -> Result:
        self.order.append(spec.owner)
        while not self.gate.wait(0.01):
            if cancelled():
                break
        return None  # type: ignore[return-value]


def spec(owner: str = "", memory: int = 1_000_000) -> Spec:
    return Spec(argv=("true",), owner=owner, limits=Limits(memory_bytes=memory))


def test_owners_take_turns() -> None:
    slow = Slow()
    with Pool(slow, POLICY, PoolCapacity(10**9, 1, 1000, 1000)) as pool:
        futures = [pool.submit(spec("first"))]
        while not slow.order:
            time.sleep(0.005)
        futures += [pool.submit(spec("many")) for _ in range(5)] + [pool.submit(spec("few")) for _ in range(2)]
        slow.gate.set()
        for future in futures:
            future.result(10)
    assert slow.order == ["first", "many", "few", "many", "few", "many", "many", "many"]


def test_what_was_taken_back_takes_no_place_in_the_queue() -> None:
    slow = Slow()
    with Pool(slow, POLICY, PoolCapacity(10**9, 1, 3, 2)) as pool:
        pool.submit(spec("x"))
        while pool.state()["active"] != 1:
            time.sleep(0.005)
        for _ in range(10):
            for future in [pool.submit(spec("hasty")), pool.submit(spec("hasty"))]:
                pool.stop(future)
        kept = [pool.submit(spec("hasty")), pool.submit(spec("other")), pool.submit(spec("other"))]
        assert pool.state()["waiting"] == 3
        slow.gate.set()
        for future in kept:
            future.result(10)
    assert slow.order == ["x", "hasty", "other", "other"]


def test_a_full_queue_refuses_at_once() -> None:
    slow = Slow()
    with Pool(slow, POLICY, PoolCapacity(10**9, 1, 3, 2)) as pool:
        pool.submit(spec("x"))
        while pool.state()["active"] != 1:
            time.sleep(0.005)
        pool.submit(spec("a"))
        pool.submit(spec("a"))
        with pytest.raises(PoolFull):
            pool.submit(spec("a"))  # its own share
        pool.submit(spec("b"))
        with pytest.raises(PoolFull):
            pool.submit(spec("c"))  # the whole queue
        slow.gate.set()


def test_memory_is_never_promised_twice_and_a_large_run_is_not_starved() -> None:
    slow = Slow()
    with Pool(slow, POLICY, PoolCapacity(100_000_000, 8, 1000, 1000)) as pool:
        small = [pool.submit(spec("s", 30_000_000)) for _ in range(3)]
        large = pool.submit(spec("l", 90_000_000))
        more = [pool.submit(spec("s", 30_000_000)) for _ in range(10)]
        time.sleep(0.2)
        assert pool.state()["memory_bytes"] <= 100_000_000
        slow.gate.set()
        for future in [*small, large, *more]:
            future.result(10)
        assert pool.memory_peak_bytes <= 100_000_000
    assert "l" in slow.order[:5]


def test_what_can_never_fit_is_refused() -> None:
    with Pool(Slow(), POLICY, PoolCapacity(10_000_000, 1, 10, 10)) as pool, pytest.raises(PoolTooSmall):
        pool.submit(spec(memory=20_000_000))


def test_closing_refuses_what_waits_and_stops_what_runs() -> None:
    pool = Pool(Slow(), POLICY, PoolCapacity(10**9, 1, 10, 10))
    running, waiting = pool.submit(spec()), pool.submit(spec())
    while pool.state()["active"] != 1:
        time.sleep(0.005)
    pool.close()
    running.result(1)
    with pytest.raises(PoolClosed):
        waiting.result(1)
    with pytest.raises(PoolClosed):
        pool.submit(spec())


def test_a_run_can_be_stopped_while_it_waits_and_while_it_runs(sandboxes: Sandboxes) -> None:
    with Pool(sandboxes, POLICY, PoolCapacity(10**9, 1, 10, 10)) as pool:
        running = pool.submit(Spec(argv=("sleep", "60"), limits=Limits(memory_bytes=64_000_000)))
        waiting = pool.submit(spec())
        while pool.state()["active"] != 1:
            time.sleep(0.005)
        pool.stop(waiting)
        pool.stop(running)
        assert running.result(10).ended == "cancelled"
        assert waiting.cancelled()


def test_means_follow_the_machine() -> None:
    whole, half = means_of_machine(POLICY), means_of_machine(POLICY, shares=2)
    assert 0 < half.memory_bytes <= whole.memory_bytes // 2
    assert half.runs <= whole.runs


def test_two_hundred_runs_at_once(fresh: Sandboxes) -> None:
    """All finish or are refused in order, and the memory promised stays within the pool's."""
    means = PoolCapacity(memory_bytes=400_000_000, runs=8, waiting=150, waiting_per_owner=100)
    futures: list[Future[Result]] = []
    refused = 0
    with Pool(fresh, POLICY, means) as pool:
        for number in range(200):
            argv = ("sh", "-c", f"echo {number}; sleep 0.02")
            wanted = Spec(argv=argv, owner=f"owner{number % 3}", limits=Limits(memory_bytes=100_000_000, processes=8))
            try:
                futures.append(pool.submit(wanted))
            except PoolFull:
                refused += 1
        results = [future.result(120) for future in futures]
        assert pool.memory_peak_bytes <= means.memory_bytes
    assert len(results) + refused == 200
    assert len(results) >= 150
    assert all(result.ok for result in results), [result.stderr for result in results if not result.ok][:3]
    assert sum(result.usage.memory_peak_bytes for result in results) / len(results) < 20_000_000
    assert fresh.ls() == []
