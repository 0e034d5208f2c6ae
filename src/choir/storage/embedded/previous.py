"""What is already in a database folder: a server that runs, or what a killed one left behind.

Guarantees: a folder is handed over only when no process of an earlier server lives; a pid file is
believed only if that process really serves this folder, so neither a stale file nor a reused process
id stops a start; no process that does not serve this folder is ever signalled.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from choir.storage.embedded.accounts import Account
from choir.storage.embedded.cluster import fresh_folder
from choir.storage.embedded.errors import AlreadyRunning, PreviousServerStuck
from choir.storage.processes import FolderLock, processes_of, serves

FAST_STOP_LIMIT_S = 30.0  # a fast shutdown writes a checkpoint
QUICK_STOP_LIMIT_S = 5.0
_POLL_S = 0.02

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Places:
    """Where everything of one home is."""

    folder: Path

    @classmethod
    def of(cls, home: Path) -> Places:
        """The places below a home."""
        return cls(home.absolute() / "postgres")

    @property
    def data(self) -> Path:
        """PostgreSQL's data folder."""
        return self.folder / "data"

    @property
    def node_lock(self) -> Path:
        """Held by the process that supervises."""
        return self.folder / "node.lock"

    @property
    def server_lock(self) -> Path:
        """Inherited by every process of the server: it is free when the last of them has ended."""
        return self.folder / "server.lock"

    @property
    def borrow_lock(self) -> Path:
        """Shared by those who use a server they did not start."""
        return self.folder / "borrow.lock"

    @property
    def log(self) -> Path:
        """What PostgreSQL says."""
        return self.folder / "postgres.log"

    @property
    def token(self) -> str:
        """A short name for this folder: the cluster's name, the socket folder's name."""
        return f"choir-{hashlib.sha256(os.fsencode(self.folder.resolve())).hexdigest()[:16]}"


@dataclass(frozen=True)
class PidFile:
    """What we use of postmaster.pid (PostgreSQL's miscadmin.h describes its lines)."""

    pid: int
    socket_setting: str
    status: str


def read_pid_file(data: Path) -> PidFile | None:
    """The server's pid file, or None if there is none or it is not whole."""
    try:
        lines = (data / "postmaster.pid").read_text(errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    lines += [""] * 8
    pid = lines[0].strip()
    return PidFile(int(pid), lines[4].strip(), lines[7].strip()) if pid.isdecimal() else None


def serving_pid(places: Places) -> int | None:
    """The process that serves this folder, if there is one."""
    found = read_pid_file(places.data)
    return found.pid if found is not None and serves(found.pid, places.data, places.token) else None


def prepare_folder(folder: Path, account: Account) -> None:
    """Make the folder, private. As root its group is the server's, which lets it pass to the socket."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        place.mkdir()
        place.chmod(0o700)  # whatever the umask
    found = folder.stat()
    ours = account.switch and found.st_uid == 0
    if ours and (found.st_gid, found.st_mode & 0o777) != (account.gid, 0o710):
        os.chown(folder, 0, account.gid)
        folder.chmod(0o710)


def wait_for_previous(places: Places, on_progress: Progress) -> FolderLock:
    """The server lock, once nothing of an earlier server runs; what does not end by itself is ended."""
    lock = FolderLock(places.server_lock, inherited=True)
    begun = time.monotonic()
    sent: set[signal.Signals] = set()
    while not lock.acquire():
        waited = time.monotonic() - begun
        number = _next_signal(places, waited)
        if number is None:
            pids = ", ".join(map(str, _leftovers(places))) or "unknown"
            raise PreviousServerStuck(folder=places.folder, waited_s=round(waited), pids=pids)
        if number not in sent:
            sent.add(number)
            on_progress("Waiting for an earlier PostgreSQL on this folder to end.")
            _signal_previous(places, number)
        time.sleep(_POLL_S)
    return lock


def _next_signal(places: Places, waited_s: float) -> signal.Signals | None:
    """Fast shutdown for a server; when its first process is gone the others have nothing to save."""
    patience = FAST_STOP_LIMIT_S if serving_pid(places) is not None else 0.0
    if waited_s < patience + QUICK_STOP_LIMIT_S / 2:
        return signal.SIGINT
    if waited_s < patience + QUICK_STOP_LIMIT_S:
        return signal.SIGQUIT
    return signal.SIGKILL if waited_s < FAST_STOP_LIMIT_S + 3 * QUICK_STOP_LIMIT_S else None


def _signal_previous(places: Places, number: signal.Signals) -> None:
    first = serving_pid(places)
    only_first = [] if first is None else [first]
    for pid in only_first if number is signal.SIGINT else _leftovers(places):
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _leftovers(places: Places) -> list[int]:
    folders = [place for place in (places.data, fresh_folder(places.data)) if place.exists()]
    return [pid for place in folders for pid in processes_of(place, places.token)]


def clear_stale_pid_file(places: Places) -> None:
    """Remove a dead server's pid file: PostgreSQL would mistake another process with that id for it."""
    pid = serving_pid(places)
    if pid is not None:  # someone started it by hand: our lock is free
        raise AlreadyRunning(folder=places.folder, holder=f"PostgreSQL {pid}, which Choir did not start")
    with suppress(FileNotFoundError, NotADirectoryError):
        (places.data / "postmaster.pid").unlink()
