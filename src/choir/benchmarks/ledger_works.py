"""What `choir bench ledger` runs: a ledger, and the same transfers done by it and by its peers."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from choir.benchmarks.measurement import concurrently
from choir.benchmarks.peers import CopyPeer, InsertPeer, TransactionPeer
from choir.features import FEATURES
from choir.foundation.clock import SystemClock, SystemEntropy
from choir.ledger.accounts import Accounts
from choir.ledger.journal import acceptance, links
from choir.ledger.journal.records import EntryRow, PostingRow
from choir.ledger.journal.submitter import AsyncSubmitter, Submitter
from choir.ledger.model import Draft, Head, Leg
from choir.ledger.policy import LedgerPolicy
from choir.ledger.service import Ledger
from choir.storage.database import Connection, Database, connect
from choir.storage.migrations import known_migrations, migrate
from choir.storage.postgres import Server

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
    """A ledger in a database of a server."""

    def __init__(self, server: Server, database: str, size: Size, say: Progress) -> None:
        self.size = size
        self.say = say
        self.dsn = server.dsn("choir_app", database)
        self.owner: Connection = connect(server.dsn("choir_owner", database), autocommit=True)
        migrate(self.owner, "choir_app", known_migrations(FEATURES))
        self.owner.prepare_threshold = 1
        clock = SystemClock()
        policy = LedgerPolicy()
        self.ledger = Ledger(clock, SystemEntropy(), policy)
        self.database = Database(self.dsn).open()
        self.submitter = Submitter(self.ledger.appender, self.database)
        self.forgetful = Submitter(self.ledger.appender, self.database, remembered_accounts_max=0)
        self.names = [f"person:p{n}/available/CREDIT" for n in range(size.accounts)]
        self.random = random.Random(1)  # noqa: S311 - the same work in every run
        self._keys = 0
        self._open(Accounts(clock, policy), policy)

    def _open(self, accounts: Accounts, policy: LedgerPolicy) -> None:
        self.say(f"Opening and funding {len(self.names)} accounts.")
        with self.database.unit_of_work() as tx:
            accounts.open(tx, [_MINT], reason="benchmark", source=_SOURCE)
        for start in range(0, len(self.names), 5000):
            chunk = self.names[start : start + 5000]
            with self.database.unit_of_work() as tx:
                accounts.open(tx, chunk, reason="benchmark", source=_SOURCE)
            self._fund(chunk, policy.entry_legs_max)

    def _fund(self, names: list[str], legs_max: int) -> None:
        """By few entries of many legs, so that a ledger with many accounts can still be a small one."""
        for start in range(0, len(names), legs_max):
            legs = tuple(Leg(_MINT, name, _FUNDS) for name in names[start : start + legs_max])
            self.submitter.submit(Draft("fund", "benchmark", _SOURCE, self.key(), legs))

    @property
    def entries(self) -> int:
        row = self.owner.execute("select seq from ledger_head").fetchone()
        assert row is not None
        return int(row[0])

    def grow(self, entries: int) -> None:
        """Post transfers until there are so many entries."""
        while (missing := entries - self.entries) > 0:
            self.submitter.submit_batch([[self.spread()] for _ in range(min(5000, missing))])

    def close(self) -> None:
        self.submitter.close()
        self.forgetful.close()
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


class BenchWithPeers(Bench):
    """A ledger and, in the same database, what it is compared with."""

    def __init__(self, server: Server, database: str, size: Size, say: Progress) -> None:
        super().__init__(server, database, size, say)
        self.copied = 0  # rows that the COPY peer has
        self.copy_peer = CopyPeer(self.owner)
        self.insert_peer = InsertPeer(self.owner)
        self.transactions = TransactionPeer(self.owner, server.dsn("choir_owner", database), size.accounts, 64)

    def close(self) -> None:
        self.transactions.close()
        super().close()


class Batches:
    """Batches of drafts, each posted as one durable commit."""

    def __init__(
        self, bench: Bench, make: Callable[[], Draft], entries: int, count: int, *, forgetful: bool = False
    ) -> None:
        self._submitter = bench.forgetful if forgetful else bench.submitter
        self._make, self._entries, self._count = make, entries, count
        self._ready: list[list[list[Draft]]] = []

    def prepare(self) -> None:
        self._ready = [[[self._make()] for _ in range(self._entries)] for _ in range(self._count)]

    def run(self) -> int:
        for groups in self._ready:
            outcomes = self._submitter.submit_batch(groups)
            assert len(outcomes) == self._entries
        return self._entries * self._count


class Copies:
    """The rows of such batches as bare COPYs of the same size."""

    def __init__(self, bench: BenchWithPeers, entries: int, count: int, *, packed: bool) -> None:
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
        submitter = AsyncSubmitter(self._bench.ledger.appender, self._bench.submitter)
        await asyncio.gather(*[self._each(submitter, drafts) for drafts in self._ready])
        submitter.close()

    async def _each(self, submitter: AsyncSubmitter, drafts: list[Draft]) -> None:
        for draft in drafts:
            began = time.perf_counter()
            await submitter.submit(draft)
            self.samples.append(time.perf_counter() - began)


class Transactions:
    """The same transfers, one transaction each, in as many connections as callers."""

    def __init__(self, bench: BenchWithPeers, callers: int, calls: int, *, hot: bool, function: bool = False) -> None:
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

    def __init__(self, bench: BenchWithPeers, calls: int) -> None:
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
    ledger = bench.ledger.appender
    groups = ledger.prepare_batch([[draft] for draft in drafts])
    view = ledger.read(bench.owner, groups, committed=True, keys=False)
    view.head = Head(head_seq, bytes(32), 0, 0, bytes(32))
    random = ledger.entropy.bytes(links.ID_RANDOM_BYTES * len(drafts))
    decision = acceptance.decide(groups, view, ledger.clock.now_us(), random, ledger.policy)
    return decision.entries, decision.postings
