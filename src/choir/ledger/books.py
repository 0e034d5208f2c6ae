"""The ledger as its pages show it: newest first, by number, how much there is, an owner's movements and holds.

Guarantees: nothing here writes or locks; every listing is a page behind a cursor; what is added up is bounded, and
where there is more than the bound, it says so instead of a wrong sum.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.foundation.money import Asset
from choir.ledger import queries
from choir.ledger.checkpoints import SignedCheckpoint
from choir.ledger.hashing import ZERO_HASH
from choir.ledger.model import Entry, UnknownEntry, account_name
from choir.ledger.queries import IS_OPEN, last_balance
from choir.storage.database import Tx

END = 2**62  # behind every entry


@dataclass(frozen=True, slots=True)
class Supply:
    """How much there is of an asset, and who has it. The parts add up to the whole."""

    asset: str
    issued: int  # by the node and the treasury
    outside: int  # came in from the world outside and has not gone back
    treasury: int
    node: int
    held: int | None  # None: there are too many open holds to add up, and they are among those of people
    people: int  # of people and agents

    @property
    def total(self) -> int:
        return self.issued + self.outside


@dataclass(frozen=True, slots=True)
class Movement:
    """A movement of one of an owner's accounts."""

    account: str
    seq: int
    leg: int
    delta: int
    balance: int
    at_us: int
    id: UUID
    kind: str
    reason: str
    source: str
    other: str  # the account on the other side
    refs: tuple[str, ...]
    memo: str | None


@dataclass(frozen=True, slots=True)
class OpenHold:
    """What is held of an owner's account, for what and until when."""

    id: UUID
    payer: str
    placed_seq: int
    expires_us: int
    remaining: int
    at_us: int
    entry: UUID
    reason: str
    refs: tuple[str, ...]


def newest(tx: Tx, *, before: int = END, limit: int) -> list[Entry]:
    """A page of the journal, newest first."""
    return [_entry(row) for row in tx.rows(_ENTRIES + " where e.seq < %s order by e.seq desc limit %s", before, limit)]


def numbered(tx: Tx, seq: int) -> Entry:
    """One entry by its number."""
    row = tx.row(_ENTRIES + " where e.seq = %s", seq)
    if row is None:
        raise UnknownEntry(entry=f"number {seq}")
    return _entry(row)


def checkpoints(tx: Tx, *, before: int | None = None, limit: int) -> list[tuple[int, SignedCheckpoint]]:
    """A page of signed checkpoints with their numbers, newest first."""
    rows = tx.rows(
        "select n, size, root, acts, acts_hash, at_us, note from checkpoints where n < %s order by n desc limit %s",
        END if before is None else before,
        limit,
    )
    return [(row[0], SignedCheckpoint(*row[1:])) for row in rows]


def supply(tx: Tx, rows_max: int) -> list[Supply] | None:
    """Of each asset that is in use; None: the node has too many accounts to add up.

    What people have is not read account by account: each asset sums to zero, so it is what nobody else has.
    """
    own = [
        each
        for kind in ("system:", "treasury:", "world:")
        for each in queries.accounts(tx, prefix=kind, limit=rows_max)
    ]
    if len(own) >= rows_max:
        return None
    held = _held(tx, rows_max)
    sums: dict[str, dict[str, int]] = {}
    for item in own:
        name = account_name(item.name)
        there = sums.setdefault(
            name.asset.name, dict.fromkeys(("issuance", "external", "treasury", "system", "world"), 0)
        )
        there[name.role if name.may_overdraw else name.owner_kind] += item.balance
    return [_supply(asset.name, sums[asset.name], held) for asset in Asset if any(sums.get(asset.name, {}).values())]


def _supply(asset: str, sums: dict[str, int], held: dict[str, int] | None) -> Supply:
    issued, outside = -sums["issuance"], -sums["external"]
    node = sums["system"] + sums["world"]
    in_holds = None if held is None else held.get(asset, 0)
    people = issued + outside - sums["treasury"] - node - (in_holds or 0)
    return Supply(asset, issued, outside, sums["treasury"], node, in_holds, people)


