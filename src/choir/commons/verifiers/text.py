"""A text as the checks read it: folded characters, tokens with phrases joined, sentences.

Characters are folded by NFKC, digits of any script become 0 to 9, accents and case do not count in `word`, and what
cannot be seen (zero-width and direction marks) is taken out and remembered as odd, like words that mix alphabets.

Guarantee: pure and linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache

from choir.commons.verifiers.lexicon import PHRASES, light, words_of
from choir.commons.verifiers.words import grammar


class Kind(Enum):
    """What a token is made of."""

    WORD = "word"
    NUMBER = "number"
    MARK = "mark"


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or mark."""

    at: int  # which token of its text
    raw: str  # as written, characters folded
    word: str  # without case, accents and possessive; phrases of the tables joined by underscores
    kind: Kind
    sentence: int
    opens: bool  # it is the first word of its sentence
    joined: bool  # nothing stands between it and the token before
    owns: bool = False  # it has a possessive ending
    parts: tuple[str, ...] = ()  # the words of a phrase, as written

    @property
    def capital(self) -> bool:
        return self.kind is Kind.WORD and self.raw[:1].isupper()


@dataclass(frozen=True, slots=True)
class Text:
    """A text that was read."""

    tokens: tuple[Token, ...]
    odd: tuple[str, ...] = field(default=())  # what looks like something else

    @property
    def words(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.kind is Kind.WORD)


_QUOTES = str.maketrans({"’": "'", "‘": "'", "`": "'", "´": "'", "“": '"', "”": '"', "«": '"', "»": '"', "−": "-"})
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–", "-"))
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_PARTS = re.compile("[¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]")
_TOKEN = re.compile(
    r"(?P<number>\d+(?:[.,]\d+)*)"
    r"|(?P<word>(?:[^\W\d_]\.){2,}|[^\W\d_]+\d\w*|[^\W\d_]+(?:'[^\W\d_]+)*|°[CFcf]?(?![^\W\d_]))"
    r"|(?P<mark>[^\s\w]|_)"
)
_ABBREVIATIONS = words_of(grammar.ABBREVIATIONS)
_PREFIXES = frozenset(("non", "un", "anti", "ex", "re", "co", "pre", "inter", "multi", "semi"))
_UNSEEN = frozenset("\u00ad\u200b\u2060\ufeff\u180e")  # may be left out without changing what is read


def read(text: str) -> Text:
    """The tokens of a text."""
    folded, odd = fold(text)
    tokens = _phrased(_sentences(list(_split(folded)), folded))
    return Text(tuple(tokens), (*odd, *_mixed(tokens)))


def fold(text: str) -> tuple[str, tuple[str, ...]]:
    """The text in characters that compare, and which of them were odd."""
    text = _PARTS.sub(lambda found: " " + unicodedata.normalize("NFKC", found[0]).replace("\u2044", "/") + " ", text)
    text = _RAISED.sub(lambda found: "^" + unicodedata.normalize("NFKC", found[0]), text)
    text = unicodedata.normalize("NFKC", text.translate(_QUOTES)).translate(_QUOTES).translate(_DASHES)
    odd = sorted({f"U+{ord(char):04X}" for char in set(text) if _unseen(char)})
    if odd or not text.isascii():
        text = "".join(_digit(char) for char in text if not _unseen(char))
    return text, tuple(odd)


def _unseen(char: str) -> bool:
    return char > "\x7f" and unicodedata.category(char) in ("Cf", "Co", "Cn", "Cs")


def _digit(char: str) -> str:
    return str(unicodedata.decimal(char)) if char > "\x7f" and char.isdecimal() else char


@lru_cache(maxsize=20_000)
def plain(word: str) -> str:
    """A word without case, accents and possessive ending."""
    word = word.casefold()
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFD", word) if not unicodedata.combining(char))
    for end in ("'s", "'"):
        word = word.removesuffix(end)
    return word


def same_words(one: str, other: str) -> bool:
    """Whether two texts are the same but for spaces, case and how characters are encoded."""
    return " ".join(fold(one)[0].casefold().split()) == " ".join(fold(other)[0].casefold().split())


def _split(text: str) -> Iterator[tuple[Kind, str, int, int]]:
    for found in _TOKEN.finditer(text):
        kind = Kind.NUMBER if found["number"] else Kind.WORD if found["word"] else Kind.MARK
        yield kind, found[0], found.start(), found.end()


