"""What a job needs from the market of providers, as a protocol: who may try it, and what came of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Protocol
from uuid import UUID

from choir.bazaar.model import JobType
from choir.bazaar.pricing import Terms
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a job asks for now."""

    job: UUID
    type: JobType
    buyer: str
    ceiling: int  # the highest price that can be paid, in milli-satoshi
    strategy: dict[str, Any]
    criteria: dict[str, Any]
    tried: tuple[UUID, ...]  # providers that have tried already, in order
    at_work: int  # how many are at it now


@dataclass(frozen=True, slots=True)
class Chosen:
    """A provider with a slot reserved for the job."""

    provider: UUID
    owner: str
    terms: Terms
    explanation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt, for the provider's record."""

    job: UUID
    type: JobType
    provider: UUID
    buyer: str
    passed: bool
    paid: int
    took_us: int
    at_us: int
    reason: str


class Market(Protocol):
    """Providers, as far as jobs see them."""

    def choose(self, tx: Tx, wanted: Wanted, now_us: int) -> list[Chosen]:
        """Reserve slots of those who shall try now; nobody, if nobody fits at the moment."""
        ...

    def racing(self, strategy: dict[str, Any]) -> int:
        """How many providers may try at one time."""
        ...

    def let_go(self, tx: Tx, provider: UUID) -> None:
        """Give a slot back."""
        ...

    def record(self, tx: Tx, outcome: Outcome) -> None:
        """Note what came of an attempt."""
        ...

    def overturn(self, tx: Tx, provider: UUID, job: UUID, *, passed: bool, at_us: int) -> None:
        """A dispute has decided otherwise, or the same: what counts in the provider's record from now on."""
        ...

    def gone(self, tx: Tx, providers: Collection[UUID], now_us: int) -> set[UUID]:
        """Of these, the providers that no longer answer."""
        ...
