"""Values that a test observed, and values that a test expects.

An observed value comes out of the tested process as JSON that names its base type. It is made again here, from nothing
but numbers, texts and containers, and compared with what the buyer's test says: tested code takes no part in that.
Guarantees: what cannot be made again is opaque, never equal; reading takes no more than a bounded depth.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_DEPTH_MAX = 50
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_NAMES = {"n": None, "y": True, "x": False, "...": ...}
_NEXT = dict(zip("0123456789", "1234567891", strict=True))  # no zero: some refuse it in front
_NEXT |= {a: b for text in (_LOWER, _LOWER.upper()) for a, b in zip(text, text[1:] + text[:1], strict=True)}
_ROUND = 7  # what unittest's assertAlmostEqual rounds to


class Opaque(Exception):
    """The value is of a kind that only the tested process can compare."""


class Relation(StrEnum):
    """How an observed value must stand to the expected one."""

    EQUAL = "equal"
    WITHIN = "within"  # a member of it
    BELOW = "below"
    ABOVE = "above"
    BELOW_OR_EQUAL = "below_or_equal"
    ABOVE_OR_EQUAL = "above_or_equal"
    APPROXIMATE = "approximate"  # by pytest.approx
    ALMOST = "almost"  # by unittest's assertAlmostEqual


@dataclass(frozen=True, slots=True)
class Expected:
    """What a test says about a value."""

    relation: Relation
    value: Any
    tolerance: tuple[Any, ...] = ()  # for approximate: rel, abs, nan_ok; for almost: places, delta

    def holds(self, observed: Any) -> bool:
        """Whether an observed value is as it should be; raises `Opaque` if that cannot be told here."""
        try:
            return bool(_TELL[self.relation](self, decode(observed)))
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            return False

    @property
    def is_guessable(self) -> bool:
        """Whether anybody would guess it: then to report it shows nothing."""
        ordered = self.relation not in (Relation.EQUAL, Relation.APPROXIMATE, Relation.ALMOST)
        return ordered or is_guessable(self.value)


def is_guessable(value: Any) -> bool:
    """The values that a lie would begin with."""
    if isinstance(value, int | float | complex):
        return value in (0, 1, -1)
    if isinstance(value, str | bytes | list | tuple | dict | set | frozenset):
        return not value
    return value is None or value is ...


def decode(said: Any, depth: int = 0) -> Any:
    """The value that was observed."""
    if depth > _DEPTH_MAX or not isinstance(said, list) or not said or not isinstance(said[0], str):
        raise Opaque
    kind, *parts = said
    if kind in _NAMES and not parts:
        return _NAMES[kind]
    if kind not in _DECODE or len(parts) != 1:
        raise Opaque
    return _DECODE[kind](parts[0], depth + 1)


def _items(said: Any, depth: int) -> list[Any]:
    if not isinstance(said, list):
        raise Opaque
    return [decode(item, depth) for item in said]


def _pairs(said: Any, depth: int) -> dict[Any, Any]:
    if not isinstance(said, list) or any(not isinstance(item, list) or len(item) != 2 for item in said):
        raise Opaque
    return {decode(key, depth): decode(value, depth) for key, value in said}


def _text(said: Any) -> str:
    if not isinstance(said, str):
        raise Opaque
    return said


_DECODE: dict[str, Callable[[Any, int], Any]] = {
    "i": lambda said, _: int(_text(said), 16),
    "f": lambda said, _: float.fromhex(_text(said)),
    "c": lambda said, _: complex(*(float.fromhex(_text(item)) for item in said)),
    "s": lambda said, _: _text(said),
    "b": lambda said, _: bytes.fromhex(_text(said)),
    "l": _items,
    "t": lambda said, depth: tuple(_items(said, depth)),
    "e": lambda said, depth: frozenset(_items(said, depth)),
    "d": _pairs,
}


def _approximate(expected: Expected, observed: Any) -> bool:
    import pytest

    rel, abs_, nan_ok = expected.tolerance
    return bool(observed == pytest.approx(expected.value, rel=rel, abs=abs_, nan_ok=bool(nan_ok)))


def _almost(expected: Expected, observed: Any) -> bool:
    places, delta = expected.tolerance
    if observed == expected.value:
        return True
    distance = abs(observed - expected.value)
    return bool(distance <= delta) if delta is not None else round(distance, _ROUND if places is None else places) == 0


_TELL: dict[Relation, Callable[[Expected, Any], Any]] = {
    Relation.EQUAL: lambda expected, observed: observed == expected.value,
    Relation.WITHIN: lambda expected, observed: observed in expected.value,
    Relation.BELOW: lambda expected, observed: operator.lt(observed, expected.value),
    Relation.ABOVE: lambda expected, observed: operator.gt(observed, expected.value),
    Relation.BELOW_OR_EQUAL: lambda expected, observed: operator.le(observed, expected.value),
    Relation.ABOVE_OR_EQUAL: lambda expected, observed: operator.ge(observed, expected.value),
    Relation.APPROXIMATE: _approximate,
    Relation.ALMOST: _almost,
}


# --- other values -----------------------------------------------------------------------------------


def another(value: Any, pool: Sequence[Any], chance: random.Random) -> Any:
    """A plausible value that is not equal to this one: of the same type and look, or one that another test expects.

    Raises `Opaque` for a value that has no such other, such as None.
    """
    others = [item for item in pool if type(item) is type(value) and item != value and not is_guessable(item)]
    if others and not isinstance(value, bool) and chance.random() < 1 / 2:
        return chance.choice(others)
    made = _ANOTHER.get(type(value))
    if made is None:
        raise Opaque
    found = made(value, chance)
    if found == value:
        raise Opaque
    return found


def thorough(value: Any, otherwise: Any) -> Any:
    """A value of the same look that differs in every place: what compares loosely is not equal to it either."""
    if isinstance(value, str) and any(sign.isascii() and sign.isalnum() for sign in value):
        return "".join(_NEXT.get(sign, sign) for sign in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value * 7 + 13
    if isinstance(value, list | tuple) and value:
        return type(value)(thorough(item, otherwise) for item in value)
    return otherwise


def gentle(value: Any, chance: random.Random) -> Any:
    """The same, as near as possible."""
    if type(value) in (int, float) and not is_guessable(value):
        near = [item for item in (value - 1, value + 1) if not is_guessable(item)]
        return chance.choice(near or [value + 1])
    return another(value, (), chance)


def _number(value: Any, chance: random.Random) -> Any:
    found = [value * 2, value * 3, value + 1, value - 1, value + 10]
    return chance.choice([item for item in found if item != value and not is_guessable(item)] or [value + 2])


def _string(value: str, chance: random.Random) -> str:
    places = [place for place, sign in enumerate(value) if sign.isalnum() and sign.isascii()]
    if not places:
        raise Opaque
    place = chance.choice(places)
    signs = "0123456789" if value[place].isdigit() else "aeiou" if value[place].lower() in "aeiou" else "bcdfglmnprst"
    sign = chance.choice([item for item in signs if item != value[place].lower()])
    return value[:place] + (sign.upper() if value[place].isupper() else sign) + value[place + 1 :]


def _octets(value: bytes, chance: random.Random) -> bytes:
    if not value:
        raise Opaque
    place = chance.randrange(len(value))
    return value[:place] + bytes([(value[place] + chance.randrange(1, 9)) % 256]) + value[place + 1 :]


def _row(value: Any, chance: random.Random) -> Any:
    """A sequence with one other item."""
    places = list(range(len(value)))
    chance.shuffle(places)
    for place in places:
        try:
            other = another(value[place], (), chance)
        except Opaque:
            continue
        return type(value)([*value[:place], other, *value[place + 1 :]])
    raise Opaque


def _mapping(value: dict[Any, Any], chance: random.Random) -> dict[Any, Any]:
    keys = list(value)
    chance.shuffle(keys)
    for key in keys:
        try:
            return value | {key: another(value[key], (), chance)}
        except Opaque:
            continue
    raise Opaque


_ANOTHER: dict[type, Callable[[Any, random.Random], Any]] = {
    int: _number,
    float: _number,
    complex: _number,
    str: _string,
    bytes: _octets,
    list: _row,
    tuple: _row,
    dict: _mapping,
    bool: lambda value, _: not value,
    set: lambda value, chance: set(_row(sorted(value, key=repr), chance)),
}
