"""Issuances and their approvals in PostgreSQL."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from choir.foundation.canonical import canonical_bytes
from choir.foundation.ids import LAST_ID
from choir.ledger.issuances.model import Approval, Issuance
from choir.ledger.model import Leg
from choir.storage.database import Tx

_COLUMNS = "id, proposer, key, reason, legs, proposed_us, expires_us, entry, ended_by, ended_us"

NEWEST = f"select {_COLUMNS} from issuances where id < %s order by id desc limit %s"  # noqa: S608 - no input

# Materialized, because by the order of the ids every issuance that ever expired would be walked over.
NEWEST_OPEN = f"""
    with waiting as materialized (
        select {_COLUMNS} from issuances where ended_us is null and expires_us > %s
    )
    select * from waiting where id < %s order by id desc limit %s
"""  # noqa: S608 - no input


def lock_all(tx: Tx) -> None:
    """Let nobody else propose until this transaction ends, so that they can be counted."""
    tx.run("select pg_advisory_xact_lock(hashtext('choir issuances'))")


def insert(tx: Tx, issuance: Issuance) -> None:
    tx.run(
        "insert into issuances (id, proposer, key, reason, legs, proposed_us, expires_us)"
        " values (%s, %s, %s, %s, %s, %s, %s)",
        issuance.id, issuance.proposer, issuance.key, issuance.reason, _legs_text(issuance.legs),
        issuance.proposed_us, issuance.expires_us,
    )  # fmt: skip
    for approval in issuance.approvals:
        add_approval(tx, issuance.id, approval)


def add_approval(tx: Tx, id_: UUID, approval: Approval) -> None:
    tx.run(
        "insert into issuance_approvals (issuance, operator, at_us) values (%s, %s, %s)",
        id_, approval.operator, approval.at_us,
    )  # fmt: skip


def end(tx: Tx, id_: UUID, *, entry: UUID | None, by: str, at_us: int) -> None:
    tx.run("update issuances set entry = %s, ended_by = %s, ended_us = %s where id = %s", entry, by, at_us, id_)


def get(tx: Tx, id_: UUID, *, lock: bool = False) -> Issuance | None:
    row = tx.row(f"select {_COLUMNS} from issuances where id = %s" + (" for update" if lock else ""), id_)  # noqa: S608
    return None if row is None else _issuance(row, _approvals(tx, [id_]))


def by_key(tx: Tx, proposer: str, key: str) -> Issuance | None:
    row = tx.row(f"select {_COLUMNS} from issuances where proposer = %s and key = %s", proposer, key)  # noqa: S608
    return None if row is None else _issuance(row, _approvals(tx, [row[0]]))


def count_open(tx: Tx, now_us: int) -> int:
    return int(tx.value("select count(*) from issuances where ended_us is null and expires_us > %s", now_us))


def newest(tx: Tx, *, before: UUID | None, limit: int) -> list[Issuance]:
    """A page of all of them, the newest first."""
    return _issuances(tx, tx.rows(NEWEST, before or LAST_ID, limit))


def newest_open(tx: Tx, now_us: int, *, before: UUID | None, limit: int) -> list[Issuance]:
    """A page of those that are open. All of these are read, which policy keeps few, and none of the others."""
    return _issuances(tx, tx.rows(NEWEST_OPEN, now_us, before or LAST_ID, limit))


def _issuances(tx: Tx, rows: list[tuple[Any, ...]]) -> list[Issuance]:
    approvals = _approvals(tx, [row[0] for row in rows])
    return [_issuance(row, approvals) for row in rows]


def _approvals(tx: Tx, ids: list[UUID]) -> dict[UUID, list[Approval]]:
    found: dict[UUID, list[Approval]] = {}
    for id_, operator, at_us in tx.rows(
        "select issuance, operator, at_us from issuance_approvals where issuance = any(%s) order by at_us, operator",
        ids,
    ):
        found.setdefault(id_, []).append(Approval(operator, at_us))
    return found


def _issuance(row: tuple[Any, ...], approvals: dict[UUID, list[Approval]]) -> Issuance:
    id_, proposer, key, reason, legs, proposed_us, expires_us, entry, ended_by, ended_us = row
    return Issuance(
        id_, proposer, key, reason, _legs(legs), proposed_us, expires_us, tuple(approvals.get(id_, ())),
        entry, ended_by, ended_us,
    )  # fmt: skip


def _legs_text(legs: tuple[Leg, ...]) -> str:
    return canonical_bytes([{"amount": str(leg.amount), "from": leg.from_, "to": leg.to} for leg in legs]).decode()


def _legs(text: str) -> tuple[Leg, ...]:
    return tuple(Leg(leg["from"], leg["to"], int(leg["amount"])) for leg in json.loads(text))
