"""The ledger's shapes: accounts, entries, holds, checkpoints, proofs."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from choir.doors.wire.base import AccountNameText, Amount, Problem, ShortText, Wire


class LegIn(Wire):
    """A positive amount that moves between two accounts of one asset."""

    from_: AccountNameText = Field(alias="from")
    to: AccountNameText
    amount: Amount

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class LegOut(LegIn):
    """A leg of an entry."""

    rest: bool = False


class EntryIn(Wire):
    """An entry to post. The `Idempotency-Key` header is its key."""

    kind: ShortText = Field(default="transfer", examples=["transfer"])
    reason: ShortText = Field(examples=["monthly settlement"])
    legs: list[LegIn] = Field(min_length=1, max_length=1000)
    refs: list[str] = Field(default=[], max_length=1000)
    receipt: str | None = None
    corrects: str | None = Field(default=None, description="The entry that this one corrects.")
    memo: str | None = Field(default=None, description="A person's words; only a salted commitment enters the journal.")


class BatchEntryIn(EntryIn):
    """An entry of a batch."""

    key: ShortText = Field(description="The idempotency key of this entry.")
    link: str | None = Field(
        default=None, description="Neighbouring entries with the same link stand or fall together."
    )


class BatchIn(Wire):
    """Many entries at once, each accepted or refused on its own, in order."""

    entries: list[BatchEntryIn] = Field(min_length=1, max_length=100_000)


class PostedOut(Wire):
    """An acceptance."""

    id: str
    seq: int
    at: str
    hash: str
    again: bool = Field(description="Whether this key had been accepted before.")


class BatchItemOut(Wire):
    """What became of one entry of a batch."""

    posted: PostedOut | None = None
    problem: Problem | None = None


class BatchOut(Wire):
    results: list[BatchItemOut]


class EntryOut(Wire):
    """An entry of the journal."""

    id: str
    seq: int
    at: str
    at_us: int
    content: dict[str, Any]
    prev: str
    hash: str
    memo: str | None = None


class AccountIn(Wire):
    name: AccountNameText
    reason: ShortText = "opened by an operator"


AccountAct = Literal["freeze", "unfreeze", "close"]


class AccountActIn(Wire):
    name: AccountNameText
    reason: ShortText


class AccountOut(Wire):
    name: str
    asset: str
    state: Literal["open", "frozen", "closed"]
    balance: str = Field(description="Smallest units; may be negative for issuance and external accounts.")


class AccountPage(Wire):
    items: list[AccountOut]
    next: str | None = None


class StatementLineOut(Wire):
    seq: int
    at: str
    entry: str
    kind: str
    reason: str
    delta: str
    balance: str
    other: str


class StatementPage(Wire):
    account: str
    asset: str
    items: list[StatementLineOut]
    next: str | None = None


class EntryPage(Wire):
    items: list[EntryOut]
    next: str | None = None


class HoldIn(Wire):
    """Money to set aside. The `Idempotency-Key` header is its key."""

    payer: AccountNameText
    amount: Amount
    expires_at: str = Field(examples=["2030-01-01T00:00:00Z"])
    captures: int = Field(default=1, ge=1, le=1_000_000, description="How many captures are allowed.")
    reason: ShortText
    refs: list[str] = Field(default=[], max_length=1000)


class CaptureLegIn(Wire):
    to: AccountNameText
    amount: Amount


class CaptureIn(Wire):
    legs: list[CaptureLegIn] = Field(min_length=1, max_length=1000)
    final: bool = Field(default=True, description="Whether what remains goes back to the payer.")
    reason: ShortText
    refs: list[str] = Field(default=[], max_length=1000)
    receipt: str | None = None


class ReleaseIn(Wire):
    reason: ShortText


class HoldOut(Wire):
    id: str
    account: str
    payer: str
    asset: str
    remaining: str
    expires_at: str
    captures: int
    captures_max: int
    closed: bool


class HoldPlacedOut(Wire):
    hold: HoldOut
    posted: PostedOut


class TrialLineOut(Wire):
    asset: str
    role: str
    accounts: int
    balance: str


class TrialBalanceOut(Wire):
    lines: list[TrialLineOut]
    balanced: bool


class CheckpointOut(Wire):
    size: int
    root: str
    at: str
    note: str


class ProofOut(Wire):
    """A self-contained inclusion proof; `choir_verify.py proof` checks it."""

    format: Literal["choir-ledger-proof/1"] = "choir-ledger-proof/1"
    entry: dict[str, Any]
    proof: list[str]
    checkpoint: str
    rotations: list[str]


class ConsistencyOut(Wire):
    """A self-contained consistency proof; `choir_verify.py consistency` checks it."""

    format: Literal["choir-ledger-consistency/1"] = "choir-ledger-consistency/1"
    from_: str = Field(alias="from")
    to: str
    proof: list[str]
    rotations: list[str]

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class FundIn(Wire):
    account: AccountNameText
    amount: Amount
