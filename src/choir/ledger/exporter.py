"""Writing the whole ledger as canonical JSONL that anyone can verify without us.

The format is described in `docs/reference/export-format.md`: a header, key rotations, entries with the
account acts between them, and a signed trailer. Guarantees: one snapshot, constant memory, byte-exact: the same ledger
at the same checkpoint gives the same lines. Personal data is not part of it.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
from collections.abc import Callable, Iterator
from operator import itemgetter
from typing import Any

from choir.foundation.canonical import canonical_bytes
from choir.ledger import hashing, queries, streams
from choir.ledger.checkpoints import Checkpoints, SignedCheckpoint
from choir.ledger.keys import NodeKeys
from choir.ledger.streams import TELL_EVERY, Progress
from choir.storage.database import Tx

FORMAT = "choir-ledger-export/1"
TRAILER_DOMAIN = b"choir-export-trailer-v1\n"

_Placed = tuple[tuple[int, bool], bytes]  # an act stands behind the entry that it came after; a line


class Exporter:
    """Exports inside a transaction that must see one snapshot (repeatable read)."""

    def __init__(self, keys: NodeKeys, checkpoints: Checkpoints) -> None:
        self._keys = keys
        self._checkpoints = checkpoints

    def write(self, tx: Tx, write: Callable[[bytes], Any], on_progress: Progress) -> SignedCheckpoint:
        """Write every line; returns the checkpoint that the trailer carries."""
        tx.run("set transaction isolation level repeatable read")
        checkpoint = self._checkpoints.sign(tx)
        digest = hashlib.sha256()
        size = 0
        for line in self._body(tx, checkpoint.size, on_progress):
            digest.update(line)
            size += len(line)
            write(line)
        write(self._trailer(tx, checkpoint, size, digest.hexdigest()))
        return checkpoint

    def _body(self, tx: Tx, entries: int, on_progress: Progress) -> Iterator[bytes]:
        first, *_ = self._keys.history(tx)
        yield _line({"format": FORMAT, "key": str(first.vkey), "origin": self._keys.origin, "type": "header"})
        for note in self._checkpoints.rotations(tx):
            yield _line({"note": note, "type": "rotation"})
        for (seq, is_act), line in heapq.merge(_entries(tx, entries), _acts(tx), key=itemgetter(0)):
            if not is_act and (seq % TELL_EVERY == 0 or seq == entries):
                on_progress(seq, entries)
            yield line

    def _trailer(self, tx: Tx, checkpoint: SignedCheckpoint, size: int, sha256: str) -> bytes:
        head = queries.head(tx)
        trailer = {
            "account_head": head.acts_hash.hex(),
            "accounts": head.acts,
            "bytes": size,
            "checkpoint": checkpoint.note,
            "entries": checkpoint.size,
            "sha256": sha256,
            "type": "trailer",
        }
        signature = self._keys.signer(tx).sign(TRAILER_DOMAIN + canonical_bytes(trailer))
        return _line(trailer | {"signature": base64.b64encode(signature).decode()})


def _acts(tx: Tx) -> Iterator[_Placed]:
    prev = hashing.ZERO_HASH
    for act in streams.acts(tx):
        value = {
            "account": act.account,
            "act": act.act,
            "after": act.after,
            "at_us": act.at_us,
            "hash": act.hash.hex(),
            "n": act.n,
            "prev": prev.hex(),
            "reason": act.reason,
            "source": act.source,
            "type": "account",
        }
        yield (act.after, True), _line(value)
        prev = act.hash


def _entries(tx: Tx, count: int) -> Iterator[_Placed]:
    prev = hashing.ZERO_HASH.hex()
    for seq, id_, at_us, content, hash_ in streams.entries(tx, count):
        this = hash_.hex()
        # The content is canonical already, and these fields are in canonical order.
        line = (
            f'{{"at_us":{at_us},"content":{content},"hash":"{this}","id":"{id_}",'
            f'"prev":"{prev}","seq":{seq},"type":"entry"}}\n'
        )
        yield (seq, False), line.encode()
        prev = this


def _line(value: dict[str, Any]) -> bytes:
    return canonical_bytes(value) + b"\n"
