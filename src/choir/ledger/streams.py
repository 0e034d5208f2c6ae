"""The whole journal, row by row: for whoever writes all of it elsewhere, or checks all of it.

Guarantees: constant memory; nothing is written or locked. Whether everything is of one moment is the caller's
transaction's matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from choir.ledger.journal_check import Act
from choir.storage.database import Tx

Progress = Callable[[int, int], None]  # how many are done, and of how many; 0: nobody knows
TELL_EVERY = 10_000  # entries


def silent(_done: int, _total: int) -> None:
    """Progress that nobody asked for."""


def entries(tx: Tx, last: int) -> Iterator[tuple[Any, ...]]:
    """Number, id, time, content and hash of every entry up to this one, oldest first."""
    return tx.stream(
        "select seq, id, at_us, content, hash from entries where seq <= %s order by seq", last, name="entries"
    )


def acts(tx: Tx) -> Iterator[Act]:
    """Every act on an account, oldest first."""
    rows = tx.stream(
        "select x.n, a.name, x.act, x.after_seq, x.at_us, x.reason, x.source, x.hash"
        " from account_acts x join accounts a on a.id = x.account order by x.n",
        name="acts",
    )
    return (Act(*row) for row in rows)
