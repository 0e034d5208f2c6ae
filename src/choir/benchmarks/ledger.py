"""`choir bench ledger`: what the ledger's promises cost, as ratios within one run.

It starts a PostgreSQL of its own in a temporary folder, with fsync on, and measures the ledger as the
node uses it: chained, idempotent, durable. `docs/benchmarks.md` says what each number means.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from choir.benchmarks.measuring import concurrently, interleaved, latency
from choir.benchmarks.peers import CopyPeer, InsertPeer, TransactionPeer
from choir.foundation.clock import SystemClock, SystemEntropy
from choir.foundation.errors import Refusal
from choir.foundation.policy import LedgerPolicy
from choir.ledger import deciding, store
from choir.ledger.accounts import Accounts
from choir.ledger.deciding import EntryRow, PostingRow
from choir.ledger.model import Draft, Head, Leg
from choir.ledger.service import Ledger
from choir.ledger.submitting import Submitter
from choir.ledger.submitting_async import AsyncSubmitter
from choir.storage.database import Connection, Database, connect
from choir.storage.migrations import migrate
from choir.storage.postgres import EmbeddedPostgres, Server

Progress = Callable[[str], None]
_SOURCE = "benchmark"
_MINT = "system:mint/issuance/CREDIT"
_FUNDS = 10**9


@dataclass(frozen=True, slots=True)
class Size:
    """How much to measure."""

    accounts: int
    rounds: int
    batches: int  # of 1000 in a round
    calls: int  # of each of 64 callers in a round
    lone_calls: int
    large: int  # entries of the large ledger


FULL = Size(accounts=100_000, rounds=7, batches=8, calls=40, lone_calls=400, large=1_000_000)
QUICK = Size(accounts=10_000, rounds=3, batches=3, calls=15, lone_calls=150, large=50_000)


class Bench:
    """A ledger and its peers on one server."""

    def __init__(self, server: Server, size: Size, say: Progress) -> None:
        self.size = size
        self.say = say
        self.dsn = server.dsn("choir_app")
        self.owner: Connection = connect(server.dsn("choir_owner"), autocommit=True)
        migrate(self.owner, "choir_app")
        self.owner.prepare_threshold = 1
        clock = SystemClock()
        policy = LedgerPolicy()
        self.ledger = Ledger(clock, SystemEntropy(), policy)
        self.database = Database(self.dsn).open()
        self.submitter = Submitter(self.ledger, self.database)
        self.names = [f"person:p{n}/available/CREDIT" for n in range(size.accounts)]
        self.random = random.Random(1)  # noqa: S311 - the same work in every run
        self._keys = 0
        self.copied = 0  # rows that the COPY peer has
        self._open(Accounts(clock, policy))
        self.copy_peer = CopyPeer(self.owner)
        self.insert_peer = InsertPeer(self.owner)
        self.transactions = TransactionPeer(self.owner, server.dsn("choir_owner"), size.accounts, 64)

    def _open(self, accounts: Accounts) -> None:
        self.say(f"Opening and funding {len(self.names)} accounts.")
        with self.database.unit_of_work() as tx:
            accounts.open(tx, [_MINT], reason="benchmark", source=_SOURCE)
        for start in range(0, len(self.names), 5000):
            chunk = self.names[start : start + 5000]
            with self.database.unit_of_work() as tx:
                accounts.open(tx, chunk, reason="benchmark", source=_SOURCE)
            self.submitter.submit_batch([[self.draft(_MINT, name, _FUNDS)] for name in chunk])

    def close(self) -> None:
        self.transactions.close()
        self.submitter.close()
        self.database.close()
        self.owner.close()

    def key(self) -> str:
        self._keys += 1
        return f"{self._keys:012d}"

    def draft(self, payer: str, payee: str, amount: int = 1) -> Draft:
        return Draft("transfer", "benchmark", _SOURCE, self.key(), (Leg(payer, payee, amount),))

    def pair(self) -> tuple[int, int]:
        payer = self.random.randrange(len(self.names))
        payee = self.random.randrange(len(self.names) - 1)
        return payer, payee + (payee >= payer)

    def spread(self) -> Draft:
        payer, payee = self.pair()
        return self.draft(self.names[payer], self.names[payee])

    def hot(self) -> Draft:
        """The first account is in every entry."""
        other = self.names[self.random.randrange(1, len(self.names))]
        return self.draft(self.names[0], other) if self.random.random() < 0.5 else self.draft(other, self.names[0])

    def refused(self) -> Draft:
        payer, payee = self.pair()
        return self.draft(self.names[payer], self.names[payee], 10**15)

    def one_in_ten_refused(self) -> Draft:
        return self.refused() if self._keys % 10 == 9 else self.spread()


class Batches:
    """Batches of drafts, each posted as one durable commit."""

    def __init__(self, bench: Bench, make: Callable[[], Draft], entries: int, count: int) -> None:
        self._bench, self._make, self._entries, self._count = bench, make, entries, count
        self._ready: list[list[list[Draft]]] = []

    def prepare(self) -> None:
        self._ready = [[[self._make()] for _ in range(self._entries)] for _ in range(self._count)]

    def run(self) -> int:
        for groups in self._ready:
            outcomes = self._bench.submitter.submit_batch(groups)
            assert len(outcomes) == self._entries
        return self._entries * self._count


class Copies:
    """The rows of such batches as bare COPYs of the same size."""

    def __init__(self, bench: Bench, entries: int, count: int, *, packed: bool) -> None:
        self._bench, self._entries, self._count, self._packed = bench, entries, count, packed
        self._rows: list[tuple[list[EntryRow], list[PostingRow]]] = []
        self._ready: list[tuple[bytes, bytes]] = []

    def prepare(self) -> None:
        self._rows = [self._fresh() for _ in range(self._count)]
        self._ready = [self._bench.copy_peer.pack(*rows) for rows in self._rows] if self._packed else []

    def _fresh(self) -> tuple[list[EntryRow], list[PostingRow]]:
        """What the ledger itself would write for fresh drafts, numbered on from the copies before."""
        drafts = [self._bench.spread() for _ in range(self._entries)]
        entries, postings = rows_of(self._bench, drafts, self._bench.copied)
        self._bench.copied += len(entries)
        return entries, postings

    def run(self) -> int:
        peer = self._bench.copy_peer
        for place, rows in enumerate(self._rows):
            peer.copy(self._ready[place] if self._packed else peer.pack(*rows))
        return self._entries * self._count


class SingleCalls:
    """Many threads that each post one entry at a time and wait for its commit."""

    def __init__(self, bench: Bench, make: Callable[[], Draft], callers: int, calls: int) -> None:
        self._bench, self._make, self._callers, self._calls = bench, make, callers, calls
        self._ready: list[list[Draft]] = []
        self.samples: list[float] = []

    def prepare(self) -> None:
        self._ready = [[self._make() for _ in range(self._calls)] for _ in range(self._callers)]

    def run(self) -> int:
        concurrently(self._callers, self._each)
        return self._callers * self._calls

    def _each(self, caller: int) -> None:
        for draft in self._ready[caller]:
            began = time.perf_counter()
            self._bench.submitter.submit(draft)
            self.samples.append(time.perf_counter() - began)


class Coroutines:
    """Many coroutines of one event loop that each post one entry at a time, as the HTTP door's requests do."""

    def __init__(self, bench: Bench, make: Callable[[], Draft], callers: int, calls: int) -> None:
        self._bench, self._make, self._callers, self._calls = bench, make, callers, calls
        self._ready: list[list[Draft]] = []
        self.samples: list[float] = []

    def prepare(self) -> None:
        self._ready = [[self._make() for _ in range(self._calls)] for _ in range(self._callers)]

    def run(self) -> int:
        asyncio.run(self._all())
        return self._callers * self._calls

    async def _all(self) -> None:
        submitter = AsyncSubmitter(self._bench.ledger, self._bench.submitter)
        await asyncio.gather(*[self._each(submitter, drafts) for drafts in self._ready])
        submitter.close()

    async def _each(self, submitter: AsyncSubmitter, drafts: list[Draft]) -> None:
        for draft in drafts:
            began = time.perf_counter()
            await submitter.submit(draft)
            self.samples.append(time.perf_counter() - began)


