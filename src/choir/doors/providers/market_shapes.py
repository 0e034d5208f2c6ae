"""Shapes of bids and bonds. Amounts are milli-satoshi as decimal strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from choir.bazaar.jobs.model import JobType
from choir.bazaar.providers.model import provider_id
from choir.doors.jobs.shapes import PROVIDER
from choir.doors.people.shapes import AT
from choir.doors.shapes import Amount, Wire, example, maybe_time

if TYPE_CHECKING:
    from uuid import UUID

    from choir.bazaar.bonds.model import Bond
    from choir.bazaar.providers.model import Offer


class BidIn(Wire, json_schema_extra=example(bid_bps=1500, until=AT)):
    """A bid below the price book."""

    bid_bps: int = Field(ge=1, le=10_000, description="So many basis points below every line of the book.")
    until: str = Field(max_length=40, description="When it ends, in UTC.")


class BidOut(Wire, json_schema_extra=example(type="sandbox_run", bid_bps=1500, until=AT)):
    """What is bid for a type; 0 if nothing is."""

    type: JobType
    bid_bps: int
    until: str | None

    @classmethod
    def of(cls, item: Offer) -> BidOut:
        return cls(type=item.type, bid_bps=item.bid_bps, until=maybe_time(item.bid_until_us or None))


class BondIn(Wire, json_schema_extra=example(amount="10000000")):
    """What to put up, or to add."""

    amount: Amount


class BondOut(
    Wire,
    json_schema_extra=example(
        provider=PROVIDER, amount="10000000", counted="10000000", needed="10000000", leaving_since=None,
        exposed_until=AT, exposed=True,
    ),
):  # fmt: skip
    """A provider's bond."""

    provider: str
    amount: str
    counted: str = Field(description="What counts for a tier: nothing once it was asked back.")
    needed: str = Field(description="What every tier above 0 needs.")
    leaving_since: str | None = Field(description="Since when it is asked back.")
    exposed_until: str | None = Field(description="Until when a buyer may need it; null if that is open or over.")
    exposed: bool = Field(description="Whether work is under way or a dispute is undecided.")

    @classmethod
    def of(cls, provider: UUID, item: Bond | None, needed: int, exposed_us: int | None) -> BondOut:
        return cls(
            provider=provider_id(provider),
            amount=str(0 if item is None else item.amount),
            counted=str(0 if item is None else item.counted),
            needed=str(needed),
            leaving_since=None if item is None else maybe_time(item.release_asked_us),
            exposed_until=maybe_time(exposed_us or None),
            exposed=exposed_us is None,
        )
