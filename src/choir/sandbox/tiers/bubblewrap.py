"""The default tier: bubblewrap with every namespace of its own.

Guarantees: the payload sees the host's /usr read-only, a private workspace of fixed size, a minimal /etc
and /dev, and nothing else of the host; it has no capability, cannot gain one, cannot make namespaces, has
no network but its own loopback, and dies with the process that started it. Started by root, bubblewrap
itself runs as a user id that no other sandbox has.
"""

from __future__ import annotations

import re
import signal

from choir.sandbox.model import WORKSPACE, LimitName, Tier
from choir.sandbox.tiers.base import (
    EGRESS_SOCKET,
    ETC_FROM_HOST,
    PAYLOAD_UID,
    BuiltCommand,
    Machine,
    MountPoint,
    Plan,
    environment,
    host_applied,
    joined,
    nul_separated,
    rlimits,
    version_of,
    waiting,
)
from choir.sandbox.tiers.stage import (
    ONE_ROOM,
    STAGED_ROOM,
    STAGED_SHM,
    STAGED_TERMINALS,
    STAGED_TMP,
    STAGED_WORK,
    Act,
    lend,
    place,
    rooms,
    terminals,
)


class Bubblewrap:
    """Namespaces, seccomp, no capabilities."""

    tier = Tier.BUBBLEWRAP
    tells_init = True
    needs_scratch = False
    marks_start = False
    stop_signal = signal.SIGKILL

    def missing(self, machine: Machine, image: str | None = None) -> str:  # noqa: ARG002
        lacking = machine.lacks("bwrap", "prlimit", "sh", *(("setpriv",) if machine.is_root else ()))
        return lacking if "bwrap" in machine.programs else f"{lacking}; install it with `apt-get install bubblewrap`"

    def engine(self, machine: Machine, image: str | None = None) -> str:  # noqa: ARG002
        return version_of(machine.programs["bwrap"], "--version")

    def applied(self, machine: Machine, image: str | None = None) -> dict[str, str]:  # noqa: ARG002
        found = host_applied(machine)
        found.setdefault(LimitName.PROCESSES.value, "rlimit, counted within the user namespace")
        found[LimitName.DISK.value] = ONE_ROOM if machine.is_root else "tmpfs of fixed size, for each place"
        found[LimitName.NETWORK.value] = "network namespace and seccomp"
        return found

    def own_ipc(self, machine: Machine) -> bool:  # noqa: ARG002
        return True

    def members(self, processes: int) -> int:
        return processes + 3  # bubblewrap outside, bubblewrap as first process inside, and a spare for its set-up

    def native(self, machine: Machine) -> bool:  # noqa: ARG002
        return True

    def notes(self, machine: Machine) -> tuple[str, ...]:
        notes = []
        if not machine.cgroups.version:
            notes.append(f"Memory and CPU are limited per process only: {machine.cgroups.why}.")
        if not machine.is_root:
            notes.append("All sandboxes run as the same user of the host; only root can give each its own.")
            notes.append("Workspace, /tmp and /dev/shm have the disk limit each; terminals and files are not counted.")
        return tuple(notes)

    def build(self, plan: Plan, machine: Machine) -> BuiltCommand:
        programs = machine.programs
        command = [programs["bwrap"], "--args", str(plan.args_fd), "--", *self._inside(plan, machine)]
        if plan.spec.root is not None:  # an image may lack prlimit; the process count is the cgroup's then
            command = [programs["prlimit"], *rlimits(plan, machine, processes=False), "--", *command]
        if plan.uid is not None:
            user = str(plan.uid)
            command = [programs["setpriv"], "--reuid", user, "--regid", user, "--clear-groups", "--", *command]
        inherit = (plan.seccomp_fd, plan.args_fd, plan.status_fd, *(fd for _, fd in plan.etc_fds))
        told = nul_separated(self._options(plan, machine))
        return BuiltCommand(joined(plan, machine, command), told, inherit=inherit, acts=self._acts(plan))

    def _acts(self, plan: Plan) -> tuple[Act, ...]:
        if plan.uid is None:
            return ()
        return (*rooms(plan), *terminals(plan), *(act for mount in _lent(plan) for act in lend(mount)))

    def workspace(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        return f"/proc/{self.init_process(status)}/root{WORKSPACE}"

    def room(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        return f"/proc/{self.init_process(status)}/root{plan.spec.room}"

    def init_process(self, status: bytes) -> int | None:
        found = re.match(rb'\s*\{\s*"child-pid"\s*:\s*(\d+)[\s,}]', status)
        return int(found[1]) if found else None

    def start_failure(self, exit_code: int, started: bool, status: bytes, stderr: bytes) -> str:  # noqa: ARG002
        """Bubblewrap reports an exit code only for a payload that it has started."""
        if b'"exit-code"' in status:
            return ""
        return stderr.decode(errors="replace").strip() or f"bubblewrap ended with code {exit_code}"

    def _inside(self, plan: Plan, machine: Machine) -> list[str]:
        """What bubblewrap starts: limits, then the forwarder if there is egress, then the payload."""
        command = list(plan.spec.argv)
        if plan.forwarder:
            command = ["/usr/bin/python3", "-I", "-S", "-c", plan.forwarder, EGRESS_SOCKET, *command]
        if plan.spec.root is None:
            command = ["/usr/bin/prlimit", *rlimits(plan, machine), "--", *command]
        return waiting("/bin/sh", command) if plan.wait else command

    def _options(self, plan: Plan, machine: Machine) -> list[str]:
        return [
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--die-with-parent",
            "--new-session",
            "--cap-drop",
            "ALL",
            "--uid",
            str(PAYLOAD_UID),
            "--gid",
            str(PAYLOAD_UID),
            "--hostname",
            "sandbox",
            "--seccomp",
            str(plan.seccomp_fd),
            "--json-status-fd",
            str(plan.status_fd),
            *self._environment(plan),
            *self._view(plan, machine),
            "--chdir",
            WORKSPACE,
        ]

    def _environment(self, plan: Plan) -> list[str]:
        options = ["--clearenv"]
        for name, value in environment(plan).items():
            options += ["--setenv", name, value]
        return options

    def _view(self, plan: Plan, machine: Machine) -> list[str]:
        """The file system, from the outside in; the root comes last, read-only."""
        options = [*self._root(plan, machine), "--proc", "/proc", "--dev", "/dev", *_rooms(plan)]
        for mount in (*plan.mounts, *((plan.egress,) if plan.egress else ())):
            options += _bind(plan, mount)
        return [*options, "--remount-ro", "/dev", "--remount-ro", "/"]

    def _root(self, plan: Plan, machine: Machine) -> list[str]:
        if plan.spec.root is not None:
            options = [word for mount in plan.root_mounts for word in _bind(plan, mount)]
            return options + [word for name, target in plan.root_links for word in ("--symlink", target, f"/{name}")]
        options = ["--ro-bind", "/usr", "/usr"]
        for name in machine.usr_links:
            options += ["--symlink", f"usr/{name}", f"/{name}"]
        for name in machine.usr_folders:
            options += ["--ro-bind", f"/{name}", f"/{name}"]
        for name, fd in plan.etc_fds:
            options += ["--file", str(fd), f"/etc/{name}"]
        for path in ETC_FROM_HOST:
            options += ["--ro-bind-try", path, path]
        return options


def _rooms(plan: Plan) -> list[str]:
    """What the payload may write to. An ordinary user has no stage, and a file system for each."""
    if plan.uid is not None:
        places = (("/dev/shm", STAGED_SHM), ("/tmp", STAGED_TMP), (WORKSPACE, STAGED_WORK))  # noqa: S108
        binds = [word for target, source in places for word in ("--bind", str(source), target)]
        binds += ["--bind", str(STAGED_ROOM), plan.spec.room] if plan.spec.room else []
        return ["--dev-bind", str(STAGED_TERMINALS), "/dev/pts", *binds]
    sized = ["--size", str(plan.limits.disk_bytes), "--perms"]
    options = [*sized, "1777", "--tmpfs", "/dev/shm", *sized, "1777", "--tmpfs", "/tmp"]  # noqa: S108
    options += [*sized, "0755", "--tmpfs", plan.spec.room] if plan.spec.room else []
    return [*options, *sized, "0755", "--tmpfs", WORKSPACE]


def _bind(plan: Plan, mount: MountPoint) -> list[str]:
    return ["--bind" if mount.writable else "--ro-bind", place(plan, mount), mount.target]


def _lent(plan: Plan) -> tuple[MountPoint, ...]:
    return (*plan.root_mounts, *plan.mounts, *((plan.egress,) if plan.egress else ()))
