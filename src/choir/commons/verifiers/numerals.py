"""How numbers are written: digits with their separators, number words, fractions, ordinals, multiples."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from choir.commons.verifiers.lexicon import light, words_of
from choir.commons.verifiers.text import Kind, Token
from choir.commons.verifiers.units import NO_UNIT, ORDINAL, SHARE, TIMES, UNITS, Unit, rate_at, skip_hyphen
from choir.commons.verifiers.words import measures

SMALL_NUMBERS = {word: number for number, word in enumerate(measures.SMALL_NUMBERS.split())}
SMALL_NUMBERS |= {word: 10 * number for number, word in enumerate(measures.TENS.split(), 2)}
_ORDINALS = {word: number for number, word in enumerate(measures.ORDINALS.split())}
_ORDINALS |= {word: 10 * number for number, word in enumerate(measures.TENTHS.split(), 2)}
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_DIGITS_MAX = 30
_ALONE = words_of("decade century fortnight millennium")  # "a decade" is a number by itself
_DOUBLED = {light(word): value for word, value in measures.MULTIPLES.items()}


def number_at(tokens: Sequence[Token], at: int) -> tuple[Fraction | None, Fraction, int, Unit | None] | None:
    """A bare number: its value, its last digit's worth, where it ends, and its unit if the number itself says it."""
    token = tokens[at]
    if token.kind is Kind.NUMBER:
        return _digits(tokens, at)
    if token.kind is not Kind.WORD:
        return None
    stem = light(token.word)
    times = measures.MULTIPLES.get(token.word) or measures.MULTIPLES.get(stem) or _DOUBLED.get(stem)
    if times is not None:
        return Fraction(times), Fraction(1), at + 1, TIMES
    if token.word in SMALL_NUMBERS or (
        token.word in measures.SCALES and token.word in ("hundred", "thousand", "million", "dozen", "billion")
    ):
        return _worded(tokens, at)
    if stem == "halve":
        return Fraction(1, 2), Fraction(1, 100), at + 1, SHARE
    if _is_part(tokens, at):
        return Fraction(*measures.PARTS[_part(token.word)]), Fraction(1, 100), at + 1, SHARE
    if (token.word in _ORDINALS and token.word not in ("first", "second")) or (
        token.word in ("first", "second") and _counts(tokens, at)
    ):
        return Fraction(_ORDINALS[token.word]), Fraction(1), at + 1, ORDINAL
    stem = token.word if token.word in _ALONE else token.word.removesuffix("s")
    rate = rate_at(tokens, at)
    if rate is not None:
        return Fraction(1), Fraction(1), at + 1, rate
    if stem in _ALONE and at and tokens[at - 1].word in ("a", "one", "the", "per", "last", "past"):
        return Fraction(1), Fraction(1), at + 1, UNITS[stem]
    return None


def _counts(tokens: Sequence[Token], at: int) -> bool:
    """`first` and `second` are ordinals where a noun follows; otherwise they tell an order."""
    the = at > 0 and (tokens[at - 1].word in ("the", "its", "their", "his", "her", "a") or tokens[at - 1].owns)
    return the and at + 1 < len(tokens) and tokens[at + 1].kind is Kind.WORD


def _part(word: str) -> str:
    return word if word in measures.PARTS else "half" if word == "halves" else word.removesuffix("s")


def _is_part(tokens: Sequence[Token], at: int) -> bool:
    """Whether `third`, `quarter` and the like are fractions here."""
    word = tokens[at].word
    if _part(word) not in measures.PARTS:
        return False
    before = tokens[at - 1].word if at else ""
    after = tokens[at + 1].word if at + 1 < len(tokens) else ""
    if before in _ORDINALS or before == "second" or after in ("time", "century"):
        return False
    whole = (
        before in ("a", "one")
        and _part(word) in ("third", "quarter", "fifth", "tenth")
        and after in ("of", "more", "less", "higher", "lower")
    )
    return word == "half" or word.endswith("s") or after == "of" or whole or before.endswith("est")


def _digits(tokens: Sequence[Token], at: int) -> tuple[Fraction | None, Fraction, int, Unit | None]:
    raw = tokens[at].raw
    value, step = _value(raw)
    end = at + 1
    following = [token.raw for token in tokens[end : end + 2]]
    if value is not None and len(following) == 2 and tokens[end].joined and tokens[end + 1].joined:
        other = _value(following[1])[0] if tokens[end + 1].kind is Kind.NUMBER else None
        if following[0] == "/" and other:
            return value / other, Fraction(1, 100), end + 2, SHARE
        if (
            following[0] == "^"
            and other is not None
            and other.denominator == 1
            and other <= _DIGITS_MAX
            and value <= 1000
        ):
            return value**other.numerator, Fraction(1), end + 2, None
    if end < len(tokens) and tokens[end].joined and tokens[end].word in ("th", "st", "nd", "rd"):
        return value, Fraction(1), end + 1, ORDINAL
    if end < len(tokens) and tokens[end].raw == "s" and tokens[end].joined:
        return value, step, end + 1, NO_UNIT  # two 787s
    if value is not None and len(tokens) > end + 2 and tokens[end].kind is Kind.NUMBER and tokens[end + 1].raw == "/":
        part = _digits(tokens, end)
        if part[3] is SHARE and part[0] is not None and part[0] < 1:
            return value + part[0], Fraction(1, 100), part[2], None
    return value, step, end, None


