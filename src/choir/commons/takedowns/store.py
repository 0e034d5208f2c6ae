"""Takedowns and the atoms that they hide, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from choir.commons.atoms.store import hash_name
from choir.commons.takedowns.model import Category, Takedown
from choir.foundation.canonical import hash_digest
from choir.storage.database import Tx

_COLUMNS = (
    "t.id, t.article, a.hash, t.category, t.note, t.operator, t.at_us, t.restored_us, t.restored_by, t.restored_note"
)
_FROM = "from takedowns t left join atoms a on a.id = t.source"
_LAST = UUID(int=2**128 - 1)


def insert(tx: Tx, item: Takedown) -> None:
    tx.run(
        "insert into takedowns (id, article, source, category, note, operator, at_us)"
        " values (%s, %s, (select id from atoms where hash = %s), %s, %s, %s, %s)",
        item.id, item.article, None if item.source is None else hash_digest(item.source), item.category, item.note,
        item.operator, item.at_us,
    )  # fmt: skip


def hide(tx: Tx, takedown: UUID) -> None:
    """Hide the source, or every version of the article with the sources that were made of them."""
    tx.run(
        "insert into taken_atoms (atom, takedown)"
        " select source, id from takedowns where id = %s and source is not null union"
        " select p.synthesis, t.id from takedowns t join publications p on p.article = t.article where t.id = %s union"
        " select s.id, t.id from takedowns t join publications p on p.article = t.article"
        " join atom_edges e on e.rests_on = p.synthesis join atoms s on s.id = e.atom and s.kind = 'SOURCE'"
        " where t.id = %s on conflict do nothing",
        takedown, takedown, takedown,
    )  # fmt: skip


def show(tx: Tx, takedown: UUID) -> None:
    tx.run("delete from taken_atoms where takedown = %s", takedown)


def restore(tx: Tx, id_: UUID, at_us: int, by: str, note: str) -> None:
    tx.run("update takedowns set restored_us = %s, restored_by = %s, restored_note = %s where id = %s",
           at_us, by, note, id_)  # fmt: skip


def lock(tx: Tx, id_: UUID) -> Takedown | None:
    row = tx.row(f"select {_COLUMNS} {_FROM} where t.id = %s for update of t", id_)
    return None if row is None else _takedown(row)


def of_article(tx: Tx, article: UUID) -> Takedown | None:
    """The one that stands."""
    row = tx.row(f"select {_COLUMNS} {_FROM} where t.article = %s and t.restored_us is null", article)
    return None if row is None else _takedown(row)


def of_atom(tx: Tx, atom: int) -> Takedown | None:
    """One that hides this atom."""
    row = tx.row(
        f"select {_COLUMNS} {_FROM} join taken_atoms h on h.takedown = t.id where h.atom = %s order by t.id limit 1",
        atom,
    )
    return None if row is None else _takedown(row)


def of_source(tx: Tx, atom: int) -> Takedown | None:
    """The one of the source itself that stands."""
    row = tx.row(f"select {_COLUMNS} {_FROM} where t.source = %s and t.restored_us is null", atom)
    return None if row is None else _takedown(row)


def hidden(tx: Tx, atoms: Collection[int]) -> set[int]:
    """Those of these atoms that nobody but their makers and operators may read."""
    rows = tx.rows("select distinct atom from taken_atoms where atom = any(%s)", list(atoms)) if atoms else []
    return {row[0] for row in rows}


def taken_articles(tx: Tx, articles: Collection[UUID]) -> set[UUID]:
    """Those of these articles that are taken down."""
    rows = tx.rows("select article from takedowns where article = any(%s) and restored_us is null", list(articles))
    return {row[0] for row in rows}


def page(tx: Tx, before: UUID | None, limit: int) -> list[Takedown]:
    """Newest first."""
    rows = tx.rows(
        f"select {_COLUMNS} {_FROM} where t.id < %s order by t.id desc limit %s",
        before or _LAST, limit,
    )  # fmt: skip
    return [_takedown(row) for row in rows]


def _takedown(row: Sequence[Any]) -> Takedown:
    id_, article, source, category, *rest = row
    return Takedown(id_, article, None if source is None else hash_name(source), Category(category), *rest)
