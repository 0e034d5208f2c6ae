"""Processes that end with us, and the truth about processes that others started.

Guarantees: a program started here receives its death signal when this process ends in any way, also
by kill -9; a lock says who serves a folder and cannot outlive its holders; a process id found in a
file is believed only after looking at the process itself.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import subprocess
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)
# One world for every program: no locale, home or temporary folder of the caller reaches it.
CLEAN_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}


def die_with_parent(death_signal: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn`; it runs after the account was switched, because switching clears the setting."""
    parent = os.getpid()

    def prepare() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(death_signal), 0, 0, 0)
        if os.getppid() != parent:  # the parent died before the setting was made
            os._exit(1)

    return prepare


class Child:
    """A program that runs as long as we do.

    The kernel sends the death signal when the *thread* that forked ends, so a thread of its own starts
    the program and stays until it has ended.
    """

    def __init__(self, command: Sequence[str], death_signal: signal.Signals, **spawn: Any) -> None:
        self._command = command
        self._death_signal = death_signal
        self._spawn = spawn
        self._started = threading.Event()
        self._ended = threading.Event()
        self._reaping = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._failure: Exception | None = None
        threading.Thread(target=self._keep, name="keeper", daemon=True).start()
        self._started.wait()
        if self._failure is not None:
            raise self._failure

    def _keep(self) -> None:
        try:
            self._process = subprocess.Popen(
                list(self._command),
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in the terminal is for the node, which then stops us in order
                umask=0o077,
                preexec_fn=die_with_parent(self._death_signal),  # noqa: PLW1509 - one call, bound before the fork
                **{"env": dict(CLEAN_ENVIRONMENT), **self._spawn},
            )
        except Exception as error:  # handed to the thread that waits
            self._failure = error
            return
        finally:
            self._started.set()
        os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
        with self._reaping:  # so that send() never signals a number that has been given to another process
            self._process.wait()
            self._ended.set()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._ended.is_set()

    @property
    def exit_code(self) -> int | None:
        """Its exit code; negative for a signal; None while it runs."""
        return None if self._process is None else self._process.returncode

    def send(self, number: signal.Signals) -> None:
        """Signal it, if it still runs."""
        with self._reaping:
            if self.running:
                os.kill(self.pid, number)

    def wait(self, limit_s: float) -> bool:
        """Whether it ended within the limit."""
        return self._ended.wait(limit_s)


class FolderLock:
    """An exclusive or shared flock that names its holder.

    It belongs to the open file: with `inherited`, a program that is given the descriptor holds it too, and
    it ends with the last holder. Otherwise forks of ours let go of it, so that a worker which outlives a
    killed node does not keep the folder locked.
    """

    def __init__(self, path: Path, *, inherited: bool = False) -> None:
        self.path = path
        self.descriptor = -1
        self._inherited = inherited

    def acquire(self, *, shared: bool = False) -> bool:
        """Whether we hold it now; never waits."""
        if self.descriptor >= 0:
            return True
        descriptor = open_private(self.path)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return False
        if not shared:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self.descriptor = descriptor
        if not self._inherited:
            _held_locks.add(self)
        return True

    def release(self) -> None:
        """Let go of our descriptor; whoever inherited it keeps the lock."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        _held_locks.discard(self)

    def holder(self) -> str:
        """Who wrote their name in it, for messages."""
        try:
            return f"process {self.path.read_text().strip() or 'unknown'}"
        except OSError:
            return "process unknown"


_held_locks: weakref.WeakSet[FolderLock] = weakref.WeakSet()


def _release_in_fork() -> None:
    for lock in list(_held_locks):
        lock.release()


os.register_at_fork(after_in_child=_release_in_fork)


def open_private(path: Path, flags: int = os.O_RDWR) -> int:
    """Open or make a file that only the folder's owner can read, whatever the umask; never through a link."""
    descriptor = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    found = os.fstat(descriptor)
    if found.st_mode & 0o777 != 0o600 and found.st_uid == os.geteuid():
        os.fchmod(descriptor, 0o600)
    owner = path.parent.stat()
    if os.geteuid() == 0 and found.st_uid == 0 and owner.st_uid != 0 and found.st_nlink == 1:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)  # root at work in an ordinary user's folder
    return descriptor


def serves(pid: int, data: Path, token: str) -> bool:
    """Whether that process is a PostgreSQL process on this very folder.

    PostgreSQL's processes stay in their data folder. Root without CAP_SYS_PTRACE (a container) cannot see
    that; then the account and the cluster's name, which is in each process's title, must do.
    """
    if _program(pid) != "postgres":
        return False
    try:
        folder = data.stat()
        seat = Path(f"/proc/{pid}/cwd").stat()
    except PermissionError:
        return _titled(pid, token, data)
    except OSError:
        return False
    return (seat.st_dev, seat.st_ino) == (folder.st_dev, folder.st_ino)


def processes_of(data: Path, token: str) -> list[int]:
    """All processes that serve this folder."""
    numbers = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [pid for pid in numbers if serves(pid, data, token)]


def _program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _titled(pid: int, token: str, data: Path) -> bool:
    try:
        title = Path(f"/proc/{pid}/cmdline").read_bytes()
        status = Path(f"/proc/{pid}/status").read_text()
        uid = int(status.partition("\nUid:")[2].split()[0])
        return token.encode() in title and uid == data.stat().st_uid
    except (OSError, ValueError, IndexError):
        return False
