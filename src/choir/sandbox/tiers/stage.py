"""A private stage for what root lends to a sandbox.

A sandbox's own user id cannot walk through the node's private folders, and must not. So root binds what the
run needs (a socket, a mounted folder, a workspace of fixed size) to a stage in a mount namespace of its own,
which only the run's processes see and which is gone with the last of them.

The script runs as root while names and targets come from images of strangers: every word of theirs stands behind
`--`, so that none is read as an option.
"""

from __future__ import annotations

from pathlib import Path

from choir.sandbox.tiers.base import Machine, MountPoint, Plan, own_namespaces

STAGE = Path("/run/choir-sandbox/stage")  # an empty folder; all that is ever in it is in private namespaces
STAGED_WORK = STAGE / "work"
STAGED_ROOT = STAGE / "root"
STAGED_STATE = STAGE / "state"
STAGED_ETC = STAGE / "etc"

_BEGIN = """
stage=$1; shift
mount -t tmpfs -o mode=0711,size=1m choir-stage "$stage" || exit 125
"""

_LEND = """
while [ "$1" != -- ]; do
  case $1 in
    folder) mkdir -- "$stage/$3" && mount --no-canonicalize --bind -- "$2" "$stage/$3" ;;
    file) : >"$stage/$3" && mount --no-canonicalize --bind -- "$2" "$stage/$3" ;;
    work) mkdir "$stage/work" && mount -t tmpfs -o "mode=0755,nosuid,nodev,$2" choir-work "$stage/work" ;;
    copy) cp -Rp -- "$2" "$stage/$3" ;;
    make) mkdir -p -- "$stage/$3" ;;
    link) ln -s -- "$2" "$stage/$3" ;;
    cgroup2) mount -t cgroup2 none /sys/fs/cgroup ;;
  esac || exit 125
  shift 3
done
shift
"""


def place(plan: Plan, mount: MountPoint) -> str:
    """Where a lent path is found by the tier's program."""
    return str(STAGE / str(mount.number)) if plan.uid is not None else mount.source


def lend(mount: MountPoint) -> tuple[str, str, str]:
    """One line of the stage's script: what, from where, as what."""
    return ("folder" if mount.is_folder else "file", mount.source, str(mount.number))


def work(plan: Plan) -> tuple[str, str, str]:
    """A workspace of fixed size that belongs to the run's user id."""
    owner = plan.payload_uid
    return ("work", f"size={plan.limits.disk_bytes},uid={owner},gid={owner}", "-")


def staged(
    machine: Machine,
    lines: list[tuple[str, str, str]],
    command: list[str],
    *,
    wait: bool = False,
    own_processes: bool = False,
) -> list[str]:
    """The command on its stage. `own_processes` adds a process namespace that dies with its first process, and IPC."""
    words = [word for line in lines for word in line]
    private = [machine.programs["unshare"], "--mount", "--propagation", "private"]
    if own_processes:
        private = own_namespaces(machine.programs)
    script = _BEGIN + _LEND + ("echo && read -r _ && " if wait else "") + 'exec "$@"'
    return [*private, "--", machine.programs["sh"], "-c", script, "sh", str(STAGE), *words, "--", *command]
