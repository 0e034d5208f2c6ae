"""A ledger on a fresh database, with a clock that the test moves and keys that repeat."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from choir.foundation.clock import MICROSECONDS, ManualClock, SeededEntropy
from choir.foundation.errors import Refusal
from choir.foundation.signing import Ed25519Signer, NodeSecret
from choir.ledger import holds, queries
from choir.ledger.accounts import Accounts
from choir.ledger.checkpoints import Checkpoints, SignedCheckpoint
from choir.ledger.exporter import Exporter
from choir.ledger.journal.submitter import Submitter
from choir.ledger.keys import NodeKeys
from choir.ledger.model import Draft, Hold, Leg, Posted
from choir.ledger.policy import LedgerPolicy
from choir.ledger.rules import Outcome
from choir.ledger.service import Ledger
from choir.ledger.verification import Report, verify_database, verify_export
from choir.storage.database import Database, Tx
from choir.storage.identity import make_identity

if TYPE_CHECKING:
    from tests.conftest import DatabaseFactory

SECRET = NodeSecret(b"\x07" * 32)
START_US = 1_800_000_000 * MICROSECONDS

ISSUANCE = "system:main/issuance/CREDIT"
ALICE = "person:alice/available/CREDIT"
BOB = "person:bob/available/CREDIT"
CAROL = "person:carol/available/CREDIT"
SAT_WORLD = "world:lightning/external/SAT"
ALICE_SAT = "person:alice/available/SAT"
BOB_SAT = "person:bob/available/SAT"
EVERYONE = (ISSUANCE, ALICE, BOB, CAROL, SAT_WORLD, ALICE_SAT, BOB_SAT)


def draft(key: str, *legs: Leg, kind: str = "transfer", source: str = "test", **more: object) -> Draft:
    return Draft(kind, "because", source, key, tuple(legs), **more)  # type: ignore[arg-type]


def moved(key: str, from_: str, to: str, amount: int) -> Draft:
    """A transfer of one leg."""
    return draft(key, Leg(from_, to, amount))


@contextmanager
def new_books(databases: DatabaseFactory) -> Iterator[Books]:
    """A ledger beside the test's own, on a database that is dropped at the end."""
    name = databases.make()
    pool = Database(databases.server.dsn("choir_app", name), connections_max=2, wait_s=30).open()
    books = Books(pool, seed=9).sign_from_now()
    try:
        yield books
    finally:
        books.close()
        pool.close()
        databases.drop(name)


@dataclass
class Books:
    """Everything of one ledger that tests touch."""

    database: Database
    clock: ManualClock = field(default_factory=lambda: ManualClock(START_US))
    policy: LedgerPolicy = field(default_factory=LedgerPolicy)
    secret: NodeSecret = SECRET
    seed: int = 1

    def __post_init__(self) -> None:
        entropy = SeededEntropy(self.seed)
        self.ledger = Ledger(self.clock, entropy, self.policy)
        self.database.when_connected(self.ledger.appender.forget_accounts)
        self.submitter = Submitter(self.ledger.appender, self.database)
        self.accounts = Accounts(self.clock, self.policy)
        with self.tx() as tx:
            identity = make_identity(tx.connection, "dev", self.clock, entropy)
        self.keys = NodeKeys(identity.origin, self.load_signer, self.clock)
        self.checkpoints = Checkpoints(self.keys, self.clock)
        self.exporter = Exporter(self.keys, self.checkpoints)

    def load_signer(self) -> Ed25519Signer:
        """The key as it is configured now; a test may exchange `secret`."""
        return self.secret.signer()

    @contextmanager
    def tx(self) -> Iterator[Tx]:
        with self.database.unit_of_work() as tx:
            yield tx

    def sign_from_now(self) -> Books:
        """Put the node's key on record, as a node does at its first start."""
        with self.tx() as tx:
            self.keys.record_first(tx)
        return self

    def open(self, *names: str) -> list[str]:
        with self.tx() as tx:
            return self.accounts.open(tx, names, reason="a test", source="test")

    def change(self, act: str, name: str) -> None:
        with self.tx() as tx:
            getattr(self.accounts, act)(tx, name, reason="a test", source="test")

    def post(self, *drafts: Draft) -> list[Posted]:
        with self.tx() as tx:
            return self.ledger.post(tx, *drafts)

    def batch(self, groups: Sequence[Sequence[Draft]]) -> list[Outcome]:
        with self.tx() as tx:
            return self.ledger.post_batch(tx, groups)

    def misremembered(self, submitter: Submitter) -> dict[str, tuple[int, int]]:
        """Accounts whose remembered balance is not what they had at the memory's head: that one, and theirs."""
        memory = submitter._rounds._memory
        wrong: dict[str, tuple[int, int]] = {}
        with self.tx() as tx:
            for name, id_ in tx.rows("select name, id from accounts") if memory.head is not None else ():
                if not memory.knows([name]):
                    continue
                assert memory.head is not None
                had = tx.value(
                    "select balance from postings where account = %s and seq <= %s order by seq desc, leg desc limit 1",
                    id_, memory.head.seq,
                )  # fmt: skip
                remembered = memory.view({name: id_}).balances[id_]
                if remembered != (had or 0):
                    wrong[name] = (remembered, had or 0)
        return wrong

    def refused(self, *drafts: Draft) -> Refusal:
        """The refusal of these drafts, posted together; nothing may have changed."""
        with self.tx() as tx:
            before = queries.head(tx)
        try:
            self.post(*drafts)
        except Refusal as refusal:
            with self.tx() as tx:
                assert queries.head(tx) == before
            return refusal
        raise AssertionError("it was accepted")

    def fund(self, name: str, amount: int, key: str = "") -> Posted:
        issuer = SAT_WORLD if name.endswith("/SAT") else ISSUANCE
        return self.post(moved(key or f"fund {name} {amount}", issuer, name, amount))[0]

    def place(self, payer: str, amount: int, *, key: str = "place", seconds: float = 100, captures: int = 1) -> UUID:
        expires_us = self.clock.at_us + int(seconds * MICROSECONDS)
        placed = holds.place(
            payer, amount, expires_us=expires_us, captures=captures, reason="a job", source="test", key=key
        )
        self.post(placed)
        return holds.placed_id("test", key)

    def balance(self, name: str) -> int:
        with self.tx() as tx:
            return queries.balance(tx, name).balance

    def hold(self, id_: UUID) -> Hold:
        with self.tx() as tx:
            return queries.hold(tx, id_)

    def checkpoint(self) -> SignedCheckpoint:
        with self.tx() as tx:
            return self.checkpoints.sign(tx)

    def export(self) -> bytes:
        out = io.BytesIO()
        with self.tx() as tx:
            self.exporter.write(tx, out.write, lambda _done, _total: None)
        return out.getvalue()

    def verify(self) -> Report:
        with self.tx() as tx:
            return verify_database(tx, self.keys)

    def check(self) -> None:
        """The database verifies, and every asset sums to zero."""
        report = self.verify()
        assert report.good, report.differences
        with self.tx() as tx:
            totals: dict[str, int] = {}
            for line in queries.trial_balance(tx):
                totals[line.asset] = totals.get(line.asset, 0) + line.balance
        assert not any(totals.values()), totals

    def close(self) -> None:
        self.submitter.close()


def check_export(data: bytes, *, held: Sequence[str] = ()) -> Report:
    return verify_export(io.BytesIO(data), held=held)


def other_signer(byte: int) -> Ed25519Signer:
    return NodeSecret(bytes([byte]) * 32).signer()
