"""A person's movements as pages and files: which accounts, since when, what to look for.

Guarantees: an account that is not the visitor's is not there; a search looks at a bounded number of movements by index
and says where the next page goes on; a file has the same movements as the pages, with amounts exact.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation

from choir.doors.web import words
from choir.doors.web.names import names
from choir.foundation.clock import format_time, from_datetime
from choir.foundation.money import Asset
from choir.identity.model import agent_owner
from choir.identity.people.model import Person
from choir.ledger import books, queries
from choir.ledger.books import Movement
from choir.ledger.formats.csv_rows import cell
from choir.ledger.model import Account, UnknownAccount, account_name, entry_id
from choir.ledger.policy import LedgerPolicy
from choir.node import Node
from choir.storage.database import Tx

_ACCOUNTS_MAX = 100
_AGENTS_MAX = 50
_AMOUNT_CHARS_MAX = 40
COLUMNS = (
    "number", "entry", "time", "account", "asset", "kind", "reason", "amount", "units", "balance_units", "other",
    "other_account", "memo", "refs",
)  # fmt: skip
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class OwnAccount:
    """An account to choose, in words."""

    name: str
    label: str
    agent: bool  # of one of the visitor's agents


@dataclass(frozen=True, slots=True)
class Search:
    """What somebody looks for in a statement."""

    accounts: tuple[str, ...]
    text: str = ""
    kind: str = ""
    least: Decimal | None = None
    most: Decimal | None = None
    after_seq: int = 0
    until_seq: int = books.END - 1

    @property
    def filters(self) -> bool:
        """Whether it leaves out some of what its accounts and times have."""
        return bool(self.text or self.kind or self.least is not None or self.most is not None)

    def finds(self, line: Line) -> bool:
        item, amount = line.item, abs(Decimal(line.amount))
        told = " ".join((line.kind, item.kind, item.reason, line.other, item.memo or "", *item.refs)).casefold()
        return (
            self.text.casefold() in told
            and self.kind in ("", item.kind)
            and (self.least is None or amount >= self.least)
            and (self.most is None or amount <= self.most)
        )


@dataclass(frozen=True, slots=True)
class Line:
    """A movement with its names."""

    item: Movement
    asset: str
    amount: str  # exact, with decimals
    account: str
    kind: str
    other: str

    @property
    def why(self) -> str:
        """Its reason, unless that says no more than its kind."""
        told = self.item.reason.casefold().removeprefix("a ").removeprefix("the ")
        return "" if told in (self.kind.casefold(), self.item.kind) else self.item.reason


@dataclass(frozen=True, slots=True)
class Found:
    lines: list[Line]
    following: Place | None
    looked_us: int | None  # back to when it looked, where it stopped before its end


def own_accounts(node: Node, tx: Tx, person: Person) -> list[OwnAccount]:
    """The visitor's accounts, and those of their agents."""
    found = [OwnAccount(each.name, _label(each.name), False) for each in _accounts(tx, person.owner)]
    for agent in node.agents.of_person(tx, person.id, limit=_AGENTS_MAX):
        title = agent.name or "Unnamed agent"
        mine = _accounts(tx, agent_owner(agent.id))
        found += [OwnAccount(each.name, f"{title}: {_label(each.name)}", True) for each in mine]
    return found


def chosen(own: Sequence[OwnAccount], name: str) -> tuple[str, ...]:
    """The account of this name, or all that are the visitor's own."""
    if not name:
        return tuple(each.name for each in own if not each.agent)
    if name not in {each.name for each in own}:
        raise UnknownAccount(account=name[:80])
    return (name,)


def between(tx: Tx, search: Search, since: str, until: str) -> tuple[Search, list[str]]:
    """The search within these days, which are UTC and both included; what is no day is told."""
    wrong: list[str] = []
    first, last = _before_day(tx, since, 0, wrong), _before_day(tx, until, 1, wrong)
    if first is not None:
        search = replace(search, after_seq=first)
    if last is not None:
        search = replace(search, until_seq=last)
    return search, wrong


