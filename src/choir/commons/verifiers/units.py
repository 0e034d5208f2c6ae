"""Units: what a number may be a number of, with how units of one kind convert into each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from choir.commons.verifiers.lexicon import light, words_of
from choir.commons.verifiers.text import Kind, Token
from choir.commons.verifiers.words import measures


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number is a number of: `length:metric` in metres, `share` for parts of a whole, and so on."""

    dimension: str = ""
    family: str = ""
    factor: Fraction = Fraction(1)


NO_UNIT, SHARE, POINTS, ORDINAL, TIMES = Unit(), Unit("share"), Unit("points"), Unit("ordinal"), Unit("times")
_PERCENT, _POINTS, _BASIS = (words_of(text) for text in (measures.PERCENT, measures.POINTS, measures.BASIS_POINTS))
MONEY = {word: names[0] for names in (group.split() for group in measures.CURRENCIES.split(";")) for word in names}


def _units() -> dict[str, Unit]:
    found: dict[str, Unit] = {}
    for entry in measures.UNITS.split(";"):
        if entry.strip():
            name, kind, factor, *others = entry.split()
            dimension, _, family = kind.partition(":")
            for word in (name, *others):
                found[word] = Unit(dimension, family, Fraction(factor))
    return found


UNITS = _units()
_RATES = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "yearly": "year",
    "annual": "year",
    "annually": "year",
    "hourly": "hour",
}
_SHORT_MAX = 2  # units of so few letters are read only right after digits


def unit_of(word: str) -> Unit | None:
    """The unit of time that a word names."""
    unit = UNITS.get(word.removesuffix("s")) if len(word) > 2 else None
    return unit if unit is not None and unit.dimension == "time" else None


def unit_at(tokens: Sequence[Token], at: int, end: int) -> tuple[Unit, int]:
    """The unit after a number, or the currency before it."""
    money = money_before(tokens, at)
    if money is not None:
        return Unit("money", money), end
    return named_unit(tokens, skip_hyphen(tokens, end), end)


def money_before(tokens: Sequence[Token], at: int) -> str | None:
    return MONEY.get(tokens[at - 1].word) if at and tokens[at - 1].kind is Kind.MARK else None


def named_unit(tokens: Sequence[Token], place: int, end: int) -> tuple[Unit, int]:
    if place >= len(tokens):
        return NO_UNIT, end
    word, raw = tokens[place].word, tokens[place].raw
    stem = word if word in UNITS else light(word)
    if word in _POINTS or stem in _POINTS or (word in _PERCENT and next_is(tokens, place + 1, ("point", "points"))):
        return POINTS, place + (1 if word in _POINTS or stem in _POINTS else 2)
    if word in _PERCENT or raw == "%":
        return replace(SHARE, factor=Fraction(1, 100)), place + 1
    if word in _BASIS or stem in _BASIS:
        return replace(POINTS, factor=Fraction(1, 100)), place + 1
    if word in ("times", "fold"):
        return TIMES, place + 1
    if word in MONEY or stem in MONEY:
        return Unit("money", MONEY.get(word) or MONEY[stem]), place + 1
    if word in ("square", "cubic"):
        unit, after = named_unit(tokens, place + 1, end)
        return (_power(unit, 2 if word == "square" else 3), after) if unit.dimension else (NO_UNIT, end)
    singular = word.removesuffix("s") if len(word) > 3 else word
    unit = UNITS.get(word) or UNITS.get(singular) or UNITS.get(stem) or NO_UNIT
    if not unit.dimension or (len(word) <= _SHORT_MAX and tokens[place - 1].kind is Kind.WORD and word != "°c"):
        return NO_UNIT, end
    return _per(tokens, place + 1, unit)


def _power(unit: Unit, power: int) -> Unit:
    return Unit(f"{unit.dimension}^{power}", unit.family, unit.factor**power)


def _per(tokens: Sequence[Token], after: int, unit: Unit) -> tuple[Unit, int]:
    """What comes after a unit: a power, or another unit that it is taken per."""
    if next_is(tokens, after, ("^",)) and after + 1 < len(tokens) and tokens[after + 1].raw in ("2", "3"):
        return _per(tokens, after + 2, _power(unit, int(tokens[after + 1].raw)))
    if next_is(tokens, after, ("per", "/", "a", "an")) and after + 1 < len(tokens):
        word = tokens[after + 1].word
        below = UNITS.get(word) or UNITS.get(light(word))
        if below is not None and (tokens[after].word != "a" or unit.dimension != below.dimension == "time"):
            dimension, family = f"{unit.dimension}/{below.dimension}", f"{unit.family}/{below.family}"
            if (dimension, family) in _KNOWN_RATES:
                dimension, family = _KNOWN_RATES[dimension, family]
            return Unit(dimension, family, unit.factor / below.factor), after + 2
    return unit, after


_KNOWN_RATES = {
    ("length/time", "metric/clock"): ("speed", "metric"),
    ("length/time", "imperial/clock"): ("speed", "imperial"),
}


def next_is(tokens: Sequence[Token], at: int, words: tuple[str, ...]) -> bool:
    return at < len(tokens) and (tokens[at].word in words or tokens[at].raw in words)


def skip_hyphen(tokens: Sequence[Token], at: int) -> int:
    return at + 1 if at < len(tokens) and tokens[at].raw == "-" and tokens[at].joined else at


def rate_at(tokens: Sequence[Token], at: int) -> Unit | None:
    """Every year, daily, every other week: how often."""
    before = [token.word for token in tokens[max(0, at - 2) : at]]
    often = tokens[at].word in _RATES or before[-1:] in (["each"], ["every"], ["per"], ["every_other"])
    unit = unit_of(_RATES.get(tokens[at].word, tokens[at].word)) if often else None
    if unit is None:
        return None
    return Unit("rate", unit.family, unit.factor * (2 if before[-1:] == ["every_other"] else 1))
