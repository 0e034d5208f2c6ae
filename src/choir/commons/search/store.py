"""The index of promoted articles in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from choir.commons.passages.embedding import Vector
from choir.commons.passages.store import literal
from choir.commons.search.model import FeedItem, Sponsored
from choir.storage.database import Tx

_PASSAGES = 3  # are looked at for each article that is wanted: some are of one article, or not promoted any more
_MATCHES = 1_000  # of what fits, so many are ranked
_EXCERPT_PASSAGES = 40  # of an article, its first ones, are looked at for an excerpt
_EXCERPT = "MaxWords=40, MinWords=20, MaxFragments=1, StartSel='', StopSel=''"


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the index holds of an article."""

    article: UUID
    publication: UUID
    title: str
    topics: tuple[str, ...]
    author: str
    confidence_bps: int
    bindings: int
    promoted_us: int


def put(tx: Tx, row: IndexRow, text: str) -> None:
    """Have an article found by its newest promoted version."""
    tx.run(
        "insert into article_index values (%s, %s, %s, %s, %s, %s, %s, %s,"
        " setweight(to_tsvector('english', %s), 'A') || setweight(to_tsvector('english', %s), 'B')"
        " || setweight(to_tsvector('english', %s), 'D'))"
        " on conflict (article) do update set publication = excluded.publication, title = excluded.title,"
        " topics = excluded.topics, author = excluded.author, confidence_bps = excluded.confidence_bps,"
        " bindings = excluded.bindings, promoted_us = excluded.promoted_us, words = excluded.words",
        row.article, row.publication, row.title, list(row.topics), row.author, row.confidence_bps, row.bindings,
        row.promoted_us, row.title, " ".join(row.topics), text,
    )  # fmt: skip


def drop(tx: Tx, article: UUID) -> None:
    tx.run("delete from article_index where article = %s", article)


def by_words(tx: Tx, query: str, topic: str | None, since_us: int, limit: int) -> list[UUID]:
    """Articles that have all the words, best first; behind them, if those are few, articles that have some."""
    found = _matching(tx, "websearch_to_tsquery('english', %s)", query, topic, since_us, limit)
    if len(found) < limit:
        some = "replace(plainto_tsquery('english', %s)::text, ' & ', ' | ')::tsquery"
        found += _matching(tx, some, query, topic, since_us, limit)
    return list(dict.fromkeys(found))[:limit]


def _matching(tx: Tx, asked: LiteralString, query: str, topic: str | None, since_us: int, limit: int) -> list[UUID]:
    rows = tx.rows(
        f"with asked as (select {asked} as q), fits as (select article, words from article_index, asked"  # noqa: S608
        " where words @@ q and (%s::text is null or %s = any(topics)) and promoted_us >= %s limit %s)"
        " select article from fits, asked order by ts_rank(words, q, 1) desc, article limit %s",
        query, topic, topic, since_us, _MATCHES, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def by_sense(
    tx: Tx, vector: Vector, model: str, topic: str | None, limit: int, width: int, distance_ppm: int
) -> list[UUID]:
    """Articles with the nearest passages, nearest first; none that is farther than this."""
    if not any(vector):
        return []  # the query says nothing to the model
    rows = tx.rows(
        "select article from nearest_articles(%s::halfvec, %s, %s, %s, %s) where distance * 1000000 <= %s",
        literal(vector), model, topic, _PASSAGES * limit, width, distance_ppm,
    )  # fmt: skip
    return [row[0] for row in rows][:limit]


def rows(tx: Tx, articles: Collection[UUID]) -> dict[UUID, IndexRow]:
    found = tx.rows(
        "select i.article, i.publication, i.title, i.topics, i.author, i.confidence_bps, i.bindings, i.promoted_us"
        " from article_index i join publications p on p.id = i.publication"
        " where i.article = any(%s) and p.state = 'promoted'",
        list(articles),
    )
    return {row[0]: IndexRow(row[0], row[1], row[2], tuple(row[3]), *row[4:]) for row in found}


def survived(tx: Tx, articles: Collection[UUID]) -> dict[UUID, int]:
    """How many challenges each article has survived."""
    found = tx.rows(
        "select p.article, count(*) from publications p join atom_challenges c on c.publication = p.id"
        " where p.article = any(%s) and c.state = 'lost' group by p.article",
        list(articles),
    )
    return {row[0]: row[1] for row in found}


def excerpts(tx: Tx, publications: Collection[UUID], query: str) -> dict[UUID, str]:
    """Of each, the words around what was asked for, in the passage that has most of it."""
    found = tx.rows(
        "with asked as (select replace(plainto_tsquery('english', %s)::text, ' & ', ' | ')::tsquery as any_word),"
        " best as (select distinct on (p.publication) p.publication, p.text from passages p, asked"
        " where p.publication = any(%s) and p.n < %s"
        " order by p.publication, ts_rank(to_tsvector('english', p.text), any_word) desc, p.n)"
        " select publication, ts_headline('english', text, any_word, %s) from best, asked",
        query, list(publications), _EXCERPT_PASSAGES, _EXCERPT,
    )  # fmt: skip
    return {row[0]: row[1] for row in found}


# The feed


def newest(tx: Tx, topic: str | None, limit: int) -> list[FeedItem]:
    found = tx.rows(
        "select i.article, i.publication, i.title, i.topics, i.author, i.promoted_us, 0 from article_index i"
        " join publications p on p.id = i.publication and p.state = 'promoted'"
        " where %s::text is null or %s = any(i.topics) order by i.promoted_us desc, i.article limit %s",
        topic, topic, limit,
    )  # fmt: skip
    return [FeedItem(row[0], row[1], row[2], tuple(row[3]), *row[4:]) for row in found]


def most_cited(tx: Tx, topic: str | None, since_us: int, limit: int) -> list[FeedItem]:
    """By independent citations since then."""
    found = tx.rows(
        "select i.article, i.publication, i.title, i.topics, i.author, i.promoted_us, count(*) from citations c"
        " join article_index i on i.article = c.cited_article"
        " join publications p on p.id = i.publication and p.state = 'promoted'"
        " where c.at_us >= %s and c.independence_ppm > 0 and c.state <> 'taken_back'"
        " and (%s::text is null or %s = any(i.topics))"
        " group by i.article order by sum(c.independence_ppm) desc, i.article limit %s",
        since_us, topic, topic, limit,
    )  # fmt: skip
    return [FeedItem(row[0], row[1], row[2], tuple(row[3]), *row[4:]) for row in found]


def sponsored(tx: Tx, articles: Collection[UUID] | None, topic: str | None, now_us: int, limit: int) -> list[Sponsored]:
    """Articles with a boost that runs now; of these articles only, if some are named; the oldest boost first."""
    among = None if articles is None else list(articles)
    found = tx.rows(
        "select i.article, i.title, i.topics, max(b.until_us) from boosts b join article_index i using (article)"
        " join publications p on p.id = i.publication and p.state = 'promoted'"
        " where b.from_us <= %s and b.until_us > %s and (%s::uuid[] is null or i.article = any(%s))"
        " and (%s::text is null or %s = any(i.topics)) group by i.article order by min(b.id::text), i.article limit %s",
        now_us, now_us, among, among, topic, topic, limit,
    )  # fmt: skip
    return [Sponsored(row[0], row[1], tuple(row[2]), row[3]) for row in found]
