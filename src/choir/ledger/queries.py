"""Looking at the ledger: balances now and at any past point, statements, holds, the trial balance.

Guarantees: nothing here writes or locks; every listing is a page with a cursor, served by an index,
so it costs what it shows, but for the trial balance, which reads every account by its nature and is for operators
only; a past point is a sequence number or a time, and both are exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, LiteralString
from uuid import UUID

from choir.ledger.hashing import ZERO_HASH
from choir.ledger.model import (
    Account,
    Entry,
    Head,
    Hold,
    NotYetPosted,
    StatementLine,
    TrialLine,
    UnknownAccount,
    UnknownEntry,
    UnknownHold,
    account_name,
    entry_id,
    hold_id,
)
from choir.storage.database import Tx


def last_balance(account: LiteralString, *, until: LiteralString | None = None) -> LiteralString:
    """SQL for the balance of an account, by its id: that of its last posting, now or until an entry's number."""
    bound: LiteralString = "" if until is None else f" and p.seq <= {until}"
    return (
        f"coalesce((select p.balance from postings p where p.account = {account}{bound}"  # noqa: S608 - no input
        " order by p.seq desc, p.leg desc limit 1), 0)"
    )


_NOT_CLOSED: LiteralString = "9223372036854775807"  # stands for the end of a hold that is open
IS_OPEN: LiteralString = f"coalesce(closed_seq, {_NOT_CLOSED}) = {_NOT_CLOSED}"  # in the words of the index holds_payer


def held_at(account: LiteralString) -> LiteralString:
    """SQL for what was in the holds of an account after an entry, whose number it takes three times.

    Of the holds, only those are read that are open now or ended since. That is said as the index holds_payer says it:
    in plainer words the planner may go through all open holds, for every account anew.
    """
    return (
        f"coalesce((select sum({last_balance('h.account', until='%s')}) from holds h"  # noqa: S608 - no input
        f" where h.payer = {account} and coalesce(h.closed_seq, {_NOT_CLOSED}) > %s and h.placed_seq <= %s), 0)"
    )


def head(tx: Tx) -> Head:
    """Where the journal stands."""
    row = tx.row("select seq, hash, at_us, acts, acts_hash from ledger_head")
    assert row is not None
    return Head(*row)


def time_us(tx: Tx, clock_us: int) -> int:
    """The ledger's time: the clock's, or the last entry's where that is later because the clock went back.

    Whatever is to last a while in the ledger, such as a hold, lasts from then on.
    """
    return max(clock_us, head(tx).at_us)


def balance(tx: Tx, name: str) -> Account:
    """An account and its balance now."""
    account_name(name)
    row = tx.row(_BALANCE_NOW, name)
    if row is None:
        raise UnknownAccount(account=name)
    return Account(name, row[0], row[1])


def open_among(tx: Tx, names: Iterable[str]) -> set[str]:
    """Which of these are accounts that may pay and receive; under the head's lock they stay so."""
    rows = tx.rows("select name from accounts where name = any(%s) and state = 'open'", list(names))
    return {row[0] for row in rows}


def balance_at_seq(tx: Tx, name: str, seq: int) -> int:
    """The balance when that entry had just been posted."""
    account_name(name)
    row = tx.row(_BALANCE_AT_SEQ, seq, name)
    if row is None:
        raise UnknownAccount(account=name)
    return int(row[0])


def held_at_seq(tx: Tx, name: str, seq: int) -> int:
    """What was in the holds that this account pays, when that entry had just been posted."""
    account_name(name)
    row = tx.row(_HELD_AT_SEQ, seq, seq, seq, name)
    if row is None:
        raise UnknownAccount(account=name)
    return int(row[0])


def check_reached(tx: Tx, seq: int) -> None:
    """Raise unless the journal has an entry of this number; zero is before the first."""
    last = head(tx).seq
    if seq > last:
        raise NotYetPosted(number=seq, last=last)


def balance_at_time(tx: Tx, name: str, at_us: int) -> int:
    """The balance at a moment: after every entry of that microsecond or before."""
    return balance_at_seq(tx, name, seq_at(tx, at_us))


