"""Snapshots of liabilities in PostgreSQL, and what of the journal they are made from.

The journal only grows, so what it says about a number in the past is the same in every transaction: batches are read
one by one, and nothing is locked or kept open meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from choir.ledger.liabilities.model import Snapshot
from choir.ledger.queries import held_at, last_balance
from choir.storage.database import Tx

_COLUMNS = "id, size, at_us, note, checkpoint, secret"


def try_alone(tx: Tx) -> bool:
    """Be the one who makes a snapshot, for as long as this connection lives; False if another is."""
    return bool(tx.value("select pg_try_advisory_lock(hashtext('choir liabilities'))"))


def notice_absence(tx: Tx) -> None:
    """Let the server notice within a minute that the machine at the other end is gone, and end what that one holds."""
    tx.run("set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3")


# The journal, after so many entries


def owed_accounts(tx: Tx, size: int, *, after: int, limit: int) -> list[tuple[int, str, int, int]]:
    """A batch of the accounts of people and agents, by id: id, name, balance, what was held for it."""
    rows = tx.rows(_OWED, size, size, size, size, after, limit)
    return [(id_, name, balance, int(held)) for id_, name, balance, held in rows]


def rest_by_asset(tx: Tx, size: int) -> dict[str, int]:
    """What all accounts had and was held for them that are neither of people, nor of agents, nor of holds."""
    return {asset: int(total) for asset, total in tx.rows(_REST, size, size, size, size)}


def accounts_of(tx: Tx, owner: str) -> list[tuple[int, str]]:
    """The accounts of an owner, such as person:…, by name: id, name."""
    return tx.rows(
        "select id, name from accounts where name >= %s and name < %s order by name", f"{owner}/", f"{owner}0"
    )


# Snapshots


def latest(tx: Tx) -> Snapshot | None:
    return _snapshot(tx.row(f"select {_COLUMNS} from liability_snapshots order by size desc limit 1"))  # noqa: S608


def of_size(tx: Tx, size: int) -> Snapshot | None:
    return _snapshot(tx.row(f"select {_COLUMNS} from liability_snapshots where size = %s", size))  # noqa: S608


def notes(tx: Tx) -> Iterator[tuple[Any, ...]]:
    """Of all that were ever published, by size, as they are asked for: size, signed totals, checkpoint."""
    return tx.stream("select size, note, checkpoint from liability_snapshots order by size", name="liability_notes")


def kept(tx: Tx) -> list[Snapshot]:
    """Those that proofs can still be made from, newest first; the newest also if nothing of it is there any more."""
    return tx.all(Snapshot, _KEPT)


def insert(tx: Tx, snapshot: Snapshot) -> bool:
    """Whether it is there now; not if there is one of that size already."""
    done = tx.run(
        f"insert into liability_snapshots ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s)"  # noqa: S608
        " on conflict (size) do nothing",
        snapshot.id, snapshot.size, snapshot.at_us, snapshot.note, snapshot.checkpoint, snapshot.secret,
    )  # fmt: skip
    return done == 1


def put_tiles(tx: Tx, snapshot: UUID, asset: str, tiles: Sequence[tuple[int, int, int, bytes]]) -> None:
    with tx.connection.cursor() as cursor:
        cursor.executemany(
            "insert into liability_tiles (snapshot, asset, share, level, n, nodes) values (%s, %s, %s, %s, %s, %s)",
            [(snapshot, asset, *tile) for tile in tiles],
        )


def put_pages(tx: Tx, snapshot: UUID, asset: str, pages: Sequence[tuple[int, bytes]]) -> None:
    with tx.connection.cursor() as cursor:
        cursor.executemany(
            "insert into liability_pages (snapshot, asset, first, rows) values (%s, %s, %s, %s)",
            [(snapshot, asset, *page) for page in pages],
        )


def tile(tx: Tx, snapshot: UUID, asset: str, share: int, level: int, n: int) -> bytes | None:
    found: bytes | None = tx.value(
        "select nodes from liability_tiles where snapshot = %s and asset = %s and share = %s and level = %s and n = %s",
        snapshot, asset, share, level, n,
    )  # fmt: skip
    return found


def page(tx: Tx, snapshot: UUID, asset: str, account: int) -> bytes | None:
    """The page on which an account is, if it is on any."""
    found: bytes | None = tx.value(
        "select rows from liability_pages where snapshot = %s and asset = %s and first <= %s"
        " order by first desc limit 1",
        snapshot, asset, account,
    )  # fmt: skip
    return found


def is_kept(tx: Tx, snapshot: UUID) -> bool:
    """Whether there is still what proofs are made from."""
    return tx.value("select 1 from liability_pages where snapshot = %s limit 1", snapshot) is not None


def forget(tx: Tx, snapshot: UUID) -> None:
    """Drop what proofs are made from; the note itself stays."""
    tx.run("delete from liability_tiles where snapshot = %s", snapshot)
    tx.run("delete from liability_pages where snapshot = %s", snapshot)


def begin(tx: Tx, snapshot: UUID) -> None:
    """From now on parts of this one may be written."""
    tx.run("insert into liability_drafts (snapshot) values (%s)", snapshot)


def finish(tx: Tx, snapshot: UUID) -> None:
    """All of it is written."""
    tx.run("delete from liability_drafts where snapshot = %s", snapshot)


def forget_unfinished(tx: Tx) -> None:
    """Drop what was begun and never finished; only for who is alone, for another may be at it."""
    for (snapshot,) in tx.rows("select snapshot from liability_drafts"):
        forget(tx, snapshot)
        finish(tx, snapshot)


def too_old(tx: Tx, keep: int) -> list[UUID]:
    """Those beyond the newest, from which proofs can still be made."""
    return [row[0] for row in tx.rows(_TOO_OLD, keep)]


def tiles(tx: Tx, snapshot: UUID, asset: str) -> Iterator[tuple[Any, ...]]:
    """All that is kept of an asset's trees, in order: share, level, number, nodes."""
    return tx.stream(_TILES, snapshot, asset, name="liability_tiles")


