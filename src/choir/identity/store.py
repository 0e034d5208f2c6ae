"""Acts and idempotency keys in PostgreSQL; what they mean is said in `audit` and `repeats`."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from choir.identity.model import Act
from choir.storage.database import Tx

# Acts


def insert_act(tx: Tx, act: str, at_us: int, actor: str, owner: str, subject: str | None, data: dict[str, Any]) -> None:
    tx.run(
        "insert into identity_acts (at_us, actor, owner, act, subject, data) values (%s, %s, %s, %s, %s, %s)",
        at_us, actor, owner, act, subject, Jsonb(data),
    )  # fmt: skip


def acts(tx: Tx, owner: str, before: int, limit: int) -> list[Act]:
    """Acts about one owner, newest first."""
    return tx.all(
        Act,
        "select n, at_us, actor, owner, act, subject, data from identity_acts"
        " where owner = %s and n < %s order by n desc limit %s",
        owner, before, limit,
    )  # fmt: skip


# Idempotency keys


def insert_repeat(tx: Tx, source: str, key: str, content: bytes, at_us: int) -> bool:
    """Keep a new key; False: it is there. Waits until whoever uses the same now has committed, or given up."""
    return bool(
        tx.run(
            "insert into repeats (source, key, content, at_us) values (%s, %s, %s, %s) on conflict do nothing",
            source, key, content, at_us,
        )
    )  # fmt: skip


def repeat(tx: Tx, source: str, key: str) -> tuple[bytes, UUID] | None:
    """The content that a key was used with, and what it made."""
    row = tx.row("select content, made from repeats where source = %s and key = %s", source, key)
    return None if row is None else (bytes(row[0]), row[1])


def bind_repeat(tx: Tx, source: str, key: str, made: UUID) -> None:
    tx.run("update repeats set made = %s where source = %s and key = %s", made, source, key)


def forget_repeats(tx: Tx, before_us: int, limit: int) -> int:
    """Remove some keys from before then; says how many."""
    return tx.run(
        "delete from repeats where (source, key) in (select source, key from repeats where at_us < %s"
        " order by at_us limit %s for update skip locked)",
        before_us, limit,
    )  # fmt: skip
