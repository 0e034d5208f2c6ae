"""What root arranges for a run before its first program, as a list of acts. Pure; `staging` carries them out.

A sandbox's own user id cannot walk through the node's private folders, and must not. So root builds a stage in a mount
namespace that only the run's processes see and that is gone with the last of them: one file system of fixed size and
number of files, which holds all that the payload may write to (workspace, /tmp, /dev/shm), terminals of its own, few in
number, and what the run is lent (a socket, a mounted folder).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from choir.sandbox.model import WORKSPACE
from choir.sandbox.tiers.base import Machine, MountPoint, Plan, own_namespaces

STAGE = Path("/run/choir-sandbox/stage")  # an empty folder; all that is ever in it is in private namespaces
STAGED_WORK = STAGE / "work"
STAGED_TMP = STAGE / "tmp"
STAGED_SHM = STAGE / "shm"
STAGED_ROOM = STAGE / "room"  # the second place to write to, where a run has one
STAGED_TERMINALS = STAGE / "pts"
STAGED_OWN = STAGE / "own"  # what is ours: outside the payload's size
STAGED_ROOT = STAGED_OWN / "root"
STAGED_STATE = STAGED_OWN / "state"
STAGED_ETC = STAGED_OWN / "etc"
TERMINAL_OPTIONS = ("newinstance", "ptmxmode=0666", "mode=0620")

ONE_ROOM = "one tmpfs of fixed size and number of files"
_OWN_BYTES = 4_000_000
_OWN_INODES = 8  # the folders of the stage itself


@dataclass(frozen=True, slots=True)
class MountAct:
    """Mount a new file system on a folder that is there."""

    kind: str
    target: str
    options: str = ""


@dataclass(frozen=True, slots=True)
class BindAct:
    """Show a file or folder at another place that is there."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class FolderAct:
    """Make a folder, with those above it."""

    path: str
    mode: int = 0o755
    owner: int = 0


@dataclass(frozen=True, slots=True)
class FileAct:
    """Write a file that everyone may read."""

    path: str
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class LinkAct:
    """Make a link. Its target may be a stranger's word: it is stored and never followed here."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class HostNameAct:
    """Give the run a host name of its own."""

    name: str


Act = MountAct | BindAct | FolderAct | FileAct | LinkAct | HostNameAct


def rooms(plan: Plan) -> list[Act]:
    """All that a payload may write to, in one file system."""
    owner, limits = plan.payload_uid, plan.limits
    inodes = limits.inodes + _OWN_INODES + len(plan.mounts) + len(plan.root_mounts) + 1
    return [
        MountAct("tmpfs", str(STAGE), f"mode=0711,size={limits.disk_bytes},nr_inodes={inodes}"),
        FolderAct(str(STAGED_WORK), 0o755, owner),
        FolderAct(str(STAGED_TMP), 0o1777, owner),
        FolderAct(str(STAGED_SHM), 0o1777, owner),
        *([FolderAct(str(STAGED_ROOM), 0o755, owner)] if plan.spec.room else []),
        *_places_inside(plan),
    ]


def _places_inside(plan: Plan) -> list[Act]:
    """The folders that lead to what is mounted below the workspace: a runtime would make them root's own."""
    owner, top = plan.payload_uid, PurePosixPath(WORKSPACE)
    found: dict[PurePosixPath, None] = {}
    for mount in plan.mounts:
        target = PurePosixPath(mount.target)
        if mount.is_folder and target.is_relative_to(top):
            found |= dict.fromkeys(reversed([target, *(item for item in target.parents if item.is_relative_to(top))]))
    found.pop(top, None)
    return [FolderAct(str(STAGED_WORK / place.relative_to(top)), 0o755, owner) for place in found]


def terminals(plan: Plan) -> list[Act]:
    """Pseudo-terminals of the run's own, few in number: the machine has only so many for all."""
    options = ",".join((*TERMINAL_OPTIONS, f"max={plan.limits.terminals}"))
    return [FolderAct(str(STAGED_TERMINALS)), MountAct("devpts", str(STAGED_TERMINALS), options)]


def own() -> list[Act]:
    """A place for what is ours, so that it takes nothing from the payload's size."""
    return [FolderAct(str(STAGED_OWN)), MountAct("tmpfs", str(STAGED_OWN), f"mode=0711,size={_OWN_BYTES}")]


def place(plan: Plan, mount: MountPoint) -> str:
    """Where a lent path is found by the tier's program."""
    return str(STAGE / str(mount.number)) if plan.uid is not None else mount.source


def lend(mount: MountPoint) -> list[Act]:
    """A path of the host, shown on the stage."""
    return shown(mount.source, str(STAGE / str(mount.number)), is_folder=mount.is_folder)


def shown(source: str, target: str, *, is_folder: bool = False) -> list[Act]:
    """A file or folder at a place that is made for it."""
    return [FolderAct(target) if is_folder else FileAct(target), BindAct(source, target)]


def with_own_processes(plan: Plan, machine: Machine, command: list[str]) -> list[str]:
    """The command of root in a process namespace that dies with its first process.

    That first process is a shell, which tells by the status descriptor how the command ended: its own exit code reaches
    the host through unshare, which says 1 also of a child that was killed. The runtime closes the descriptor before it
    starts the payload, and the payload cannot see the shell.
    """
    script = ("echo && read -r _ || exit 125\n" if plan.wait else "") + '"$@"\n'
    script += f'code=$?\necho "exit $code" >/proc/self/fd/{plan.status_fd}\nexit $code'
    return [*own_namespaces(machine.programs), "--", machine.programs["sh"], "-c", script, "sh", *command]
