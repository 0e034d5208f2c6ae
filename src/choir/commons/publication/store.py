"""Publications, what they bring, and attestations in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from choir.commons.publication.model import Publication, PublicationState, RiskTier
from choir.foundation.canonical import ObjectHash
from choir.storage.database import Tx

_COLUMNS = (
    "id, article, version, draft, synthesis, owner, actor, key, state, stake, fee, risk_bps, tier, receipt, review,"
    " submitted_us, reviewed_us, window_until_us, promoted_us, stake_due_us, ended_us"
)
# Neither the version itself nor anything that it brings.
_UNCHALLENGED = (
    "not exists (select from atom_challenges c where c.publication = p.id and c.state in ('open', 'under_review'))"
    " and not exists (select from publication_atoms b join atom_challenges c on c.atom = b.atom"
    " where b.publication = p.id and c.state in ('open', 'under_review'))"
)
_UNFLAGGED = "not exists (select from atom_flags f where f.atom = p.synthesis and f.root <> p.synthesis)"


def insert(tx: Tx, item: Publication, atoms: Collection[int]) -> None:
    tx.run(
        f"insert into publications ({_COLUMNS}) values"  # noqa: S608 - names of columns
        " (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)",
        item.id, item.article, item.version, item.draft, item.synthesis, item.owner, item.actor, item.key, item.state,
        item.stake, item.fee, item.risk_bps, item.tier, item.receipt, item.review, item.submitted_us,
        item.reviewed_us, item.window_until_us, item.promoted_us, item.stake_due_us, item.ended_us,
    )  # fmt: skip
    tx.run("insert into publication_atoms select %s, unnest(%s::bigint[])", item.id, sorted(set(atoms)))


def save(tx: Tx, item: Publication) -> None:
    tx.run(
        "update publications set state = %s, review = %s, reviewed_us = %s, window_until_us = %s, promoted_us = %s,"
        " stake_due_us = %s, ended_us = %s where id = %s",
        item.state, item.review, item.reviewed_us, item.window_until_us, item.promoted_us, item.stake_due_us,
        item.ended_us, item.id,
    )  # fmt: skip


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Publication | None:
    suffix = " for update" if lock else ""
    row = tx.row(f"select {_COLUMNS} from publications where id = %s{suffix}", id_)  # noqa: S608
    return None if row is None else _publication(row)


def by_key(tx: Tx, owner: str, key: str) -> Publication | None:
    row = tx.row(f"select {_COLUMNS} from publications where owner = %s and key = %s", owner, key)  # noqa: S608
    return None if row is None else _publication(row)


def version(tx: Tx, article: UUID, n: int | None) -> Publication | None:
    """A version of an article; without a number the newest."""
    row = tx.row(
        f"select {_COLUMNS} from publications where article = %s and (%s::int is null or version = %s)"  # noqa: S608
        " order by version desc limit 1",
        article, n, n,
    )  # fmt: skip
    return None if row is None else _publication(row)


def versions(tx: Tx, article: UUID, before: int | None = None, limit: int | None = None) -> list[Publication]:
    """Newest first."""
    rows = tx.rows(
        f"select {_COLUMNS} from publications where article = %s and (%s::int is null or version < %s)"  # noqa: S608
        " order by version desc limit %s",
        article, before, before, limit,
    )  # fmt: skip
    return [_publication(row) for row in rows]


def promoted_version(tx: Tx, article: UUID) -> Publication | None:
    """The newest version that is citable."""
    row = tx.row(
        f"select {_COLUMNS} from publications where article = %s and state = 'promoted'"  # noqa: S608
        " order by version desc limit 1",
        article,
    )
    return None if row is None else _publication(row)


def atoms(tx: Tx, id_: UUID) -> list[int]:
    return [row[0] for row in tx.rows("select atom from publication_atoms where publication = %s order by atom", id_)]


def needed_elsewhere(tx: Tx, id_: UUID, atoms_: Collection[int]) -> set[int]:
    """Those of these atoms that another version under way brings too."""
    rows = tx.rows(
        "select distinct a.atom from publication_atoms a join publications p on p.id = a.publication"
        " where a.atom = any(%s) and p.id <> %s and p.state in ('in_review', 'in_window')",
        list(atoms_), id_,
    )  # fmt: skip
    return {row[0] for row in rows}


def answering_for(tx: Tx, atom: int) -> Publication | None:
    """The version that answers for an atom: of those that stand the one with most at stake, else the last."""
    columns = ", ".join(f"p.{name.strip()}" for name in _COLUMNS.split(","))
    row = tx.row(
        f"select {columns} from publication_atoms a join publications p on p.id = a.publication"  # noqa: S608
        " left join stakes s on s.id = p.stake and s.state = 'held'"
        " left join stake_parts o on o.stake = s.id and o.origin = 'own'"
        " where a.atom = %s order by p.state in ('in_window', 'promoted') desc, coalesce(o.amount, 0) desc, p.id desc"
        " limit 1",
        atom,
    )
    return None if row is None else _publication(row)


def bringing(tx: Tx, atom: int) -> list[UUID]:
    """All versions that brought an atom and stand, or whose stake is still held; in the order of locking."""
    rows = tx.rows(
        "select p.id from publication_atoms a join publications p on p.id = a.publication"
        " where a.atom = %s and (p.state in ('in_window', 'promoted') or p.stake_due_us is not null)"
        " order by p.article, p.id",
        atom,
    )
    return [row[0] for row in rows]


def windows_over(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    """Versions whose window has ended and that nobody challenges."""
    rows = tx.rows(
        "select p.id from publications p where p.state = 'in_window' and p.window_until_us <= %s"  # noqa: S608
        f" and {_UNCHALLENGED} order by p.window_until_us limit %s",
        now_us, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def stakes_due(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    """Versions whose stake can go back."""
    rows = tx.rows(
        f"select p.id from publications p where p.stake_due_us <= %s and {_UNCHALLENGED} and {_UNFLAGGED}"  # noqa: S608
        " order by p.stake_due_us limit %s",
        now_us, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def challenged(tx: Tx, id_: UUID) -> bool:
    """Whether somebody challenges a version or anything that it brings."""
    sql = f"select from publications p where p.id = %s and {_UNCHALLENGED}"
    return tx.row(sql, id_) is None


def say(tx: Tx, id_: UUID, reason: str) -> None:
    """Keep an author's words about a retraction; they are in no log, and go with the person."""
    tx.run("update publications set reason = %s where id = %s", reason, id_)


