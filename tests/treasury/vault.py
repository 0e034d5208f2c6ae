"""A treasury on a fresh database, on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from choir.feature import load_features
from choir.features import FEATURES
from choir.foundation.clock import MICROSECONDS, ManualClock, SeededEntropy, from_datetime
from choir.foundation.money import Asset
from choir.foundation.settings import load_settings
from choir.identity.delegations.rules import new_id
from choir.identity.model import person_owner
from choir.ledger import queries
from choir.ledger.model import UnknownAccount
from choir.node import Node
from choir.operations.home import prepare_home
from choir.policies import default_policy
from choir.storage.database import Database, Tx
from choir.storage.identity import make_identity, read_identity
from choir.storage.tasks import Task
from choir.treasury.accounts import CITATION_POOL, HOLDINGS, Treasury
from choir.treasury.oracle.governed import GovernedPrice
from choir.treasury.oracle.service import Oracle
from choir.treasury.payouts.model import Payout
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.policy import TreasuryPolicy
from choir.treasury.rates.service import CitationRates
from choir.treasury.rounds import TreasuryRounds
from choir.treasury.vesting.model import Grant, GrantKind
from choir.treasury.vesting.service import Vesting

T = TypeVar("T")

USDC = 1_000_000
DAY_S = 86_400
DAY_US = DAY_S * MICROSECONDS


def at(year: int, month: int, day: int = 1, hour: int = 0) -> int:
    return from_datetime(datetime(year, month, day, hour, tzinfo=UTC))


START_US = at(2026, 11, 2, 9)


class Vault:
    """Everything of the treasury that tests touch; background work is done when the test says so."""

    def __init__(self, database: Database, home: Path, *, mode: str = "dev", **policy: int) -> None:
        self.database = database
        self.clock = ManualClock(START_US)
        self.entropy = SeededEntropy(7)
        settings = load_settings({"home": str(home)}, {})
        prepare_home(settings, self.entropy)
        with database.unit_of_work() as tx:
            make_identity(tx.connection, mode, self.clock, self.entropy)
        with database.unit_of_work() as tx:
            identity = read_identity(tx)
        numbers = default_policy().replaced(TreasuryPolicy(**policy))
        self.node = Node(settings, numbers, identity, self.clock, self.entropy, database, load_features(FEATURES))
        with self.tx() as tx:
            self.node.keys.record_first(tx)
        self.treasury = self.node.of(Treasury)
        self.governed = self.node.of(GovernedPrice)
        self.oracle = self.node.of(Oracle)
        self.rates = self.node.of(CitationRates)
        self.vesting = self.node.of(Vesting)
        self.payouts = self.node.of(CitationPayouts)
        self.rounds = TreasuryRounds(self.node)
        self.keys = 0

    @contextmanager
    def tx(self) -> Iterator[Tx]:
        with self.database.unit_of_work() as tx:
            yield tx

    def write(self, work: Callable[[Tx], T]) -> T:
        return self.node.write(work)

    def owner(self) -> str:
        return person_owner(new_id(self.clock.now_us(), self.entropy.bytes(8)))

    def balance(self, account: str) -> int:
        with self.tx() as tx:
            try:
                return queries.balance(tx, account).balance
            except UnknownAccount:
                return 0

    def key(self) -> str:
        self.keys += 1
        return f"k{self.keys}"

    def begin(self) -> None:
        self.write(self.treasury.open)

    def fund(self, usdc: int, key: str | None = None) -> None:
        """Micro-USDC into the citation pool."""
        self.begin()
        name = key or self.key()
        self.write(lambda tx: self.treasury.fund(tx, "operator", usdc, reason="a test", key=name))

    def grant(self, owner: str, amount: int, days: int = 30, **more: Any) -> Grant:
        asked: dict[str, Any] = {
            "asset": Asset.USDC,
            "source_account": CITATION_POOL,
            "kind": GrantKind.CITATION,
            "subject": "citation_a",
            "starts_us": self.clock.now_us(),
            "key": self.key(),
            "reason": "a test",
        } | more
        return self.write(lambda tx: self.vesting.grant(tx, owner=owner, amount=amount, days=days, **asked))

    def found(self, grant: Grant) -> Grant:
        with self.tx() as tx:
            return self.vesting.get(tx, grant.id)

    def pay(self, shares: dict[str, int], **more: Any) -> Payout:
        asked: dict[str, Any] = {
            "key": self.key(),
            "weight_ppm": 1_000_000,
            "month": "2026-11",
            "subject": "citation_a",
            "starts_us": self.clock.now_us(),
        } | more
        return self.write(lambda tx: self.payouts.pay(tx, shares=shares, **asked))

    def tend(self) -> None:
        self.rounds.go_on(task("treasury.rounds"))

    def later(self, seconds: float) -> None:
        """Let time pass, and the node do what is due then."""
        self.clock.advance(seconds)
        self.tend()

    def events(self, type_: str) -> list[dict[str, Any]]:
        with self.tx() as tx:
            return [row[0] for row in tx.rows("select data from outbox where type = %s order by n", type_)]

    def holdings(self) -> int:
        return self.balance(HOLDINGS)


def task(name: str) -> Task:
    return Task(name, "", 0, {}, None, 0, 1)
