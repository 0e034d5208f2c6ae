"""The AID side of the journal as an ai$ file: one line for each leg.

Guarantees: what came in by `aidollar_import` goes out as the line that it was; every other leg becomes a line that can
be imported, so that export, import and export give the same bytes. Holds are among it as accounts like others.

The memo of a line is the entry's reason. What a person wrote beside an entry is never in it, but for lines that
were imported: their memo came from such a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from choir.ledger.formats.aidollar import EntryType, Line, decimal_text, id_of, memo_of, type_of
from choir.ledger.formats.journal import Progress, begin
from choir.ledger.model import AccountName, account_name, entry_id
from choir.storage.database import Tx

SOURCE = "system:aidollar"  # of imported lines, and of nothing else
KIND = "aidollar."  # and then the line's type
CREATED_AT = "created_at="  # the reference that keeps the line's time

_ENTRIES = """
    select e.seq, e.id, e.at_us, e.content, m.memo
    from entries e left join entry_memos m on m.seq = e.seq and e.source = 'system:aidollar'
    where e.content like '%%/AID"%%' and e.seq <= %s order by e.seq
"""


def write_aidollar(tx: Tx, write: Callable[[bytes], Any], on_progress: Progress) -> int:
    """Write every line; says how many."""
    head = begin(tx)
    lines = 0
    for seq, id_, at_us, text, memo in tx.stream(_ENTRIES, head.seq):
        content = json.loads(text)
        found = [_imported(content, memo)] if content["source"] == SOURCE else list(_own(id_, at_us, content))
        write("".join(line.text() for line in found).encode())
        lines += len(found)
        on_progress(seq, head.seq)
    return lines


def _imported(content: dict[str, Any], memo: str | None) -> Line:
    """The line that an entry was."""
    [leg] = content["legs"]
    [created_at] = content["refs"]
    return Line(
        entry_id=content["key"],
        entry_type=EntryType(content["kind"].removeprefix(KIND)),
        units=int(leg["amount"]),
        from_id=id_of(account_name(leg["from"])),
        to_id=id_of(account_name(leg["to"])),
        memo=memo or "",
        created_at=created_at.removeprefix(CREATED_AT),
    )


def _own(id_: UUID, at_us: int, content: dict[str, Any]) -> Iterator[Line]:
    """The AID legs of one of our own entries; from the second on their number is in their id."""
    for number, (payer, payee, units) in enumerate(_aid_legs(content), start=1):
        yield Line(
            entry_id=entry_id(id_) + (f"-{number}" if number > 1 else ""),
            entry_type=type_of(content["kind"], payer, payee),
            units=units,
            from_id=id_of(payer),
            to_id=id_of(payee),
            memo=memo_of(content["kind"], content["reason"], payer, payee),
            created_at=decimal_text(at_us),
        )


def _aid_legs(content: dict[str, Any]) -> Iterator[tuple[AccountName, AccountName, int]]:
    for leg in content["legs"]:
        if leg["to"].endswith("/AID"):
            yield account_name(leg["from"]), account_name(leg["to"]), int(leg["amount"])
