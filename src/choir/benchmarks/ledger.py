"""`choir bench ledger`: what the ledger's promises cost, as ratios within one run.

It starts a PostgreSQL of its own in a temporary folder, with fsync on, and measures the ledger as the
node uses it: chained, idempotent, durable. `docs/benchmarks.md` says what each number means.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from choir.benchmarks.ledger_works import (
    FULL,
    QUICK,
    Batches,
    Bench,
    BenchWithPeers,
    Copies,
    Coroutines,
    Inserts,
    Progress,
    SingleCalls,
    Size,
    Transactions,
)
from choir.benchmarks.measurement import interleaved, latency
from choir.storage.database import connect
from choir.storage.embedded.cluster import DATABASE, SUPERUSER
from choir.storage.postgres import EmbeddedPostgres, Server

__all__ = ["FULL", "QUICK", "run"]

_SMALL = 10_000  # entries of the small ledger
_SMALL_DATABASE = "choir_small"


def run(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """The whole benchmark as a JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as home:
        postgres = EmbeddedPostgres(Path(home))
        try:
            server = postgres.start(say)
            bench = BenchWithPeers(server, DATABASE, size, say)
            try:
                return _measure(bench, server, Path(home))
            finally:
                bench.close()
        finally:
            postgres.stop()


def _measure(bench: BenchWithPeers, server: Server, home: Path) -> dict[str, Any]:
    result: dict[str, Any] = {"size": asdict(bench.size)}
    result["batches_of_1000"] = _batches(bench)
    result["single_callers"] = _single_callers(bench)
    result["lone_caller"] = _lone_caller(bench)
    result["batch_sizes"] = _batch_sizes(bench)
    result["growth"] = _growth(bench, server)
    result["verify"] = _verify(bench, home)
    result["ratios"] = _ratios(result)
    return result


