"""Numbers with what they count: digits and words, fractions, percent, money, magnitudes, units, and about, over, at
least.

Guarantee: values are exact fractions; numbers of more than 30 digits have no value and are compared as they are
written.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from choir.commons.verifiers.lexicon import light, words_of
from choir.commons.verifiers.naming import Span
from choir.commons.verifiers.numerals import SMALL_NUMBERS, number_at, scaled
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import Tag
from choir.commons.verifiers.text import Kind, Token
from choir.commons.verifiers.units import (
    MONEY,
    NO_UNIT,
    SHARE,
    UNITS,
    Unit,
    money_before,
    named_unit,
    next_is,
    unit_at,
    unit_of,
)
from choir.commons.verifiers.words import measures


class Bound(Enum):
    """How exact a number is said to be."""

    EXACT = "exactly"
    ABOUT = "about"
    NEARLY = "nearly"
    OVER = "more than"
    UNDER = "less than"
    LEAST = "at least"
    MOST = "at most"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number where it stands."""

    span: Span
    value: Fraction | None  # None: too long, or a label such as 3.0.1
    text: str
    unit: Unit = NO_UNIT
    bound: Bound = Bound.EXACT
    role: str = ""  # from, to, by, whole
    step: Fraction = Fraction(1)  # its last digit's worth: what it is rounded to
    reach: Span | None = None  # "30 of the 120 patients": what is said after it is said of the 30
    label: str = ""  # the word that it belongs to, as in "phase 3"

    @property
    def size(self) -> Fraction | None:
        return None if self.value is None else self.value * self.unit.factor


_BOUNDS = {
    **dict.fromkeys(measures.ABOUT.split(), Bound.ABOUT),
    **dict.fromkeys(measures.NEARLY.split(), Bound.NEARLY),
    **dict.fromkeys(measures.OVER.split(), Bound.OVER),
    **dict.fromkeys(measures.UNDER.split(), Bound.UNDER),
    **dict.fromkeys(measures.AT_LEAST.split(), Bound.LEAST),
    **dict.fromkeys(measures.AT_MOST.split(), Bound.MOST),
}
_MORE, _LESS = words_of(measures.MORE), words_of(measures.LESS)
_BOUNDS_BY_STEM = {light(word): bound for word, bound in _BOUNDS.items()}
_LABELS = words_of(measures.LABELS)
_JOINERS = frozenset(("to", "and", "or", "-", ",", "than"))
_SKIPPED = words_of("a an the its only just these those all us their his her our some")


def quantities(reading: Reading, taken: frozenset[int] = frozenset()) -> list[Quantity]:
    """The numbers of a text, but for those of `taken`, which are dates."""
    found: list[Quantity] = []
    at = 0
    while at < len(reading.tokens):
        quantity = None if at in taken else _quantity(reading, at)
        if quantity is not None:
            found.append(quantity)
        at = at + 1 if quantity is None else max(at + 1, quantity.span.end)
    return _composed(reading, _with_units(reading, found))


def taken(found: Sequence[Quantity]) -> frozenset[int]:
    """The tokens of numbers and their units."""
    spans = [quantity.span for quantity in found if quantity.role != "derived"]
    return frozenset(at for span in spans for at in range(span.start, span.end))


def _quantity(reading: Reading, at: int) -> Quantity | None:
    tokens = reading.tokens
    number = number_at(tokens, at)
    if number is None:
        return None
    value, step, end, unit = number
    if unit is SHARE and next_is(tokens, end, ("a", "of")):
        value, step, end, unit = _part_of(tokens, end, value, step)
    if value is not None and unit is None:
        value, step, end = scaled(tokens, end, value, step, money=money_before(tokens, at) is not None)
    if unit is None:
        unit, end = unit_at(tokens, at, end)
    if value is not None and _is_minus(tokens, at):
        value = -value
    bound, role = _before(reading, at, unit)
    after = tokens[end].word if end < len(tokens) else ""
    bound = _BOUNDS.get(after, bound) if after.startswith("or_") else bound
    text = " ".join(token.raw for token in tokens[at:end][:8])
    label = _label(tokens, at) if unit == NO_UNIT else ""
    the = at > 0 and tokens[at - 1].word == "the"
    if the and unit == NO_UNIT and value in (1, 2, 3) and (end >= len(tokens) or not reading.is_content(end)):
        return None  # "of the two" counts what was named before
    return Quantity(Span(at, end), value, text, unit, bound, role, step, label=label)


