"""Run files: what is running, and how to find what a killed node left behind.

Guarantees: each run has a file that its node keeps locked; the kernel lets go of the lock when the node
dies, however it dies. The reaper touches only runs whose lock it could take, and only what their file
names and what carries the run's own name: groups called after the run, a user id of our range whose lock
is free, the folder of the run. A file that says anything else is left alone and reported.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choir.sandbox import cgroups
from choir.sandbox.removal import remove_tree
from choir.sandbox.uids import UidPool

_STALE_S = 60
_SUFFIX = ".run"
_GONE_S = 5.0


@dataclass(slots=True)
class RunFile:
    """The locked file of a live run."""

    path: Path
    fd: int

    def note(self, more: dict[str, Any]) -> None:
        """Add facts, in place: the lock is on this very file."""
        facts = _read(self.path) | more
        data = json.dumps(facts).encode()
        os.pwrite(self.fd, data, 0)
        os.ftruncate(self.fd, len(data))

    def finish(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self.fd)

    def abandon(self) -> None:
        """Leave the file for the reaper."""
        os.close(self.fd)


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run as its file tells it."""

    run: str
    alive: bool
    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CleanReport:
    """What the reaper did."""

    runs: tuple[str, ...]  # removed
    kept: tuple[str, ...]  # not ours to touch, or not gone yet; with the reason


class RunFolder:
    """The folder of run files of one node."""

    def __init__(self, state: Path) -> None:
        self.path = state / "runs"
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def begin(self, run: str, facts: dict[str, Any]) -> RunFile:
        """Write and lock the file before it gets its name, so that no reaper sees it unlocked."""
        new = self.path / f".{run}.new"
        fd = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.write(fd, json.dumps({"run": run, "pid": os.getpid(), **facts}).encode())
        final = self.path / f"{run}{_SUFFIX}"
        new.rename(final)
        return RunFile(final, fd)

    def scratch(self, run: str) -> Path:
        """Where a run may keep sockets and bundles on the host."""
        return self.path / run

    def all(self) -> Iterator[FoundRun]:
        """Every run, live or left behind."""
        for path in sorted(self.path.glob(f"*{_SUFFIX}")):
            fd = _lock(path)
            try:
                yield FoundRun(path.stem, fd is None, _read(path))
            finally:
                if fd is not None:
                    os.close(fd)

    def clean(self, uids: UidPool | None) -> CleanReport:
        """Remove what dead nodes left."""
        removed: list[str] = []
        kept: list[str] = []
        for path in sorted(self.path.glob(f"*{_SUFFIX}")):
            fd = _lock(path)
            if fd is None:
                continue
            try:
                why = _remove_run(path, self.scratch(path.stem), uids)
                if why:
                    kept.append(f"{path.stem}: {why}")
                else:
                    path.unlink(missing_ok=True)
                    removed.append(path.stem)
            finally:
                os.close(fd)
        self._drop_unfinished()
        return CleanReport(tuple(removed), tuple(kept))

    def _drop_unfinished(self) -> None:
        """Files of nodes that died between making and naming them, and folders without a file."""
        for path in self.path.glob(".*.new"):
            if _is_old(path):
                path.unlink(missing_ok=True)
        for path in self.path.iterdir():
            orphan = path.is_dir() and not path.is_symlink() and not (self.path / f"{path.name}{_SUFFIX}").exists()
            if orphan and _is_old(path):
                remove_tree(path)


def kill_uid(uid: int) -> bool:
    """Kill whatever runs as a user id that we hold the lock of; True when nothing is left."""
    deadline = time.monotonic() + _GONE_S
    while pids := processes_of(uid):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def processes_of(uid: int) -> list[int]:
    """The live processes of a user id; a zombie is dead and only waits for its parent."""
    found: list[int] = []
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            try:
                owner, state = _owner_and_state(entry.name)
            except OSError:
                continue
            if owner == uid and state not in "ZX":
                found.append(int(entry.name))
    return found


def _owner_and_state(pid: str) -> tuple[int, str]:
    """By its status: the folder of a process that is not dumpable belongs to root."""
    facts = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return int(facts["Uid"].split()[0]), facts["State"].split()[0]


def _remove_run(path: Path, scratch: Path, uids: UidPool | None) -> str:
    """Remove what one dead run left; the reason if that could not be done."""
    facts = _read(path)
    folders = [Path(text) for text in facts.get("cgroups", [])]
    if facts.get("run") != path.stem or not all(_is_our_group(folder, path.stem) for folder in folders):
        return "its file names something that is not its own"
    cgroups.kill_all(folders)
    why = _kill_user(facts.get("uid"), uids)
    if why:
        return why
    if not _kill_leader(facts):
        return "its first process has not ended"
    if not cgroups.remove_folders(folders, _GONE_S):
        return "its control groups are not empty"
    return "" if remove_tree(scratch) else "its folder could not be removed"


def _kill_user(uid: int | None, uids: UidPool | None) -> str:
    if uid is None or uids is None:
        return ""
    if not uids.first <= uid < uids.first + uids.count:
        return "its file names a user id that is not ours"
    held = uids.try_take(uid)
    if held is None:  # someone else uses the id by now, so our run is long gone
        return ""
    try:
        return "" if kill_uid(uid) else "its processes have not ended"
    finally:
        held.release()


def _kill_leader(facts: dict[str, Any]) -> bool:
    """The first process by id and start time, which together name one process only."""
    pid, started = facts.get("leader"), facts.get("leader_started")
    if not pid or start_time(pid) != started:
        return True
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return True
    deadline = time.monotonic() + _GONE_S
    while start_time(pid) == started and time.monotonic() < deadline:
        time.sleep(0.01)
    return start_time(pid) != started


def descendants(pid: int, levels: int = 3) -> list[int]:
    """The children of a process and theirs, a few levels down; a snapshot."""
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return found + [below for child in found for below in descendants(child, levels - 1)] if levels else []


def start_time(pid: int) -> int | None:
    """When a process began, in clock ticks since boot; None if there is none or it is a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def _is_our_group(folder: Path, run: str) -> bool:
    inside = folder.parts[:4] == ("/", "sys", "fs", "cgroup") and ".." not in folder.parts
    return inside and folder.name == cgroups.PREFIX + run


def _read(path: Path) -> dict[str, Any]:
    try:
        facts = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _lock(path: Path) -> int | None:
    """The lock of a run file whose node is dead; None while it lives or when the file is gone."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    if os.fstat(fd).st_nlink == 0:
        os.close(fd)
        return None
    return fd


def _is_old(path: Path) -> bool:
    try:
        return time.time() - path.lstat().st_mtime > _STALE_S
    except OSError:
        return False
