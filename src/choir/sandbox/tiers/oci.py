"""The OCI bundle (runtime-spec 1.0.2) that the container and gvisor tiers share, and its way to the stage.

Guarantees: read-only root, no capability, no new privileges, every namespace but the user's, a filter of
system calls by name, and the run's own user id. Pure.
"""

from __future__ import annotations

import errno
import json
from typing import Any

from choir.sandbox.model import WORKSPACE
from choir.sandbox.seccomp import TERMINAL_PUSHES
from choir.sandbox.seccomp_table import ABSENT, DENIED, UNCOUNTED
from choir.sandbox.tiers.base import ETC_FROM_HOST, Machine, MountPoint, Plan, environment, etc_files, rlimits
from choir.sandbox.tiers.stage import (
    STAGE,
    STAGED_ETC,
    STAGED_ROOM,
    STAGED_ROOT,
    STAGED_SHM,
    STAGED_STATE,
    STAGED_TMP,
    STAGED_WORK,
    TERMINAL_OPTIONS,
    Act,
    FileAct,
    FolderAct,
    LinkAct,
    lend,
    own,
    rooms,
)

_NAMESPACES = ("pid", "network", "ipc", "uts", "mount", "cgroup")
_MASKED = ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/proc/sched_debug", "/proc/scsi", "/sys/firmware")
_READ_ONLY = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")
_CAPABILITY_SETS = ("bounding", "effective", "permitted", "inheritable", "ambient")
_SOCKETS_REFUSED = (0, 3, 4, 5, 6, 7, 8, 9)  # besides all above 10; UNIX, INET and INET6 stay
_PLACES = ("/etc/ld.so.cache",)  # files; the others are folders


def config(plan: Plan, machine: Machine, command: list[str], *, namespaces: tuple[str, ...] = _NAMESPACES) -> bytes:
    """config.json of the bundle."""
    uid = plan.payload_uid
    document = {
        "ociVersion": "1.0.2",
        "process": {
            "terminal": False,
            "user": {"uid": uid, "gid": uid},
            "args": command,
            "env": [f"{name}={value}" for name, value in environment(plan).items()],
            "cwd": WORKSPACE,
            "capabilities": {name: [] for name in _CAPABILITY_SETS},
            "noNewPrivileges": True,
            "rlimits": [_rlimit(word) for word in rlimits(plan, machine)],
        },
        "root": {"path": str(STAGED_ROOT), "readonly": True},
        "hostname": "sandbox",
        "mounts": [*_system(plan), *_root(plan, machine), *map(_lent, _all_lent(plan))],
        "linux": {
            "namespaces": [{"type": name} for name in namespaces],
            "maskedPaths": list(_MASKED),
            "readonlyPaths": list(_READ_ONLY),
            "seccomp": seccomp_rules(plan.memory_is_counted),
        },
    }
    return json.dumps(document).encode()


def stage(plan: Plan, machine: Machine) -> tuple[Act, ...]:
    """What has to be on the stage before the runtime starts."""
    acts = [*rooms(plan), *own(), FolderAct(str(STAGED_ROOT)), FolderAct(str(STAGED_STATE), 0o700)]
    if plan.spec.root is None:
        acts += _etc(plan)
    links = plan.root_links if plan.spec.root else tuple((name, f"usr/{name}") for name in machine.usr_links)
    acts += [LinkAct(str(STAGED_ROOT / name), target) for name, target in links]
    return (*acts, *(act for mount in _all_lent(plan) for act in lend(mount)))


def _etc(plan: Plan) -> list[Act]:
    """An /etc of our own, with places for what comes from the host."""
    acts: list[Act] = [FolderAct(str(STAGED_ETC))]
    acts += [FileAct(str(STAGED_ETC / name), content) for name, content in etc_files(plan.payload_uid).items()]
    for path in ETC_FROM_HOST:
        target = str(STAGED_ETC / path.removeprefix("/etc/"))
        acts.append(FileAct(target) if path in _PLACES else FolderAct(target))
    return acts


