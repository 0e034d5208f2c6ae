"""Shapes of transfers between owners."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field

from choir.doors.ledger.shapes import PostedOut
from choir.doors.people.shapes import AT, OWNER
from choir.doors.shapes import Amount, Wire, example
from choir.ledger.model import account_name

if TYPE_CHECKING:
    from choir.doors.ledger.shapes import PostedOut
    from choir.identity.delegations.transfers import TransferResult


class TransferIn(Wire, json_schema_extra=example(to="grace", asset="SAT", amount="21000", memo="thank you")):
    """A transfer between people or agents. The `Idempotency-Key` header is its key."""

    from_: str | None = Field(
        default=None,
        alias="from",
        max_length=80,
        description="The paying owner of accounts. Default: the caller.",
    )
    to: str = Field(min_length=1, max_length=80, description="A handle, or an owner of accounts such as `agent:…`.")
    asset: str = Field(max_length=20, examples=["SAT"])
    amount: Amount
    memo: str | None = Field(default=None, max_length=2000, description="Free text; it can be erased.")

    model_config = ConfigDict(populate_by_name=True)


class TransferOut(
    Wire,
    json_schema_extra=example(
        posted={"id": "entry_01j9zq8e40kazxc5r7s8g9hajb", "seq": 42, "at": AT, "hash": "ab" * 32, "again": False},
        **{"from": f"{OWNER}/available/SAT"},
        to="person:01j9zq9f51mb0yd6s8t9hajbkc/available/SAT",
        asset="SAT",
        amount="21000",
    ),
):
    """A completed transfer."""

    posted: PostedOut
    from_: str = Field(alias="from")
    to: str
    asset: str
    amount: str

    model_config = ConfigDict(populate_by_name=True)

    @classmethod
    def of(cls, item: TransferResult, amount: int, posted: PostedOut) -> TransferOut:
        shown = {"posted": posted, "from": item.from_, "to": item.to, "amount": str(amount)}
        return cls.model_validate(shown | {"asset": account_name(item.to).asset.name})
