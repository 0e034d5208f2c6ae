"""Passages and their vectors in PostgreSQL, and the order of submissions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.commons.passages.embedding import Vector
from choir.commons.passages.model import EmbeddedPassage
from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Head:
    """How many submissions there were, and how many passages they made earlier work."""

    position: int
    passages: int


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage of earlier work."""

    id: int
    source: int | None
    publication: UUID | None
    article: UUID | None
    n: int
    words: int
    text: str
    vector: Vector
    position: int | None  # in the order of submissions


def head(tx: Tx, *, lock: bool = False) -> Head:
    locking = " for update" if lock else ""
    row = tx.row(f"select position, passages from submissions_head{locking}")  # noqa: S608 - our own words
    assert row is not None, "the migration has written it"
    return Head(*row)


def advance(tx: Tx) -> int:
    """The next place in the order of submissions; the caller holds the lock."""
    row = tx.row("update submissions_head set position = position + 1 returning position")
    assert row is not None
    return int(row[0])


def count_passages(tx: Tx, more: int) -> None:
    """So many passages more are earlier work; fewer, if the number is negative."""
    tx.run("update submissions_head set passages = passages + %s", more)


def add_of_source(tx: Tx, source: int, model: str, passages: Sequence[EmbeddedPassage]) -> None:
    """A source's passages; nobody has published them yet."""
    with tx.connection.cursor() as cursor:
        cursor.executemany(
            "insert into passages (source, n, words, model, vector) values (%s, %s, %s, %s, %s::halfvec)"
            " on conflict do nothing",
            [(source, item.n, item.words, model, literal(item.vector)) for item in passages],
        )


def add_of_article(
    tx: Tx,
    publication: UUID,
    article: UUID,
    position: int,
    model: str,
    passages: Sequence[tuple[int, str, Vector]],
) -> None:
    with tx.connection.cursor() as cursor:
        cursor.executemany(
            "insert into passages (publication, article, n, words, text, model, vector, position)"
            " values (%s, %s, %s, %s, %s, %s, %s::halfvec, %s)",
            [
                (publication, article, n, words, text, model, literal(vector), position)
                for n, (words, text, vector) in enumerate(passages)
            ],
        )


def open_sources(tx: Tx, sources: Collection[int], position: int) -> int:
    """Sources become earlier work with a submission that opens them; says how many passages that are."""
    return tx.run(
        "update passages set position = %s where source = any(%s) and position is null", position, list(sources)
    )


def remove(tx: Tx, publication: UUID) -> int:
    """A submission was refused: its words are not earlier work."""
    return tx.run("delete from passages where publication = %s", publication)


def without_passages(tx: Tx, sources: Collection[int]) -> list[int]:
    """Those of these sources that have text but were not embedded yet."""
    rows = tx.rows(
        "select distinct s.source from source_passages s where s.source = any(%s)"
        " and not exists (select from passages p where p.source = s.source)",
        list(sources),
    )
    return [row[0] for row in rows]


def sources_to_embed(tx: Tx, limit: int) -> list[int]:
    """Sources that were added before passages were embedded."""
    rows = tx.rows(
        "select s.atom from sources s where s.origin <> 'article' and s.chars > 0"
        " and not exists (select from passages p where p.source = s.atom)"
        " and exists (select from source_passages t where t.source = s.atom) order by s.atom limit %s",
        limit,
    )
    return [row[0] for row in rows]


def texts_of_source(tx: Tx, source: int) -> list[str]:
    return [row[0] for row in tx.rows("select text from source_passages where source = %s order by n", source)]


def position_of_source(tx: Tx, source: int) -> int | None:
    """When a source was first part of a submission."""
    row = tx.row(
        "select min(n.position) from publication_atoms p join novelty_scores n using (publication) where p.atom = %s",
        source,
    )
    return None if row is None else row[0]


def of_other_models(tx: Tx, model: str, limit: int) -> list[tuple[int, str]]:
    """Passages that have to be embedded again, with their texts."""
    rows = tx.rows(
        "select p.id, coalesce(p.text, s.text) from passages p"
        " left join source_passages s on s.source = p.source and s.n = p.n"
        " where p.model <> %s order by p.id limit %s",
        model, limit,
    )  # fmt: skip
    return [(row[0], row[1]) for row in rows]


def embed_again(tx: Tx, model: str, vectors: Sequence[tuple[int, Vector]]) -> None:
    with tx.connection.cursor() as cursor:
        cursor.executemany(
            "update passages set model = %s, vector = %s::halfvec where id = %s",
            [(model, literal(vector), id_) for id_, vector in vectors],
        )


def is_stale(tx: Tx, model: str) -> bool:
    """Whether a passage was embedded by another model; the two sides of the index are looked at, not all of it."""
    row = tx.row(
        "select exists (select from passages where model < %s) or exists (select from passages where model > %s)",
        model, model,
    )  # fmt: skip
    return bool(row and row[0])


def nearest(
    tx: Tx,
    vectors: Sequence[Vector],
    model: str,
    *,
    article: UUID,
    after: int,
    own_sources: Collection[int],
    k: int,
    width: int,
    exactly: bool,
) -> list[list[StoredPassage]]:
    """For each vector the nearest passages of earlier work, but for those of this article; about nearest first."""
    found: list[list[StoredPassage]] = [[] for _ in vectors]
    rows = tx.rows(
        "select * from nearest_passages(%s::halfvec[], %s, %s, %s, %s::bigint[], %s, %s, %s)",
        [literal(vector) for vector in vectors], model, article, after, list(own_sources), k, width, exactly,
    )  # fmt: skip
    for row in rows:
        found[row[0]].append(_stored(row[1:]))
    return found


def of_article(tx: Tx, article: UUID) -> list[StoredPassage]:
    """The own words of earlier versions of an article."""
    rows = tx.rows(
        "select id, source, publication, article, n, words, text, vector::real[], position from passages"
        " where article = %s order by id",
        article,
    )
    return [_stored(row) for row in rows]


def _stored(row: Sequence[Any]) -> StoredPassage:
    id_, source, publication, article, n, words, text, vector, position = row
    return StoredPassage(id_, source, publication, article, n, words, text, tuple(int(x) for x in vector), position)


def literal(vector: Vector) -> str:
    """As PostgreSQL reads it."""
    return f"[{','.join(map(str, vector))}]"