def _before_day(tx: Tx, text: str, later: int, wrong: list[str]) -> int | None:
    """The last entry before a day, or before one so many days later; None where no day was given."""
    if not text:
        return None
    try:
        day = date.fromisoformat(text) + timedelta(days=later)
    except (ValueError, OverflowError):
        wrong.append(f"“{text[:20]}” is not a date. Write it as 2026-11-30.")
        return None
    return queries.seq_at(tx, from_datetime(datetime(day.year, day.month, day.day, tzinfo=UTC)) - 1)


def amount_of(text: str) -> Decimal | None:
    """An amount to compare with; None where nothing was typed."""
    told = text.strip().replace(",", "")
    if not told:
        return None
    if len(told) > _AMOUNT_CHARS_MAX or not told.replace(".", "", 1).isdecimal() or not told.isascii():
        raise InvalidOperation
    return Decimal(told)


def find(node: Node, tx: Tx, search: Search, before: Place | None, size: int) -> Found:
    """A page of what is found, newest first."""
    limit = node.policy.of(LedgerPolicy).search_rows_max if search.filters else size
    start = min(before or (books.END, 0), (search.until_seq + 1, 0))
    rows = books.movements(tx, search.accounts, before=start, after_seq=search.after_seq, limit=limit + 1)
    lines = _lines(node, tx, rows[:limit])
    found = [line for line in lines if search.finds(line)]
    if len(found) > size:
        return Found(found[:size], _place(found[size - 1]), None)
    if len(rows) > limit:
        return Found(found, _place(lines[-1]), lines[-1].item.at_us if search.filters else None)
    return Found(found, None, None)


def rows_of(node: Node, search: Search) -> Iterator[list[Line]]:
    """All that is found, in parts, up to what a file may have."""
    policy = node.policy.of(LedgerPolicy)
    left, place, more = policy.download_rows_max, None, True
    while more and left > 0:
        with node.read() as tx:
            found = find(node, tx, search, place, min(left, policy.page_rows_max))
        left, place, more = left - len(found.lines), found.following, found.following is not None
        yield found.lines


def as_csv(node: Node, search: Search) -> Iterator[bytes]:
    """For spreadsheets, as RFC 4180 has it; no text can become a formula."""
    yield ",".join(COLUMNS).encode() + b"\r\n"
    for lines in rows_of(node, search):
        yield "".join(_csv(line) for line in lines).encode()


def as_json(node: Node, search: Search) -> Iterator[bytes]:
    yield b'{"format":"choir-statement/1","items":['
    first = True
    for lines in rows_of(node, search):
        for line in lines:
            yield (b"" if first else b",\n") + json.dumps(_fields(line), ensure_ascii=False).encode()
            first = False
    yield b"]}\n"


def _csv(line: Line) -> str:
    numbers = {"number", "time", "asset", "amount", "units", "balance_units"}
    fields = _fields(line) | {"refs": " ".join(line.item.refs)}
    return ",".join(str(fields[name]) if name in numbers else cell(str(fields[name])) for name in COLUMNS) + "\r\n"


def _fields(line: Line) -> dict[str, object]:
    item = line.item
    return {
        "number": item.seq,
        "entry": entry_id(item.id),
        "time": format_time(item.at_us),
        "account": item.account,
        "asset": line.asset,
        "kind": item.kind,
        "reason": item.reason,
        "amount": line.amount,
        "units": str(item.delta),
        "balance_units": str(item.balance),
        "other": line.other,
        "other_account": item.other,
        "memo": item.memo or "",
        "refs": list(item.refs),
    }


def _lines(node: Node, tx: Tx, rows: Sequence[Movement]) -> list[Line]:
    told = names(node, tx, {row.other.partition("/")[0] for row in rows})
    found = []
    for row in rows:
        asset: Asset = account_name(row.account).asset
        other = told[row.other.partition("/")[0]].text
        found.append(Line(row, asset.name, asset.format(row.delta), _label(row.account), words.kind(row.kind), other))
    return found


def _place(line: Line) -> Place:
    return line.item.seq, line.item.leg


def _accounts(tx: Tx, owner: str) -> list[Account]:
    return queries.accounts(tx, prefix=f"{owner}/", limit=_ACCOUNTS_MAX)


def _label(name: str) -> str:
    account = account_name(name)
    role = account.role if account.purpose is None else f"{account.role}.{account.purpose}"
    return f"{account.asset.name}, {words.place(role)}"
