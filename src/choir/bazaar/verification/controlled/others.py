"""Other values than a test expects.

A plausible other value cannot be told from the right one without knowing the answer: it has the same type and look, or
is one that another test expects. Texts are changed in two ways by turns, a letter or a word, so that whoever only looks
for words that exist is wrong every other time. Where a test takes what is near for equal, the other one is not near.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from choir.bazaar.verification.controlled.sites import Change
from choir.bazaar.verification.controlled.values import Expected, Opaque, Relation, is_guessable

# None is a kind of another, so that to expect one excludes the others.
ERRORS = ("ValueError", "TypeError", "KeyError", "AttributeError", "RuntimeError", "ZeroDivisionError", "OSError")
_WORDS = (
    "time",
    "water",
    "house",
    "paper",
    "light",
    "morning",
    "evening",
    "garden",
    "river",
    "table",
    "window",
    "number",
    "letter",
    "winter",
    "summer",
)
_WORD_CHARS_MIN = 3
_TRIES = 12
_VOWELS, _CONSONANTS, _DIGITS = "aeiou", "bcdfglmnprst", "0123456789"


@dataclass(slots=True)
class Chance:
    """What decides which other value it is."""

    random: random.Random
    pool: Sequence[Any] = ()  # what other tests expect
    turn: int = 0  # by turns, texts are changed in another way
    far: bool = False  # not near
    everywhere: bool = False  # texts differ in every place: what compares loosely is not equal to them either


def other_of(change: Change, chance: Chance) -> Any:
    """What a changed site expects instead; raises `Opaque` where there is no such value."""
    if change.column is not None:
        return _other_column(change, chance)
    if change.is_error:
        return chance.random.choice([name for name in ERRORS if name != change.value])
    made_of = not change.is_certain and not change.is_contained and change.relation is Relation.EQUAL
    if made_of and not chance.far:  # something is made of it, which may refuse what is far off
        return _near(change.value, chance)
    return _apart(change, change.value, chance)


def _near(value: Any, chance: Chance) -> Any:
    """Another value that something can be made of: by turns the next one, or one with the same divisors."""
    if type(value) in (int, float) and not is_guessable(value):
        found = (value * 2, value + 10) if chance.turn % 2 else (value - 1, value + 1)
        return chance.random.choice([item for item in found if not is_guessable(item)] or [value + 1])
    return another(value, _inner(chance))


def can_change(change: Change) -> bool:
    """Whether there is another value at all."""
    try:
        other_of(change, Chance(random.Random(0)))  # noqa: S311 - nothing is drawn
    except Opaque:
        return False
    return True


def _apart(change: Change, value: Any, chance: Chance) -> Any:
    """Another value that is not within what the site takes for equal."""
    for place in range(_TRIES):
        far = chance.far or place >= _TRIES // 2
        pool = () if change.is_contained else chance.pool
        found = another(value, Chance(chance.random, pool, chance.turn, far, chance.everywhere))
        if change.is_contained or not Expected(change.relation, value, change.tolerance).takes(found):
            return found
    raise Opaque


def _other_column(change: Change, chance: Chance) -> tuple[Any, ...]:
    """Each row's value replaced where it can be."""
    assert change.column is not None
    found = []
    for value in change.column.values:
        try:
            found.append(_apart(change, value, chance))
        except Opaque:
            found.append(value)
    if tuple(found) == change.column.values:
        raise Opaque
    return tuple(found)


def another(value: Any, chance: Chance) -> Any:
    """A value that is not equal to this one: of the same type and look, or one that another test expects.

    Raises `Opaque` for a value that has no such other, such as None.
    """
    pool = () if chance.everywhere else chance.pool
    others = [item for item in pool if type(item) is type(value) and item != value and not is_guessable(item)]
    if others and not isinstance(value, bool) and not chance.far and chance.random.random() < 1 / 2:
        return chance.random.choice(others)
    made = _ANOTHER.get(type(value))
    if made is None:
        raise Opaque
    found = made(value, chance)
    if found == value:
        raise Opaque
    return found


