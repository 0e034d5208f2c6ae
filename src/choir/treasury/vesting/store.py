"""Grants in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any
from uuid import UUID

from choir.foundation.ids import LAST_ID, uuid7
from choir.foundation.money import Asset
from choir.storage.database import Tx
from choir.treasury.vesting.model import Grant, GrantKind, GrantTotal

_COLUMNS = (
    "id, key, owner, asset, kind, subject, amount, source, place, starts_us, days, not_before_us, refs, reason,"
    " made_us, from_day, from_vested, vested, clawed, returned, next_us"
)


def insert(tx: Tx, grant: Grant) -> bool:
    """False if its key was used before; who comes second waits here for the first."""
    return bool(
        tx.run(
            "insert into vesting_grants (id, key, owner, asset, kind, subject, amount, source, place, starts_us, days,"
            " not_before_us, refs, reason, made_us, next_us)"
            " values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) on conflict (key) do nothing",
            grant.id, grant.key, grant.owner, grant.asset.name, grant.kind, grant.subject, grant.amount, grant.source,
            grant.place, grant.starts_us, grant.days, grant.not_before_us, list(grant.refs), grant.reason,
            grant.made_us, grant.next_us,
        )
    )  # fmt: skip


def update(tx: Tx, grant: Grant) -> None:
    tx.run(
        "update vesting_grants set days = %s, from_day = %s, from_vested = %s, vested = %s, clawed = %s, returned = %s,"
        " next_us = %s where id = %s",
        grant.days, grant.from_day, grant.from_vested, grant.vested, grant.clawed, grant.returned, grant.next_us,
        grant.id,
    )  # fmt: skip


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Grant | None:
    ending = " for update" if lock else ""
    row = tx.row(f"select {_COLUMNS} from vesting_grants where id = %s{ending}", id_)  # noqa: S608
    return None if row is None else _grant(row)


def by_key(tx: Tx, key: str) -> Grant | None:
    row = tx.row(f"select {_COLUMNS} from vesting_grants where key = %s", key)  # noqa: S608
    return None if row is None else _grant(row)


def by_subject(tx: Tx, subject: str, *, lock: bool = False) -> list[Grant]:
    ending = " for update" if lock else ""
    sql = f"select {_COLUMNS} from vesting_grants where subject = %s order by id{ending}"  # noqa: S608
    return [_grant(row) for row in tx.rows(sql, subject)]


def of_owner(tx: Tx, owner: str, *, before: UUID | None, limit: int) -> list[Grant]:
    sql = f"select {_COLUMNS} from vesting_grants where owner = %s and id < %s order by id desc limit %s"  # noqa: S608
    return [_grant(row) for row in tx.rows(sql, owner, before or LAST_ID, limit)]


def due(tx: Tx, now_us: int, limit: int) -> list[UUID]:
    """Grants with something to do now; of what is frozen, only those that have something to give back."""
    rows = tx.rows(
        "select g.id from vesting_grants g where g.next_us <= %s and (g.returned < g.clawed"
        " or not exists (select from vesting_freezes f where f.subject = g.subject)) order by g.next_us limit %s",
        now_us, limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def postpone(tx: Tx, id_: UUID, until_us: int) -> None:
    tx.run("update vesting_grants set next_us = %s where id = %s and next_us is not null", until_us, id_)


def freeze(tx: Tx, subject: str, cause: str, at_us: int) -> None:
    tx.run("insert into vesting_freezes values (%s, %s, %s) on conflict do nothing", subject, cause, at_us)


def unfreeze(tx: Tx, subject: str, cause: str) -> None:
    tx.run("delete from vesting_freezes where subject = %s and cause = %s", subject, cause)


def is_frozen(tx: Tx, subject: str) -> bool:
    return tx.row("select from vesting_freezes where subject = %s limit 1", subject) is not None


def note_claw_back(tx: Tx, id_: UUID, key: str | None, amount: int, reason: str, at_us: int) -> None:
    tx.run(
        'insert into vesting_claw_backs ("grant", key, amount, reason, at_us) values (%s, %s, %s, %s, %s)',
        id_, key, amount, reason, at_us,
    )  # fmt: skip


def clawed_with(tx: Tx, id_: UUID, key: str) -> int | None:
    """What was taken back with this key, if anything was."""
    found: int | None = tx.value('select amount from vesting_claw_backs where "grant" = %s and key = %s', id_, key)
    return found


def claw_backs(tx: Tx, id_: UUID) -> list[tuple[int, str, int]]:
    """Amount, reason and time of each."""
    rows = tx.rows('select amount, reason, at_us from vesting_claw_backs where "grant" = %s order by n', id_)
    return [(amount, reason, at_us) for amount, reason, at_us in rows]


def granted_between(tx: Tx, source: str, since_us: int, until_us: int) -> int:
    """What was granted out of an account in a time, less what came back of it."""
    return int(
        tx.value(
            "select coalesce(sum(amount - returned), 0) from vesting_grants"
            " where source = %s and made_us >= %s and made_us < %s",
            source, since_us, until_us,
        )
    )  # fmt: skip


def unvested(tx: Tx) -> int:
    """How many grants still vest."""
    return int(tx.value("select count(*) from vesting_grants where next_us is not null"))


def totals(tx: Tx, owner: str, subjects: Collection[str] | None = None) -> dict[GrantKind, GrantTotal]:
    """All that was granted to an owner, or about these subjects, by what it was for."""
    about = None if subjects is None else list(subjects)
    rows = tx.rows(
        "select kind, sum(amount), sum(vested), sum(clawed) from vesting_grants"
        " where owner = %s and (%s::text[] is null or subject = any(%s)) group by kind",
        owner, about, about,
    )  # fmt: skip
    return {GrantKind(row[0]): GrantTotal(int(row[1]), int(row[2]), int(row[3])) for row in rows}


def by_month(tx: Tx, owner: str, since_us: int) -> dict[tuple[str, GrantKind], int]:
    """What was granted to an owner since then and not taken back, by month and by what it was for."""
    rows = tx.rows(
        "select to_char(to_timestamp(made_us / 1000000) at time zone 'UTC', 'YYYY-MM'), kind, sum(amount - clawed)"
        " from vesting_grants where owner = %s and id >= %s and made_us >= %s group by 1, 2",
        owner, uuid7(since_us, 0, bytes(6)), since_us,
    )  # fmt: skip
    return {(month, GrantKind(kind)): int(amount) for month, kind, amount in rows}


def forget(tx: Tx, owner: str) -> None:
    """Grants that have ended do not say any more whose they were."""
    tx.run("update vesting_grants set owner = null where owner = %s and next_us is null", owner)


def _grant(row: tuple[Any, ...]) -> Grant:
    id_, key, owner, asset, kind, *rest = row
    subject, amount, source, place, starts_us, days, not_before_us, refs, *state = rest
    return Grant(
        id_, key, owner, Asset.of(asset), GrantKind(kind), subject, amount, source, place, starts_us, days,
        not_before_us, tuple(refs), *state,
    )  # fmt: skip
