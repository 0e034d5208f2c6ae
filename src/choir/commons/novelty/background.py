"""What everybody knows: a small corpus of our own writing, which a new text is compared with beside all earlier work.

Guarantee: it is part of the program, not of the database, so every node of a version has the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import resources
from threading import Lock
from typing import TYPE_CHECKING

from choir.commons.novelty.measure import Neighbour, Work, WorkKind
from choir.commons.passages.cutting import cut
from choir.commons.passages.embedding import Embedder, Vector

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FOLDER = "background"


class Background:
    """Embedded at the first use, and kept in memory."""

    def __init__(self, embedder: Embedder, passage_words: int) -> None:
        self._embedder = embedder
        self._passage_words = passage_words
        self._lock = Lock()

    def nearest(self, vectors: Sequence[Vector], k: int) -> list[list[Neighbour]]:
        """For each vector the nearest passages of the background."""
        import numpy as np

        with self._lock:
            passages, matrix = self._passages
        if not passages or not vectors:
            return [[] for _ in vectors]
        asked = np.array(vectors, dtype=np.float64)
        lengths = np.linalg.norm(asked, axis=1, keepdims=True)
        near = (asked / np.where(lengths, lengths, 1)) @ matrix.T
        order = np.argsort(-near, axis=1, kind="stable")[:, :k]
        return [[passages[n] for n in row] for row in order]

    @cached_property
    def _passages(self) -> tuple[list[Neighbour], NDArray[np.float64]]:
        import numpy as np

        found = [(work, passage.text) for work, text in texts() for passage in cut(text, self._passage_words)]
        vectors = self._embedder.embed([text for _, text in found])
        matrix = np.array(vectors, dtype=np.float64).reshape(len(found), self._embedder.dims)
        lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
        neighbours = [Neighbour(text, vector, work) for (work, text), vector in zip(found, vectors, strict=True)]
        return neighbours, matrix / np.where(lengths, lengths, 1)


def texts() -> list[tuple[Work, str]]:
    """The texts of the background, by their names."""
    folder = resources.files("choir.commons.novelty").joinpath(_FOLDER)
    found = sorted((item for item in folder.iterdir() if item.name.endswith(".txt")), key=lambda item: item.name)
    return [_text(item.name.removesuffix(".txt"), item.read_text("utf-8")) for item in found]


def _text(name: str, text: str) -> tuple[Work, str]:
    return Work(f"background:{name}", name, WorkKind.BACKGROUND), text
