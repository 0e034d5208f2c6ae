"""A corpus in memory: what was submitted so far, and an article's measure against it. The search is exhaustive."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from choir.commons.novelty.measure import (
    EmbeddedPassage,
    Measured,
    Neighbour,
    Work,
    WorkKind,
    embedded,
    measure,
    unchanged,
)
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.passages.embedding import Vector, distance_ppm
from choir.commons.passages.static import StaticEmbedder

POLICY = NoveltyPolicy()
EMBEDDER = StaticEmbedder()
_WIDTH = 20  # neighbours looked at: the nearest decides, the others only help the second metric
_known: dict[str, list[EmbeddedPassage]] = {}


def embed(text: str) -> list[EmbeddedPassage]:
    """A text's passages, computed once in a process."""
    if text not in _known:
        _known[text] = embedded(text, EMBEDDER, POLICY)
    return _known[text]


class Library:
    """Articles in the order of their submission."""

    def __init__(self, *, background: bool = True) -> None:
        self._passages: list[Neighbour] = []
        self._rows: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = []
        self._works = 0
        if background:
            folder = files("choir.commons.novelty").joinpath("background")
            for file in sorted(folder.iterdir(), key=lambda one: one.name):
                self.add(file.read_text(), file.name.removesuffix(".txt"), None, WorkKind.BACKGROUND)

    def __len__(self) -> int:
        return len(self._passages)

    def add(self, text: str, title: str, owner: str | None, kind: WorkKind = WorkKind.ARTICLE) -> None:
        self._works += 1
        work = Work(f"w{self._works}", title, kind, self._works, owner, owner)
        for one in embed(text):
            self._passages.append(Neighbour(one.passage.text, one.vector, work))
            self._rows.append(_unit(one.vector))

    def measure(self, text: str, owner: str = "newcomer", same: frozenset[int] = frozenset()) -> Measured:
        passages = embed(text)
        return measure(
            passages,
            [self._near(one.vector, owner) for one in passages],
            embedder=EMBEDDER.name,
            corpus_passages=max(len(self), POLICY.young_passages),
            policy=POLICY,
            same=same,
        )

    def unchanged(self, text: str, earlier: str) -> frozenset[int]:
        return unchanged(embed(text), [one.vector for one in embed(earlier)], EMBEDDER.name, POLICY)

    def nearest(self, vector: Vector) -> int:
        """The raw distance to the nearest passage."""
        likeness = np.array(self._rows) @ _unit(vector)
        return distance_ppm(vector, self._passages[int(np.argmax(likeness))].vector)

    def _near(self, vector: Vector, owner: str) -> list[Neighbour]:
        if not self._rows:
            return []
        likeness = np.array(self._rows) @ _unit(vector)
        return [self._seen(self._passages[at], owner) for at in np.argsort(-likeness, kind="stable")[:_WIDTH]]

    def _seen(self, one: Neighbour, owner: str) -> Neighbour:
        if one.work.owner != owner or one.work.kind != WorkKind.ARTICLE:
            return one
        work = one.work
        return Neighbour(
            one.text, one.vector, Work(work.id, work.title, WorkKind.OWN, work.order, work.owner, work.cluster)
        )


def _unit(vector: Vector) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    row = np.array(vector, np.float32)
    return row / max(float(np.linalg.norm(row)), 1.0)
