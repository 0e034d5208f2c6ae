"""Letters and words: what cannot be seen, what looks like something else, and which words a text has.

Guarantees: a text's words do not change with case, punctuation, blanks, accents, compatibility forms, invisible
characters or letters of another script that look Latin, so none of these can hide a copy; offsets are of the text as it
was given; everything takes linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

# Unicode's Default_Ignorable_Code_Point, and what is as invisible: controls, line separators, the blank Braille cell,
# annotation signs, private use. Tabs and line feeds are blanks.
_INVISIBLE = (
    "\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
)
HIDDEN = re.compile(f"[{_INVISIBLE}]")
BIDI_CONTROLS = dict.fromkeys([0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)])

# Letters of other scripts, case folded, that look like Latin ones at least as capitals (after UTS 39, confusables).
_LATIN_ALIKE = {
    **dict(zip("авекмнорстухѕіјһԁԛԝ", "abekmhopctyxsijhdqw", strict=True)),  # Cyrillic
    **dict(zip("αβεζηικμνορτυχ", "abezhikmnoptyx", strict=True)),  # Greek
    **dict(zip("օսհո", "ouhn", strict=True)),  # Armenian
    **dict(zip("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᏀᏃᏚᏞᏟᏢᏦ", "drtajewmhgzslcpk", strict=True)),  # Cherokee
}
_ALIKE_AS_SMALL = frozenset("аеорсухѕіјһԁԛԝοօսհո")  # the others do so only as capitals

# Scripts that are written without blanks: each sign counts as a word.
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_PIECE = re.compile(r"\S+")
_PLAIN_WORD = re.compile(r"[0-9a-z]+")
_WORD = re.compile(r"\w+")
_HYPHENATED = re.compile(r"(?<=[a-zß-ÿ])[-\u2010][ \t]*\n[ \t]*(?=[a-zß-ÿ])")  # as PDF's text has it
_MARKS_MAX = 30  # UAX 15, Stream-Safe Text Format: no writing has more marks on one letter


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a text, folded, and where each stands in it."""

    folded: list[str]
    starts: list[int]
    ends: list[int]


def words_of(text: str) -> Words:
    """All words of a text; a word that is hyphenated at the end of a line is one word."""
    found = Words([], [], [])
    joints = {match.start() for match in _HYPHENATED.finditer(text)}
    joined = False
    for piece in _PIECE.finditer(text):
        for word, start, end in _fold(piece[0]):
            if joined:
                found.folded[-1] += word
                found.ends[-1] = piece.start() + end
            else:
                found.folded.append(word)
                found.starts.append(piece.start() + start)
                found.ends.append(piece.start() + end)
            joined = not joined and found.ends[-1] in joints  # once: an endless word would take quadratic time
    return found


def count_words(text: str) -> int:
    """How many words a reader would count: what stands between blanks, and each sign of scripts without blanks."""
    return sum(_count(piece) for piece in text.split())


def has_lookalikes(text: str) -> str | None:
    """The first word that mixes Latin letters with letters of another script that look Latin."""
    for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
        if not word.isascii() and any(map(_is_latin, word)) and any(map(_looks_latin, word)):
            return str(word)
    return None


def marks_in_row_at(text: str) -> int | None:
    """Where a letter has more marks than any writing knows; to order them would take quadratic time."""
    row = 0
    for at, sign in enumerate("" if text.isascii() else text):
        row = row + 1 if unicodedata.combining(sign) else 0
        if row > _MARKS_MAX:
            return at
    return None


def _count(piece: str) -> int:
    if piece.isascii():
        return int(any(map(str.isalnum, piece)))
    rest, unspaced = _UNSPACED.subn("", piece)
    return unspaced + any(map(str.isalnum, rest))


def _fold(piece: str) -> Iterator[tuple[str, int, int]]:
    """The words of what stands between two blanks, with their places in it."""
    if piece.isascii() and piece.isprintable():
        for match in _PLAIN_WORD.finditer(piece.lower()):
            yield match[0], match.start(), match.end()
        return
    letters: list[str] = []
    start = end = 0
    for at, sign in enumerate(piece):
        folded, alone = _fold_sign(sign)
        if letters and (folded is None or alone):
            yield _latin("".join(letters)), start, end
            letters = []
        if folded:
            start, end = (start if letters else at), at + 1
            letters.append(folded)
        if letters and alone:
            yield "".join(letters), start, end
            letters = []
    if letters:
        yield _latin("".join(letters)), start, end


@lru_cache(maxsize=100_000)
def _fold_sign(sign: str) -> tuple[str | None, bool]:
    """What a sign adds to a word (nothing if invisible or a mark; None: it ends the word); if it is one by itself."""
    if HIDDEN.match(sign) or unicodedata.category(sign) in ("Cf", "Mn", "Mc", "Me"):
        return "", False
    signs = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", sign).casefold())
    kept = "".join(one for one in signs if one.isalnum())
    return kept or None, _UNSPACED.match(sign) is not None


def _latin(word: str) -> str:
    """The word in Latin letters, if each of its letters is one or looks like one."""
    if word.isascii() or not all(one.isascii() or one in _LATIN_ALIKE for one in word):
        return word
    return "".join(_LATIN_ALIKE.get(one, one) for one in word)


def _is_latin(sign: str) -> bool:
    return sign.isalpha() and unicodedata.name(sign, "").startswith("LATIN")


def _looks_latin(sign: str) -> bool:
    return sign in _ALIKE_AS_SMALL or (sign.isupper() and sign.casefold() in _LATIN_ALIKE)
