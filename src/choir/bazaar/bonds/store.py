"""Bonds in PostgreSQL. Locks: the provider's market row, then the bond's, before the ledger's head."""

from __future__ import annotations

from typing import LiteralString
from uuid import UUID

from choir.bazaar.bonds.model import Bond
from choir.storage.database import Tx

_BOND: LiteralString = "provider, amount, changed_us, release_asked_us, acts"


def get(tx: Tx, provider: UUID, *, lock: bool = False) -> Bond | None:
    row = tx.row(
        f"select {_BOND} from provider_bonds where provider = %s" + (" for update" if lock else ""),  # noqa: S608
        provider,
    )
    return Bond(*row) if row else None


def counted(tx: Tx, provider: UUID) -> int:
    """What counts for a provider's tier."""
    found = get(tx, provider)
    return 0 if found is None else found.counted


def put(tx: Tx, bond: Bond) -> None:
    tx.run(
        "insert into provider_bonds (provider, amount, changed_us, release_asked_us, acts) values (%s, %s, %s, %s, %s)"
        " on conflict (provider) do update set amount = excluded.amount, changed_us = excluded.changed_us,"
        " release_asked_us = excluded.release_asked_us, acts = excluded.acts",
        bond.provider, bond.amount, bond.changed_us, bond.release_asked_us, bond.acts,
    )  # fmt: skip


def leaving(tx: Tx, limit: int) -> list[UUID]:
    """Providers whose bond was asked back, the longest ago first."""
    rows = tx.rows(
        "select provider from provider_bonds where release_asked_us is not null and amount > 0"
        " order by release_asked_us limit %s",
        limit,
    )
    return [row[0] for row in rows]


def exposed_until(tx: Tx, provider: UUID, window_us: int) -> int | None:
    """Until when somebody may need the bond: None while that is open, 0 if nobody can.

    Somebody may while an attempt is under way, for a time after one was paid, and while a dispute is undecided.
    """
    open_ = tx.value(
        "select exists (select from job_attempts where provider = %s and ended_us is null)"
        " or exists (select from disputes d join job_attempts a on a.id = d.attempt"
        "  where a.provider = %s and d.state <> 'resolved')",
        provider, provider,
    )  # fmt: skip
    if open_:
        return None
    last_us: int | None = tx.value("select max(ended_us) from job_attempts where provider = %s and paid > 0", provider)
    return 0 if last_us is None else last_us + window_us
