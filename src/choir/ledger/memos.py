"""Forgetting what people wrote beside entries.

Guarantee: entries hold only a salted commitment to a memo, and the salt goes with the memo; so the journal
verifies as before, and nobody can find out by guessing what was written.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.storage.database import Tx


def erase_memos(tx: Tx, owners: Sequence[str], *, after_seq: int = 0) -> int:
    """Remove the memos of entries that these owners caused, or that moved something of theirs; says how many.

    Of entries behind `after_seq` alone, where those before were looked at already.
    """
    return tx.run(_ERASE, list(owners), after_seq, list(owners), after_seq)


# An owner's accounts are all names that begin with it and a slash; "0" is the character behind that.
_ERASE = """
    delete from entry_memos where seq in (
        select seq from entries where source = any(%s) and seq > %s
        union all
        select p.seq from unnest(%s::text[]) as o (owner)
        join accounts a on a.name >= (o.owner || '/') collate "C" and a.name < (o.owner || '0') collate "C"
        join postings p on p.account = a.id and p.seq > %s
    )
"""
