"""The ledger's shapes: accounts, entries, holds, checkpoints, proofs."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from choir.doors.shapes import AccountNameText, Amount, Problem, ShortText, Wire, example
from choir.foundation.canonical import canonical_bytes
from choir.foundation.clock import format_time
from choir.ledger.hashing import content_digest
from choir.ledger.model import account_name, entry_id, hold_id

if TYPE_CHECKING:
    from choir.ledger.checkpoints import InclusionProof, SignedCheckpoint
    from choir.ledger.model import Account, Entry, Hold, Posted, StatementLine, TrialLine

_ADA, _BOB = "person:ada/available/SAT", "person:bob/available/SAT"
_AT = "2026-11-02T09:30:00.000000Z"
_ENTRY_ID, _HASH = "entry_01j9zq8e40kazxc5r7s8g9hajb", "ab" * 32
_HASH_64 = "q83vEjRWeJASNFZ4kBI0VniQEjRWeJASNFZ4kBI0Vng="
_NOTE = "choir.example/ledger\n42\nq83vEjRWeJASNFZ4kBI0VniQEjRWeJASNFZ4kBI0Vng=\n\n— choir.example/ledger …\n"
_KEY = "choir/node_01m7gr0mrzfvrt6hj3z7rvgar4+a9b33126+Af8ne7hJc72O8p8JCuV5/PXEkzRVhAXIO7kZDkM5ToaM"
_LEAF = {
    "seq": 42, "at_us": "1793611800000000", "id": "0192bf75-0182-7558-9fb8-e7a6cab4b34d", "prev": _HASH,
    "content": _HASH, "hash": _HASH,
}  # fmt: skip
_LEG = {"from": _ADA, "to": _BOB, "amount": "1250"}
_POSTED = {"id": _ENTRY_ID, "seq": 42, "at": _AT, "hash": _HASH, "again": False}
_ENTRY = {
    "id": _ENTRY_ID, "seq": 42, "at": _AT, "at_us": 1_793_611_800_000_000, "content": {"kind": "transfer"},
    "prev": _HASH, "hash": _HASH, "memo": None,
}  # fmt: skip
_ACCOUNT = {"name": _ADA, "asset": "SAT", "state": "open", "balance": "48750"}
_LINE = {
    "seq": 42, "at": _AT, "entry": _ENTRY_ID, "kind": "transfer", "reason": "monthly settlement", "delta": "-1250",
    "balance": "48750", "other": _BOB,
}  # fmt: skip
_HOLD = {
    "id": "hold_01j9zqa062nc1ze7t9vajbkcmd", "account": "hold:0192bf75-0182-7558-1fb8-e7a6cab4b34d/escrow/SAT",
    "payer": _ADA, "asset": "SAT", "remaining": "1250", "expires_at": _AT, "captures": 0, "captures_max": 1,
    "closed": False,
}  # fmt: skip


class LegIn(Wire, json_schema_extra=example(**_LEG)):
    """A positive amount that moves between two accounts of one asset."""

    from_: AccountNameText = Field(alias="from")
    to: AccountNameText
    amount: Amount

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class LegOut(LegIn, json_schema_extra=example(**_LEG, rest=False)):
    """A leg of an entry."""

    rest: bool = False


class EntryIn(Wire, json_schema_extra=example(reason="monthly settlement", legs=[_LEG])):
    """An entry to post. The `Idempotency-Key` header is its key."""

    kind: ShortText = Field(default="transfer", examples=["transfer"])
    reason: ShortText = Field(examples=["monthly settlement"])
    legs: list[LegIn] = Field(min_length=1, max_length=1000)
    refs: list[str] = Field(default=[], max_length=1000)
    receipt: str | None = None
    corrects: str | None = Field(default=None, description="The entry that this one corrects.")
    memo: str | None = Field(default=None, description="Free text; only a salted commitment enters the journal.")


class BatchEntryIn(EntryIn, json_schema_extra=example(reason="monthly settlement", legs=[_LEG], key="2026-11-ada")):
    """An entry of a batch."""

    key: ShortText = Field(description="The idempotency key of this entry.")
    link: str | None = Field(
        default=None, description="Adjacent entries with the same link are accepted or refused together."
    )


class BatchIn(
    Wire, json_schema_extra=example(entries=[{"reason": "monthly settlement", "legs": [_LEG], "key": "2026-11-ada"}])
):
    """Many entries at once, each accepted or refused on its own, in order."""

    entries: list[BatchEntryIn] = Field(min_length=1, max_length=100_000)


class PostedOut(Wire, json_schema_extra=example(**_POSTED)):
    """An acceptance."""

    id: str
    seq: int
    at: str
    hash: str
    again: bool = Field(description="Whether this key had been accepted before.")

    @classmethod
    def of(cls, item: Posted) -> PostedOut:
        return cls(
            id=entry_id(item.id), seq=item.seq, at=format_time(item.at_us), hash=item.hash.hex(), again=item.again
        )


class BatchItemOut(Wire, json_schema_extra=example(posted=_POSTED, problem=None)):
    """The outcome of one entry of a batch."""

    posted: PostedOut | None = None
    problem: Problem | None = None


class BatchOut(Wire, json_schema_extra=example(results=[{"posted": _POSTED, "problem": None}])):
    results: list[BatchItemOut]


class EntryOut(Wire, json_schema_extra=example(**_ENTRY)):
    """An entry of the journal."""

    id: str
    seq: int
    at: str
    at_us: int
    content: dict[str, Any]
    prev: str
    hash: str
    memo: str | None = None

    @classmethod
    def of(cls, item: Entry, memo: str | None = None) -> EntryOut:
        return cls(
            id=entry_id(item.id),
            seq=item.seq,
            at=format_time(item.at_us),
            at_us=item.at_us,
            content=item.content,
            prev=item.prev.hex(),
            hash=item.hash.hex(),
            memo=memo,
        )


class AccountIn(Wire, json_schema_extra=example(name=_ADA)):
    name: AccountNameText
    reason: ShortText = "opened by an operator"


AccountAct = Literal["freeze", "unfreeze", "close"]


class AccountActIn(Wire, json_schema_extra=example(name=_ADA, reason="under review")):
    name: AccountNameText
    reason: ShortText


class AccountOut(Wire, json_schema_extra=example(**_ACCOUNT)):
    name: str
    asset: str
    state: Literal["open", "frozen", "closed", "unopened"] = Field(
        description="`unopened`: the caller's own, with no movement yet."
    )
    balance: str = Field(description="Smallest units; may be negative for issuance and external accounts.")

    @classmethod
    def of(cls, item: Account) -> AccountOut:
        return cls.model_validate(
            {"name": item.name, "asset": item.asset.name, "state": item.state, "balance": str(item.balance)}
        )


class BalanceOut(AccountOut, json_schema_extra=example(**_ACCOUNT, held="250")):
    held: str = Field(description="What was in holds of this account, at the same point.")

    @classmethod
    def of_account(cls, item: Account, balance: int, held: int) -> BalanceOut:
        """An account as it is now, with what it had at some point."""
        return cls(**AccountOut.of(item).model_dump() | {"balance": str(balance), "held": str(held)})

    @classmethod
    def unopened(cls, name: str) -> BalanceOut:
        """An account that somebody could have, and nothing has come to."""
        asset = account_name(name).asset.name
        return cls(name=name, asset=asset, state="unopened", balance="0", held="0")


class AccountPage(Wire, json_schema_extra=example(items=[_ACCOUNT], next=None)):
    items: list[AccountOut]
    next: str | None = None


class StatementLineOut(Wire, json_schema_extra=example(**_LINE)):
    seq: int
    at: str
    entry: str
    kind: str
    reason: str
    delta: str
    balance: str
    other: str


class StatementPage(Wire, json_schema_extra=example(account=_ADA, asset="SAT", items=[_LINE], next=None)):
    account: str
    asset: str
    items: list[StatementLineOut]
    next: str | None = None

    @classmethod
    def of(cls, name: str, lines: list[StatementLine], following: str | None) -> StatementPage:
        items = [
            StatementLineOut(
                seq=line.seq,
                at=format_time(line.at_us),
                entry=entry_id(line.id),
                kind=line.kind,
                reason=line.reason,
                delta=str(line.delta),
                balance=str(line.balance),
                other=line.other,
            )
            for line in lines
        ]
        return cls(account=name, asset=account_name(name).asset.name, items=items, next=following)


class EntryPage(Wire, json_schema_extra=example(items=[_ENTRY], next=None)):
    items: list[EntryOut]
    next: str | None = None


class HoldIn(Wire, json_schema_extra=example(payer=_ADA, amount="1250", expires_at=_AT, reason="a job")):
    """A hold to place. The `Idempotency-Key` header is its key."""

    payer: AccountNameText
    amount: Amount
    expires_at: str | None = Field(
        default=None, examples=["2030-01-01T00:00:00Z"], description="When it expires; this or `expires_in_s`."
    )
    expires_in_s: int | None = Field(
        default=None,
        ge=1,
        le=2**31,
        description="Seconds until it expires, by the node's clock. A retry keeps the original expiry.",
    )
    captures: int = Field(default=1, ge=1, le=1_000_000, description="Maximum number of captures.")
    reason: ShortText
    refs: list[str] = Field(default=[], max_length=1000)


class CaptureLegIn(Wire, json_schema_extra=example(to=_BOB, amount="1000")):
    to: AccountNameText
    amount: Amount


class CaptureIn(Wire, json_schema_extra=example(legs=[{"to": _BOB, "amount": "1000"}], reason="the job is done")):
    legs: list[CaptureLegIn] = Field(min_length=1, max_length=1000)
    final: bool = Field(default=True, description="Whether the rest is released to the payer.")
    reason: ShortText
    refs: list[str] = Field(default=[], max_length=1000)
    receipt: str | None = None


class ReleaseIn(Wire, json_schema_extra=example(reason="the job was cancelled")):
    reason: ShortText


class HoldOut(Wire, json_schema_extra=example(**_HOLD)):
    id: str
    account: str
    payer: str
    asset: str
    remaining: str
    expires_at: str
    captures: int
    captures_max: int
    closed: bool

    @classmethod
    def of(cls, item: Hold) -> HoldOut:
        return cls(
            id=hold_id(item.id),
            account=item.account,
            payer=item.payer,
            asset=account_name(item.payer).asset.name,
            remaining=str(item.remaining),
            expires_at=format_time(item.expires_us),
            captures=item.captures,
            captures_max=item.captures_max,
            closed=item.closed,
        )


class HoldPlacedOut(Wire, json_schema_extra=example(hold=_HOLD, posted=_POSTED)):
    hold: HoldOut
    posted: PostedOut


class TrialLineOut(Wire, json_schema_extra=example(asset="SAT", role="available", accounts=2, balance="50000")):
    asset: str
    role: str
    accounts: int
    balance: str


class TrialBalanceOut(
    Wire,
    json_schema_extra=example(
        lines=[{"asset": "SAT", "role": "available", "accounts": 2, "balance": "50000"}], balanced=True
    ),
):
    lines: list[TrialLineOut]
    balanced: bool

    @classmethod
    def of(cls, lines: list[TrialLine]) -> TrialBalanceOut:
        sums: dict[str, int] = {}
        for line in lines:
            sums[line.asset] = sums.get(line.asset, 0) + line.balance
        shown = [
            TrialLineOut(asset=line.asset, role=line.role, accounts=line.accounts, balance=str(line.balance))
            for line in lines
        ]
        return cls(lines=shown, balanced=not any(sums.values()))


class CheckpointOut(Wire, json_schema_extra=example(size=42, root=_HASH_64, at=_AT, note=_NOTE)):
    size: int
    root: str
    at: str
    note: str

    @classmethod
    def of(cls, item: SignedCheckpoint) -> CheckpointOut:
        return cls(
            size=item.size, root=base64.b64encode(item.root).decode(), at=format_time(item.at_us), note=item.note
        )


class ProofOut(Wire, json_schema_extra=example(entry={"seq": 42}, proof=[_HASH_64], checkpoint=_NOTE, rotations=[])):
    """A self-contained inclusion proof; `choir_verify.py proof` checks it."""

    format: Literal["choir-ledger-proof/1"] = "choir-ledger-proof/1"
    entry: dict[str, Any]
    proof: list[str]
    checkpoint: str
    rotations: list[str]

    @classmethod
    def of(cls, item: InclusionProof) -> ProofOut:
        found = item.entry
        line = {
            "at_us": found.at_us,
            "content": found.content,
            "hash": found.hash.hex(),
            "id": str(found.id),
            "prev": found.prev.hex(),
            "seq": found.seq,
            "type": "entry",
        }
        return cls(
            entry=line,
            proof=[base64.b64encode(node).decode() for node in item.proof],
            checkpoint=item.checkpoint.note,
            rotations=item.rotations,
        )


class LeafOut(Wire, json_schema_extra=example(**_LEAF)):
    """What the hash of an entry and its Merkle leaf are computed from."""

    seq: int
    at_us: str = Field(description="Microseconds since 1970, UTC.")
    id: str = Field(description="A UUID, of which the 16 bytes are hashed.")
    prev: str = Field(description="The hash of the entry before it.")
    content: str = Field(description="SHA-256 of its canonical content.")
    hash: str


class InclusionOut(
    Wire,
    json_schema_extra=example(leaf=_LEAF, text=None, proof=[_HASH_64], checkpoint=_NOTE, rotations=[], key=_KEY),
):
    """An inclusion proof that names nobody: the content of the entry is in it as a hash."""

    format: Literal["choir-ledger-inclusion/1"] = "choir-ledger-inclusion/1"
    leaf: LeafOut
    text: str | None = Field(description="The canonical content itself, for whoever may see all of it.")
    proof: list[str]
    checkpoint: str
    rotations: list[str]
    key: str = Field(description="The verifier key that the node signs with now.")

    @classmethod
    def of(cls, item: InclusionProof, *, key: str, whole: bool) -> InclusionOut:
        found = item.entry
        text = canonical_bytes(found.content).decode()
        leaf = LeafOut(
            seq=found.seq,
            at_us=str(found.at_us),
            id=str(found.id),
            prev=found.prev.hex(),
            content=content_digest(text).hex(),
            hash=found.hash.hex(),
        )
        return cls(
            leaf=leaf,
            text=text if whole else None,
            proof=[base64.b64encode(node).decode() for node in item.proof],
            checkpoint=item.checkpoint.note,
            rotations=item.rotations,
            key=key,
        )


class ConsistencyOut(Wire, json_schema_extra=example(**{"from": _NOTE}, to=_NOTE, proof=[_HASH_64], rotations=[])):
    """A self-contained consistency proof; `choir_verify.py consistency` checks it."""

    format: Literal["choir-ledger-consistency/1"] = "choir-ledger-consistency/1"
    from_: str = Field(alias="from")
    to: str
    proof: list[str]
    rotations: list[str]

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class FundIn(Wire, json_schema_extra=example(account=_ADA, amount="50000")):
    account: AccountNameText
    amount: Amount