def forget(tx: Tx, owner: str) -> None:
    """An owner is erased: their words go."""
    tx.run("update publications set reason = null where owner = %s and reason is not null", owner)


def record(tx: Tx, owner: str) -> tuple[int, int]:
    """How many versions of an author's stand, and how many lost a challenge."""
    row = tx.row(
        "select count(*) filter (where p.state = 'promoted'),"
        " count(*) filter (where exists (select from atom_challenges c where c.publication = p.id and c.state = 'won'))"
        " from publications p where p.owner = %s",
        owner,
    )
    assert row is not None
    return row[0], row[1]


def by_stake(tx: Tx, owner: str, stakes: Collection[UUID]) -> dict[UUID, Publication]:
    """The versions of an owner's that these stakes are for."""
    sql = f"select {_COLUMNS} from publications where owner = %s and stake = any(%s)"  # noqa: S608
    found = [_publication(row) for row in tx.rows(sql, owner, list(stakes))]
    return {item.stake: item for item in found}


def has_published(tx: Tx, owner: str) -> bool:
    return tx.row("select from publications where owner = %s limit 1", owner) is not None


def to_review(tx: Tx, limit: int) -> list[UUID]:
    rows = tx.rows("select id from publications where state = 'in_review' order by id limit %s", limit)
    return [row[0] for row in rows]


# Attestations


def add_attestations(
    tx: Tx, type_: str, found: Sequence[tuple[int, ObjectHash, str, str | None, str]], by: str, at_us: int
) -> None:
    """Each an atom, the attestation's hash, its result, its level and its verifier."""
    columns: list[list[Any]] = [[item[n] for item in found] for n in range(5)]
    tx.run(
        "insert into attestations select o.atom, %s, o.hash, o.result, o.level, o.verifier, %s, %s"
        " from unnest(%s::bigint[], %s::text[], %s::text[], %s::text[], %s::text[])"
        " with ordinality as o (atom, hash, result, level, verifier, n) order by o.n on conflict do nothing",
        type_, by, at_us, *columns,
    )  # fmt: skip


def attestations(tx: Tx, atoms_: Collection[int]) -> list[tuple[int, str, str, str, str | None, str, str, int]]:
    """Of these atoms: atom, type, hash, result, level, verifier, attester, time; oldest first."""
    rows = tx.rows(
        "select atom, type, hash, result, level, verifier, attester, at_us from attestations"
        " where atom = any(%s) order by at_us",
        list(atoms_),
    )
    return [(row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7]) for row in rows]


def _publication(row: Sequence[Any]) -> Publication:
    values = list(row)
    values[8], values[12] = PublicationState(values[8]), RiskTier(values[12])
    return Publication(*values)
