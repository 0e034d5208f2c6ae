"""Values in tags: how numbers, lists and amounts are written in them, and read back from strangers' ones.

Guarantees: what is written is read back as it was; a number is plain digits within bounds; a list keeps commas inside
its items. Refusals name the tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from choir.foundation.errors import Invalid

Value = str | int | bool | tuple[str, ...]
NUMBER_MAX = 2**53 - 1
MSAT = 1000  # millisatoshi in a satoshi
_WHOLE = re.compile(r"-?[0-9]{1,16}", re.ASCII)
_SATS = re.compile(r"([0-9]{1,13})(?:\.([0-9]{1,3}))?", re.ASCII)
_RATE = re.compile(r"([01])(?:\.([0-9]{1,18}))?", re.ASCII)


class BadJobEvent(Invalid):
    """An event of a job or of a provider whose tags do not say what they must."""

    code = "nostr.bad_job_event"
    sentence = "That event is not valid: {what}: {why}."


@dataclass(frozen=True, slots=True)
class Form:
    """How a kind of value is written in one item of a tag."""

    write: Callable[[Any], str]
    read: Callable[[str, str], Value]


def whole(text: str, what: str, low: int = 0, high: int = NUMBER_MAX) -> int:
    """A whole number in plain digits."""
    if _WHOLE.fullmatch(text) is None or not low <= int(text) <= high:
        raise BadJobEvent(what=what, why=f"it must be a whole number from {low} to {high}")
    return int(text)


def sats_text(msat: int) -> str:
    """Millisatoshi as decimal satoshi."""
    sats, rest = divmod(msat, MSAT)
    return f"{sats}.{rest:03}".rstrip("0") if rest else str(sats)


def read_sats(text: str, what: str) -> int:
    """Decimal satoshi as millisatoshi."""
    found = _SATS.fullmatch(text)
    if found is None:
        raise BadJobEvent(what=what, why="it must be an amount of satoshi with at most three decimals")
    return int(found[1]) * MSAT + int((found[2] or "").ljust(3, "0"))


def rate_text(bps: int) -> str:
    """Basis points as a share of one."""
    return f"{bps // 10_000}.{bps % 10_000:04}".rstrip("0").rstrip(".")


def read_rate(text: str, what: str) -> int:
    """A share of one as basis points, rounded down."""
    found = _RATE.fullmatch(text)
    bps = 10_001 if found is None else int(found[1]) * 10_000 + int((found[2] or "")[:4].ljust(4, "0"))
    if bps > 10_000:
        raise BadJobEvent(what=what, why="it must be a share from 0 to 1")
    return bps


def list_text(items: Sequence[str]) -> str:
    """Items with commas between them; a comma inside an item, or a backslash, has a backslash before it."""
    return ",".join(item.replace("\\", "\\\\").replace(",", "\\,") for item in items)


def read_list(text: str, _: str) -> tuple[str, ...]:
    items, item, escaped = [], "", False
    for letter in text:
        if escaped:
            item, escaped = item + (letter if letter in "\\," else f"\\{letter}"), False
        elif letter == "\\":
            escaped = True
        elif letter == ",":
            items.append(item)
            item = ""
        else:
            item += letter
    return (*items, item + ("\\" if escaped else ""))


def _read_yes(text: str, what: str) -> bool:
    if text not in ("true", "false"):
        raise BadJobEvent(what=what, why="it must be true or false")
    return text == "true"


TEXT = Form(str, lambda text, _: text)
NUMBER = Form(str, whole)
EXIT_CODE = Form(str, lambda text, what: whole(text, what, -(2**31), 2**31 - 1))
TEXTS = Form(list_text, read_list)  # never empty: an empty list is left out
YES = Form(lambda value: "true" if value else "false", _read_yes)
