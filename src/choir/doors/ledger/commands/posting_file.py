"""What `choir ledger post` reads: an entry or a batch in JSON, and in plain words what is wrong with it.

Guarantees: whatever is refused here is so before anything of it was sent.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from choir.doors.ledger.commands.presentation import account_typed
from choir.foundation.errors import Invalid

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from choir.doors.ledger.shapes import EntryIn
    from choir.doors.shapes import Wire

T = TypeVar("T", bound="Wire")

_SUCH_AS = 100  # smallest units, where a better example is not known

# What the shapes can find, by the name that the library gives it.
_PLAIN = {
    "missing": "it is missing",
    "extra_forbidden": "unknown field",
    "string_type": "it must be a quoted string",
    "list_type": "it must be a list",
    "model_type": "it must be an object",
    "model_attributes_type": "it must be an object",
    "dict_type": "it must be an object",
    "string_too_short": "it must not be empty",
    "too_short": "it must not be empty",
    "string_too_long": "it is too long",
    "too_long": "it is too long",
}


def read_json(file: str) -> dict[str, Any]:
    """The object in a file, or on standard input."""
    data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise Invalid(what=_named(file), why="it is not JSON") from None
    if not isinstance(value, dict):
        raise Invalid(what=_named(file), why="it must be a JSON object")
    return value


def shaped(shape: type[T], value: dict[str, Any], file: str) -> T:
    """The value in its shape."""
    from pydantic import ValidationError

    try:
        return shape.model_validate(value)
    except ValidationError as error:
        raise Invalid(what=_named(file), why=_told(error.errors()[0])) from None


def check_legs(entry: EntryIn, file: str, place: str = "") -> None:
    """Amounts are whole smallest units here, unlike those that other commands take as arguments."""
    for number, leg in enumerate(entry.legs):
        asset = account_typed(leg.from_).asset
        account_typed(leg.to)
        if leg.amount.removeprefix("-").isdecimal():
            continue  # whether it can be moved is for the ledger to say
        try:
            units = asset.parse(leg.amount)
        except Invalid:
            units = _SUCH_AS
        why = f"'{leg.amount[:40]}' must be whole smallest units, such as {units}"
        raise Invalid(what=_named(file), why=f"{place}legs.{number}.amount: {why}")


def _told(error: ErrorDetails) -> str:
    """What is wrong and where."""
    place = ".".join(map(str, error["loc"]))
    if error["loc"] == ("key",) and error["type"] == "extra_forbidden":
        return "key: a single entry gets its key from --key; only entries of a batch contain it"
    if error["type"] == "string_type" and error["loc"][-1] == "amount":
        return f'{place}: it must be a quoted string, such as "{_SUCH_AS}"'
    words = _PLAIN.get(error["type"]) or error["msg"][:1].lower() + error["msg"][1:]
    return f"{place}: {words}"


def _named(file: str) -> str:
    return f"The input {file}"