def _part_of(
    tokens: Sequence[Token], end: int, value: Fraction | None, step: Fraction
) -> tuple[Fraction | None, Fraction, int, Unit | None]:
    """Half a million, a quarter of a percentage point: a part of what follows, not of a whole."""
    words = [token.word for token in tokens[end : end + 2]]
    place = end + 2 if words == ["of", "a"] else end + 1
    if place < len(tokens) and words != ["of", "the"]:
        scale = measures.SCALES.get(tokens[place].word, 1)
        if scale >= 100 and value is not None:
            return value * scale, Fraction(scale, 10), place + 1, None
        unit, after = named_unit(tokens, place, end)
        if unit.dimension == "points" or (unit.dimension and words[:1] == ["a"]):
            return value, step, after, unit
    return value, step, end, SHARE


def _is_minus(tokens: Sequence[Token], at: int) -> bool:
    if at and tokens[at - 1].word == "minus":
        return True
    return at > 0 and tokens[at - 1].raw == "-" and tokens[at].joined and not tokens[at - 1].joined


def _before(reading: Reading, at: int, unit: Unit) -> tuple[Bound, str]:
    """What stands before a number: about, over; from, to, by; and whether it is the whole of which others are parts."""
    tokens = reading.tokens
    bound, role, here = Bound.EXACT, "", at - 1
    while here >= 0 and at - here < 6:
        token = tokens[here]
        said = _BOUNDS.get(token.word) or _BOUNDS_BY_STEM.get(light(token.word))
        if token.word == "than" and here:
            said = (
                Bound.OVER
                if tokens[here - 1].word in _MORE
                else Bound.UNDER
                if tokens[here - 1].word in _LESS
                else None
            )
        if said is not None and bound is Bound.EXACT:
            measured = here > 0 and (tokens[here - 1].kind is Kind.NUMBER or tokens[here - 1].word.rstrip("s") in UNITS)
            during = token.word == "over" and (unit.dimension == "time" or measured)
            bound = Bound.EXACT if during else said
        elif token.word == "of" and here and tokens[here - 1].word in ("minimum", "maximum"):
            return (Bound.LEAST if tokens[here - 1].word == "minimum" else Bound.MOST), ""
        elif token.word in ("from", "to", "by", "between", "of", "out_of", "among", "amongst"):
            role = _role(reading, here, token.word)
            break
        elif (token.kind is not Kind.MARK and token.word not in _SKIPPED and not token.owns) or (
            token.kind is Kind.MARK and token.word not in MONEY and not (token.raw == "-" and token.joined)
        ):
            break
        here -= 1
    return bound, role


def _role(reading: Reading, at: int, word: str) -> str:
    tokens = reading.tokens
    before = tokens[at - 1] if at else None
    if word in ("of", "out_of", "among", "amongst"):
        counted = before is not None and (
            before.kind is Kind.NUMBER
            or before.word in SMALL_NUMBERS
            or before.word in ("out", "half", "some", "most", "none", "few")
        )
        return "whole" if before is None or counted or before.kind is Kind.MARK or word != "of" else ""
    if word == "to":
        near = tokens[max(0, at - 8) : at + 8]
        moved = before is not None and reading.tags[at - 1] is Tag.VERB
        return word if moved or any(token.word in ("from", "by") for token in near) else ""
    return word if word != "between" else ""


