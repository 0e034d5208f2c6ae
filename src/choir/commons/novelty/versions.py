"""Which passages of a revision were in an earlier version of the same article. Pure.

A vector alone cannot tell: where something is added, passages begin and end elsewhere. So words are compared as well:
a passage most of whose word runs an earlier version has is not new.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.commons.articles.words import words_of
from choir.commons.novelty.measure import EmbeddedPassage, unchanged
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.passages.embedding import Vector

_RUN = 4  # words
_BPS = 10_000


def same_as_before(
    passages: Sequence[EmbeddedPassage],
    earlier: Sequence[tuple[str, Vector]],
    embedder: str,
    policy: NoveltyPolicy,
) -> frozenset[int]:
    """The numbers of passages that earn nothing because an earlier version said them."""
    if not earlier:
        return frozenset()
    near = unchanged(passages, [vector for _, vector in earlier], embedder, policy)
    known = {run for text, _ in earlier for run in _runs(text)}
    said = (item.passage.n for item in passages if _share_bps(item.passage.text, known) >= policy.same_runs_bps)
    return near | frozenset(said)


def _share_bps(text: str, known: set[tuple[str, ...]]) -> int:
    runs = _runs(text)
    return len(runs & known) * _BPS // len(runs) if runs else _BPS


def _runs(text: str) -> set[tuple[str, ...]]:
    words = words_of(text).folded
    return {tuple(words[n : n + _RUN]) for n in range(max(1, len(words) - _RUN + 1))} if words else set()
