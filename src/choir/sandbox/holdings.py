"""What one run holds on the machine, and giving all of it back.

Guarantees: `take` either returns with everything or gives back what it took; `give_back` can be called at
any point and more than once. The run file comes first and goes last, so that at every moment in between a
reaper could find the rest.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from choir.sandbox import rules, seccomp
from choir.sandbox.cgroups import Group
from choir.sandbox.model import WORKSPACE, NotGone, Spec, StartFailed, UnsafeEntry
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.removal import remove_tree
from choir.sandbox.runs import RunFile, RunFolder, kill_uid
from choir.sandbox.tiers.base import EGRESS_SOCKET, Driver, Machine, MountPoint, Plan, etc_files
from choir.sandbox.uids import HeldUid, UidPool

if TYPE_CHECKING:
    from choir.sandbox.egress.service import EgressHost, Endpoint

_MADE_BY_US = {"proc", "dev", "sys", "tmp", "run", WORKSPACE.strip("/")}  # top names of an image that are hidden


@dataclass(frozen=True, slots=True)
class Host:
    """What runs have of the machine."""

    machine: Machine
    runs: RunFolder
    policy: SandboxPolicy
    uids: UidPool | None = None
    egress: EgressHost | None = None


class Holdings:
    """The user id, groups, files and descriptors of one run."""

    def __init__(self, host: Host, driver: Driver, spec: Spec, run: str) -> None:
        self.host = host
        self.driver = driver
        self.stack = ExitStack()
        self._lent = 0
        self.group: Group | None = None
        self.uid: HeldUid | None = None
        self.file: RunFile | None = None
        self.endpoint: Endpoint | None = None
        limits = rules.effective_limits(spec.limits, host.policy)
        self.plan = Plan(run=run, spec=spec, limits=limits, scratch=host.runs.scratch(run))

    def take(self) -> None:
        """Take everything the run needs."""
        try:
            self._take()
        except BaseException:
            self.give_back()
            raise

    def _take(self) -> None:
        host, plan = self.host, self.plan
        if host.uids is not None:
            self.uid = host.uids.take()
        if host.machine.cgroups.version:
            self.group = Group(host.machine.cgroups, plan.run)
        self.file = host.runs.begin(plan.run, self._facts())
        if self.group is not None:
            self.group.create(plan.limits, self.driver.members(plan.limits.processes))
        if self.driver.needs_scratch or plan.spec.egress is not None:
            plan.scratch.mkdir(mode=0o700, exist_ok=True)
        if plan.spec.egress is not None:
            if host.egress is None:
                raise StartFailed(why="this service has no egress proxy")
            owner = self.uid.uid if self.uid else None
            self.endpoint = host.egress.open(plan.spec.egress, plan.scratch, owner)
        self._fill_plan()

    def _facts(self) -> dict[str, object]:
        spec = self.plan.spec
        return {
            "tier": self.driver.tier.label,
            "uid": self.uid.uid if self.uid else None,
            "cgroups": [str(folder) for folder in self.group.folders] if self.group else [],
            "owner": spec.owner,
            "program": spec.argv[0][:100],
            "began_at_us": time.time_ns() // 1000,
        }

    def _fill_plan(self) -> None:
        host, spec, endpoint = self.host, self.plan.spec, self.endpoint
        program = seccomp.assemble(
            host.machine.architecture,
            memory_is_counted=self.group is not None,
            own_ipc=self.driver.own_ipc(host.machine),
        )
        root_mounts, root_links = self._open_root(spec.root) if spec.root else ((), ())
        self.plan = replace(
            self.plan,
            uid=self.uid.uid if self.uid else None,
            join=tuple(self.group.join_files()) if self.group else (),
            etc_fds=tuple((name, self._memory(content)) for name, content in etc_files().items()),
            seccomp_fd=self._memory(program),
            seccomp_program=program,
            args_fd=self._memory(b""),
            mounts=tuple(self._lend(item.source, item.target, writable=item.writable) for item in spec.mounts),
            root_mounts=root_mounts,
            root_links=root_links,
            egress=self._lend(endpoint.socket, EGRESS_SOCKET, writable=True) if endpoint else None,
            egress_token=endpoint.token if endpoint else "",
            forwarder=endpoint.forwarder if endpoint else "",
            wait=bool(spec.files or spec.collect or spec.folder or spec.capture),
        )

    def _closing(self, fd: int) -> int:
        self.stack.callback(os.close, fd)
        return fd

    def _memory(self, content: bytes) -> int:
        """A file in memory, at its start: how bubblewrap takes data that has no path."""
        fd = self._closing(os.memfd_create("choir", os.MFD_CLOEXEC))
        os.pwrite(fd, content, 0)
        return fd

    def _lend(self, source: Path, target: str, *, writable: bool = False) -> MountPoint:
        """A path to mount, which must be there and be no link."""
        try:
            mode = source.lstat().st_mode
        except OSError as error:
            raise UnsafeEntry(path=str(source), why=f"it cannot be mounted: {error.strerror}") from None
        if stat.S_ISLNK(mode):
            raise UnsafeEntry(path=str(source), why="a link is not mounted")
        self._lent += 1
        return MountPoint(self._lent, str(source.absolute()), target, writable, stat.S_ISDIR(mode))

    def _open_root(self, root: Path) -> tuple[tuple[MountPoint, ...], tuple[tuple[str, str], ...]]:
        """The top of an image. Its links stay links, so that none is followed on the host."""
        mounts: list[MountPoint] = []
        links: list[tuple[str, str]] = []
        for entry in sorted(os.scandir(root), key=lambda item: item.name):
            if entry.name in _MADE_BY_US:
                continue  # also as links: nothing of ours is mounted through what a stranger arranged
            if entry.is_symlink():
                links.append((entry.name, str(Path(entry.path).readlink())))
            elif entry.is_dir():
                mounts.append(self._lend(Path(entry.path), f"/{entry.name}"))
        return tuple(mounts), tuple(links)

    def give_back(self) -> None:
        """Return everything. The processes are dead by now, or `NotGone` says that they are not."""
        try:
            self.stack.close()
            if self.endpoint is not None:
                self.endpoint.close()
        finally:  # a proxy that will not close must not keep the groups and the user id
            self.endpoint = None
            self._give_back_rest()

    def _give_back_rest(self) -> None:
        gone = self._give_back_group()
        if self.uid is not None:
            if self.group is None:
                gone = kill_uid(self.uid.uid) and gone
            if gone:  # otherwise this process keeps the lock, and no other sandbox shares the id with what is left
                self.uid.release()
            self.uid = None
        if not gone:
            if self.file is not None:
                self.file.abandon()
            raise NotGone(run=self.plan.run, seconds=self.host.policy.kill_s_max)
        if self.file is not None:
            removed = remove_tree(self.plan.scratch)
            self.file.finish() if removed else self.file.abandon()  # abandoned, it is listed and tried again
            self.file = None

    def _give_back_group(self) -> bool:
        if self.group is None:
            return True
        if self.group.remove(0.05):  # in nearly all runs the members are gone by now
            return True
        self.group.kill()
        return self.group.remove(self.host.policy.kill_s_max)