def _batches(bench: BenchWithPeers) -> dict[str, Any]:
    bench.say("Batches of 1000: the ledger, a bare COPY, a hot account, one in ten refused.")
    count = bench.size.batches
    rates = interleaved(
        {
            "ledger": Batches(bench, bench.spread, 1000, count),
            "copy": Copies(bench, 1000, count, packed=False),
            "copy_packed": Copies(bench, 1000, count, packed=True),
            "hot": Batches(bench, bench.hot, 1000, count),
            "one_in_ten_refused": Batches(bench, bench.one_in_ten_refused, 1000, count),
            "transactions_hot": Transactions(bench, 64, max(2, bench.size.calls // 4), hot=True),
            "functions_hot": Transactions(bench, 64, max(2, bench.size.calls // 4), hot=True, function=True),
        },
        bench.size.rounds,
    )
    return {name: rate.as_json() for name, rate in rates.items()}


def _single_callers(bench: BenchWithPeers) -> dict[str, Any]:
    bench.say("64 callers with one entry at a time, against one transaction each.")
    calls = bench.size.calls
    ours: dict[str, SingleCalls | Coroutines] = {
        "threads_1": SingleCalls(bench, bench.spread, 1, calls * 4),
        "threads_64": SingleCalls(bench, bench.spread, 64, calls),
        "16": Coroutines(bench, bench.spread, 16, calls),
        "64": Coroutines(bench, bench.spread, 64, calls),
        "64_hot": Coroutines(bench, bench.hot, 64, calls),
    }
    peers = {
        "transactions_64": Transactions(bench, 64, max(2, calls // 2), hot=False),
        "transactions_64_hot": Transactions(bench, 64, max(2, calls // 4), hot=True),
        "functions_64": Transactions(bench, 64, max(2, calls // 2), hot=False, function=True),
        "functions_64_hot": Transactions(bench, 64, max(2, calls // 4), hot=True, function=True),
    }
    rates = interleaved({**ours, **peers}, bench.size.rounds)
    told: dict[str, Any] = {name: rate.as_json() for name, rate in rates.items()}
    for name, work in ours.items():
        told[name] |= latency(work.samples).as_json()
    return told


def _lone_caller(bench: BenchWithPeers) -> dict[str, Any]:
    bench.say("A lone caller against a bare durable insert.")
    ledger = SingleCalls(bench, bench.spread, 1, bench.size.lone_calls)
    inserts = Inserts(bench, bench.size.lone_calls)
    interleaved({"ledger": ledger, "insert": inserts}, bench.size.rounds)
    return {"ledger": latency(ledger.samples).as_json(), "insert": latency(inserts.samples).as_json()}


def _batch_sizes(bench: Bench) -> dict[str, Any]:
    bench.say("Batches of 100 and 8190.")
    rates = interleaved(
        {"100": Batches(bench, bench.spread, 100, 10), "8190": Batches(bench, bench.spread, 8190, 1)},
        min(3, bench.size.rounds),
    )
    return {name: rate.as_json() for name, rate in rates.items()}


def _growth(bench: Bench, server: Server) -> dict[str, Any]:
    """The rate on a small and on a large ledger with the same accounts, in turns."""
    bench.say(f"Growing the ledger to {bench.size.large} entries.")
    bench.grow(bench.size.large)
    with connect(server.dsn(SUPERUSER, "postgres"), autocommit=True) as admin:
        admin.execute(f"create database {_SMALL_DATABASE} owner choir_owner")
    with connect(server.dsn(SUPERUSER, _SMALL_DATABASE), autocommit=True) as admin:
        admin.execute("create extension if not exists vector")
    small = Bench(server, _SMALL_DATABASE, bench.size, bench.say)
    try:
        small.grow(_SMALL)
        bench.say(f"Batches of 1000 with {small.entries} and with {bench.entries} entries.")
        began = {"small": small.entries, "large": bench.entries}
        # Few batches, so that the small ledger is still about as small afterwards; many turns of one, because a machine
        # that is now faster, now slower shall not decide.
        works = {"small": Batches(small, small.spread, 1000, 1), "large": Batches(bench, bench.spread, 1000, 1)}
        rates = interleaved(works, 3 * bench.size.rounds)
        ended = {"small": small.entries, "large": bench.entries}
        forgetful = _growth_forgetful(bench, small)
    finally:
        small.close()
    told = {name: {"entries": [began[name], ended[name]], **rate.as_json()} for name, rate in rates.items()}
    return {**told, **forgetful}


def _growth_forgetful(bench: Bench, small: Bench) -> dict[str, Any]:
    """The same by submitters that remember no balance, as for accounts that are met for the first time."""
    works = {
        "small_forgetful": Batches(small, small.spread, 1000, 1, forgetful=True),
        "large_forgetful": Batches(bench, bench.spread, 1000, 1, forgetful=True),
    }
    return {name: rate.as_json() for name, rate in interleaved(works, 3 * bench.size.rounds).items()}


def _verify(bench: Bench, home: Path) -> dict[str, Any]:
    """In a process of its own, so that its memory is its own."""
    bench.say("Verifying the whole database.")
    child = subprocess.run(
        [sys.executable, "-m", "choir.benchmarks.verifying", bench.dsn, str(home)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    told: dict[str, Any] = json.loads(child.stdout)
    return told


def _ratios(result: dict[str, Any]) -> dict[str, float]:
    """What the promises are about."""
    batch, single, lone = result["batches_of_1000"], result["single_callers"], result["lone_caller"]
    growth = result["growth"]

    def rate(table: dict[str, Any], name: str) -> float:
        return float(table[name]["per_second"])

    return {
        "batch_of_copy": round(rate(batch, "ledger") / rate(batch, "copy"), 3),
        "batch_of_hot_transactions": round(rate(batch, "hot") / rate(batch, "transactions_hot"), 1),
        "callers_of_transactions": round(rate(single, "64") / rate(single, "transactions_64"), 2),
        "hot_callers_of_hot_transactions": round(rate(single, "64_hot") / rate(single, "transactions_64_hot"), 2),
        "lone_of_insert": round(lone["ledger"]["p50_ms"] / lone["insert"]["p50_ms"], 2),
        "hot_of_spread": round(rate(batch, "hot") / rate(batch, "ledger"), 3),
        "refused_of_spread": round(rate(batch, "one_in_ten_refused") / rate(batch, "ledger"), 3),
        "batch_of_packed_copy": round(rate(batch, "ledger") / rate(batch, "copy_packed"), 3),
        "batch_of_hot_functions": round(rate(batch, "hot") / rate(batch, "functions_hot"), 1),
        "callers_of_functions": round(rate(single, "64") / rate(single, "functions_64"), 2),
        "hot_callers_of_hot_functions": round(rate(single, "64_hot") / rate(single, "functions_64_hot"), 2),
        "large_of_small": round(rate(growth, "large") / rate(growth, "small"), 3),
        "large_of_small_forgetful": round(rate(growth, "large_forgetful") / rate(growth, "small_forgetful"), 3),
        "forgetful_of_small": round(rate(growth, "small_forgetful") / rate(growth, "small"), 3),
    }
