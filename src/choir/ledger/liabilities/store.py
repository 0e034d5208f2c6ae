"""Snapshots of liabilities in PostgreSQL, and what of the journal they are made from.

The journal only grows, so what it says about a number in the past is the same in every transaction: batches are read
one by one, and nothing is locked or kept open meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from choir.ledger.liabilities.model import Snapshot
from choir.storage.database import Tx

_COLUMNS = "id, size, at_us, note, checkpoint, secret"
_BALANCE = """coalesce((
    select p.balance from postings p where p.account = {account} and p.seq <= %s
    order by p.seq desc, p.leg desc limit 1), 0)"""


# The journal, after so many entries


def owed_accounts(tx: Tx, size: int, *, after: int, limit: int) -> list[tuple[int, str, int]]:
    """A batch of the accounts of people and agents, by id: id, name, balance."""
    return tx.rows(_OWED, size, after, limit)


def held_for(tx: Tx, size: int) -> list[tuple[int, str, int]]:
    """The payers of holds that were open then: id, name, what was in their holds together."""
    return [(payer, name, int(held)) for payer, name, held in tx.rows(_HELD, size, size, size)]


def owed_by_asset(tx: Tx, size: int) -> dict[str, int]:
    """What all accounts of people and agents had together, without what was held for them."""
    return {asset: int(total) for asset, total in tx.rows(_OWED_TOTALS, size)}


def rest_by_asset(tx: Tx, size: int) -> dict[str, int]:
    """What all accounts had together that are neither of people, nor of agents, nor of holds."""
    return {asset: int(total) for asset, total in tx.rows(_REST, size)}


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


def notes(tx: Tx) -> list[tuple[int, str, str]]:
    """Of all that were ever published: size, signed totals, checkpoint."""
    return tx.rows("select size, note, checkpoint from liability_snapshots order by size")


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


def to_forget(tx: Tx, *, keep: int, unfinished_before: UUID) -> list[UUID]:
    """Those beyond the newest that are kept, and those that were begun before and never finished."""
    return [row[0] for row in tx.rows(_TO_FORGET, keep, unfinished_before)]


def _snapshot(row: tuple[Any, ...] | None) -> Snapshot | None:
    return None if row is None else Snapshot(*row)


_IS_OWED = "(a.name >= 'agent:' and a.name < 'agent;' or a.name >= 'person:' and a.name < 'person;')"

_OWED = f"""
    select a.id, a.name, {_BALANCE.format(account="a.id")} from accounts a
    where a.id > %s and {_IS_OWED} order by a.id limit %s
"""  # noqa: S608 - no input

_OWED_TOTALS = f"""
    select split_part(a.name, '/', 3), sum({_BALANCE.format(account="a.id")}) from accounts a
    where {_IS_OWED} group by 1
"""  # noqa: S608 - no input

_HELD = f"""
    select h.payer, p.name, sum({_BALANCE.format(account="h.account")})
    from holds h join accounts p on p.id = h.payer
    where h.placed_seq <= %s and (h.closed_seq is null or h.closed_seq > %s)
    group by h.payer, p.name
"""  # noqa: S608 - no input

_REST = f"""
    select split_part(a.name, '/', 3), sum({_BALANCE.format(account="a.id")}) from accounts a
    where a.name < 'agent:' or a.name >= 'agent;' and a.name < 'hold:'
        or a.name >= 'hold;' and a.name < 'person:' or a.name >= 'person;'
    group by 1
"""  # noqa: S608 - no input

_TO_FORGET = """
    select distinct p.snapshot from liability_tiles p where
        p.snapshot in (select id from liability_snapshots order by size desc offset %s)
        or p.snapshot < %s and not exists (select from liability_snapshots s where s.id = p.snapshot)
"""
