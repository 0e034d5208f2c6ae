"""What a text is cut into, and what is kept of a piece."""

from __future__ import annotations

from dataclasses import dataclass

from choir.commons.passages.embedding import Vector


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a text: its place (from 0), how many words it has (see `count_words`), and the piece itself."""

    n: int
    words: int
    text: str


@dataclass(frozen=True, slots=True)
class EmbeddedPassage:
    """A passage of a source: its number, its words, its vector."""

    n: int
    words: int
    vector: Vector
