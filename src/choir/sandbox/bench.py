"""How long a sandbox takes to start and finish, and how many run per second.

Method: what is compared is measured in turns within one loop, so that a busy machine slows all of them
alike. The measure of the default tier is bare bubblewrap with the same restrictions: the same user id, mounts,
filter and rlimits, started by hand, without groups, run file, measuring of use or pumping of output.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from choir.sandbox.cgroups import NONE
from choir.sandbox.holdings import Holdings
from choir.sandbox.model import Limits, Spec, Tier, Trust
from choir.sandbox.service import Sandboxes
from choir.sandbox.staging import Stage
from choir.sandbox.tiers.bubblewrap import Bubblewrap

_TRUE = Spec(argv=("/usr/bin/true",), trust=Trust.OWN, limits=Limits(memory_bytes=64_000_000))
_SLOW_TIERS = (Tier.CONTAINER, Tier.GVISOR)
_SLOW_SHARE = 5  # slower tiers are measured with this fraction of the runs


@dataclass(frozen=True, slots=True)
class Starts:
    """Start to finished `true`."""

    name: str
    runs: int
    p50_ms: float
    p99_ms: float


def measure(sandboxes: Sandboxes, runs: int = 100, at_once: tuple[int, ...] = (1, 2, 4, 8)) -> dict[str, Any]:
    """All of it, as JSON."""
    starts = _starts(sandboxes, runs)
    by_name = {item.name: item for item in starts}
    bare, ours = by_name.get("bare bubblewrap"), by_name.get("bubblewrap")
    return {
        "runs": runs,
        "starts": [{"name": s.name, "runs": s.runs, "p50_ms": s.p50_ms, "p99_ms": s.p99_ms} for s in starts],
        "ratio_to_bare_bubblewrap": round(ours.p50_ms / bare.p50_ms, 2) if ours and bare else None,
        "throughput": [
            {"tier": tier.label, "at_once": count, "per_s": _throughput(sandboxes, tier, count, runs)}
            for tier in (Tier.BUBBLEWRAP,)
            if sandboxes.capabilities(tier).works
            for count in at_once
        ],
    }


def _starts(sandboxes: Sandboxes, runs: int) -> list[Starts]:
    ways: dict[str, Callable[[], float]] = {"fork and exec": _fork_and_exec}
    working = [tier for tier in Tier if sandboxes.capabilities(tier).works]
    if Tier.BUBBLEWRAP in working:
        ways["bare bubblewrap"] = lambda: _bare(sandboxes)
    for tier in working:
        ways[tier.label] = _through(sandboxes, tier)
    times: dict[str, list[float]] = {name: [] for name in ways}
    slow = {tier.label for tier in _SLOW_TIERS}
    for turn in range(runs):
        for name, way in ways.items():
            if name not in slow or turn % _SLOW_SHARE == 0:
                times[name].append(way())
    return [_summary(name, taken) for name, taken in times.items()]


def _summary(name: str, taken: list[float]) -> Starts:
    ordered = sorted(taken)
    p99 = ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]
    return Starts(name, len(ordered), round(ordered[len(ordered) // 2] * 1000, 2), round(p99 * 1000, 2))


def _fork_and_exec() -> float:
    began = time.perf_counter()
    subprocess.run(_TRUE.argv, capture_output=True, check=True)
    return time.perf_counter() - began


def _through(sandboxes: Sandboxes, tier: Tier) -> Callable[[], float]:
    spec = replace(_TRUE, tier=tier)

    def once() -> float:
        began = time.perf_counter()
        result = sandboxes.run(spec)
        taken = time.perf_counter() - began
        assert result.ok, result.stderr
        return taken

    return once


def _bare(sandboxes: Sandboxes) -> float:
    """The same command line, started by hand. What surrounds it is made and removed outside the clock."""
    driver = Bubblewrap()
    host = replace(sandboxes.host, machine=replace(sandboxes.host.machine, cgroups=NONE))
    held = Holdings(host, driver, replace(_TRUE, tier=Tier.BUBBLEWRAP), sandboxes.new_name())
    held.take()
    try:
        built = driver.build(replace(held.plan, status_fd=1), host.machine)
        os.pwrite(held.plan.args_fd, built.options, 0)
        inherit = tuple(fd for fd in built.inherit if fd > 2)
        pipe = subprocess.PIPE

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(built.argv, stdout=pipe, stderr=pipe, pass_fds=inherit, env={})

        stage = Stage(built.acts)
        held.stack.callback(stage.close)
        began = time.perf_counter()
        process = stage.start(start) if built.acts else start()
        _, said = process.communicate()
        taken = time.perf_counter() - began
        assert process.returncode == 0, said
        return taken
    finally:
        held.give_back()


def _throughput(sandboxes: Sandboxes, tier: Tier, at_once: int, runs: int) -> float:
    once = _through(sandboxes, tier)
    share = max(1, runs // at_once)
    threads = [threading.Thread(target=lambda: [once() for _ in range(share)]) for _ in range(at_once)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return round(at_once * share / (time.perf_counter() - began), 1)