def seccomp_rules(memory_is_counted: bool) -> dict[str, Any]:
    """The filter in OCI's words. It names calls, so a call newer than the table is not refused here."""
    refused = sorted(DENIED if memory_is_counted else DENIED | UNCOUNTED)
    eperm = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.EPERM}
    no_family = {"action": "SCMP_ACT_ERRNO", "errnoRet": errno.EAFNOSUPPORT}
    rules: list[dict[str, Any]] = [
        {"names": refused, **eperm},
        {"names": ["clone3", *sorted(ABSENT)], "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
    ]
    for bit in (0x20000, *(1 << place for place in range(25, 31))):  # every CLONE_NEW…
        arguments = [{"index": 0, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}]
        rules.append({"names": ["clone"], **eperm, "args": arguments})
    pushes = [[_low_half_is(1, request)] for request in TERMINAL_PUSHES]
    rules += [{"names": ["ioctl"], **eperm, "args": arguments} for arguments in pushes]
    above = [{"index": 0, "value": 10, "op": "SCMP_CMP_GT"}]
    rules.append({"names": ["socket", "socketpair"], **no_family, "args": above})
    for family in _SOCKETS_REFUSED:
        rules.append({"names": ["socket", "socketpair"], **no_family, "args": [_low_half_is(0, family)]})
    return {"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}


def _low_half_is(index: int, value: int) -> dict[str, Any]:
    """The kernel reads 32 bits of these arguments; compared in full, a bit set above them would pass."""
    return {"index": index, "value": 0xFFFFFFFF, "valueTwo": value, "op": "SCMP_CMP_MASKED_EQ"}


def _system(plan: Plan) -> list[dict[str, Any]]:
    hard = ("nosuid", "nodev")
    return [
        _mount("/proc", "proc", "proc", "nosuid", "noexec", "nodev"),
        _mount("/dev", "tmpfs", "tmpfs", "nosuid", "strictatime", "mode=755", "size=64k"),
        _mount("/dev/pts", "devpts", "devpts", "nosuid", "noexec", *TERMINAL_OPTIONS, f"max={plan.limits.terminals}"),
        _mount("/dev/shm", "bind", str(STAGED_SHM), "bind", "rw", "noexec", *hard),  # noqa: S108
        _mount("/tmp", "bind", str(STAGED_TMP), "bind", "rw", *hard),  # noqa: S108
        _mount(WORKSPACE, "bind", str(STAGED_WORK), "bind", "rw", *hard),
        *([_mount(plan.spec.room, "bind", str(STAGED_ROOM), "bind", "rw", *hard)] if plan.spec.room else []),
    ]


def _root(plan: Plan, machine: Machine) -> list[dict[str, Any]]:
    if plan.spec.root is not None:
        return []  # its folders are among what is lent
    paths = ["/usr", *(f"/{name}" for name in machine.usr_folders)]
    found = [_mount(path, "bind", path, "rbind", "ro", "nosuid", "nodev") for path in paths]
    found.append(_mount("/etc", "bind", str(STAGED_ETC), "bind", "ro", "nosuid", "nodev"))
    return found + [_mount(path, "bind", path, "rbind", "ro", "nosuid", "nodev") for path in ETC_FROM_HOST]


def _all_lent(plan: Plan) -> tuple[MountPoint, ...]:
    return (*plan.root_mounts, *plan.mounts, *((plan.egress,) if plan.egress else ()))


def _lent(mount: MountPoint) -> dict[str, Any]:
    mode = "rw" if mount.writable else "ro"
    return _mount(mount.target, "bind", str(STAGE / str(mount.number)), "bind", mode, "nosuid", "nodev")


def _mount(target: str, kind: str, source: str, *options: str) -> dict[str, Any]:
    return {"destination": target, "type": kind, "source": source, "options": list(options)}


def _rlimit(word: str) -> dict[str, Any]:
    """`--nofile=10:10` as prlimit takes it, in OCI's words."""
    name, _, number = word.removeprefix("--").partition("=")
    soft, _, hard = number.partition(":")
    return {"type": f"RLIMIT_{name.upper()}", "soft": int(soft), "hard": int(hard)}
