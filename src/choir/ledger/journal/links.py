"""What makes accepted drafts entries of the journal: a number, an id, and a hash that holds the one before.

Nothing here depends on balances, and balances do not depend on anything here: so the database can store the postings
of a large batch while its entries are chained.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import repeat

from choir.foundation.ids import uuid7
from choir.ledger import hashing
from choir.ledger.journal.records import EntryRow
from choir.ledger.rules import Prepared

ID_RANDOM_BYTES = 4  # beside the time, an id has 32 bits of its entry's number and 30 of chance
ID_CHANCE_MASK = 0x3FFF_FFFF
_VARIANT = 1 << 63


def chained(items: Sequence[Prepared], after_seq: int, prev: bytes, at_us: int, random: bytes) -> list[EntryRow]:
    """The rows of entries that follow one another; `random` has `ID_RANDOM_BYTES` for each, or more."""
    seqs = range(after_seq + 1, after_seq + 1 + len(items))
    ids = _ids(seqs, at_us, random)
    contents = [item.content for item in items]
    hashes = hashing.chain(prev, seqs, at_us, ids, contents)
    drafts = [item.draft for item in items]
    sources = [draft.source for draft in drafts]
    keys = [draft.key for draft in drafts]
    return list(zip(seqs, ids, repeat(at_us), sources, keys, contents, hashes, strict=False))


def _ids(seqs: range, at_us: int, random: bytes) -> list[bytes]:
    time = uuid7(at_us, 0, bytes(6)).bytes[:8]  # and the version; order and chance follow
    chances = struct.unpack_from(f">{len(seqs)}I", random)
    order = [
        _VARIANT | (seq & 0xFFFF_FFFF) << 30 | chance & ID_CHANCE_MASK
        for seq, chance in zip(seqs, chances, strict=True)
    ]
    packed = struct.pack(f">{len(order)}Q", *order)
    return [time + packed[start : start + 8] for start in range(0, len(packed), 8)]
