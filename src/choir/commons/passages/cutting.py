"""Cuts a text into passages of about 200 words, at the ends of paragraphs and sentences. Pure.

Guarantees: the same text is always cut the same way; every word is in exactly one passage, in the text's order; no
passage but a lone one has fewer than half the aimed words, none has more than one and a half times as many: a sentence
without an end is cut between words. Time is linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from choir.commons.articles.words import count_words
from choir.commons.passages.model import Passage

WORDS = 200
_PARAGRAPH = re.compile(r"\n\s*\n")
_SENTENCE = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])")
_SIGNS_MAX = 200  # a longer piece without a blank is a script that has none, or no word at all


@dataclass(frozen=True, slots=True)
class _Piece:
    """What is not cut any further, and whether a paragraph ends with it."""

    text: str
    words: int
    ends: bool


def cut(text: str, words: int = WORDS) -> list[Passage]:
    """The passages of a text, in order. A text without a word has none."""
    groups = _groups(list(_pieces(text, words // 4)), words)
    texts = ["".join(piece.text + ("\n\n" if piece.ends else " ") for piece in group).strip() for group in groups]
    counts = [sum(piece.words for piece in group) for group in groups]
    return [Passage(n, count, one) for n, (one, count) in enumerate(zip(texts, counts, strict=True))]


def _groups(pieces: list[_Piece], words: int) -> list[list[_Piece]]:
    """Pieces that make a passage together: full ones, and a short tail with its neighbour."""
    groups: list[list[_Piece]] = [[]]
    count = 0
    for piece in pieces:
        if groups[-1] and _full(count, piece.words, words, ends=groups[-1][-1].ends):
            groups.append([])
            count = 0
        groups[-1].append(piece)
        count += piece.words
    if len(groups) > 1 and count < words // 2:
        tail = groups.pop()
        groups[-1] += tail
    return [group for group in groups if any(piece.words for piece in group)]


def _full(count: int, further: int, words: int, *, ends: bool) -> bool:
    """Whether a passage of so many words ends here: at a paragraph's end rather earlier than amid one."""
    if ends and count >= words * 3 // 4:
        return True
    return count + further // 2 >= words


def _pieces(text: str, words: int) -> Iterator[_Piece]:
    """Sentences; those of more than so many words in parts."""
    for paragraph in _PARAGRAPH.split(text):
        parts = [
            part
            for sentence in _SENTENCE.split(paragraph)
            for part in _parts(" ".join(sentence.split()), words)
            if part
        ]
        for at, part in enumerate(parts, 1):
            yield _Piece(part, count_words(part), ends=at == len(parts))


def _parts(sentence: str, words: int) -> Iterator[str]:
    if count_words(sentence) <= words:
        yield sentence
        return
    row: list[str] = []
    count = 0
    for token in _tokens(sentence):
        row.append(token)
        count += count_words(token)
        if count >= words:
            yield " ".join(row)
            row, count = [], 0
    yield " ".join(row)


def _tokens(sentence: str) -> Iterator[str]:
    for token in sentence.split():
        if len(token) <= _SIGNS_MAX or count_words(token) == 1:
            yield token
        else:
            yield from (token[at : at + _SIGNS_MAX // 4] for at in range(0, len(token), _SIGNS_MAX // 4))