class Transactions:
    """The same transfers, one transaction each, in as many connections as callers."""

    def __init__(self, bench: Bench, callers: int, calls: int, *, hot: bool, function: bool = False) -> None:
        self._bench, self._callers, self._calls, self._hot = bench, callers, calls, hot
        peer = bench.transactions
        self._transfer = peer.transfer if function else peer.transfer_by_statements
        self._ready: list[list[tuple[int, int, str]]] = []

    def prepare(self) -> None:
        self._ready = [[self._one() for _ in range(self._calls)] for _ in range(self._callers)]

    def _one(self) -> tuple[int, int, str]:
        payer, payee = self._bench.pair()
        if self._hot:
            payer, payee = (0, payee or 1) if self._bench.random.random() < 0.5 else (payer or 1, 0)
        return payer, payee, self._bench.key()

    def run(self) -> int:
        concurrently(self._callers, self._each)
        return self._callers * self._calls

    def _each(self, caller: int) -> None:
        for payer, payee, key in self._ready[caller]:
            self._transfer(caller, payer, payee, key)


class Inserts:
    """Bare durable inserts of one entry row each, one after the other."""

    def __init__(self, bench: Bench, calls: int) -> None:
        self._bench, self._calls = bench, calls
        self._ready: list[EntryRow] = []
        self._head = 0
        self.samples: list[float] = []

    def prepare(self) -> None:
        drafts = [self._bench.spread() for _ in range(self._calls)]
        self._ready, _ = rows_of(self._bench, drafts, self._head)
        self._head += len(self._ready)

    def run(self) -> int:
        for row in self._ready:
            began = time.perf_counter()
            self._bench.insert_peer.insert(row)
            self.samples.append(time.perf_counter() - began)
        return self._calls


