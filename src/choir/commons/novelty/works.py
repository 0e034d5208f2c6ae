"""The works that neighbours belong to: their names and titles, who they are by, and who counts as one with whom.

Guarantee: looked up a few at a time for all neighbours of a draft, not one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from choir.commons.articles.model import article_id
from choir.commons.atoms.store import hash_name
from choir.commons.novelty import store
from choir.commons.novelty.measure import Neighbour, Work, WorkKind
from choir.commons.passages.store import StoredPassage
from choir.identity.clusters.service import Clusters
from choir.storage.database import Tx

_LAST = 2**62
_STANDING = ("in_review", "in_window", "promoted")


class Works:
    """What was looked up."""

    def __init__(self, articles: dict[UUID, Work], sources: dict[int, Work]) -> None:
        self._articles = articles
        self._sources = sources

    def neighbour(self, item: StoredPassage) -> Neighbour:
        if item.article is None:
            assert item.source is not None, "a passage is of an article or of a source"
            return Neighbour(item.text, item.vector, _at(self._sources[item.source], item))
        return Neighbour(item.text, item.vector, _at(self._articles[item.article], item))


def _at(work: Work, item: StoredPassage) -> Work:
    """A work where this passage of it stands in the order of submissions; what nobody published is the last."""
    return replace(work, order=_LAST if item.position is None else item.position)


def works_of(tx: Tx, clusters: Clusters, owner: str, items: Sequence[StoredPassage]) -> Works:
    """Look up all that these passages belong to, as the owner of a draft sees it."""
    articles = sorted({item.article for item in items if item.article is not None})
    sources = sorted({item.source for item in items if item.source is not None})
    return Works(_articles(tx, clusters, owner, articles), _sources(tx, sources))


def _articles(tx: Tx, clusters: Clusters, owner: str, ids: list[UUID]) -> dict[UUID, Work]:
    rows = store.articles(tx, ids)
    names = {author for row in rows for author in row[2]}
    copies = store.copies_of(tx, ids)
    known = {name: min(clusters.cluster_of(tx, name).members) for name in sorted(names)}
    return {row[0]: _article(row, owner, known, copies.get(row[0], ())) for row in rows}


def _article(row: Sequence[Any], owner: str, known: dict[str, str], copies: Sequence[UUID]) -> Work:
    id_, title, authors, state = row
    first = authors[0] if authors else None
    return Work(
        article_id(id_),
        title,
        WorkKind.OWN if owner in authors else WorkKind.ARTICLE,
        owner=first,
        cluster=None if first is None else known[first],
        copies=frozenset(article_id(each) for each in copies),
        standing=state in _STANDING,
    )


def _sources(tx: Tx, ids: list[int]) -> dict[int, Work]:
    return {row[0]: Work(hash_name(row[1]), row[2], WorkKind.SOURCE) for row in store.sources(tx, ids)}
