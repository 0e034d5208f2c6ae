"""The ai$ file, `economy_ledger.jsonl`: what a line says, and how our accounts are called in it. Pure functions.

A line is a JSON object with exactly `entry_id`, `entry_type`, `amount`, `from_id`, `to_id`, `memo`, `created_at`, in
this order. Amounts and times are numbers, of at most six decimals when we write them, and never floats in between.

Guarantees: `read_line` refuses what it would have to guess or change; what it reads, `Line.text` writes, and what
`Line.text` writes, it reads; an id stands for one account and an account has one id; `entry_behind` finds an entry only
if `lines_of` makes exactly these lines of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from choir.foundation.errors import Invalid
from choir.foundation.money import AMOUNT_MAX, Asset
from choir.ledger.model import AccountName, BadAccountName, account_name

NOBODY = "system:aidollar/issuance/AID"  # its id is empty: what comes from there comes from nothing
TREASURY = "treasury:main/issuance/AID"  # it may go below zero, as the treasury of the file does when it awards
_TREASURY_ID = "treasury"
_ENTRY_ID = re.compile(r"entry_[0-9a-hjkmnp-tv-z]{26}", re.ASCII)  # as our own entries are called
_AGENT_ID = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_ENDED_HOLDS = "system:hold-"  # money moves into and out of holds by rules that a line has no words for

_HOLDERS = frozenset({"person", "agent", "hold"})
_FIELDS = ("entry_id", "entry_type", "amount", "from_id", "to_id", "memo", "created_at")
_TEXTS = ("entry_id", "from_id", "to_id", "memo")
_TIME = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?", re.ASCII)
_UNIT = Decimal(1).scaleb(-Asset.AID.decimals)
_NOISE = _UNIT / 1000  # who computes in floats writes 0.30000000000000004; further off is another amount
_NUMBER_CHARS_MAX = 60


class BadAidollarLine(Invalid):
    """A line that cannot be imported as it is."""

    code = "ledger.aidollar.bad_line"
    sentence = "Line {line} of the ai$ file cannot be imported: {why}."
    hint = "Nothing was imported."


class EntryType(StrEnum):
    """What the file knows to have happened."""

    GENESIS = "genesis"
    AWARD = "award"
    TRANSFER = "transfer"
    SPEND = "spend"
    PAYPAL_PAYMENT = "paypal_payment"


@dataclass(frozen=True, slots=True)
class Line:
    """One line; the time is kept as it is written, because floats of now have more digits than microseconds."""

    entry_id: str
    entry_type: EntryType
    units: int
    from_id: str
    to_id: str
    memo: str
    created_at: str

    def text(self) -> str:
        """As the program whose format this is writes it, but for numbers, which are exact."""
        fields = (
            _quote(self.entry_id), _quote(self.entry_type), decimal_text(self.units), _quote(self.from_id),
            _quote(self.to_id), _quote(self.memo), self.created_at,
        )  # fmt: skip
        return "{" + ", ".join(f'"{name}": {value}' for name, value in zip(_FIELDS, fields, strict=True)) + "}\n"


def read_line(number: int, raw: bytes) -> Line:
    """A line from untrusted bytes, or what is wrong with it."""
    try:
        value = json.loads(
            raw.decode(), parse_float=_Number, parse_int=_Number, parse_constant=_refuse, object_pairs_hook=_unique
        )
    except (ValueError, RecursionError):
        raise BadAidollarLine(line=number, why="it is not a JSON object in UTF-8 with each field once") from None
    if not isinstance(value, dict) or value.keys() != set(_FIELDS):
        raise BadAidollarLine(line=number, why=f"its fields are not {', '.join(_FIELDS)}")
    try:
        return _line(value)
    except Invalid as error:
        raise BadAidollarLine(line=number, why=str(error).rstrip(".")) from None


def account_of(id_: str) -> str:
    """The account that an id stands for, or a refusal."""
    if id_ == "":
        return NOBODY
    if id_ == _TREASURY_ID:
        return TREASURY
    if _AGENT_ID.fullmatch(id_):
        return f"agent:{id_}/available/AID"
    try:
        name = account_name(f"{id_}/AID")
    except BadAccountName:
        why = "it must be 1 to 64 letters, digits, _ or -, or an account name without its asset"
        raise Invalid(what=f"The id '{id_[:80]}'", why=why) from None
    if name.is_hold or id_of(name) != id_:
        raise Invalid(what=f"The id '{id_[:80]}'", why="the account has another id in this format")
    return name.text


def id_of(name: AccountName) -> str:
    """What an AID account is called in the file."""
    assert name.asset is Asset.AID
    if name.text == NOBODY:
        return ""
    if name.text == TREASURY:
        return _TREASURY_ID
    if name.is_hold:
        return f"{_ENDED_HOLDS}{name.owner_id}/{name.role}"
    short = name.text == f"agent:{name.owner_id}/available/AID" and name.owner_id != _TREASURY_ID
    return name.owner_id if short else name.text.removesuffix("/AID")


def type_of(kind: str, payer: AccountName, payee: AccountName) -> EntryType:
    """What a leg of one of our own entries is in the file's words."""
    words = set(re.split(r"[._-]", kind))
    held, kept = payer.owner_kind in _HOLDERS, payee.owner_kind in _HOLDERS
    if "penalty" in words or "owed" in (payer.role, payee.role):
        return EntryType.SPEND
    if not held and kept:
        if "genesis" in words:
            return EntryType.GENESIS
        return EntryType.PAYPAL_PAYMENT if "paypal" in words else EntryType.AWARD
    return EntryType.SPEND if held and not kept else EntryType.TRANSFER


