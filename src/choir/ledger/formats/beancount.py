"""The journal as a Beancount file (plain-text accounting), with assertions that let Beancount check our numbers.

Guarantees: every account has a name of its own, from which ours can be read back (`beancount_account`); numbers keep
our sign and all their decimals; at the end of the file, and where an account ends, its balance as the ledger keeps it
is asserted with no tolerance, so that a file that Beancount accepts sums up to what the ledger says.

Beancount knows days, not moments. Entries stand on their day (UTC), in journal order; an account that ended is closed
on the day after, because a balance is asserted at the beginning of a day and a closed account has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from choir.foundation.canonical import canonical_bytes
from choir.foundation.clock import format_time, to_datetime
from choir.foundation.money import Asset
from choir.ledger.formats import journal
from choir.ledger.formats.journal import Happened, HoldEnd, JournalEntry
from choir.ledger.journal_check import Act
from choir.ledger.model import HOLD_PLACE, AccountName, Head, account_name, entry_id
from choir.ledger.streams import Progress
from choir.storage.database import Tx

# The books are those of everybody together: what somebody has is an asset of all, and was issued or came from outside.
_ROOTS = {"issuance": "Equity", "external": "Income"}
_HELD = "Assets"

_ESCAPES = str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b"}
)  # what Beancount's lexer reads back


def write_beancount(tx: Tx, write: Callable[[bytes], Any], on_progress: Progress) -> int:
    """Write the whole file; says how many entries are in it."""
    head = journal.begin(tx)
    for line in _lines(tx, head, on_progress):
        write(line.encode() + b"\n")
    return head.seq


def beancount_account(name: AccountName) -> str:
    """`person:ada/available/SAT` is `Assets:Person-ada:Available:SAT`; a hyphen becomes two, an underscore `-u`."""
    role = name.role.capitalize() + (f"-{_escape(name.purpose)}" if name.purpose else "")
    owner = f"{name.owner_kind.capitalize()}-{_escape(name.owner_id)}"
    return f"{_ROOTS.get(name.role, _HELD)}:{owner}:{role}:{name.asset.name}"


def _escape(text: str) -> str:
    return text.replace("-", "--").replace("_", "-u")


def _lines(tx: Tx, head: Head, on_progress: Progress) -> Iterator[str]:
    yield f"; {head.seq} entries; the last one's hash is {head.hash.hex()}"
    yield f'option "title" {_quoted(f"Choir ledger, {head.seq} entries")}'
    for asset in Asset:
        yield f"1970-01-01 commodity {asset.name}"
        yield f"  decimals: {asset.decimals}"
    for item in journal.everything(tx, head, on_progress):
        yield from _told(item)
    following = _day(head.at_us) + timedelta(days=1)
    for name, balance in journal.balances(tx):
        yield _balance(following, account_name(name), balance)


def _told(item: Happened) -> Iterator[str]:
    if isinstance(item, JournalEntry):
        yield from _transaction(item)
    elif isinstance(item, HoldEnd):
        yield from _close(item.account, item.at_us)
    else:
        yield from _act(item)


def _act(act: Act) -> Iterator[str]:
    if act.act == "open":
        yield from _open(act.account, act.at_us)
    elif act.act == "close":
        yield from _close(act.account, act.at_us)
    else:
        yield f"{_day(act.at_us)} note {beancount_account(account_name(act.account))} {_quoted(act.act)}"
        yield f"  time: {_quoted(format_time(act.at_us))}"
    yield f"  reason: {_quoted(act.reason)}"
    yield f"  source: {_quoted(act.source)}"


def _open(account: str, at_us: int) -> Iterator[str]:
    name = account_name(account)
    yield f"{_day(at_us)} open {beancount_account(name)} {name.asset.name}"
    yield f"  account: {_quoted(account)}"
    yield f"  time: {_quoted(format_time(at_us))}"


def _close(account: str, at_us: int) -> Iterator[str]:
    name = account_name(account)
    following = _day(at_us) + timedelta(days=1)
    yield _balance(following, name, 0)
    yield f"{following} close {beancount_account(name)}"
    yield f"  time: {_quoted(format_time(at_us))}"


def _transaction(entry: JournalEntry) -> Iterator[str]:
    content = entry.content
    if content["kind"] == HOLD_PLACE:  # nobody opens the account of a hold: its first entry does
        yield from _open(content["legs"][0]["to"], entry.at_us)
    yield f"{_day(entry.at_us)} * {_quoted(content['reason'])}"
    yield f"  id: {_quoted(entry_id(entry.id))}"
    yield f"  seq: {entry.seq}"
    yield f"  time: {_quoted(format_time(entry.at_us))}"
    for field in ("kind", "source", "key"):
        yield f"  {field}: {_quoted(content[field])}"
    yield f"  hash: {_quoted(entry.hash.hex())}"
    if "refs" in content:
        yield f"  refs: {_quoted(canonical_bytes(content['refs']).decode())}"
    if "receipt" in content:
        yield f"  receipt: {_quoted(content['receipt'])}"
    if "corrects" in content:
        yield f"  corrects: {_quoted(entry_id(UUID(content['corrects'])))}"
    for leg in content["legs"]:
        yield from _postings(leg)


def _postings(leg: dict[str, Any]) -> Iterator[str]:
    payer, payee, units = account_name(leg["from"]), account_name(leg["to"]), int(leg["amount"])
    yield f"  {beancount_account(payer)}  {payer.asset.format(-units)} {payer.asset.name}"
    yield f"  {beancount_account(payee)}  {payee.asset.format(units)} {payee.asset.name}"


def _balance(day: date, name: AccountName, units: int) -> str:
    return f"{day} balance {beancount_account(name)}  {name.asset.format(units)} ~ 0 {name.asset.name}"


def _day(at_us: int) -> date:
    return to_datetime(at_us).date()


def _quoted(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'
