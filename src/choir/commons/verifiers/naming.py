"""Where names are in a text: runs of words with capitals, particles and initials inside.

The first word of a sentence is a name only if something else says so: it has a capital elsewhere, another name
follows, or it is a word that the tables do not know, right before a verb.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from choir.commons.verifiers.lexicon import KNOWN, VERBS, light, words_of
from choir.commons.verifiers.structure import Reading
from choir.commons.verifiers.tags import CALENDAR, NUMBER_WORDS, SMALL, Tag
from choir.commons.verifiers.text import Token
from choir.commons.verifiers.words import grammar, measures, places

TITLES = words_of(grammar.TITLES)
_INSIDE = words_of("of the de van von der den la le du da di del al bin ibn for on & - . '")
_NUMERALS = words_of(f"{measures.ORDINALS} {measures.TENS} half ok i")
_COMMON_ENDINGS = (
    "ing",
    "tion",
    "sion",
    "ment",
    "ness",
    "ity",
    "ism",
    "ics",
    "ogy",
    "ance",
    "ence",
    "ship",
    "sis",
    "s",
    "ed",
    "ly",
)
_ACRONYM = range(2, 7)
_LENGTH_MAX = 12
_PLACE = {word: f"@{name}" for name, group in enumerate(places.PLACES.split(";")) for word in group.split()}


class Span(NamedTuple):
    """Tokens from `start` up to `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Name:
    """A name where it stands; its words without titles."""

    span: Span
    text: str
    words: tuple[str, ...]


def place_of(word: str) -> str | None:
    """The key of a place that the word stands for, also as an adjective."""
    return _PLACE.get(word)


def initials(reading: Reading, name: Name) -> str:
    """The acronym of a name: IPCC."""
    tokens = reading.tokens[name.span.start : name.span.end]
    words = [part for token in tokens for part in (token.parts or (token.raw,))]
    return "".join(word[0].casefold() for word in words if word[:1].isupper() and word != "The")


def is_within(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether a name has no word that the other lacks; an initial stands for its word."""
    return all(word in other or (len(word) == 1 and any(long.startswith(word) for long in other)) for word in one)


def names(reading: Reading, other: Reading) -> list[Name]:
    """The names of a text; the other text helps with the first words of sentences."""
    finder = _Finder(reading, other)
    found: list[Name] = []
    at = 0
    while at < len(reading.tokens):
        end = finder.end(at)
        words = tuple(dict.fromkeys(_words(reading.tokens[at:end])))
        if words:
            text = " ".join(token.raw for token in reading.tokens[at:end])
            found.append(Name(Span(at, end), text, words))
        at = max(end, at + 1)
    return found


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.parts and place_of(token.word) is None:
            yield from (part.casefold() for part in token.parts if part[:1].isupper())
        elif token.capital and (token.word not in TITLES or len(tokens) == 1):
            yield token.word


class _Finder:
    """What helps to tell names from first words."""

    def __init__(self, reading: Reading, other: Reading) -> None:
        self._reading = reading
        self._tokens = reading.tokens
        both = (*reading.tokens, *other.tokens)
        self._inner = {token.word for token in both if token.capital and not token.opens}
        self._lower = {token.word for token in both if token.raw.islower()}

    def end(self, at: int) -> int:
        """Where the name ends that begins here, or `at` itself."""
        tokens = self._tokens
        if not self._is_name(at):
            return at
        end = at + 1
        while end < len(tokens) and end - at < _LENGTH_MAX and not tokens[end - 1].owns:
            ahead = self._skip(end)
            if ahead >= len(tokens) or tokens[ahead].sentence != tokens[at].sentence or not self._is_name(ahead):
                break
            end = ahead + 1
        return end

    def _skip(self, end: int) -> int:
        """Past `of`, `van` and the like inside of a name; a full stop only after an initial or a title."""
        tokens, ahead = self._tokens, end
        while ahead < len(tokens) and ahead - end < 2 and tokens[ahead].word in _INSIDE:
            raw, before = tokens[ahead].raw, tokens[ahead - 1]
            if raw == "the" and before.word not in ("of", "for", "on"):
                break
            if (raw == "." and len(before.raw) > 2 and before.word not in TITLES) or (
                raw == "-" and not tokens[ahead].joined
            ):
                break
            ahead += 1
        return ahead

    def _is_name(self, at: int) -> bool:
        token, tokens = self._tokens[at], self._tokens
        word = token.word
        if not token.capital or word in CALENDAR or word in _NUMERALS or word in NUMBER_WORDS:
            return False
        if len(word) == 1:
            return at + 2 < len(tokens) and tokens[at + 1].raw == "." and tokens[at + 2].capital
        if not token.opens:
            return word not in SMALL or token.raw.isupper()
        return word not in SMALL and self._opens_with_name(at)

    def _opens_with_name(self, at: int) -> bool:
        token, word = self._tokens[at], self._tokens[at].word
        if word in self._inner or place_of(word) is not None or (token.raw.isupper() and len(word) in _ACRONYM):
            return True
        if word in self._lower or token.parts:
            return False
        following = self._tokens[at + 1] if at + 1 < len(self._tokens) else None
        followed = following is not None and following.capital and following.word not in SMALL
        verb = at + 1 < len(self._tokens) and self._reading.tags[at + 1] in (
            Tag.VERB,
            Tag.BE,
            Tag.HAVE,
            Tag.MODAL,
            Tag.DO,
        )
        return followed or ((verb or token.owns) and _is_unknown(word))


def _is_unknown(word: str) -> bool:
    """A word that the tables do not have and that has no ending of a common noun."""
    return (
        light(word) not in KNOWN and light(word) not in VERBS and not word.endswith(_COMMON_ENDINGS) and len(word) > 2
    )
