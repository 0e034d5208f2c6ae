"""Control groups: the only limits on memory, processes and CPU that count a whole family of processes.

Guarantees: groups are made below the group this process is in, so a limit on the node binds its
sandboxes too; version 2 is used where its controllers are delegated, version 1 where it is mounted and
writable, and otherwise `NONE` says so. A group is gone when `remove` returns True.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from choir.sandbox.model import EffectiveLimits

PREFIX = "choir-run-"
_PERIOD_US = 100_000
_DYING_S = 0.002  # what the kernel needs to let the last members of a finished run go
_WANTED = ("memory", "pids", "cpu", "cpuacct")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Where groups can be made: for version 1 a folder per controller, for version 2 the same one for all."""

    version: int  # 0: none
    parents: dict[str, Path] = field(default_factory=dict)
    why: str = ""

    @property
    def label(self) -> str:
        return f"cgroup v{self.version}"

    def has(self, controller: str) -> bool:
        return controller in self.parents


NONE = Hierarchy(0, {}, "no writable cgroup")


def discover(own: str | None = None, mounts: str | None = None, *, may_move: bool = False) -> Hierarchy:
    """Where this process may make groups. `may_move` lets it step into a leaf of its delegated v2 group."""
    own = Path("/proc/self/cgroup").read_text() if own is None else own
    mounts = Path("/proc/self/mounts").read_text() if mounts is None else mounts
    second = _version_two(own, mounts, may_move)
    return second if second.version else _version_one(own, mounts, second.why)


def _version_two(own: str, mounts: str, may_move: bool) -> Hierarchy:
    point = next((fields[1] for fields in map(str.split, mounts.splitlines()) if fields[2] == "cgroup2"), None)
    path = next((line[3:] for line in own.splitlines() if line.startswith("0::")), None)
    if point is None or path is None:
        return Hierarchy(0, {}, "no cgroup v2")
    group = Path(point) / path.lstrip("/")
    try:
        available = set((group / "cgroup.controllers").read_text().split())
    except OSError as error:
        return Hierarchy(0, {}, f"cgroup v2: {error.strerror}")
    if not {"memory", "pids"} <= available:
        return Hierarchy(0, {}, "cgroup v2 has no memory and pids controllers here")
    wanted: list[str] = [name for name in ("memory", "pids", "cpu") if name in available]
    why = _hand_down(group, wanted, may_move)
    if why:
        return Hierarchy(0, {}, why)
    return Hierarchy(2, dict.fromkeys((*wanted, "cpuacct"), group))


def _hand_down(group: Path, controllers: list[str], may_move: bool) -> str:
    """Enable the controllers for children; a non-root v2 group that does so may hold no process itself."""
    order = " ".join(f"+{name}" for name in controllers)
    try:
        if not os.access(group, os.W_OK):
            return "the cgroup v2 group of this process is not delegated to it"
        enabled = set((group / "cgroup.subtree_control").read_text().split())
        if not set(controllers) <= enabled:
            if may_move and os.access(group / "cgroup.procs", os.W_OK):
                leaf = group / "choir-host"
                leaf.mkdir(exist_ok=True)
                (leaf / "cgroup.procs").write_text(str(os.getpid()))
            (group / "cgroup.subtree_control").write_text(order)
    except OSError as error:
        return f"cgroup v2 cannot be delegated: {error.strerror}"
    return ""


def _version_one(own: str, mounts: str, why: str) -> Hierarchy:
    points: dict[str, Path] = {}
    for fields in map(str.split, mounts.splitlines()):
        if fields[2] == "cgroup":
            points |= {option: Path(fields[1]) for option in fields[3].split(",") if option in _WANTED}
    parents: dict[str, Path] = {}
    for line in own.splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            if name in points:
                parent = points[name] / path.lstrip("/")
                parent = parent if parent.is_dir() else points[name]  # a container sees a host's path
                if os.access(parent, os.W_OK) and os.access(parent / "cgroup.procs", os.W_OK):
                    parents[name] = parent
    if "memory" not in parents or "pids" not in parents:
        return Hierarchy(0, {}, f"{why}; cgroup v1 has no writable memory and pids groups")
    return Hierarchy(1, parents)


