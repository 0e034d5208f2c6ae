"""Uploads and their parts in PostgreSQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import LiteralString
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.storage.database import Tx

_UPLOAD: LiteralString = "select id, owner, hash, bytes, part_bytes, begun_us, expires_us, done_us from uploads"


@dataclass(frozen=True, slots=True)
class Upload:
    """Bytes that are announced: they come in parts of one size, the last one shorter."""

    id: UUID
    owner: str
    hash: ObjectHash
    bytes: int
    part_bytes: int
    begun_us: int
    expires_us: int
    done_us: int | None = None

    @property
    def parts(self) -> int:
        return -(-self.bytes // self.part_bytes)

    def size_of(self, n: int) -> int:
        """How many bytes a part must have."""
        return min(self.part_bytes, self.bytes - n * self.part_bytes)


def lock_owner(tx: Tx, owner: str) -> None:
    """From here to the commit this transaction alone begins uploads for the owner."""
    tx.run("select pg_advisory_xact_lock(hashtextextended(%s, 0))", f"uploads of {owner}")


def insert(tx: Tx, upload: Upload) -> None:
    tx.run(
        "insert into uploads (id, owner, hash, bytes, part_bytes, begun_us, expires_us, done_us)"
        " values (%s, %s, %s, %s, %s, %s, %s, %s)",
        upload.id, upload.owner, upload.hash, upload.bytes, upload.part_bytes, upload.begun_us, upload.expires_us,
        upload.done_us,
    )  # fmt: skip


def find(tx: Tx, owner: str, name: ObjectHash, size: int) -> Upload | None:
    return tx.one_or_none(Upload, _UPLOAD + " where owner = %s and hash = %s and bytes = %s", owner, name, size)


def get(tx: Tx, id_: UUID) -> Upload | None:
    return tx.one_or_none(Upload, _UPLOAD + " where id = %s", id_)


def lock(tx: Tx, id_: UUID, *, alone: bool) -> Upload | None:
    """An upload that stays: parts may come side by side, whoever finishes it is alone."""
    return tx.one_or_none(Upload, _UPLOAD + " where id = %s" + (" for update" if alone else " for key share"), id_)


def unfinished(tx: Tx, owner: str, now_us: int) -> tuple[int, int]:
    """How many uploads of an owner are under way, and the bytes that were announced for them."""
    row = tx.row(
        "select count(*), coalesce(sum(bytes), 0) from uploads"
        " where owner = %s and done_us is null and expires_us > %s",
        owner, now_us,
    )  # fmt: skip
    assert row is not None
    return int(row[0]), int(row[1])


def put_part(tx: Tx, upload: UUID, n: int, data: bytes) -> None:
    tx.run(
        "insert into upload_parts (upload, n, data) values (%s, %s, %b)"
        " on conflict (upload, n) do update set data = excluded.data",
        upload, n, data,
    )  # fmt: skip


def part(tx: Tx, upload: UUID, n: int) -> bytes | None:
    row = tx.connection.execute(
        "select data from upload_parts where upload = %b and n = %b", [upload, n], binary=True
    ).fetchone()
    return None if row is None else bytes(row[0])


def missing(tx: Tx, upload: Upload, limit: int) -> list[int]:
    """Parts that have not arrived, the first ones."""
    rows = tx.rows(
        "select n from generate_series(0, %s - 1) as asked (n)"
        " where not exists (select from upload_parts p where p.upload = %s and p.n = asked.n) order by n limit %s",
        upload.parts, upload.id, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def finish(tx: Tx, upload: UUID, done_us: int) -> None:
    """It is an object now: its parts are not needed any more."""
    tx.run("update uploads set done_us = %s where id = %s", done_us, upload)
    tx.run("delete from upload_parts where upload = %s", upload)


def drop(tx: Tx, upload: UUID) -> None:
    tx.run("delete from uploads where id = %s", upload)


def put_off(tx: Tx, since_us: int, by_us: int) -> int:
    """Move the ends of uploads whose time was not over then; says how many."""
    first_us = min(since_us, since_us + by_us)
    return tx.run(
        "update uploads set expires_us = greatest(expires_us + %s, %s) where expires_us > %s",
        by_us, first_us, first_us,
    )  # fmt: skip


def forget(tx: Tx, now_us: int, limit: int) -> int:
    """Drop uploads whose time is over, but for those that somebody is at work on."""
    return tx.run(
        "delete from uploads where id in"
        " (select id from uploads where expires_us <= %s order by expires_us limit %s for update skip locked)",
        now_us, limit,
    )  # fmt: skip