def _held(tx: Tx, rows_max: int) -> dict[str, int] | None:
    """What is in open holds, by asset."""
    found = tx.rows(_HELD, rows_max)
    if len(found) >= rows_max:
        return None
    sums: dict[str, int] = {}
    for asset, remaining in found:
        sums[asset] = sums.get(asset, 0) + remaining
    return sums


def payers(tx: Tx, holds: Collection[UUID]) -> dict[UUID, str]:
    """The accounts that pay these holds."""
    if not holds:
        return {}
    return dict(
        tx.rows("select h.id, a.name from holds h join accounts a on a.id = h.payer where h.id = any(%s)", list(holds))
    )


def movements(
    tx: Tx, names: Sequence[str], *, before: tuple[int, int] = (END, 0), after_seq: int = 0, limit: int
) -> list[Movement]:
    """A page of the movements of these accounts together, newest first, of entries behind a number."""
    rows = tx.rows(_MOVEMENTS, *before, after_seq, limit, list(names), limit)
    return [_movement(*row) for row in rows]


def open_holds(tx: Tx, names: Sequence[str], *, before: int = END, limit: int) -> list[OpenHold]:
    """A page of the open holds that these accounts pay, newest first."""
    rows = tx.rows(_OPEN_HOLDS, list(names), before, limit)
    found = []
    for id_, payer, placed, expires_us, remaining, at_us, entry, text in rows:
        content = json.loads(text)
        refs = tuple(content.get("refs", ()))
        found.append(OpenHold(id_, payer, placed, expires_us, remaining, at_us, entry, content["reason"], refs))
    return found


def _entry(row: tuple[Any, ...]) -> Entry:
    seq, id_, at_us, content, hash_, prev = row
    return Entry(seq, id_, at_us, json.loads(content), prev or ZERO_HASH, hash_)


def _movement(
    account: str, seq: int, leg: int, delta: int, balance: int, at_us: int, id_: UUID, text: str, memo: str | None
) -> Movement:
    content = json.loads(text)
    moved = content["legs"][leg // 2]
    other = moved["from"] if moved["to"] == account else moved["to"]
    refs = tuple(content.get("refs", ()))
    kind, reason, source = content["kind"], content["reason"], content["source"]
    return Movement(account, seq, leg, delta, balance, at_us, id_, kind, reason, source, other, refs, memo)


_ENTRIES = """
    select e.seq, e.id, e.at_us, e.content, e.hash, (select b.hash from entries b where b.seq = e.seq - 1)
    from entries e
"""

_HELD = f"""
    select split_part(a.name, '/', 3), {last_balance("h.account")}
    from holds h join accounts a on a.id = h.account where h.closed_seq is null limit %s
"""  # noqa: S608 - no input

_MOVEMENTS = """
    select a.name, p.seq, p.leg, p.delta, p.balance, e.at_us, e.id, e.content, m.memo
    from accounts a
    cross join lateral (
        select q.seq, q.leg, q.delta, q.balance from postings q
        where q.account = a.id and (q.seq, q.leg) < (%s, %s) and q.seq > %s
        order by q.seq desc, q.leg desc limit %s
    ) p
    join entries e on e.seq = p.seq
    left join entry_memos m on m.seq = p.seq
    where a.name = any(%s)
    order by p.seq desc, p.leg desc limit %s
"""

_OPEN_HOLDS = f"""
    select h.id, payer.name, h.placed_seq, h.expires_us, {last_balance("h.account")}, e.at_us, e.id, e.content
    from accounts payer join holds h on h.payer = payer.id and {IS_OPEN} join entries e on e.seq = h.placed_seq
    where payer.name = any(%s) and h.placed_seq < %s order by h.placed_seq desc limit %s
"""  # noqa: S608 - no input