def rows_of(bench: Bench, drafts: list[Draft], head_seq: int) -> tuple[list[EntryRow], list[PostingRow]]:
    """The rows that the ledger would write for these drafts."""
    ledger = bench.ledger
    groups = ledger.prepare_batch([[draft] for draft in drafts])
    prepared = [item for group in groups for item in group if not isinstance(item, Refusal)]
    view = store.read_view(bench.owner, ledger.needs(bench.owner, prepared, committed=True))
    view.head = Head(head_seq, bytes(32), 0, 0, bytes(32))
    decision = deciding.decide(
        groups, view, ledger.clock.now_us(), ledger.entropy.bytes(deciding.ID_RANDOM_BYTES * len(prepared))
    )
    return decision.entries, decision.postings


def run(size: Size, folder: Path | None, say: Progress) -> dict[str, Any]:
    """The whole benchmark as a JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as home:
        postgres = EmbeddedPostgres(Path(home))
        try:
            bench = Bench(postgres.start(say), size, say)
            try:
                return _measure(bench, Path(home))
            finally:
                bench.close()
        finally:
            postgres.stop()


def _measure(bench: Bench, home: Path) -> dict[str, Any]:
    result: dict[str, Any] = {"size": asdict(bench.size)}
    result["batches_of_1000"] = _batches(bench)
    result["single_callers"] = _single_callers(bench)
    result["lone_caller"] = _lone_caller(bench)
    result["batch_sizes"] = _batch_sizes(bench)
    result["growth"] = _growth(bench)
    result["verify"] = _verify(bench, home)
    result["ratios"] = _ratios(result)
    return result


def _batches(bench: Bench) -> dict[str, Any]:
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


def _single_callers(bench: Bench) -> dict[str, Any]:
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


def _lone_caller(bench: Bench) -> dict[str, Any]:
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


def _growth(bench: Bench) -> dict[str, Any]:
    """The rate on this ledger when it is small and when it is large, against COPY as a yardstick."""
    small = _growth_at(bench, 0)
    bench.say(f"Growing the ledger to {bench.size.large} entries.")
    while _entries(bench) < bench.size.large:
        bench.submitter.submit_batch([[bench.spread()] for _ in range(5000)])
    return {"small": small, "large": _growth_at(bench, bench.size.large)}


def _growth_at(bench: Bench, at_least: int) -> dict[str, Any]:
    assert _entries(bench) >= at_least
    work = Batches(bench, bench.spread, 1000, bench.size.batches)
    rates = interleaved({"ledger": work}, bench.size.rounds)
    return {"entries": _entries(bench), **rates["ledger"].as_json()}


def _entries(bench: Bench) -> int:
    row = bench.owner.execute("select seq from ledger_head").fetchone()
    assert row is not None
    return int(row[0])


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
        "large_of_small": round(growth["large"]["per_second"] / growth["small"]["per_second"], 3),
    }
