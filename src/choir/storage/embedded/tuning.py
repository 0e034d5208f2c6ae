"""PostgreSQL's settings, fitted to the machine.

Guarantees: no TCP; one socket, closed to other accounts; every commit is on disk before it is
reported, unless the caller asked for a throw-away database.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_MB = 2**20
_SHARED_BUFFERS_BYTES_MAX = 1024 * _MB
_SHARED_BUFFERS_BYTES_MIN = 16 * _MB
_THROW_AWAY_BUFFERS_BYTES_MAX = 128 * _MB
_WAL_BYTES_MAX = 4096 * _MB
_WAL_BYTES_MIN = 64 * _MB
_SHARED_MEMORY_BYTES_MIN = 256 * _MB  # below this, parallel queries keep their memory in files
_CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def server_settings(data: Path, socket_setting: str, cluster_name: str, *, durable: bool) -> dict[str, str]:
    """All settings that differ from PostgreSQL's defaults."""
    settings = {
        "cluster_name": cluster_name,  # in every process's title; tells our servers apart
        "listen_addresses": "",
        "unix_socket_directories": socket_setting,
        "unix_socket_permissions": "0700",
        "max_connections": "200",
        "shared_buffers": _megabytes(_shared_buffers(durable=durable)),
        "max_wal_size": _megabytes(_wal_size(data)),
        "dynamic_shared_memory_type": _shared_memory_type(),
        "jit": "off",
        "timezone": "UTC",
        "log_timezone": "UTC",
        "logging_collector": "off",
        "log_destination": "stderr",
        "fsync": "on",
        "full_page_writes": "on",
        "synchronous_commit": "on",
    }
    if not durable:
        settings |= {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
    return settings


def as_arguments(settings: dict[str, str]) -> list[str]:
    """The settings as the server's command line takes them; they win over files in the data folder."""
    return [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]


def memory_bytes() -> int:
    """Memory that this process may use: the machine's, or its container's limit."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _CGROUP_LIMITS:
        try:
            memory = min(memory, int(Path(path).read_text()))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return memory


def _shared_buffers(*, durable: bool) -> int:
    most = _SHARED_BUFFERS_BYTES_MAX if durable else _THROW_AWAY_BUFFERS_BYTES_MAX
    return max(_SHARED_BUFFERS_BYTES_MIN, min(most, memory_bytes() // 8))


def _wal_size(data: Path) -> int:
    return max(_WAL_BYTES_MIN, min(_WAL_BYTES_MAX, shutil.disk_usage(data).free // 8))


def _shared_memory_type() -> str:
    try:
        roomy = shutil.disk_usage("/dev/shm").total >= _SHARED_MEMORY_BYTES_MIN  # noqa: S108 - only looked at
    except OSError:
        roomy = False
    return "posix" if roomy else "mmap"


def _megabytes(size: int) -> str:
    return f"{size // _MB}MB"