def seq_at(tx: Tx, at_us: int) -> int:
    """The last entry at or before a moment; times never decrease, so this is a binary search."""
    low, high = 0, head(tx).seq
    while low < high:
        middle = (low + high + 1) // 2
        if tx.value("select at_us from entries where seq = %s", middle) <= at_us:
            low = middle
        else:
            high = middle - 1
    return low


def accounts(tx: Tx, *, prefix: str = "", after: str = "", limit: int = 100) -> list[Account]:
    """A page of accounts by name; those of holds only where they are asked for by their prefix."""
    first, end = prefix, prefix + "\U0010ffff"
    ranges = [(first, end)] if prefix.startswith("hold") else [(first, min(end, "hold:")), (max(first, "hold;"), end)]
    found: list[Account] = []
    for low, high in ranges:
        if low < high and len(found) < limit:
            rows = tx.rows(_ACCOUNTS_PAGE, low, after, high, limit - len(found))
            found += [Account(*row) for row in rows]
    return found


def statement(tx: Tx, name: str, *, after_seq: int = 0, after_leg: int = -1, limit: int = 100) -> list[StatementLine]:
    """A page of an account's movements, oldest first."""
    account_name(name)
    found = tx.value("select id from accounts where name = %s", name)
    if found is None:
        raise UnknownAccount(account=name)
    rows = tx.rows(_STATEMENT, found, after_seq, after_leg, limit)
    return [_line(name, *row) for row in rows]


def entry(tx: Tx, id_: UUID) -> Entry:
    """One entry by its id."""
    row = tx.row(_ENTRY, id_)
    if row is None:
        raise UnknownEntry(entry=entry_id(id_))
    return _entry(row)


def entries(tx: Tx, *, after_seq: int = 0, limit: int = 100) -> list[Entry]:
    """A page of the journal, oldest first."""
    rows = tx.rows(_ENTRIES, after_seq, limit)
    return [_entry(row) for row in rows]


