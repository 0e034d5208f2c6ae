"""Reading untrusted JSON into records: one way, strict, with errors that name the field.

Guarantees: a field that is not known is refused, not ignored; a value has exactly the type, size and bounds that
were asked for; text is NFC without control characters; nothing is converted silently.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from choir.foundation.canonical import ObjectHash, parse_json, parse_object_hash
from choir.foundation.errors import Invalid, TooLarge

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
_MISSING: Any = object()
_PLAIN_CONTROLS = "\t\n\r"
_MARKS_MAX = 30  # Unicode's "stream-safe" text; to order them takes time in the square of their number


def _marks_in_row(text: str) -> int:
    """The most combining marks that follow each other."""
    most = row = 0
    for sign in text:
        row = row + 1 if unicodedata.combining(sign) else 0
        most = max(most, row)
    return most


class BadField(Invalid):
    """A request, result or artifact with a field that is not as it must be."""

    code = "bazaar.bad_field"
    sentence = "The field '{field}' is not valid: {why}."


class Reader:
    """Takes the fields of one JSON object; what nobody took is refused at the end."""

    def __init__(self, value: Any, at: str = "") -> None:
        if not isinstance(value, dict):
            raise BadField(field=at or "(all of it)", why="it must be an object")
        self._left = dict(value)
        self._at = at

    def name(self, field: str) -> str:
        return f"{self._at}.{field}" if self._at else field

    def bad(self, field: str, why: str) -> BadField:
        return BadField(field=self.name(field), why=why)

    def take(self, field: str, default: Any = _MISSING) -> Any:
        value = self._left.pop(field, default)
        if value is _MISSING:
            raise self.bad(field, "it is missing")
        return value

    def end(self) -> None:
        """Nothing may be left over."""
        if self._left:
            raise self.bad(min(self._left)[:60], "unknown field")

    def text(self, field: str, most: int, least: int = 0, default: Any = _MISSING) -> str:
        value = self.take(field, default)
        if not isinstance(value, str):
            raise self.bad(field, "it must be text")
        if not least <= len(value) <= most:
            raise self.bad(field, f"it must have {least} to {most} characters")
        if any(unicodedata.category(sign) == "Cc" and sign not in _PLAIN_CONTROLS for sign in value):
            raise self.bad(field, "control characters are not allowed")
        if _marks_in_row(value) > _MARKS_MAX:
            raise self.bad(field, f"more than {_MARKS_MAX} marks on one letter are not allowed")
        return unicodedata.normalize("NFC", value)

    def exact_text(self, field: str, most: int) -> str:
        """Text that is compared with bytes elsewhere, so it is taken as it is."""
        value = self.take(field)
        if not isinstance(value, str) or len(value) > most:
            raise self.bad(field, f"it must be text of at most {most} characters")
        return value

    def whole(self, field: str, low: int, high: int, default: Any = _MISSING) -> int:
        value = self.take(field, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.bad(field, "it must be a whole number")
        if not low <= value <= high:
            raise self.bad(field, f"it must be from {low} to {high}")
        return value

    def yes(self, field: str, default: Any = _MISSING) -> bool:
        value = self.take(field, default)
        if not isinstance(value, bool):
            raise self.bad(field, "it must be true or false")
        return value

    def one_of(self, field: str, kind: type[E], default: Any = _MISSING) -> E:
        value = self.take(field, default)
        if isinstance(value, kind):
            return value
        if not isinstance(value, str) or value not in [item.value for item in kind]:
            raise self.bad(field, "it must be one of " + ", ".join(item.value for item in kind))
        return kind(value)

    def hash(self, field: str) -> ObjectHash:
        value = self.take(field)
        try:
            return parse_object_hash(value if isinstance(value, str) else "")
        except Invalid:
            raise self.bad(field, "it must be 'sha256:' and 64 lower-case hex digits") from None

    def items(self, field: str, most: int, default: Any = _MISSING) -> list[Any]:
        value = self.take(field, default)
        if not isinstance(value, list | tuple):
            raise self.bad(field, "it must be a list")
        if len(value) > most:
            raise self.bad(field, f"it must have at most {most} items")
        return list(value)

    def records(self, field: str, most: int, read: Callable[[Reader], T], default: Any = _MISSING) -> tuple[T, ...]:
        found = []
        for place, value in enumerate(self.items(field, most, default)):
            inner = Reader(value, f"{self.name(field)}[{place}]")
            found.append(read(inner))
            inner.end()
        return tuple(found)

    def record(self, field: str, read: Callable[[Reader], T]) -> T:
        inner = Reader(self.take(field), self.name(field))
        found = read(inner)
        inner.end()
        return found

    def texts(self, field: str, most: int, chars: int, default: Any = _MISSING) -> tuple[str, ...]:
        found = []
        for place, value in enumerate(self.items(field, most, default)):
            found.append(Reader({"": value}, f"{self.name(field)}[{place}]").text("", chars, 1))
        return tuple(found)


def read_bytes(data: bytes, most: int, what: str, read: Callable[[Reader], T]) -> T:
    """A record from untrusted bytes."""
    if len(data) > most:
        raise TooLarge(what=what, size=len(data), limit=most)
    return read_value(parse_json(data), read)


def read_value(value: Mapping[str, Any], read: Callable[[Reader], T]) -> T:
    """A record from a parsed JSON value."""
    reader = Reader(value)
    found = read(reader)
    reader.end()
    return found
