"""Writing down what was done to identities: who did what to whom. Names people chose are never in it."""

from __future__ import annotations

from typing import Any

from psycopg.types.json import Jsonb

from choir.storage.database import Tx


def record(
    tx: Tx,
    at_us: int,
    *,
    actor: str,
    owner: str,
    act: str,
    subject: str | None = None,
    data: dict[str, Any] | None = None,
) -> None:
    """Add an act; the table can only grow."""
    tx.run(
        "insert into identity_acts (at_us, actor, owner, act, subject, data) values (%s, %s, %s, %s, %s, %s)",
        at_us, actor, owner, act, subject, Jsonb(data or {}),
    )  # fmt: skip