class Group:
    """The control groups of one run."""

    def __init__(self, hierarchy: Hierarchy, name: str) -> None:
        self.hierarchy = hierarchy
        self.name = PREFIX + name
        self._of = {controller: parent / self.name for controller, parent in hierarchy.parents.items()}

    @property
    def folders(self) -> list[Path]:
        return list(dict.fromkeys(self._of.values()))

    def create(self, limits: EffectiveLimits, members: int) -> None:
        """Make the groups and set the limits, with room for so many members. Half-made groups are removed."""
        try:
            for folder in self.folders:
                folder.mkdir()
            for folder, file, text in self._settings(limits, members):
                _write(folder / file, text)
        except OSError:
            self.remove(0.0)
            raise

    def _settings(self, limits: EffectiveLimits, members: int) -> Iterable[tuple[Path, str, str]]:
        quota = str(limits.cores_milli * _PERIOD_US // 1000)
        memory, cpu = self._of["memory"], self._of.get("cpu")
        yield self._of["pids"], "pids.max", str(members)
        if self.hierarchy.version == 2:
            yield memory, "memory.max", str(limits.memory_bytes)
            if (memory / "memory.swap.max").exists():
                yield memory, "memory.swap.max", "0"
            yield memory, "memory.oom.group", "1"
            if cpu:
                yield cpu, "cpu.max", f"{quota} {_PERIOD_US}"
            return
        yield memory, "memory.limit_in_bytes", str(limits.memory_bytes)
        if (memory / "memory.memsw.limit_in_bytes").exists():
            yield memory, "memory.memsw.limit_in_bytes", str(limits.memory_bytes)
        if cpu and (cpu / "cpu.cfs_quota_us").exists():
            yield cpu, "cpu.cfs_period_us", str(_PERIOD_US)
            yield cpu, "cpu.cfs_quota_us", quota

    def join_files(self) -> list[str]:
        """Writing 0 into each of these moves the writer into the groups.

        Version 1 can move a single thread, which a shell is, without stopping the whole machine for a moment.
        """
        name = "tasks" if self.hierarchy.version == 1 else "cgroup.procs"
        return [str(folder / name) for folder in self.folders]

    def cpu_s(self) -> float | None:
        folder = self._of.get("cpuacct")
        try:
            if folder is None:
                return None
            if self.hierarchy.version == 1:
                return int((folder / "cpuacct.usage").read_text()) / 1e9
            return _keyed(folder / "cpu.stat").get("usage_usec", 0) / 1e6
        except OSError:
            return None

    def memory_peak_bytes(self) -> int | None:
        name = "memory.peak" if self.hierarchy.version == 2 else "memory.max_usage_in_bytes"
        try:
            return int((self._of["memory"] / name).read_text())
        except OSError:  # memory.peak needs Linux 5.19
            return None

    def out_of_memory(self) -> bool | None:
        name = "memory.events" if self.hierarchy.version == 2 else "memory.oom_control"
        try:
            return _keyed(self._of["memory"] / name).get("oom_kill", 0) > 0
        except OSError:
            return None

    def kill(self) -> None:
        """Kill every member. New forks are forbidden first, so that a fork bomb cannot outrun this."""
        kill_all(self.folders)

    def wait_until_empty(self, seconds: float) -> bool:
        """Until no member is left: those that are dying get a moment, then all are killed, again and again."""
        folder = self.folders[0]
        now = time.monotonic()
        gentle, deadline = now + _DYING_S, now + seconds
        pause = 0.0002
        while _members(folder):
            now = time.monotonic()
            if now > deadline:
                return False
            if now > gentle:
                self.kill()
            time.sleep(pause)
            pause = min(pause * 1.5, 0.02)
        return True

    def remove(self, seconds: float) -> bool:
        """Remove the groups, waiting so long for the last members to be gone."""
        return remove_folders(self.folders, seconds)


def kill_all(folders: Iterable[Path]) -> None:
    """Kill the members of groups that are known to be ours."""
    for folder in folders:
        try:
            if (folder / "pids.max").exists():
                _write(folder / "pids.max", "0")
            if (folder / "cgroup.kill").exists():
                _write(folder / "cgroup.kill", "1")
                continue
            for pid in (folder / "cgroup.procs").read_text().split():
                _kill(int(pid))
        except OSError:  # removed meanwhile
            continue


def remove_folders(folders: list[Path], seconds: float) -> bool:
    """Remove empty groups, waiting for dying members."""
    deadline = time.monotonic() + seconds
    pause = 0.0002
    for folder in folders:
        while True:
            try:
                folder.rmdir()
                break
            except FileNotFoundError:
                break
            except OSError:
                if time.monotonic() > deadline:
                    return False
                time.sleep(pause)
                pause = min(pause * 1.5, 0.02)
    return True


def _members(folder: Path) -> bool:
    try:
        return bool((folder / "cgroup.procs").read_bytes())
    except OSError:
        return False


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _keyed(path: Path) -> dict[str, int]:
    lines = (line.split() for line in path.read_text().splitlines())
    return {fields[0]: int(fields[1]) for fields in lines if len(fields) == 2 and fields[1].isdecimal()}


def _write(path: Path, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
