"""Shapes about the treasury: rates, prices and the citation pool. Amounts are units of USDC as strings."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from choir.doors.issuances.shapes import IssuanceOut
from choir.doors.ledger.shapes import PostedOut
from choir.doors.shapes import Amount, ShortText, Wire, example, maybe_time
from choir.foundation.clock import format_time
from choir.treasury.oracle.model import price_id
from choir.treasury.rates.explanation import sentences

if TYPE_CHECKING:
    from choir.treasury.oracle.model import GovernedPriceChange, Price, PriceState
    from choir.treasury.payouts.model import PoolReport
    from choir.treasury.rates.model import Rate

_AT, _LATER = "2026-11-01T00:00:00.000000Z", "2026-11-08T00:00:00.000000Z"
_RATE: dict[str, Any] = {
    "month": "2026-11", "rate": "5000000", "fixed_at": _AT, "policy": f"sha256:{'0' * 64}",
    "inputs": {"holdings_chip": "5000000000000", "price": "500000", "price_stale": False, "debt": "0", "owed": "0"},
    "figures": {"capacity": "750000000000", "budget": "7500000000", "impact": "1500000000", "rate": "5000000"},
    "sentences": ["A citation of full weight pays 5.000000 USDC in 2026-11."],
}  # fmt: skip
_CHANGE: dict[str, Any] = {
    "id": "price_01j9zr7c2mf3q4r5s6t7v8w9xa", "price": "520000", "state": "set", "reason": "sales of October",
    "proposed_by": "operator", "proposed_at": _AT, "expires_at": _LATER, "approved_by": "operator",
    "in_force_at": _AT,
}  # fmt: skip
_PRICE: dict[str, Any] = {"price": "520000", "at": _AT, "source": "governed", "stale": False}
_POOL: dict[str, Any] = {
    "month": "2026-11", "balance": "900000000", "owed": "0", "owed_shares": 0, "spent": "100000000",
    "citations_ppm": "20000000",
}  # fmt: skip
_FUNDED: dict[str, Any] = {"posted": None, "issuance": None}

PriceStateText = Literal["open", "set", "expired"]


class RateOut(Wire, json_schema_extra=example(**_RATE)):
    """What a citation of full weight pays in one month, and how that came about."""

    month: str
    rate: str = Field(description="Units of USDC for a citation of full weight.")
    fixed_at: str
    policy: str
    inputs: dict[str, str | bool | None] = Field(description="What it was computed from, with the policy values used.")
    figures: dict[str, str] = Field(description="Each step of the computation.")
    sentences: list[str] = Field(description="The same for people.")

    @classmethod
    def of(cls, item: Rate) -> RateOut:
        return cls(
            month=item.month,
            rate=str(item.micro_usdc),
            fixed_at=format_time(item.fixed_us),
            policy=item.policy,
            inputs={name: _told(value) for name, value in asdict(item.inputs).items()},
            figures={name: str(value) for name, value in asdict(item.figures).items()},
            sentences=sentences(item),
        )


def _told(value: Any) -> str | bool | None:
    return value if value is None or isinstance(value, bool) else str(value)


class RatePage(Wire, json_schema_extra=example(items=[_RATE], next=None)):
    items: list[RateOut]
    next: str | None = None


class PriceOut(Wire, json_schema_extra=example(**_PRICE)):
    """What one CHIP counts for now."""

    price: str = Field(description="Units of USDC for one CHIP.")
    at: str = Field(description="Since when it is said.")
    source: str
    stale: bool = Field(description="Whether it is only the last valid price.")

    @classmethod
    def of(cls, item: Price) -> PriceOut:
        return cls(price=str(item.micro_usdc), at=format_time(item.at_us), source=item.source, stale=item.stale)


class PriceIn(Wire, json_schema_extra=example(price="520000", reason="sales of October")):
    """A governed price."""

    price: Amount = Field(description="Units of USDC for one CHIP.")
    reason: ShortText


class GovernedPriceOut(Wire, json_schema_extra=example(**_CHANGE)):
    """A governed price: set, or proposed by one operator for another to approve."""

    id: str
    price: str
    state: PriceStateText
    reason: str
    proposed_by: str
    proposed_at: str
    expires_at: str
    approved_by: str | None = None
    in_force_at: str | None = None

    @classmethod
    def of(cls, item: GovernedPriceChange, state: PriceState) -> GovernedPriceOut:
        return cls(
            id=price_id(item.id),
            price=str(item.micro_usdc),
            state=state.value,
            reason=item.reason,
            proposed_by=item.proposer,
            proposed_at=format_time(item.proposed_us),
            expires_at=format_time(item.expires_us),
            approved_by=item.approver,
            in_force_at=maybe_time(item.in_force_us),
        )


class GovernedPricePage(Wire, json_schema_extra=example(items=[_CHANGE], next=None)):
    items: list[GovernedPriceOut]
    next: str | None = None


class PoolOut(Wire, json_schema_extra=example(**_POOL)):
    """How the citation pool stands."""

    month: str
    balance: str
    owed: str = Field(description="What is paid first when the pool is funded.")
    owed_shares: int
    spent: str = Field(description="Granted in this month, less what came back of that.")
    citations_ppm: str = Field(description="Paid-weight citations of this month, in millionths.")

    @classmethod
    def of(cls, item: PoolReport) -> PoolOut:
        return cls(
            month=item.month,
            balance=str(item.balance),
            owed=str(item.owed),
            owed_shares=item.owed_shares,
            spent=str(item.spent),
            citations_ppm=str(item.weight_ppm),
        )


class PoolFundIn(Wire, json_schema_extra=example(amount="100000000", reason="income of October")):
    """USDC for the citation pool."""

    amount: Amount
    reason: ShortText


class TreasuryPaymentIn(Wire, json_schema_extra=example(amount="5000000")):
    """USDC for the treasury, for good."""

    amount: Amount


class PoolFundOut(Wire, json_schema_extra=example(**_FUNDED)):
    """What came of it: an entry, or on a production node an issuance for another operator to approve."""

    posted: PostedOut | None = None
    issuance: IssuanceOut | None = None
