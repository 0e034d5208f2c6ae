"""A text cut where one thing ends and the next begins: its stretches, with the words and the values of each. Pure.

No grammar is needed for that: a stop, or a word that joins or sets apart, is a cut. Values are numbers and names;
whatever else has a meaning is a word. A stretch is never longer than `_LONGEST`, so that what is done with each costs
the same, however long the text is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from choir.commons.verifiers.lexicon import light, root, words_of
from choir.commons.verifiers.tags import CALENDAR
from choir.commons.verifiers.units import MONEY, UNITS

TOKEN = re.compile(r"\d[\d,.:]*\d|\d|[^\W\d_]+(?:['’-][^\W\d_]+)*|[.;:,!?—–%]")
NUMBER, YEAR, DAY, NAME, MONTH = "number", "year", "day", "name", "month"
EMPTY = words_of(
    "a an the of in on at to for from by with as is are was were be been being it its this that these those their his "
    "her our they he she we i not no or had has have did do does will would can could may might must should there "
    "than then also both each per about around nearly roughly some most all any more less up down out over under "
    "between into within during such same other another one two three and"
)
_YEAR = re.compile(r"1\d{3}|20\d{2}")
_CUTS = words_of("and but while whereas which who than against versus then before after")
_STOPS = frozenset(".;:!?,—–")
_ENDS = frozenset(".;!?")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text that speaks of one thing."""

    sentence: int
    words: frozenset[str]
    values: Mapping[str, str]  # by their kind


@dataclass(frozen=True)
class Side:
    """The claim or the extract, read once for all checks."""

    text: str

    @cached_property
    def tokens(self) -> Sequence[str]:
        return TOKEN.findall(self.text)

    @cached_property
    def stems(self) -> frozenset[str]:
        """Every word of the text, the empty ones too."""
        return frozenset(light(token.lower()) for token in self.tokens)

    @cached_property
    def roots(self) -> frozenset[str]:
        """What words derived from those of the text share with them."""
        return frozenset(root(stem) for stem in self.stems)

    @cached_property
    def sentences(self) -> Sequence[Sequence[str]]:
        """The tokens of each sentence, numbered as in the stretches."""
        found: list[list[str]] = [[]]
        for token in self.tokens:
            if token in _ENDS:
                found.append([])
            else:
                found[-1].append(token)
        return found

    @cached_property
    def stretches(self) -> Sequence[Stretch]:
        return tuple(_stretches(self.tokens))

    @cached_property
    def whole(self) -> Stretch:
        return together(self.stretches)


def together(stretches: Sequence[Stretch]) -> Stretch:
    """Several stretches as one."""
    words = frozenset(word for each in stretches for word in each.words)
    return Stretch(0, words, {value: kind for each in stretches for value, kind in each.values.items()})


def bare(word: str) -> str:
    """A word without the ending of its owner."""
    return word.removesuffix("'s").removesuffix("’s")


def _stretches(tokens: Sequence[str]) -> Iterator[Stretch]:
    sentence, run, first = 0, list[tuple[str, bool]](), True
    for at, token in enumerate(tokens):
        cut = token in _STOPS or (token.lower() in _CUTS and not _joins_values(tokens, at))
        if run and (cut or len(run) >= _LONGEST):
            yield _stretch(sentence, run)
            run = []
        if token in _ENDS:
            sentence, first = sentence + 1, True
        elif not cut:
            run.append((token, first))
            first = False
    if run:
        yield _stretch(sentence, run)


def _joins_values(tokens: Sequence[str], at: int) -> bool:
    """Whether an `and` stands between two numbers or two names: what is said is said of both."""
    if tokens[at].lower() == "and" and 0 < at < len(tokens) - 1:
        before, after = tokens[at - 1][0], tokens[at + 1][0]
        return (before.isdigit() and after.isdigit()) or (before.isupper() and after.isupper())
    return False


def _stretch(sentence: int, run: Sequence[tuple[str, bool]]) -> Stretch:
    words, values = set[str](), dict[str, str]()
    for at, (token, first) in enumerate(run):
        if token[0].isdigit():
            before, after = run[at - 1][0] if at else "", run[at + 1][0] if at + 1 < len(run) else ""
            values[token.rstrip(".,:")] = _kind(token, before.lower(), after.lower())
        elif token.lower() in EMPTY or (at and run[at - 1][0][0].isdigit() and _dimension(token)):
            continue
        elif token[0].isupper() and not first:
            values[bare(token)] = MONTH if token.lower() in CALENDAR else NAME
        else:
            words.add(light(bare(token.lower())))
    return Stretch(sentence, frozenset(words), values)


def _kind(token: str, before: str, after: str) -> str:
    """What a number is a number of, as far as the words beside it say."""
    if _YEAR.fullmatch(token) and (after in EMPTY or not after):
        return YEAR
    return DAY if CALENDAR & {before, after} else _dimension(after) or NUMBER


def _dimension(word: str) -> str:
    """What a unit measures; of any other word nothing."""
    word = word.lower()
    if word in ("%", "percent"):
        return "share"
    unit = UNITS.get(word) or UNITS.get(light(word))
    return "money" if word in MONEY or light(word) in MONEY else unit.dimension if unit is not None else ""


def are_rivals(one: str, other: str) -> bool:
    """Whether two values of these kinds may be taken for each other."""
    if one == other:
        return True
    return NUMBER in (one, other) and not {one, other} & {NAME, YEAR, DAY, MONTH}