def _value(raw: str) -> tuple[Fraction | None, Fraction]:
    if len(raw) > _DIGITS_MAX:
        return None, Fraction(1)
    if _THOUSANDS.fullmatch(raw):
        raw = raw.replace(",", "")
    elif raw.count(",") == 1 and "." not in raw:
        raw = raw.replace(",", ".")
    if "," in raw or raw.count(".") > 1:
        return None, Fraction(1)
    whole, _, decimals = raw.partition(".")
    zeros = len(whole) - len(whole.rstrip("0")) if not decimals and whole.strip("0") else 0
    return Fraction(raw), Fraction(1, 10 ** len(decimals)) * 10**zeros


def _worded(tokens: Sequence[Token], at: int) -> tuple[Fraction | None, Fraction, int, Unit | None] | None:
    """A number in words: twenty-five, a hundred and two, two and a half million."""
    total, part, end = Fraction(0), Fraction(0), at
    here, any_word = at, False
    while here < len(tokens) and here - at < 24:
        word = tokens[here].word
        if word in SMALL_NUMBERS:
            if any_word and not _continues(tokens, here, part):
                break
            part += SMALL_NUMBERS[word]
        elif word in ("hundred", "dozen", "score"):
            part = (part or Fraction(1)) * measures.SCALES[word]
        elif word in measures.SCALES and len(word) > 2:
            total, part = total + (part or Fraction(1)) * measures.SCALES[word], Fraction(0)
        elif (
            any_word and ((word == "-" and tokens[here].joined) or word == "and") and _is_number_word(tokens, here + 1)
        ):
            here += 1
            continue
        elif any_word and word == "and" and [token.word for token in tokens[here + 1 : here + 3]] == ["a", "half"]:
            part, here = part + Fraction(1, 2), here + 2
        else:
            break
        here, any_word = here + 1, True
        end = here
    value = total + part
    denominator = _thirds(tokens, end, value)
    if denominator is not None:
        return value * denominator, Fraction(1, 100), skip_hyphen(tokens, end) + 1, SHARE
    if skip_hyphen(tokens, end) < len(tokens) and tokens[skip_hyphen(tokens, end)].word in _ORDINALS and value >= 20:
        place = skip_hyphen(tokens, end)
        return value + _ORDINALS[tokens[place].word], Fraction(1), place + 1, ORDINAL
    return (value, _step_of(value), end, None) if end > at else None


def _continues(tokens: Sequence[Token], at: int, part: Fraction) -> bool:
    """Whether one more number word belongs to the number before: twenty five does, six three does not."""
    small = SMALL_NUMBERS[tokens[at].word]
    tens = part % 100 if part >= 100 else part
    return (tens == 0 and part >= 100) or part == 0 or (tens >= 20 and tens % 10 == 0 and 0 < small < 10)


def _is_number_word(tokens: Sequence[Token], at: int) -> bool:
    """Whether `and` or a hyphen joins to more of the same number."""
    if at >= len(tokens) or tokens[at].word not in SMALL_NUMBERS:
        return False
    before = tokens[at - 1].word
    previous = tokens[at - 2].word if at > 1 else ""
    return (before == "-" and previous in SMALL_NUMBERS) or (
        before == "and" and previous in ("hundred", "thousand", "million")
    )


def _thirds(tokens: Sequence[Token], end: int, value: Fraction) -> Fraction | None:
    """Two thirds, three-quarters, one tenth."""
    place = skip_hyphen(tokens, end)
    if place < len(tokens) and 0 < value < 20 and _part(tokens[place].word) in measures.PARTS:
        word = tokens[place].word
        plural = word.endswith("s") or word == "half"
        if plural or (value == 1 and word != "second"):
            return Fraction(*measures.PARTS[_part(word)])
    return None


def _step_of(value: Fraction) -> Fraction:
    step = 1
    while value and value % (step * 10) == 0 and step < 10**15:
        step *= 10
    return Fraction(step)


def scaled(
    tokens: Sequence[Token], end: int, value: Fraction, step: Fraction, *, money: bool
) -> tuple[Fraction, Fraction, int]:
    """The same with thousand, million, k, M after it."""
    while end < len(tokens):
        token = tokens[end]
        short = token.word in ("k", "m", "b") and (not token.joined or (token.raw == "m" and not money))
        singular = token.word.removesuffix("s") if len(token.word) > 4 else token.word
        scale = None if short else measures.SCALES.get(singular)
        if scale is None or token.word in ("score", "gross"):
            break
        value, step, end = value * scale, step * scale, end + 1
    return value, step, end
