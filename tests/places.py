"""Where tests put what is thrown away after them: in memory if there is room, else on the disk.

A database is some three hundred small files. Each test has its own, and making it on a disk costs ten times the CPU
and waits for every other test that writes. Tests about killed writers stay on the disk.
"""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path

DISK = Path("/tmp")
MEMORY = Path("/dev/shm")
_ROOM_BYTES_MIN = 4 * 2**30  # a few workers with a database and a node or two each need about one


@cache
def throw_away() -> Path:
    """The folder to make temporary folders in."""
    return MEMORY if _roomy(MEMORY) else DISK


def _roomy(place: Path) -> bool:
    if not os.access(place, os.W_OK | os.X_OK) or os.statvfs(place).f_flag & os.ST_NOEXEC:
        return False
    return min(shutil.disk_usage(place).free, _memory_available()) >= _ROOM_BYTES_MIN


def _memory_available() -> int:
    """What the kernel could give without swapping; nothing where it does not say."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "MemAvailable":
            return int(value.split()[0]) * 1024
    return 0