def _sentences(pieces: list[tuple[Kind, str, int, int]], text: str) -> list[Token]:
    """Tokens with their sentences; a code such as COVID-19 becomes one token."""
    tokens: list[Token] = []
    sentence, opens, end_before = 0, True, 0
    for at, (kind, raw, start, end) in enumerate(pieces):
        if tokens and "\n" in text[end_before:start] and "\n\n" in text[end_before:start].replace(" ", ""):
            sentence, opens = sentence + 1, True
        joined = bool(tokens) and start == end_before
        word = _distinct(plain(raw), raw, opens=opens) if kind is Kind.WORD else raw
        if word.count(".") > 1:
            word = word.replace(".", "")
        owns = kind is Kind.WORD and raw.casefold().endswith(("'s", "s'"))
        if kind is Kind.NUMBER and joined and _is_code(tokens):
            code = tokens[-2].raw + "-" + raw
            tokens[-2:] = [replace(tokens[-2], raw=code, word=plain(code))]
        elif kind is Kind.WORD and joined and _is_prefixed(tokens):
            tokens[-2:] = [replace(tokens[-2], raw=f"{tokens[-2].raw}-{raw}", word=tokens[-2].word + word, owns=owns)]
        else:
            tokens.append(Token(len(tokens), raw, word, kind, sentence, opens and kind is not Kind.MARK, joined, owns))
        opens = opens and kind is Kind.MARK
        if kind is Kind.MARK and raw in ".!?" and _ends(tokens, pieces, at):
            sentence, opens = sentence + 1, True
        end_before = end
    return tokens


def _distinct(word: str, raw: str, *, opens: bool) -> str:
    """`May` with a capital inside of a sentence is no verb, and `WHO` and `US` are no pronouns."""
    if word == "may" and raw == "May" and not opens:
        return "may_month"
    return f"{word}_name" if word in ("who", "us") and raw.isupper() else word


def _is_code(tokens: list[Token]) -> bool:
    if len(tokens) < 2 or tokens[-1].raw != "-" or not tokens[-1].joined or tokens[-2].kind is not Kind.WORD:
        return False
    return any(char.isupper() for char in tokens[-2].raw) and tokens[-2].word not in ("mid", "pre", "post")


def _is_prefixed(tokens: list[Token]) -> bool:
    return len(tokens) > 1 and tokens[-1].raw == "-" and tokens[-1].joined and tokens[-2].word in _PREFIXES


def _ends(tokens: list[Token], pieces: list[tuple[Kind, str, int, int]], at: int) -> bool:
    """Whether this mark ends a sentence."""
    if at + 1 >= len(pieces):
        return True
    _, following, start, _ = pieces[at + 1]
    if start == pieces[at][3] and following not in "\"')":
        return False
    before = tokens[-2] if len(tokens) > 1 else None
    if pieces[at][1] == "." and before is not None and before.kind is Kind.WORD:
        initial = len(before.raw) == 1 and before.raw.isupper()
        if initial or before.word in _ABBREVIATIONS:
            return False
    return not following[0].islower()


def _phrased(tokens: list[Token]) -> list[Token]:
    """The same with known phrases as one token each."""
    found: list[Token] = []
    at = 0
    while at < len(tokens):
        size, name = _phrase(tokens, at)
        first = tokens[at]
        if size:
            parts = tuple(token.raw for token in tokens[at : at + size] if token.kind is Kind.WORD)
            first = replace(first, word=name, parts=parts, raw=" ".join(parts), owns=tokens[at + size - 1].owns)
        found.append(first if first.at == len(found) else replace(first, at=len(found)))
        at += size or 1
    return found


def _phrase(tokens: list[Token], at: int) -> tuple[int, str]:
    """How many tokens from here on are a phrase of the tables, and which."""
    if tokens[at].kind is not Kind.WORD:
        return 0, ""
    for parts in PHRASES.get(light(tokens[at].word), ()):
        here = at
        for number, part in enumerate(parts):
            if here > at and here < len(tokens) and tokens[here].raw == "-" and tokens[here].joined:
                here += 1
            if (
                here >= len(tokens)
                or tokens[here].kind is not Kind.WORD
                or not _is_form(tokens[here].word, part, first=number == 0)
            ):
                break
            here += 1
        else:
            return here - at, "_".join(parts)
    return 0, ""


def _is_form(word: str, part: str, *, first: bool) -> bool:
    """Whether a word is this part of a phrase; only the first word of one is inflected, the others may be plural."""
    if not first:
        return word in (part, f"{part}s")
    return word == part or ((len(part) > 3 or part in ("go", "get", "put", "set", "be")) and light(word) == light(part))


def _mixed(tokens: list[Token]) -> Iterator[str]:
    """Words in which letters of one alphabet stand among those of another."""
    for word in sorted({token.raw for token in tokens if token.kind is Kind.WORD and not token.raw.isascii()}):
        alphabets = {_alphabet(char) for char in word if char.isalpha()}
        if len(alphabets) > 1 and not (alphabets == {"LATIN", "GREEK"} and len(word) < 4):
            yield word[:40]


@lru_cache(maxsize=4_000)
def _alphabet(char: str) -> str:
    return unicodedata.name(char, "?").split()[0]
