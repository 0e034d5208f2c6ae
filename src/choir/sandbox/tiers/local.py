"""The local tier: a process with limits, for one's own code. It must be asked for by name.

Guarantees: the payload writes only below its workspace and reads only the system's programs and libraries
(Landlock); it gains no privilege, meets the same system call filter as in the other tiers, and leaves no
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
from choir.sandbox.model import LimitName, Tier
from choir.sandbox.tiers.base import (
    ETC_FROM_HOST,
    Built,
    Machine,
    Plan,
    environment,
    host_applied,
    in_own_namespaces,
    joined,
    rlimits,
    waiting,
)
from choir.sandbox.tiers.stage import STAGED_WORK, staged, work

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/proc", *ETC_FROM_HOST)
_NAMES = ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/localtime")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")


class Local:
    """Landlock, seccomp and limits."""

    tier = Tier.LOCAL
    tells_init = False
    marks_start = False
    stop_signal = signal.SIGTERM  # the launcher takes its descendants along
    needs_scratch = True

    def missing(self, machine: Machine) -> str:
        if not machine.landlock_abi:
            return "this kernel has no Landlock"
        needed = ("mount", "setpriv", "unshare") if machine.is_root else ()
        return machine.lacks("python3", "sh", *needed)

    def engine(self, machine: Machine) -> str:
        return f"landlock {machine.landlock_abi}"

    def applied(self, machine: Machine, image: str | None = None) -> dict[str, str]:  # noqa: ARG002
        found = host_applied(machine)
        if machine.is_root:
            found.setdefault(LimitName.PROCESSES.value, "rlimit of a user id of its own")
            found[LimitName.DISK.value] = "tmpfs of fixed size"
        elif machine.own_namespaces:
            found.setdefault(LimitName.PROCESSES.value, "rlimit, counted within the user namespace")
        return found

    def own_ipc(self, machine: Machine) -> bool:
        return machine.is_root or machine.own_namespaces

    def members(self, processes: int) -> int:
        return processes + 2  # the launcher, and the process that holds its namespaces

    def notes(self, machine: Machine) -> tuple[str, ...]:
        notes = ["It shares the host's network."]
        if not machine.is_root:
            notes.append("It runs as the same user as the node, and its workspace has no size limit.")
            if not machine.own_namespaces:
                notes.append("It sees the host's processes, and what forks without end may leave some behind.")
        if machine.landlock_abi < 6:
            notes.append("This kernel's Landlock has no scopes: it can signal other processes of its user.")
        return tuple(notes)

    def build(self, plan: Plan, machine: Machine) -> Built:
        folder = str(self.folder(plan))
        facts = {
            "abi": machine.landlock_abi,
            "folder": folder,
            "environment": environment(plan) | {"HOME": folder, "TMPDIR": folder} | dict(plan.spec.environment),
            "writable": [folder, *_DEVICES, *(mount.source for mount in plan.mounts if mount.writable)],
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
            command = [machine.programs["setpriv"], "--reuid", user, "--regid", user, "--clear-groups", "--", *command]
            command = staged(machine, [work(plan)], command, wait=plan.wait, own_processes=True)
        told = json.dumps(facts).encode()  # by descriptor: everyone on the machine can read a command line
        return Built(joined(plan, machine, command), told, files={"work/": b""}, inherit=(plan.args_fd,))

    def folder(self, plan: Plan) -> Path:
        return STAGED_WORK if plan.uid is not None else plan.scratch / "work"

    def workspace(self, plan: Plan, leader: int, status: bytes) -> str:  # noqa: ARG002
        if plan.uid is None:
            return str(plan.scratch / "work")
        return f"/proc/{leader}/root{STAGED_WORK}"

    def init_process(self, status: bytes) -> int | None:  # noqa: ARG002
        return None

    def start_failure(self, exit_code: int, started: bool, status: bytes, stderr: bytes) -> str:  # noqa: ARG002
        """Code 125 is the launcher's own; a payload that uses it as well must not begin its errors like ours."""
        text = stderr.decode(errors="replace")
        return text.strip() if exit_code == 125 and text.startswith(("choir:", "mount:", "unshare:")) else ""


def _pair(word: str) -> tuple[str, int]:
    name, _, number = word.removeprefix("--").partition("=")
    return name, int(number.partition(":")[0])
