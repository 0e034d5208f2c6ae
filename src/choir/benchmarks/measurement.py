"""How things are measured: interleaved rounds, medians, ratios.

Machines are noisy and differ; so everything that is compared runs in the same process, in turns,
and what is reported is the median over rounds and the ratio of medians.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


class Work(Protocol):
    """Something to measure."""

    def prepare(self) -> None:
        """Make ready what a round needs; not timed."""
        ...

    def run(self) -> int:
        """Do the round; says how many items it did."""
        ...


@dataclass(frozen=True, slots=True)
class Rate:
    """Items per second over several rounds."""

    median: float
    low: float
    high: float

    def as_json(self) -> dict[str, float]:
        return {"per_second": round(self.median), "low": round(self.low), "high": round(self.high)}


@dataclass(frozen=True, slots=True)
class Latency:
    """How long single calls took, in milliseconds."""

    p50_ms: float
    p99_ms: float

    def as_json(self) -> dict[str, float]:
        return {"p50_ms": round(self.p50_ms, 3), "p99_ms": round(self.p99_ms, 3)}


def interleaved(
    works: Mapping[str, Work], rounds: int, on_round: Callable[[int], None] = lambda _: None
) -> dict[str, Rate]:
    """Run all works in turns; the first round warms up and does not count."""
    rates: dict[str, list[float]] = {name: [] for name in works}
    for round_ in range(rounds + 1):
        on_round(round_)
        for name, work in works.items():
            work.prepare()
            began = time.perf_counter()
            items = work.run()
            elapsed = time.perf_counter() - began
            if round_ > 0:
                rates[name].append(items / elapsed)
    return {name: Rate(statistics.median(found), min(found), max(found)) for name, found in rates.items()}


def latency(samples: Sequence[float]) -> Latency:
    """Percentiles of samples in seconds."""
    ordered = sorted(samples)
    return Latency(1000 * ordered[len(ordered) // 2], 1000 * ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)])


def concurrently(callers: int, each: Callable[[int], None]) -> None:
    """Run a function in that many threads and wait for all; the first error is raised."""
    failures: list[BaseException] = []

    def run(caller: int) -> None:
        try:
            each(caller)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(caller,)) for caller in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
