"""What was done to whose identity: an append-only record that the person can read.

Guarantees: an act commits together with what it tells of; nothing here is ever changed or removed, which is
why no act may hold personal data: no handle, no name that somebody gave, no address, no secret.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from choir.storage.database import Tx


@dataclass(frozen=True, slots=True)
class Act:
    """One act, such as "passkey.added"."""

    n: int  # the cursor of a listing
    at_us: int
    actor: str  # who did it: "person:…", "agent:…", "operator", "operator:…"
    owner: str  # whose identity it is about
    act: str
    subject: str | None
    data: dict[str, Any]


def record(
    tx: Tx, act: str, *, at_us: int, actor: str, owner: str, subject: str | None = None, **data: str | int | bool
) -> None:
    """Write down an act; `data` must be free of personal data."""
    tx.run(
        "insert into identity_acts (at_us, actor, owner, act, subject, data) values (%s, %s, %s, %s, %s, %s)",
        at_us, actor, owner, act, subject, Jsonb(data),
    )  # fmt: skip


def acts(tx: Tx, owner: str, *, before: int | None = None, limit: int = 50) -> list[Act]:
    """A page of acts about one owner, newest first; `before` is the last `n` of the page before."""
    return tx.all(
        Act,
        "select n, at_us, actor, owner, act, subject, data from identity_acts"
        " where owner = %s and n < %s order by n desc limit %s",
        owner, 2**63 - 1 if before is None else before, limit,
    )  # fmt: skip


def fingerprint(secret: bytes) -> str:
    """A short name for something whose own bytes do not belong into the record."""
    return hashlib.sha256(secret).hexdigest()[:16]
