"""Checking every published snapshot against the journal: part of `choir ledger verify`.

Guarantees: a note that no key of the node signed is found, and so is one that says something else than the journal
about its root, or about what was owed then. Proofs themselves are checked by whoever gets them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from choir.foundation.errors import ChoirError
from choir.ledger.liabilities import rules, store
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.model import account_name
from choir.ledger.notes import Checkpoint, VerifierKey, open_note
from choir.storage.database import Tx


def read_all(tx: Tx, known: Sequence[VerifierKey]) -> Iterator[tuple[str, LiabilitiesNote | None, str]]:
    """Every snapshot: how it is called, what its note says, and what is wrong with it, if anything."""
    for size, note, checkpoint in store.notes(tx):
        where = f"liabilities after entry {size}"
        try:
            said = LiabilitiesNote.parse(open_note(note, known).text)
            journal = Checkpoint.parse(open_note(checkpoint, known).text)
        except ChoirError as error:
            yield where, None, str(error)
            continue
        named = (said.journal.origin, said.journal.size, said.journal.root)
        wrong = ""
        if named != (journal.origin, size, journal.root) or journal.size != size:
            wrong = "its note is of another journal or size than its checkpoint or its row"
        elif {item.asset: item.total for item in said.totals} != _owed(tx, size):
            wrong = "its totals are not what the journal gives"
        yield where, said, wrong


def _owed(tx: Tx, size: int) -> dict[str, int]:
    totals = store.owed_by_asset(tx, size)
    for _, name, held in store.held_for(tx, size):
        read = account_name(name)
        if rules.is_owed(read.owner_kind):
            totals[read.asset.name] = totals.get(read.asset.name, 0) + held
    return {asset: total for asset, total in totals.items() if total}