def memo_of(kind: str, reason: str, payer: AccountName, payee: AccountName) -> str:
    """The reason, and before it what the type alone would not say. Memos of people are not in it."""
    if "owed" in (payer.role, payee.role):
        return f"owed: {reason}"
    return f"penalty: {reason}" if "penalty" in re.split(r"[._-]", kind) else reason


Move = tuple[AccountName, AccountName, int]  # a leg: from, to, how much


def lines_of(entry: str, kind: str, reason: str, created_at: str, legs: Sequence[Move]) -> list[Line]:
    """The lines of an entry, one for each leg; from the second on the leg's number is in the line's id."""
    return [
        Line(
            entry_id=line_id(entry, number),
            entry_type=type_of(kind, payer, payee),
            units=units,
            from_id=id_of(payer),
            to_id=id_of(payee),
            memo=memo_of(kind, reason, payer, payee),
            created_at=created_at,
        )
        for number, (payer, payee, units) in enumerate(legs, start=1)
    ]


def line_id(entry: str, number: int) -> str:
    return entry if number == 1 else f"{entry}-{number}"


def is_leg_of(line: Line, first: Line, number: int) -> bool:
    """Whether a line says of itself that it is this leg of the entry that another one begins."""
    return line.entry_id == line_id(first.entry_id, number) and _ENTRY_ID.fullmatch(first.entry_id) is not None


ENTRY_KINDS = tuple(f"aidollar.entry{word}" for word in ("", ".genesis", ".paypal", ".penalty"))  # what `type_of` tells


def entry_behind(lines: Sequence[Line], legs: Sequence[Move]) -> tuple[str, str] | None:
    """A kind and a reason of an entry with these lines; None where no entry has them, because somebody changed them."""
    first = lines[0]
    payer, payee, _ = legs[0]
    for kind in ENTRY_KINDS:
        reason = first.memo.removeprefix(memo_of(kind, "", payer, payee))
        if reason and lines_of(first.entry_id, kind, reason, first.created_at, legs) == list(lines):
            return kind, reason
    return None


def decimal_text(units: int) -> str:
    """Millionths as a JSON number: 100.0, 0.02."""
    whole, fraction = divmod(units, 10**Asset.AID.decimals)
    return f"{whole}.{f'{fraction:06d}'.rstrip('0') or '0'}"


class _Number(str):
    """A number of the file, as it is written."""

    __slots__ = ()


def _line(value: dict[str, Any]) -> Line:
    for name in _TEXTS:
        if type(value[name]) is not str or not _is_whole(value[name]):
            raise Invalid(what=name, why="it must be a text of whole characters")
    if value["entry_type"] not in list(EntryType):
        raise Invalid(what="entry_type", why=f"it must be one of {', '.join(EntryType)}")
    created_at = value["created_at"]
    if not isinstance(created_at, _Number) or not _TIME.fullmatch(created_at):
        raise Invalid(what="created_at", why="it must be a number of seconds since 1970")
    return Line(
        value["entry_id"],
        EntryType(value["entry_type"]),
        _units(value["amount"]),
        value["from_id"],
        value["to_id"],
        value["memo"],
        str(created_at),
    )


def _is_whole(text: str) -> bool:
    """Whether no character is half of one, as escapes can write it."""
    return text.isascii() or text.encode(errors="ignore").decode() == text


def _units(value: object) -> int:
    if not isinstance(value, _Number) or len(value) > _NUMBER_CHARS_MAX:
        raise Invalid(what="amount", why="it must be a number")
    try:
        amount = Decimal(value)
        in_range = 0 < amount <= AMOUNT_MAX * _UNIT
    except InvalidOperation:
        in_range = False
    if not in_range:
        raise Invalid(what="amount", why="it must be more than zero and fit 64 bits in millionths")
    exact = amount.quantize(_UNIT)
    if abs(exact - amount) > _NOISE or not exact:
        raise Invalid(what="amount", why="it has more than six decimals, and nothing is rounded")
    return int(exact.scaleb(Asset.AID.decimals))


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key appears twice")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(constant)
