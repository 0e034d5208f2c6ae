"""What was done to whose identity: an append-only record that the person can read.

Guarantees: an act commits together with what it tells of; nothing here is ever changed or removed, which is
why no act may hold personal data: no handle, no name that somebody gave, no address, no secret.
"""

from __future__ import annotations

import hashlib

from choir.identity import store
from choir.identity.model import Act
from choir.storage.database import Tx

_LAST = 2**63 - 1


def record(
    tx: Tx, act: str, *, at_us: int, actor: str, owner: str, subject: str | None = None, **data: str | int | bool
) -> None:
    """Write down an act; `data` must be free of personal data."""
    store.insert_act(tx, act, at_us, actor, owner, subject, data)


def acts(tx: Tx, owner: str, *, before: int | None = None, limit: int = 50) -> list[Act]:
    """A page of acts about one owner, newest first; `before` is the last `n` of the page before."""
    return store.acts(tx, owner, _LAST if before is None else before, limit)


def fingerprint(secret: bytes) -> str:
    """A short name for something whose own bytes do not belong into the record."""
    return hashlib.sha256(secret).hexdigest()[:16]
