"""`choir bench bazaar`: what ordering, verifying and paying adds to running a command in the sandbox.

It starts a node and a provider of its own, as separate processes, and orders `true` from many coroutines at once:
from the request to the receipt in hand. In turns with that it runs `true` in the same sandbox without anything
around it, as many at once. `docs/benchmarks.md` says what each number means.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from choir.bazaar.jobs.model import JobType
from choir.benchmarks import bazaar_selection
from choir.benchmarks.http_town import CLI, Town
from choir.benchmarks.measurement import Rate, concurrently, latency
from choir.doors.sdk.client import AsyncClient, Client
from choir.sandbox.model import Limits, Spec, Trust
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes

Progress = Callable[[str], None]

_TRUE = "/usr/bin/true"
_BUDGET_MSAT = 1_000_000
_READY_S_MAX = 120.0
_JOB_S_MAX = 120.0
_STOP_S_MAX = 60.0
_LATE_S = 2.0  # how often a job is asked after that no event told of
_OVER = frozenset({"paid", "closed", "expired", "cancelled"})


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure."""

    rounds: int
    open_jobs: tuple[int, ...] = (1, 8, 32)
    jobs_each: int = 20  # in a round, for each job that is open at once, at most
    jobs: int = 160  # in a round at most
    providers: int = 10_000  # on the market of the selections
    selections: int = 400


FULL = Size(rounds=5)
QUICK = Size(rounds=2, jobs_each=10, jobs=64, providers=2_000, selections=100)


@dataclass
class Series:
    """The rounds of one thing at one concurrency."""

    rates: list[float] = field(default_factory=list)
    samples: list[float] = field(default_factory=list)

    def note(self, samples: list[float], elapsed_s: float) -> None:
        self.rates.append(len(samples) / elapsed_s)
        self.samples += samples

    def as_json(self) -> dict[str, float]:
        rate = Rate(statistics.median(self.rates), min(self.rates), max(self.rates))
        shown = {"per_second": round(rate.median, 2), "low": round(rate.low, 2), "high": round(rate.high, 2)}
        return {**shown, **latency(self.samples).as_json()}


def run(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """The whole benchmark as a JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as top:
        extra = {"CHOIR_POLICY__PROVIDERS__TIER_0_SLOTS": str(max(size.open_jobs))}
        say("Starting a temporary node.")
        town = Town(Path(top, "home"), extra)
        try:
            say("Starting a provider, and waiting for it to qualify.")
            with Stall(town, Path(top), max(size.open_jobs)), Sandboxes(Path(top, "bare"), SandboxPolicy()) as bare:
                jobs = _measure(town, bare, size, say)
        finally:
            town.close()
        say(f"Selecting among {size.providers} providers.")
        selection = bazaar_selection.run(folder, size.providers, size.selections)
    return {"size": asdict(size), "open_jobs": jobs, "selection": selection}


class Stall:
    """A provider's process that sells runs, as a provider would start it."""

    def __init__(self, town: Town, folder: Path, capacity: int) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "TMPDIR": str(folder),
            "HOME": str(folder),
            "CHOIR_HOME": str(folder / "stall"),
            "CHOIR_PROVIDER_HOME": str(folder / "stall"),
            "CHOIR_NODE": town.url,
        }
        serve = [sys.executable, "-m", CLI, "provider", "serve", "--worker", "run", "--capacity", str(capacity)]
        self._log = (folder / "provider.log").open("wb")
        self._process = subprocess.Popen(
            [*serve, "--json"], env=environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log, cwd="/"
        )
        self._town = town

    def __enter__(self) -> Stall:
        deadline = time.monotonic() + _READY_S_MAX
        with Client(self._town.url, self._town.token) as client:
            while not self._sells(client):
                if self._process.poll() is not None or time.monotonic() > deadline:
                    self.__exit__()
                    raise RuntimeError(f"the provider for the benchmark did not start; see {self._log.name}")
                time.sleep(0.1)
        return self

    @staticmethod
    def _sells(client: Client) -> bool:
        offers = [offer for provider in client.providers.all() if provider.online for offer in provider.offers]
        return any(offer.type is JobType.SANDBOX_RUN and offer.qualification == "passed" for offer in offers)

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.terminate()
            self._process.wait(_STOP_S_MAX)
        self._log.close()


