"""Governed and noted prices in PostgreSQL."""

from __future__ import annotations

from uuid import UUID

from choir.foundation.ids import LAST_ID
from choir.storage.database import Tx
from choir.treasury.oracle.model import GovernedPriceChange, Quote

_COLUMNS = "id, micro_usdc, reason, proposer, key, proposed_us, expires_us, approver, in_force_us"
_DAY_US = 86_400 * 1_000_000
NOTED = "oracle"


def lock(tx: Tx) -> None:
    """Let nobody else change the governed price until this transaction ends."""
    tx.run("select pg_advisory_xact_lock(hashtext('choir governed price'))")


def insert(tx: Tx, item: GovernedPriceChange) -> bool:
    """False if its proposer has used its key before."""
    return bool(
        tx.run(
            f"insert into governed_prices ({_COLUMNS}) values (%s, %s, %s, %s, %s, %s, %s, %s, %s)"  # noqa: S608
            " on conflict (proposer, key) do nothing",
            item.id, item.micro_usdc, item.reason, item.proposer, item.key, item.proposed_us, item.expires_us,
            item.approver, item.in_force_us,
        )
    )  # fmt: skip


def enforce(tx: Tx, id_: UUID, approver: str, at_us: int) -> None:
    tx.run("update governed_prices set approver = %s, in_force_us = %s where id = %s", approver, at_us, id_)


def get(tx: Tx, id_: UUID) -> GovernedPriceChange | None:
    return tx.one_or_none(GovernedPriceChange, f"select {_COLUMNS} from governed_prices where id = %s", id_)  # noqa: S608


def by_key(tx: Tx, proposer: str, key: str) -> GovernedPriceChange | None:
    return tx.one_or_none(
        GovernedPriceChange,
        f"select {_COLUMNS} from governed_prices where proposer = %s and key = %s",  # noqa: S608
        proposer,
        key,
    )


def in_force(tx: Tx, at_us: int) -> GovernedPriceChange | None:
    """What was in force at a moment."""
    return tx.one_or_none(
        GovernedPriceChange,
        f"select {_COLUMNS} from governed_prices where in_force_us <= %s"  # noqa: S608
        " order by in_force_us desc, id desc limit 1",
        at_us,
    )


def in_force_since(tx: Tx, since_us: int) -> list[int]:
    """Every price that came into force after a moment."""
    return [row[0] for row in tx.rows("select micro_usdc from governed_prices where in_force_us > %s", since_us)]


def newest(tx: Tx, *, before: UUID | None, limit: int) -> list[GovernedPriceChange]:
    return tx.all(
        GovernedPriceChange,
        f"select {_COLUMNS} from governed_prices where id < %s order by id desc limit %s",  # noqa: S608
        before or LAST_ID,
        limit,
    )


def note(tx: Tx, micro_usdc: int, at_us: int) -> None:
    """Note the valid price of a day, the latest of it; twice the same writes nothing."""
    tx.run(
        "insert into noted_prices (day, micro_usdc, at_us) values (%s, %s, %s) on conflict (day) do update"
        " set micro_usdc = excluded.micro_usdc, at_us = excluded.at_us"
        " where noted_prices.micro_usdc <> excluded.micro_usdc and noted_prices.at_us < excluded.at_us",
        at_us // _DAY_US, micro_usdc, at_us,
    )  # fmt: skip


def noted(tx: Tx, at_us: int) -> Quote | None:
    """The last valid price that was noted at a moment or before."""
    row = tx.row(
        "select micro_usdc, at_us from noted_prices where day <= %s and at_us <= %s order by day desc limit 1",
        at_us // _DAY_US,
        at_us,
    )
    return None if row is None else Quote(row[0], row[1], NOTED)
