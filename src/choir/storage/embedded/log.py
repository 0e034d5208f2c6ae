"""PostgreSQL's log file and what its last lines mean.

Guarantees: the file stays below its size over restarts with a fixed number of older ones beside it;
a failed start quotes what the server said in this start, not in an earlier one.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from choir.foundation.errors import ChoirError
from choir.storage.embedded.errors import DiskFull, ReadOnly, StartFailed, free_mb
from choir.storage.processes import open_private

LOG_BYTES_MAX = 10 * 2**20
_OLDER_LOGS = 3
_QUOTED_LINES = 15
_QUOTED_BYTES = 16_384
_NEARLY_FULL_MB = 32  # WAL grows by segments of 16 MB


class ServerLog:
    """The log of one folder, seen from the moment of this start."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._rotate()
        self.descriptor = open_private(path, os.O_WRONLY | os.O_APPEND)
        self._begin = os.fstat(self.descriptor).st_size

    def close(self) -> None:
        """Let go of our descriptor; the server keeps its own."""
        os.close(self.descriptor)

    def append(self, text: str) -> None:
        """Add what another program said; a full disk must not hide the error that is being reported."""
        with suppress(OSError):
            os.write(self.descriptor, text.encode())

    def tail(self) -> str:
        """The last lines of this start."""
        with self.path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(self._begin, size - _QUOTED_BYTES))
            return file.read().decode(errors="replace")

    def _rotate(self) -> None:
        if not self.path.exists() or self.path.stat().st_size < LOG_BYTES_MAX:
            return
        for number in range(_OLDER_LOGS - 1, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            if older.exists():
                older.rename(self.path.with_name(f"{self.path.name}.{number + 1}"))
        self.path.rename(self.path.with_name(f"{self.path.name}.1"))


def start_error(folder: Path, log: Path, said: str, why: str) -> ChoirError:
    """The error that fits what a program said before it gave up."""
    free = free_mb(folder)
    if "No space left on device" in said or "Disk quota exceeded" in said or (free < _NEARLY_FULL_MB and not said):
        return DiskFull(folder=folder, free_mb=free, why=why)
    if "Read-only file system" in said:
        return ReadOnly(folder=folder)
    lines = said.strip().splitlines()[-_QUOTED_LINES:]
    return StartFailed(why=why, tail="\n".join(f"  {line}" for line in lines) or "  (nothing)", log=log)
