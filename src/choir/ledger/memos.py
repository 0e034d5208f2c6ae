"""Forgetting what people wrote beside entries.

Guarantee: entries hold only a salted commitment to a memo, and the salt goes with the memo; so the journal
verifies as before, and nobody can find out by guessing what was written.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.storage.database import Tx


def erase_memos(tx: Tx, sources: Sequence[str]) -> int:
    """Remove the memos of all entries that these sources caused; says how many."""
    return tx.run(
        "delete from entry_memos where seq in (select seq from entries where source = any(%s))", list(sources)
    )
