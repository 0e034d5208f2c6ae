"""Shapes about what a node owes, and proofs that it owes somebody what it says."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from choir.doors.shapes import Wire, example

_AT = "2026-11-02T09:30:00.000000Z"
_HASH = "LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564="
_SIGNED = "\n— choir.example AbCdEf…\n"
_NOTE = f"choir-liabilities/1\nchoir.example\n42\n{_HASH}\nCREDIT 12 50000 {_HASH}\n{_SIGNED}"
_CHECKPOINT = f"choir.example\n42\n{_HASH}\n{_SIGNED}"
_TOTAL = {"asset": "CREDIT", "accounts": 12, "total": "50000", "root": _HASH}
_BESIDE = {"sum": "310", "hash": _HASH}
_SHARE: dict[str, Any] = {"amount": "112", "index": 7, "salt": "q83vASNFZ4mrze8BI0VniQ==", "beside": [_BESIDE]}
_OWED: dict[str, Any] = {
    "account": "person:ada/available/CREDIT", "balance": "1000", "held": "250", "shares": [_SHARE]
}  # fmt: skip


class AssetTotalOut(Wire, json_schema_extra=example(**_TOTAL)):
    """Total liabilities in one asset."""

    asset: str
    accounts: int = Field(description="Number of accounts with liabilities.")
    total: str
    root: str = Field(description="Root of the tree over all of them.")


class LiabilitiesOut(
    Wire,
    json_schema_extra=example(size=42, at=_AT, totals=[_TOTAL], note=_NOTE, checkpoint=_CHECKPOINT, rotations=[]),
):
    """The node's liabilities to people and agents after `size` entries. `note` is signed; the rest is its content."""

    size: int
    at: str
    totals: list[AssetTotalOut]
    note: str
    checkpoint: str = Field(description="The journal's own signed checkpoint of the same size.")
    rotations: list[str]


class LiabilitiesUnderWayOut(Wire, json_schema_extra=example(state="under_way", size=42, interval_s=2, problem=None)):
    """Liabilities are being computed; the totals will be at `/v1/liabilities/latest`, for at least `size` entries."""

    state: Literal["under_way"] = "under_way"
    size: int = Field(description="Number of entries now.")
    interval_s: int = Field(description="Seconds between polls.")
    problem: str | None = Field(default=None, description="Error of the last attempt, if it failed.")


class BesideOut(Wire, json_schema_extra=example(**_BESIDE)):
    """A sibling on the path to the root."""

    sum: str
    hash: str


class OwedShareOut(Wire, json_schema_extra=example(**_SHARE)):
    """One of the shares that an account's liability is split into."""

    amount: str
    index: int
    salt: str
    beside: list[BesideOut] = Field(description="From the leaf up.")


class OwedOut(Wire, json_schema_extra=example(**_OWED)):
    """The liability on an account: its balance plus its holds."""

    account: str
    balance: str
    held: str
    shares: list[OwedShareOut]


class LiabilitiesProofOut(
    Wire, json_schema_extra=example(accounts=[_OWED], note=_NOTE, checkpoint=_CHECKPOINT, rotations=[])
):
    """A self-contained proof of the liabilities to the caller; `choir_verify.py liabilities` checks it."""

    format: Literal["choir-liabilities-proof/1"] = "choir-liabilities-proof/1"
    accounts: list[OwedOut]
    note: str
    checkpoint: str
    rotations: list[str]