def pages(tx: Tx, snapshot: UUID, asset: str) -> Iterator[tuple[Any, ...]]:
    """All pages of an asset, in order: first account, rows."""
    return tx.stream(_PAGES, snapshot, asset, name="liability_pages")


def assets(tx: Tx, snapshot: UUID) -> set[str]:
    """Of which assets anything is kept."""
    return {row[0] for row in tx.rows(_ASSETS, snapshot, snapshot)}


def _snapshot(row: tuple[Any, ...] | None) -> Snapshot | None:
    return None if row is None else Snapshot(*row)


_BALANCE, _HELD = last_balance("a.id", until="%s"), held_at("a.id")

# In the words of the index `accounts_owed`.
_IS_OWED = "(a.name >= 'agent:' and a.name < 'agent;' or a.name >= 'person:' and a.name < 'person;')"

_OWED = f"""
    select a.id, a.name, {_BALANCE}, {_HELD} from accounts a
    where {_IS_OWED} and a.id > %s order by a.id limit %s
"""  # noqa: S608 - no input

_REST = f"""
    select split_part(a.name, '/', 3), sum({_BALANCE} + {_HELD}) from accounts a
    where a.name < 'agent:' or a.name >= 'agent;' and a.name < 'hold:'
        or a.name >= 'hold;' and a.name < 'person:' or a.name >= 'person;'
    group by 1
"""  # noqa: S608 - no input

_TOO_OLD = """
    select old.id from (select id from liability_snapshots order by size desc offset %s) old
    where exists (select from liability_pages p where p.snapshot = old.id)
        or exists (select from liability_tiles t where t.snapshot = old.id)
"""

_KEPT = f"""
    select {_COLUMNS} from liability_snapshots s
    where exists (select from liability_pages p where p.snapshot = s.id)
        or exists (select from liability_tiles t where t.snapshot = s.id)
        or size = (select max(size) from liability_snapshots)
    order by size desc
"""  # noqa: S608 - no input

_TILES = """
    select share, level, n, nodes from liability_tiles where snapshot = %s and asset = %s order by share, level, n
"""

_PAGES = "select first, rows from liability_pages where snapshot = %s and asset = %s order by first"

_ASSETS = """
    select asset from liability_tiles where snapshot = %s union select asset from liability_pages where snapshot = %s
"""
