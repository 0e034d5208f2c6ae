"""The price of CHIP: what a source says, what the oracle makes of it, and how operators govern it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

from choir.foundation.errors import NotFound, Refusal
from choir.foundation.ids import parse_id, show_id

if TYPE_CHECKING:
    from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Quote:
    """What a source says that one CHIP is worth, and since when it says so."""

    micro_usdc: int
    at_us: int
    source: str


@dataclass(frozen=True, slots=True)
class Price:
    """What one CHIP counts for. A stale price is the last valid one; who uses it takes care."""

    micro_usdc: int
    at_us: int
    source: str
    stale: bool


class PriceSource(Protocol):
    """Somebody who knows a price."""

    def quote(self, tx: Tx, at_us: int) -> Quote | None:
        """What it said last, at a moment or before."""
        ...


class PriceState(StrEnum):
    """What became of a governed price."""

    OPEN = "open"
    SET = "set"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class GovernedPriceChange:
    """A price that an operator set, or proposed and another approved."""

    id: UUID
    micro_usdc: int
    reason: str
    proposer: str
    key: str
    proposed_us: int
    expires_us: int
    approver: str | None = None
    in_force_us: int | None = None

    def state(self, now_us: int) -> PriceState:
        if self.in_force_us is not None:
            return PriceState.SET
        return PriceState.OPEN if now_us < self.expires_us else PriceState.EXPIRED


def price_id(value: UUID) -> str:
    return show_id("price", value)


def parse_price_id(text: str) -> UUID:
    return parse_id("price", text)


class PriceMovesTooFar(Refusal):
    code = "treasury.price.too_far"
    sentence = "The price {asked} is not between {low} and {high}: it may move at most {percent} % in {days} days."
    hint = "`choir treasury price` shows the prices of that time."


class UnknownPrice(NotFound):
    code = "treasury.price.unknown"
    sentence = "There is no price {price}."


class PriceEnded(Refusal):
    code = "treasury.price.ended"
    sentence = "The price {price} is {state} and can no longer be approved."
    hint = "Propose it anew with `choir treasury price --set`."


class PriceNeedsAnother(Refusal):
    code = "treasury.price.needs_another"
    sentence = "{operator} proposed the price {price}; another operator must approve it."


class NoPrice(NotFound):
    code = "treasury.price.none"
    sentence = "There is no price of CHIP: no source has said one."
