"""Values that a test observed, and values that a test expects.

An observed value comes out of the tested process as JSON that names its base type. It is made again here, from nothing
but numbers, texts and containers, and compared with what the buyer's test says: tested code takes no part in that.
Guarantees: what cannot be made again is opaque, never equal; reading takes no more than a bounded depth, and nothing is
made of what has more parts than what is expected.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

_DEPTH_MAX = 50
_NAMES = {"n": None, "y": True, "x": False, "...": ..., "u": ...}
_PARTS_MAX = 20_000
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
    SAME = "same"  # equal and of the same types, as JavaScript's strict comparisons
    LIKE = "like"  # the same but for what is undefined
    LOOSE = "loose"  # numbers and texts that look alike are equal


EQUALITIES = frozenset(Relation) - {
    Relation.WITHIN,
    Relation.BELOW,
    Relation.ABOVE,
    Relation.BELOW_OR_EQUAL,
    Relation.ABOVE_OR_EQUAL,
}


_ORDERED = (Relation.BELOW, Relation.ABOVE, Relation.BELOW_OR_EQUAL, Relation.ABOVE_OR_EQUAL)


@dataclass(frozen=True, slots=True)
class Expected:
    """What a test says about a value."""

    relation: Relation
    value: Any
    tolerance: tuple[Any, ...] = ()  # for approximate: rel, abs, nan_ok; for almost: places, delta

    def holds(self, observed: Any) -> bool:
        """Whether an observed value is as it should be; raises `Opaque` if that cannot be told here."""
        most = _PARTS_MAX if self.relation in _ORDERED else 2 * _parts_of(self.value) + 2
        if _parts_told(observed, most) > most:
            return False
        try:
            value = decode(observed)
        except (TypeError, ValueError, OverflowError):
            return False
        return self.takes(value)

    def takes(self, value: Any) -> bool:
        """The same of a value."""
        try:
            return bool(_TELL[self.relation](self, value))
        except (TypeError, ValueError, OverflowError, ArithmeticError):
            return False

    @property
    def is_guessable(self) -> bool:
        """Whether anybody would guess it: then to report it shows nothing."""
        return self.relation not in EQUALITIES or is_guessable(self.value)


def is_guessable(value: Any) -> bool:
    """The values that a lie would begin with."""
    if isinstance(value, int | float | complex):
        return value in (0, 1, -1)
    if isinstance(value, str | bytes | list | tuple | dict | set | frozenset):
        return not value
    return value is None or value is ...


def _parts_told(said: Any, most: int) -> int:
    """How many lists there are in what was told; no more than a little beyond `most` are counted."""
    count, waiting = 0, [said]
    while waiting and count <= most:
        item = waiting.pop()
        if isinstance(item, list):
            count += 1
            waiting += item[: most + 2]
    return count


def _parts_of(value: Any) -> int:
    """How many lists it takes to tell a value."""
    if isinstance(value, dict):
        return 2 + sum(1 + _parts_of(key) + _parts_of(item) for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return 2 + sum(map(_parts_of, value))
    return 2


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
    "j": lambda said, _: float(_text(said)),
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


def _same(one: Any, other: Any, *, undefined_is_absent: bool = False) -> bool:
    """Equal, and of the same types all the way down; not a number is the same as itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(a, b, undefined_is_absent=undefined_is_absent) for a, b in pairs)
    if isinstance(one, dict):
        if undefined_is_absent:
            one, other = ({key: item for key, item in value.items() if item is not ...} for value in (one, other))
        alike = one.keys() == other.keys()
        return alike and all(_same(one[key], other[key], undefined_is_absent=undefined_is_absent) for key in one)
    return bool(one == other) or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


def _loose(one: Any, other: Any) -> bool:
    if isinstance(one, list | dict) or isinstance(other, list | dict):
        return _same(one, other)
    empty = (None, ...)
    return _same(one, other) or (one in empty and other in empty) or _shown(one) == _shown(other)


def _shown(value: Any) -> str:
    return str(int(value)) if isinstance(value, float | bool) and value == value // 1 else str(value)


_TELL: dict[Relation, Callable[[Expected, Any], Any]] = {
    Relation.EQUAL: lambda expected, observed: observed == expected.value,
    Relation.WITHIN: lambda expected, observed: observed in expected.value,
    Relation.BELOW: lambda expected, observed: operator.lt(observed, expected.value),
    Relation.ABOVE: lambda expected, observed: operator.gt(observed, expected.value),
    Relation.BELOW_OR_EQUAL: lambda expected, observed: operator.le(observed, expected.value),
    Relation.ABOVE_OR_EQUAL: lambda expected, observed: operator.ge(observed, expected.value),
    Relation.APPROXIMATE: _approximate,
    Relation.ALMOST: _almost,
    Relation.SAME: lambda expected, observed: _same(observed, expected.value),
    Relation.LIKE: lambda expected, observed: _same(observed, expected.value, undefined_is_absent=True),
    Relation.LOOSE: lambda expected, observed: _loose(observed, expected.value),
}
