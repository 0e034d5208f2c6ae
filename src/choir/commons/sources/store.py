"""Sources and their passages in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from choir.commons.atoms.store import hash_name
from choir.commons.sources.model import SourceRecord
from choir.foundation.canonical import ObjectHash, hash_digest
from choir.storage.database import Tx

_COLUMNS = (
    "a.hash, a.id, a.state, s.owner, s.media_type, s.bytes_hash, s.text_hash, s.size, s.chars, s.reader, s.origin,"
    " s.url, s.title, s.added_us"
)
_UP = "not exists (select from taken_atoms h where h.atom = {}.id)"  # no standing takedown hides it
_READABLE = (
    "(a.state <> 'UNTRUSTED' or exists (select from atom_makers m where m.atom = a.id and m.owner = any(%s)))"
    f" and {_UP.format('a')}"
)


def insert(tx: Tx, source: SourceRecord) -> None:
    tx.run(
        "insert into sources (atom, owner, media_type, bytes_hash, text_hash, size, chars, reader, origin, url, title,"
        " added_us) values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict (atom) do nothing",
        source.atom, source.owner, source.media_type, hash_digest(source.bytes), hash_digest(source.text),
        source.size, source.chars, source.reader, source.origin, source.url, source.title, source.added_us,
    )  # fmt: skip


def add_passages(tx: Tx, source: int, passages: Sequence[tuple[int, int, str]]) -> None:
    with tx.connection.cursor() as cursor:
        cursor.executemany(
            "insert into source_passages (source, n, starts, ends, text) values (%s, %s, %s, %s, %s)"
            " on conflict do nothing",
            [(source, n, start, end, text) for n, (start, end, text) in enumerate(passages)],
        )


def get(tx: Tx, name: ObjectHash) -> SourceRecord | None:
    row = tx.row(
        f"select {_COLUMNS} from sources s join atoms a on a.id = s.atom where a.hash = %s",  # noqa: S608
        hash_digest(name),
    )
    return None if row is None else _source(row)


def same(tx: Tx, owner: str, bytes_: ObjectHash, origin: str, title: str, url: str | None) -> SourceRecord | None:
    """What this owner added before, if it was the very same."""
    row = tx.row(
        f"select {_COLUMNS} from sources s join atoms a on a.id = s.atom"  # noqa: S608
        " where s.owner = %s and s.bytes_hash = %s and s.origin = %s and s.title = %s and coalesce(s.url, '') = %s",
        owner, hash_digest(bytes_), origin, title, url or "",
    )  # fmt: skip
    return None if row is None else _source(row)


def page(tx: Tx, mine: Collection[str], *, own: bool, before: int | None, limit: int) -> list[SourceRecord]:
    """Sources that everybody may see or that these added; with `own` only the latter; newest first.

    Looked up apart, because others' private sources may be any number between them.
    """
    last = 2**63 - 1 if before is None else before
    rows = tx.rows(
        "with found (id) as ("  # noqa: S608 - names of columns
        f" (select id from atoms where kind = 'SOURCE' and state <> 'UNTRUSTED' and {_UP.format('atoms')}"
        " and not %s and id < %s"
        " order by id desc limit %s) union"
        " (select atom from sources where owner = any(%s) and atom < %s order by atom desc limit %s))"
        f" select {_COLUMNS} from found join atoms a using (id) join sources s on s.atom = a.id"
        " order by a.id desc limit %s",
        own, last, limit, list(mine), last, limit, limit,
    )  # fmt: skip
    return [_source(row) for row in rows]


def search(
    tx: Tx, words: str, mine: Collection[str], source: int | None, limit: int, matches_max: int
) -> list[tuple[SourceRecord, int, int, str]]:
    """Passages that fit, best first: where each begins and ends, and its text. Of very many, some are ranked."""
    rows = tx.rows(
        "with q as (select websearch_to_tsquery('english', %s) as q), p as ("  # noqa: S608
        " select p.source, p.n, p.starts, p.ends, p.text, p.search from source_passages p"
        " join atoms a on a.id = p.source, q"
        f" where p.search @@ q.q and (%s::bigint is null or p.source = %s) and {_READABLE} limit %s)"
        f" select {_COLUMNS}, p.starts, p.ends, p.text"
        " from p join sources s on s.atom = p.source join atoms a on a.id = s.atom, q"
        " order by ts_rank(p.search, q.q) desc, p.source, p.n limit %s",
        words, source, source, list(mine), matches_max, limit,
    )  # fmt: skip
    return [(_source(row[:14]), row[14], row[15], row[16]) for row in rows]


def _source(row: Sequence[Any]) -> SourceRecord:
    values = list(row)
    values[0], values[5], values[6] = hash_name(values[0]), hash_name(values[5]), hash_name(values[6])
    return SourceRecord(*values)
