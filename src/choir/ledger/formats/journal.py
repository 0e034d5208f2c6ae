"""The journal as a stream, for whoever writes it in another format.

Guarantees: everything that is read after `begin` is of one moment; constant memory; nothing is written or locked.
Memos are not read here: they are a person's words, and no export has them, but for those that came in with an ai$ file
and go out with one (`aidollar_export`).
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterator
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

from choir.ledger import queries, streams
from choir.ledger.journal_check import Act
from choir.ledger.model import Head
from choir.ledger.streams import TELL_EVERY, Progress
from choir.storage.database import Tx

_ENTRY, _HOLD_END, _ACT = range(3)  # what stands at one place of the journal comes in this order


class JournalEntry(NamedTuple):
    """An entry with its content read."""

    seq: int
    id: UUID
    at_us: int
    content: dict[str, Any]
    hash: bytes


class HoldEnd(NamedTuple):
    """A hold became empty; its account is never used again."""

    account: str
    at_us: int


Happened = JournalEntry | HoldEnd | Act
_Placed = tuple[tuple[int, int], Happened]


def begin(tx: Tx) -> Head:
    """Make the transaction see one moment, and say which."""
    tx.run("set transaction isolation level repeatable read, read only")
    return queries.head(tx)


def entries(tx: Tx, head: Head, on_progress: Progress) -> Iterator[JournalEntry]:
    """Every entry, oldest first."""
    for seq, id_, at_us, content, hash_ in streams.entries(tx, head.seq):
        if seq % TELL_EVERY == 0 or seq == head.seq:
            on_progress(seq, head.seq)
        yield JournalEntry(seq, id_, at_us, json.loads(content), hash_)


def everything(tx: Tx, head: Head, on_progress: Progress) -> Iterator[Happened]:
    """Entries, the ends of holds and the acts on accounts, in the order in which they happened."""
    placed: Iterator[_Placed] = (((entry.seq, _ENTRY), entry) for entry in entries(tx, head, on_progress))
    for _, item in heapq.merge(placed, _hold_ends(tx), _acts(tx), key=itemgetter(0)):
        yield item


def balances(tx: Tx) -> Iterator[tuple[str, int]]:
    """Every account that can still move, with its balance; what was closed, or was a hold that ended, is empty."""
    return ((name, balance) for name, balance in tx.stream(_BALANCES, name="balances"))


def _hold_ends(tx: Tx) -> Iterator[_Placed]:
    rows = tx.stream(
        "select h.closed_seq, a.name, e.at_us from holds h join accounts a on a.id = h.account"
        " join entries e on e.seq = h.closed_seq order by h.closed_seq",
        name="hold_ends",
    )
    for seq, account, at_us in rows:
        yield (seq, _HOLD_END), HoldEnd(account, at_us)


def _acts(tx: Tx) -> Iterator[_Placed]:
    for act in streams.acts(tx):
        yield (act.after, _ACT), act


_BALANCES = f"""
    select a.name, {queries.last_balance("a.id")} from accounts a left join holds h on h.account = a.id
    where a.state <> 'closed' and h.closed_seq is null order by a.name
"""  # noqa: S608 - no input
