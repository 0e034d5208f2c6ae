"""The works that neighbours belong to: their names and titles, who they are by, and who counts as one with whom.

Guarantee: looked up a few at a time for all neighbours of a draft, not one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from choir.commons.articles.model import article_id, parse_article_id
from choir.commons.atoms import store as atom_store
from choir.commons.atoms.store import hash_name
from choir.commons.novelty import store
from choir.commons.novelty.measure import Neighbour, Work, WorkKind
from choir.commons.passages.store import StoredPassage
from choir.commons.takedowns import store as takedown_store
from choir.foundation.canonical import ObjectHash
from choir.identity.clusters.service import Clusters
from choir.storage.database import Tx

_LAST = 2**62
TAKEN = "a work that was taken down"
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
    known = _articles(tx, clusters, owner, articles)
    for id_ in takedown_store.taken_articles(tx, articles):
        if known[id_].kind is not WorkKind.OWN:
            known[id_] = _taken(known[id_])
    return Works(known, _sources(tx, sources))


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
    found = {row[0]: Work(hash_name(row[1]), row[2], WorkKind.SOURCE) for row in store.sources(tx, ids)}
    return found | {id_: _taken(found[id_]) for id_ in takedown_store.hidden(tx, ids)}


def taken_names(tx: Tx, names: Sequence[str]) -> set[str]:
    """Those of these works, by the names that reports have, that are taken down."""
    articles = {parse_article_id(name): name for name in names if name.startswith("article_")}
    sources = atom_store.find(tx, [ObjectHash(name) for name in names if name.startswith("sha256:")])
    hashes = {atom.id: str(name) for name, atom in sources.items()}
    gone = {articles[id_] for id_ in takedown_store.taken_articles(tx, list(articles))}
    return gone | {hashes[id_] for id_ in takedown_store.hidden(tx, list(hashes))}


def _taken(work: Work) -> Work:
    return replace(work, title=TAKEN, taken=True)