def _number(value: Any, chance: Chance) -> Any:
    if chance.far:
        return _rounded(value * chance.random.randrange(90, 990) + chance.random.randrange(7_000, 90_000), value)
    found = [_rounded(item, value) for item in (value * 2, value * 3, value + 1, value - 1, value + 10)]
    return chance.random.choice([item for item in found if item != value and not is_guessable(item)] or [value + 2])


def _rounded(found: Any, value: Any) -> Any:
    """With as many digits as the value has: what arithmetic leaves behind would tell that it was changed."""
    if not isinstance(value, float):
        return found
    digits, _, exponent = repr(value).partition("e")
    return float(f"{found:.{len(digits.partition('.')[2])}{'e' if exponent else 'f'}}")


def _string(value: str, chance: Chance) -> str:
    places = [place for place, sign in enumerate(value) if sign.isalnum() and sign.isascii()]
    if not places:
        raise Opaque
    spans = _words(value)
    by_word = chance.turn % 2 and spans
    if chance.far or (chance.everywhere and not by_word):
        return "".join(_sign(sign, chance) if place in set(places) else sign for place, sign in enumerate(value))
    if by_word:
        start, end = chance.random.choice(spans)
        old = value[start:end]
        word = chance.random.choice([item for item in _WORDS if item != old.lower()])
        word = word.upper() if old.isupper() else word.capitalize() if old[0].isupper() else word
        return value[:start] + word + value[end:]
    place = chance.random.choice(places)
    return value[:place] + _sign(value[place], chance) + value[place + 1 :]


def _words(value: str) -> list[tuple[int, int]]:
    """Where words of letters stand, apart from others."""
    found, start = [], 0
    for end in range(len(value) + 1):
        if end == len(value) or not (value[end].isalpha() and value[end].isascii()):
            if end - start >= _WORD_CHARS_MIN:
                found.append((start, end))
            start = end + 1
    whole = [(start, end) for start, end in found if _is_apart(value, start, end)]
    return whole if len(value.split()) > 1 else []


def _is_apart(value: str, start: int, end: int) -> bool:
    return not any(
        sign.isalnum() or sign in "_-/\\." for sign in value[max(start - 1, 0) : start] + value[end : end + 1]
    )


def _sign(sign: str, chance: Chance) -> str:
    """Another letter or digit of the same kind."""
    signs = _DIGITS if sign.isdigit() else _VOWELS if sign.lower() in _VOWELS else _CONSONANTS
    found = chance.random.choice([item for item in signs if item != sign.lower()])
    return found.upper() if sign.isupper() else found


def _octets(value: bytes, chance: Chance) -> bytes:
    if not value:
        raise Opaque
    if chance.far:
        return bytes((item + chance.random.randrange(1, 200)) % 256 for item in value)
    place = chance.random.randrange(len(value))
    return value[:place] + bytes([(value[place] + chance.random.randrange(1, 9)) % 256]) + value[place + 1 :]


def _row(value: Any, chance: Chance) -> Any:
    """A sequence with one other item; a far one has no item left that can be changed."""
    found, places = list(value), list(range(len(value)))
    chance.random.shuffle(places)
    for place in places:
        try:
            found[place] = another(value[place], _inner(chance))
        except Opaque:
            continue
        if not chance.far:
            break
    return type(value)(found)


def _mapping(value: dict[Any, Any], chance: Chance) -> dict[Any, Any]:
    found, keys = dict(value), list(value)
    chance.random.shuffle(keys)
    for key in keys:
        try:
            found[key] = another(value[key], _inner(chance))
        except Opaque:
            continue
        if not chance.far:
            break
    return found


def _inner(chance: Chance) -> Chance:
    return Chance(chance.random, (), chance.turn, chance.far, chance.everywhere)


_ANOTHER: dict[type, Callable[[Any, Chance], Any]] = {
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
