"""What is kept how long, in PostgreSQL. A job's row is locked before anything of this changes."""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

from choir.bazaar.retention.model import Keep, RetentionState
from choir.storage.database import Tx

_KEEP: LiteralString = "job, key, days, bytes, price, kept_until_us, at_us"


def state(tx: Tx, job: UUID) -> RetentionState:
    row = tx.row("select id, closed_us, kept_until_us, removed_us from jobs where id = %s", job)
    assert row is not None
    return RetentionState(*row)


def due(tx: Tx, closed_before_us: int, now_us: int, limit: int, only: UUID | None = None) -> list[UUID]:
    """Closed jobs whose time is over, oldest first, but for those that a dispute still needs."""
    rows = tx.rows(
        "select j.id from jobs j where j.closed_us <= %s and j.removed_us is null"
        " and coalesce(j.kept_until_us, 0) <= %s and (%s::uuid is null or j.id = %s)"
        " and not exists (select from disputes d where d.job = j.id and d.state <> 'resolved')"
        " and not exists (select from second_reviews s where s.state = 'waiting' and (s.job = j.id or s.review = j.id))"
        " order by j.closed_us limit %s",
        closed_before_us, now_us, only, only, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def set_removed(tx: Tx, job: UUID, at_us: int) -> None:
    tx.run("update jobs set removed_us = %s where id = %s", at_us, job)


def set_kept_until(tx: Tx, job: UUID, until_us: int) -> None:
    tx.run("update jobs set kept_until_us = %s where id = %s", until_us, job)


def keep(tx: Tx, job: UUID, key: str) -> Keep | None:
    row = tx.row(f"select {_KEEP} from job_keeps where job = %s and key = %s", job, key)  # noqa: S608
    return Keep(*row) if row else None


def insert_keep(tx: Tx, made: Keep) -> None:
    tx.run(
        f"insert into job_keeps ({_KEEP}) values (%s, %s, %s, %s, %s, %s, %s)",  # noqa: S608
        made.job, made.key, made.days, made.bytes, made.price, made.kept_until_us, made.at_us,
    )  # fmt: skip
