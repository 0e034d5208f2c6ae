"""The journal as CSV (RFC 4180) for spreadsheets: one row for each leg.

Guarantees: text stands in quotes and numbers do not, so no text can become another column; a text that a spreadsheet
would take for a formula has an apostrophe before it, and so has a text that begins with an apostrophe, so that taking
one away always gives the text back. Amounts are never touched. Lines end with CR LF, the encoding is UTF-8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from choir.foundation.canonical import canonical_bytes
from choir.foundation.clock import format_time
from choir.ledger.formats.journal import JournalEntry, begin, entries
from choir.ledger.model import account_name, entry_id
from choir.ledger.streams import Progress
from choir.storage.database import Tx

COLUMNS = (
    "seq", "entry_id", "time", "kind", "reason", "source", "key", "leg", "from", "to", "asset", "amount", "units",
    "refs", "receipt", "corrects",
)  # fmt: skip

# What begins a formula in some spreadsheet, also as the wide forms that East Asian ones take for the same; a tab or a
# line end before it is skipped there. The apostrophe is here because it is what marks a text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'")


def write_csv(tx: Tx, write: Callable[[bytes], Any], on_progress: Progress) -> int:
    """Write every row; says how many entries that were."""
    head = begin(tx)
    write(",".join(COLUMNS).encode() + b"\r\n")
    for entry in entries(tx, head, on_progress):
        for row in _rows(entry):
            write(row.encode())
    return head.seq


def _rows(entry: JournalEntry) -> Iterator[str]:
    content = entry.content
    texts = (content["kind"], content["reason"], content["source"], content["key"])
    first = f"{entry.seq},{cell(entry_id(entry.id))},{format_time(entry.at_us)},{','.join(map(cell, texts))}"
    last = ",".join(map(cell, (_refs(content), content.get("receipt", ""), _corrects(content))))
    for number, leg in enumerate(content["legs"], start=1):
        asset = account_name(leg["to"]).asset
        units = int(leg["amount"])
        moved = f"{cell(leg['from'])},{cell(leg['to'])},{asset.name},{asset.format(units)},{units}"
        yield f"{first},{number},{moved},{last}\r\n"


def _refs(content: dict[str, Any]) -> str:
    """A JSON array, because a reference may hold any letter that could divide a list."""
    return canonical_bytes(content["refs"]).decode() if "refs" in content else ""


def _corrects(content: dict[str, Any]) -> str:
    return entry_id(UUID(content["corrects"])) if "corrects" in content else ""


def cell(value: str) -> str:
    """A text as one cell."""
    if value.startswith(_FORMULA):
        value = "'" + value
    return '"' + value.replace('"', '""') + '"'
