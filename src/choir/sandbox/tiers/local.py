"""The local tier: a process with limits, for one's own code. It must be asked for by name.

Guarantees: the payload writes only below its workspace and reads only the system's programs and libraries
(Landlock); it has no privilege and gains none, meets the same system call filter as in the other tiers, and leaves no
process behind. It shares the host's network. Started by root it runs as a user id of its own in a workspace of
fixed size; started by a user it runs as that user, without a disk limit. It has process and IPC namespaces of its
own wherever they can be had, so that all of it is gone with its first process; an ordinary user without them sees
the host's processes, and is told. What a spec mounts is seen at its own place on the host.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

from choir.sandbox.inside import source
from choir.sandbox.model import LimitName, StartFailed, Tier
from choir.sandbox.tiers.base import (
    ETC_FROM_HOST,
    BuiltCommand,
    Machine,
    Plan,
    environment,
    host_applied,
    in_own_namespaces,
    joined,
    name_files,
    own_namespaces,
    rlimits,
    waiting,
)
from choir.sandbox.tiers.stage import (
    ONE_ROOM,
    STAGED_OWN,
    STAGED_SHM,
    STAGED_TERMINALS,
    STAGED_TMP,
    STAGED_WORK,
    Act,
    BindAct,
    FileAct,
    HostNameAct,
    lend,
    own,
    place,
    rooms,
    shown,
    terminals,
)

STARTED = b"started\n"  # as the launcher says it
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", *ETC_FROM_HOST)
_NAMES = ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/localtime")
_COVERED = (("/tmp", STAGED_TMP), ("/dev/shm", STAGED_SHM))  # noqa: S108 - the run's own, where root arranges it
_TERMINALS = (("/dev/pts", STAGED_TERMINALS), ("/dev/ptmx", STAGED_TERMINALS / "ptmx"))
_HOST_NAME = "sandbox"
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Local:
    """Landlock, seccomp and limits."""

    tier = Tier.LOCAL
    tells_init = False
    marks_start = False
    stop_signal = signal.SIGTERM  # the launcher takes its descendants along
    needs_scratch = True

    def missing(self, machine: Machine, image: str | None = None) -> str:  # noqa: ARG002
        if not machine.landlock_abi:
            return "this kernel has no Landlock"
        needed = ("setpriv", "unshare") if machine.is_root else ()
        return machine.lacks("python3", "sh", *needed)

    def engine(self, machine: Machine, image: str | None = None) -> str:  # noqa: ARG002
        return f"landlock {machine.landlock_abi}"

    def applied(self, machine: Machine, image: str | None = None) -> dict[str, str]:  # noqa: ARG002
        found = host_applied(machine)
        if machine.is_root:
            found.setdefault(LimitName.PROCESSES.value, "rlimit of a user id of its own")
            found[LimitName.DISK.value] = ONE_ROOM
        elif machine.own_namespaces:
            found.setdefault(LimitName.PROCESSES.value, "rlimit, counted within the user namespace")
        return found

    def own_ipc(self, machine: Machine) -> bool:
        return machine.is_root or machine.own_namespaces

    def members(self, processes: int) -> int:
        return processes + 2  # the launcher, and the process that holds its namespaces

    def native(self, machine: Machine) -> bool:  # noqa: ARG002
        return True

    def notes(self, machine: Machine) -> tuple[str, ...]:
        notes = ["It shares the host's network."]
        if not machine.is_root:
            notes.append("It runs as the same user as the node, and its workspace has no size limit.")
            if not machine.own_namespaces:
                notes.append("It sees the host's processes, and a fork bomb may leave some behind.")
        if machine.landlock_abi < 6:
            notes.append("This kernel's Landlock has no scopes: it can signal other processes of its user.")
        return tuple(notes)

    def build(self, plan: Plan, machine: Machine) -> BuiltCommand:
        folder = str(self.folder(plan))
        covered = [path for path, _ in (*_COVERED, *_TERMINALS)] if plan.uid is not None else []
        homes = {"HOME": folder, "GIT_CONFIG_NOSYSTEM": "1"} | ({} if covered else {"TMPDIR": folder})
        facts = {
            "status": plan.status_fd,
            "host_name": _HOST_NAME if plan.uid is None and machine.own_namespaces else "",
            "abi": machine.landlock_abi,
            "folder": folder,
            "environment": environment(plan) | homes | dict(plan.spec.environment),
            "writable": [folder, *covered, *_DEVICES, *(mount.source for mount in plan.mounts if mount.writable)],
            "readable": [*_SYSTEM, *_NAMES, *(mount.source for mount in plan.mounts if not mount.writable)],
            "rlimits": dict(_pair(word) for word in rlimits(plan, machine)),
            "seccomp": plan.seccomp_program.hex(),
        }
        python = [machine.programs["python3"], "-I", "-S", "-c", source("launcher")]
        command = [*python, str(plan.args_fd), *plan.spec.argv]
        if plan.uid is None:
            command = waiting(machine.programs["sh"], command) if plan.wait else command
            command = in_own_namespaces(machine.programs, command) if machine.own_namespaces else command
        else:
            user = str(plan.uid)
            nothing = ["--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]
            drop = [machine.programs["setpriv"], "--reuid", user, "--regid", user, "--clear-groups", *nothing, "--"]
            command = waiting(machine.programs["sh"], [*drop, *command]) if plan.wait else [*drop, *command]
            command = [*own_namespaces(machine.programs), "--", *command]
        return BuiltCommand(
            joined(plan, machine, command),
            json.dumps(facts).encode(),  # by descriptor: everyone on the machine can read a command line
            files={"work/": b""},
            inherit=(plan.args_fd, plan.status_fd),
            acts=self._acts(plan) if plan.uid is not None else (),
            tells_end=True,
        )

    def _acts(self, plan: Plan) -> tuple[Act, ...]:
        """Places of its own over the host's; what a spec mounts below one of them is shown there again."""
        acts = [*rooms(plan), *own(), *terminals(plan), HostNameAct(_HOST_NAME)]
        acts += [act for mount in plan.mounts for act in lend(mount)]
        acts += [BindAct(str(source), path) for path, source in (*_COVERED, *_TERMINALS)]
        for mount in plan.mounts:
            if any(mount.source.startswith(f"{path}/") for path, _ in _COVERED):
                acts += shown(place(plan, mount), mount.source, is_folder=mount.is_folder)
        for name, content in name_files(plan.payload_uid, str(self.folder(plan))).items():
            ours = str(STAGED_OWN / name)
            acts += [FileAct(ours, content), BindAct(ours, f"/etc/{name}")]
        return tuple(acts)

    def folder(self, plan: Plan) -> Path:
        return STAGED_WORK if plan.uid is not None else plan.scratch / "work"

    def room(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        raise StartFailed(why="the local tier has no second place to write to")

    def workspace(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        if plan.uid is None:
            return str(plan.scratch / "work")
        return f"/proc/{leader}/root{STAGED_WORK}"

    def init_process(self, status: bytes) -> int | None:  # noqa: ARG002
        return None

    def start_failure(self, exit_code: int, started: bool, status: bytes, stderr: bytes) -> str:  # noqa: ARG002
        """The launcher says that it starts the payload, by a descriptor that the payload does not have."""
        if STARTED in status:
            return ""
        why = b"\n".join(line for line in (status + stderr).splitlines() if not line.startswith(b"exit "))
        return why.decode(errors="replace").strip() or f"the launcher ended with code {exit_code}"


def _pair(word: str) -> tuple[str, int]:
    name, _, number = word.removeprefix("--").partition("=")
    return name, int(number.partition(":")[0])
