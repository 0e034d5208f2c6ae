"""Carries out the acts of a stage, in a mount namespace of the run's own, and starts the run's first program there.

Guarantees: nothing is mounted before the thread that mounts has left the node's own namespace, and nothing it mounts
comes back from there; the namespace is gone with the last process of the run. No program is started for it, so that no
word of a stranger's can become an option of one, and a stage costs less than a millisecond.

A thread makes the namespace for itself (a namespace belongs to a thread), starts the program, and stays until the run
is over: the kernel kills what asked to die with its parent when the very thread that started it ends.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from choir.sandbox.model import StartFailed
from choir.sandbox.tiers.stage import Act, BindAct, FileAct, FolderAct, HostNameAct, LinkAct, MountAct

_libc = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS, _NEW_HOST_NAME = 0x00020000, 0x04000000  # CLONE_NEWNS, CLONE_NEWUTS
_NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18  # MS_…
_FLAGS = {"tmpfs": _NOSUID | _NODEV, "devpts": _NOSUID | _NOEXEC, "cgroup2": _NOSUID | _NODEV | _NOEXEC}

Start = Callable[[], subprocess.Popen[bytes]]


class Stage:
    """The stage of one run, for as long as the run lasts."""

    def __init__(self, acts: Sequence[Act]) -> None:
        self._acts = acts
        self._started = threading.Event()
        self._over = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._error: BaseException | None = None
        self._thread: threading.Thread | None = None

    def start(self, start: Start) -> subprocess.Popen[bytes]:
        """Build the stage and start the program on it."""
        self._thread = threading.Thread(target=self._run, args=(start,), name="choir-stage", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._error is not None:
            raise self._error
        assert self._process is not None
        return self._process

    def close(self) -> None:
        """Let the thread end. What it started and is not gone by now is killed if it asked for that."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self, start: Start) -> None:
        try:
            _leave()
            for act in self._acts:
                _do(act)
            self._process = start()
        except BaseException as error:
            self._error = error
        finally:
            self._started.set()
        self._over.wait()


def _leave() -> None:
    """Into a mount namespace of this thread's own, from which nothing comes back."""
    _must(_libc.unshare(_NEW_MOUNTS), "a mount namespace")
    _must(_libc.mount(b"none", b"/", None, _REC | _PRIVATE, None), "private mounts")
    os.umask(0o022)  # it has become this thread's own as well


def _do(act: Act) -> None:
    match act:
        case MountAct(kind, target, options):
            words = (b"choir", os.fsencode(target), kind.encode(), _FLAGS[kind], options.encode())
            _must(_libc.mount(*words), f"{kind} on {target}")
        case BindAct(source, target):
            _must(_libc.mount(os.fsencode(source), os.fsencode(target), None, _BIND, None), source)
        case HostNameAct(name):
            _must(_libc.unshare(_NEW_HOST_NAME), "a host name")
            _must(_libc.sethostname(name.encode(), len(name)), "a host name")
        case _:
            _make(act)


def _make(act: FolderAct | FileAct | LinkAct) -> None:
    path = Path(act.path)
    try:
        match act:
            case FolderAct(_, mode, owner):
                path.mkdir(parents=True, exist_ok=True)
                os.chown(path, owner, owner)
                path.chmod(mode)
            case FileAct(_, content):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                path.chmod(0o644)
            case LinkAct(_, target):
                path.symlink_to(target)
    except OSError as error:
        raise StartFailed(why=f"{act.path}: {error.strerror}") from None


def _must(result: int, what: str) -> None:
    if result < 0:
        raise StartFailed(why=f"{what}: {os.strerror(ctypes.get_errno())}")
