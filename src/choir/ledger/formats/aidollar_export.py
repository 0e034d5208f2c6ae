"""The AID side of the journal as an ai$ file: one line for each leg.

Guarantees: what came in by `aidollar_import` goes out as the lines that it was; every other leg becomes a line, and the
whole file can be imported where no AID is yet, so that export, import and export give the same bytes. The lines of one
entry follow one another and have its id, by which they become one entry again: an entry may overdraw somebody between
its legs, and lines one by one may not. Holds are among it as accounts like others.

The memo of a line is the entry's reason. What a person wrote beside an entry is never in it, but for lines that
were imported: their memo came from such a file.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from choir.ledger.formats.aidollar import ENTRY_KINDS, EntryType, Line, Move, decimal_text, id_of, lines_of
from choir.ledger.formats.journal import begin
from choir.ledger.model import account_name, entry_id
from choir.ledger.streams import Progress
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
        if content["source"] == SOURCE:
            found = _imported(content, memo)
        else:
            legs = list(_aid_legs(content))
            found = lines_of(entry_id(id_), content["kind"], content["reason"], decimal_text(at_us), legs)
        write("".join(line.text() for line in found).encode())
        lines += len(found)
        on_progress(seq, head.seq)
    return lines


def _imported(content: dict[str, Any], memo: str | None) -> list[Line]:
    """The lines that an entry was."""
    [ref] = content["refs"]
    created_at = ref.removeprefix(CREATED_AT)
    legs = list(_aid_legs(content))
    if content["kind"] in ENTRY_KINDS:
        lines = lines_of(content["key"], content["kind"], memo or "", created_at, legs)
        return lines if memo else [replace(line, memo="") for line in lines]
    [(payer, payee, units)] = legs
    type_ = EntryType(content["kind"].removeprefix(KIND))
    return [Line(content["key"], type_, units, id_of(payer), id_of(payee), memo or "", created_at)]


def _aid_legs(content: dict[str, Any]) -> Iterator[Move]:
    for leg in content["legs"]:
        if leg["to"].endswith("/AID"):
            yield account_name(leg["from"]), account_name(leg["to"]), int(leg["amount"])