def _measure(town: Town, bare: Sandboxes, size: Size, say: Progress) -> list[dict[str, Any]]:
    jobs = {count: Series() for count in size.open_jobs}
    runs = {count: Series() for count in size.open_jobs}
    numbers = iter(range(10**9))
    for round_ in range(size.rounds + 1):
        say(f"Round {round_} of {size.rounds}{' (warming up)' if round_ == 0 else ''}.")
        for count in size.open_jobs:
            each = max(1, min(size.jobs_each, size.jobs // count))
            keys = [[str(next(numbers)) for _ in range(each)] for _ in range(count)]
            cleared, bare_run = asyncio.run(_clear(town, keys)), _run_bare(bare, count, each)
            if round_ > 0:
                jobs[count].note(*cleared)
                runs[count].note(*bare_run)
    return [_compared(count, jobs[count].as_json(), runs[count].as_json()) for count in size.open_jobs]


def _compared(count: int, jobs: dict[str, float], runs: dict[str, float]) -> dict[str, Any]:
    """What a job costs beyond the run itself."""
    return {
        "open_jobs": count,
        "jobs": jobs,
        "bare_runs": runs,
        "overhead_p50_ms": round(jobs["p50_ms"] - runs["p50_ms"], 1),
        "overhead_p99_ms": round(jobs["p99_ms"] - runs["p99_ms"], 1),
        "p50_of_bare": round(jobs["p50_ms"] / runs["p50_ms"], 2),
        "rate_of_bare": round(jobs["per_second"] / runs["per_second"], 3),
        "busy_ms_per_job": round(1000 / jobs["per_second"] - 1000 / runs["per_second"], 1),
    }


def _run_bare(sandboxes: Sandboxes, count: int, each: int) -> tuple[list[float], float]:
    spec = Spec(argv=(_TRUE,), trust=Trust.STRANGER, limits=Limits(memory_bytes=64_000_000))
    samples: list[float] = []
    lock = threading.Lock()

    def caller(_: int) -> None:
        for _ in range(each):
            began = time.perf_counter()
            if not sandboxes.run(spec).ok:
                raise RuntimeError("a bare run failed")
            with lock:
                samples.append(time.perf_counter() - began)

    began = time.perf_counter()
    concurrently(count, caller)
    return samples, time.perf_counter() - began


async def _clear(town: Town, keys: list[list[str]]) -> tuple[list[float], float]:
    """Order, wait and fetch the receipt, with as many jobs open as there are lists of keys."""
    async with AsyncClient(town.url, town.token) as client:
        ended = _Ended(client)
        await ended.start()
        samples: list[float] = []

        async def buyer(own: list[str]) -> None:
            for key in own:
                began = time.perf_counter()
                await _one(client, ended, key)
                samples.append(time.perf_counter() - began)

        began = time.perf_counter()
        try:
            await asyncio.gather(*(buyer(own) for own in keys))
            return samples, time.perf_counter() - began
        finally:
            await ended.stop()


async def _one(client: AsyncClient, ended: _Ended, key: str) -> None:
    terms = {"max_cost_msat": str(_BUDGET_MSAT), "time_limit_s": 60, "idempotency_key": f"bench-{key}"}
    job = await client.jobs.open(JobType.SANDBOX_RUN, {"argv": [_TRUE], "deterministic": True, **terms})
    await asyncio.wait_for(ended.wait(job.id), _JOB_S_MAX)
    job = await client.jobs.get(job.id)
    if job.state != "paid" or job.winner is None:
        raise RuntimeError(f"a job of the benchmark is {job.state}")
    await client.attempts.receipt(job.winner)


class _Ended:
    """Tells when jobs have ended, by one stream of events for all of them."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._over: dict[str, asyncio.Event] = {}
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._listen())
        await asyncio.sleep(0)

    async def stop(self) -> None:
        assert self._task is not None
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def wait(self, job: str) -> None:
        """Until an event or, should it have come too early, a look tells that it is over."""
        over = self._over.setdefault(job, asyncio.Event())
        while not over.is_set():
            try:
                await asyncio.wait_for(over.wait(), _LATE_S)
            except TimeoutError:
                if (await self._client.jobs.get(job)).state in _OVER:
                    return

    async def _listen(self) -> None:
        async for event in self._client.events(type_="bazaar.job"):
            if event.type.rpartition(".")[2] in _OVER:
                self._over.setdefault(event.subject, asyncio.Event()).set()