def posted_keys(tx: Tx, asked: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Which of these (source, key) pairs an entry was posted with."""
    rows = tx.rows(
        "select e.source, e.key from unnest(%s::text[], %s::text[]) as asked (source, key)"
        " join entries e on e.source = asked.source and e.key = asked.key",
        [source for source, _ in asked],
        [key for _, key in asked],
    )
    return {(source, key) for source, key in rows}


def received(tx: Tx, name: str, limit: int) -> list[tuple[str, int]]:
    """From which accounts this one got how much, holds left out: their money is its own, or is pay; most first.

    It looks at every movement of the account: for background work, not for a request.
    """
    return [(source, int(total)) for source, total in tx.rows(_RECEIVED, name, limit)]


def paid_to(tx: Tx, name: str, prefix: str, since_us: int, until_us: int) -> int:
    """What an account paid, less what came back, from one moment up to another, to accounts whose names begin so.

    It looks at every movement of the account in that time.
    """
    first, last = seq_at(tx, since_us - 1), seq_at(tx, until_us - 1)
    return max(0, int(tx.value(_PAID_TO, name, first, last, prefix, prefix) or 0))


def entry_of_key(tx: Tx, source: str, key: str) -> Entry | None:
    """The entry that was posted with this source and key, if one was."""
    id_ = tx.value("select id from entries where source = %s and key = %s", source, key)
    return None if id_ is None else entry(tx, id_)


def memo(tx: Tx, seq: int) -> str | None:
    """What a person wrote beside an entry, unless it was erased."""
    found: str | None = tx.value("select memo from entry_memos where seq = %s", seq)
    return found


def hold(tx: Tx, id_: UUID) -> Hold:
    """One hold and what remains in it."""
    row = tx.row(_HOLD, id_)
    if row is None:
        raise UnknownHold(hold=hold_id(id_))
    return Hold(*row)


def expired_holds(tx: Tx, now_us: int, limit: int, but: Iterable[UUID] = ()) -> list[UUID]:
    """Open holds whose time is over, oldest first, but for these."""
    rows = tx.rows(
        "select id from holds where closed_seq is null and expires_us <= %s and id <> all(%s)"
        " order by expires_us limit %s",
        now_us, list(but), limit,
    )  # fmt: skip
    return [row[0] for row in rows]


def holds_until(tx: Tx, until_us: int) -> int:
    """How many open holds are over by then."""
    return int(tx.value("select count(*) from holds where closed_seq is null and expires_us <= %s", until_us))


def trial_balance(tx: Tx) -> list[TrialLine]:
    """Every asset and role with its number of accounts and their sum; each asset sums to zero.

    It costs a look at every account, those of ended holds too: no door may offer it to strangers.
    """
    return [TrialLine(asset, role, count, int(total)) for asset, role, count, total in tx.rows(_TRIAL)]


def _entry(row: tuple[Any, ...]) -> Entry:
    seq, id_, at_us, content, hash_, prev = row
    return Entry(seq, id_, at_us, json.loads(content), prev or ZERO_HASH, hash_)


def _line(name: str, seq: int, leg: int, delta: int, after: int, at_us: int, id_: UUID, text: str) -> StatementLine:
    content = json.loads(text)
    moved = content["legs"][leg // 2]
    other = moved["from"] if moved["to"] == name else moved["to"]
    return StatementLine(seq, leg, at_us, id_, content["kind"], content["reason"], delta, after, other)


_RECEIVED = """
    select came.source, sum(came.delta) from (
        select p.delta, e.content::jsonb -> 'legs' -> (p.leg / 2) ->> 'from' as source
        from accounts a join postings p on p.account = a.id join entries e on e.seq = p.seq
        where a.name = %s and p.delta > 0
    ) came
    where came.source not like 'hold:%%' group by came.source order by 2 desc, 1 limit %s
"""

_PAID_TO = """
    select -sum(p.delta) from accounts a join postings p on p.account = a.id join entries e on e.seq = p.seq
    where a.name = %s and p.seq > %s and p.seq <= %s and (
        (p.delta < 0 and starts_with(e.content::jsonb -> 'legs' -> (p.leg / 2) ->> 'to', %s))
        or (p.delta > 0 and starts_with(e.content::jsonb -> 'legs' -> (p.leg / 2) ->> 'from', %s)))
"""

_BALANCE_NOW = f"select a.state, {last_balance('a.id')} from accounts a where a.name = %s"  # noqa: S608 - no input

_BALANCE_AT_SEQ = f"select {last_balance('a.id', until='%s')} from accounts a where a.name = %s"  # noqa: S608 - no input

_HELD_AT_SEQ = f"select {held_at('a.id')} from accounts a where a.name = %s"  # noqa: S608 - no input

_ACCOUNTS_PAGE = f"""
    select a.name, a.state, {last_balance("a.id")} from accounts a
    where a.name >= %s and a.name > %s and a.name < %s order by a.name limit %s
"""  # noqa: S608 - no input

_STATEMENT = """
    select p.seq, p.leg, p.delta, p.balance, e.at_us, e.id, e.content
    from postings p join entries e on e.seq = p.seq
    where p.account = %s and (p.seq, p.leg) > (%s, %s)
    order by p.seq, p.leg limit %s
"""

_ENTRY = """
    select e.seq, e.id, e.at_us, e.content, e.hash, (select b.hash from entries b where b.seq = e.seq - 1)
    from entries e where e.id = %s
"""

_ENTRIES = """
    select e.seq, e.id, e.at_us, e.content, e.hash, (select b.hash from entries b where b.seq = e.seq - 1)
    from entries e where e.seq > %s order by e.seq limit %s
"""

_HOLD = f"""
    select h.id, a.name, payer.name, h.expires_us, h.captures_max, h.captures, {last_balance("h.account")},
        h.closed_seq is not null
    from holds h join accounts a on a.id = h.account join accounts payer on payer.id = h.payer where h.id = %s
"""  # noqa: S608 - no input

_TRIAL = f"""
    select asset, role, count(*), sum(balance)
    from (
        select split_part(a.name, '/', 3) as asset,
            split_part(split_part(a.name, '/', 2), '.', 1) as role,
            {last_balance("a.id")}::numeric as balance
        from accounts a
    ) each_account
    group by asset, role order by asset, role
"""  # noqa: S608 - no input
