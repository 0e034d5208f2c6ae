"""The file in a node's home that holds the last published checkpoint.

Guarantees: it never goes back to a smaller checkpoint, however many processes write; a reader sees a whole one.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from choir.foundation.errors import ChoirError
from choir.foundation.node_key import write_public_file
from choir.foundation.settings import PUBLISHED
from choir.ledger.notes import Checkpoint
from choir.storage.processes import open_private


def publish_checkpoint(home: Path, note: str) -> None:
    """Put the checkpoint where a restored database is compared with it, and where it can be fetched.

    A larger one stays: of several processes that sign at once, the last to write may not be the latest.
    """
    path = home / PUBLISHED
    lock = open_private(path.with_suffix(".lock"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _extent(note) >= _published_extent(path):
            write_public_file(path, note.encode())
    finally:
        os.close(lock)


def _published_extent(path: Path) -> tuple[int, int]:
    try:
        return _extent(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, ChoirError):
        return 0, 0


def _extent(note: str) -> tuple[int, int]:
    """How many entries and account acts a checkpoint covers."""
    checkpoint = read_unsigned(note)
    return checkpoint.size, checkpoint.acts or 0


def read_unsigned(note: str) -> Checkpoint:
    """What a checkpoint says, whoever signed it."""
    return Checkpoint.parse(note.partition("\n\n")[0] + "\n")