def _label(tokens: Sequence[Token], at: int) -> str:
    """The word that a number belongs to as a name: phase 3, Article 5, Python 3.0."""
    if not at:
        return ""
    before = tokens[at - 1]
    named = before.capital and not before.opens and not before.owns
    return before.word if light(before.word) in _LABELS or before.word in _LABELS or named else ""


def _with_units(reading: Reading, found: list[Quantity]) -> list[Quantity]:
    """`5 to 10 percent`: the first number has the unit of the second."""
    for number in range(1, len(found)):
        one, other = found[number - 1], found[number]
        between = reading.tokens[one.span.end : other.span.start]
        if len(between) == 1 and between[0].word in ("from", "to", "and", "or") and other.unit == NO_UNIT != one.unit:
            follows = reading.tokens[other.span.end] if other.span.end < len(reading.tokens) else None
            if one.unit.dimension == "money" or follows is None or follows.kind is Kind.MARK:
                found[number] = replace(other, unit=one.unit)
    for number in range(len(found) - 2, -1, -1):
        one, other = found[number], found[number + 1]
        between = reading.tokens[one.span.end : other.span.start]
        joined = 0 < len(between) <= 2 and between[0].word in _JOINERS
        if joined and one.unit == NO_UNIT and other.unit.dimension not in ("", "ordinal", "times") and not one.label:
            found[number] = replace(one, unit=other.unit)
    return found


def _composed(reading: Reading, found: list[Quantity]) -> list[Quantity]:
    """`3 in 10` and `30 of the 120` also say a share; in `30 of the 120 tonnes` both are tonnes."""
    result = dict.fromkeys(found)
    shares: list[Quantity] = []
    for one, other in itertools.pairwise(found):
        word = _joint(reading, one, other)
        if not word or one.value is None or not other.value:
            continue
        span = Span(one.span.start, other.span.end)
        text = f"{one.text} {word} {other.text}"
        shares.append(
            Quantity(span, one.value / other.value, text, SHARE, one.bound, "" if word == "in" else "derived")
        )
        del result[one]
        if word == "in":
            result.pop(other, None)
        else:
            result[replace(one, unit=other.unit, reach=span)] = None
    return sorted([*result, *shares], key=lambda item: (item.span, item.role == "derived"))


def _joint(reading: Reading, one: Quantity, other: Quantity) -> str:
    """What makes the first number a part of the second: `in`, `of`, or nothing."""
    between = [token.word for token in reading.tokens[one.span.end : other.span.start] if not token.owns][:4]
    between = between[1:] if between[:2] == ["out", "of"] else between
    word = between[0] if between else ""
    whole = one.unit == NO_UNIT and one.value is not None and other.value is not None and one.value <= other.value
    counted = other.unit.dimension not in ("share", "ordinal", "times", "rate") and set(between[1:]) <= _BEFORE_WHOLE
    joined = word == "of" or (word == "in" and other.unit == NO_UNIT)
    return word if whole and counted and joined else ""


_BEFORE_WHOLE = words_of("the a every its all these their")


def is_before_number(reading: Reading, at: int) -> bool:
    """Whether a number follows within a few words."""
    following = range(at + 1, min(at + 4, len(reading.tokens)))
    if at + 1 < len(reading.tokens) and reading.tokens[at + 1].word in ("in", "on", "at", "by", "for", "among", "from"):
        return False
    return any(reading.tags[here] is Tag.NUM or reading.tokens[here].word in _MULTIPLES for here in following)


def is_duration(reading: Reading, at: int) -> bool:
    """Whether what follows tells how long: `after 12 days`."""
    words = [token.word for token in reading.tokens[at + 1 : at + 5]]
    return is_before_number(reading, at) and any(unit_of(word) is not None for word in words)


_MULTIPLES = frozenset((*measures.MULTIPLES, *measures.PARTS, "decade", "century"))
