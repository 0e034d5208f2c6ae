"""A private stage for what root lends to a sandbox.

A sandbox's own user id cannot walk through the node's private folders, and must not. So root binds what the
run needs (a socket, a mounted folder) to a stage in a mount namespace of its own, which only the run's
processes see and which is gone with the last of them.
"""

from __future__ import annotations

from pathlib import Path

from choir.sandbox.tiers.base import Machine, MountPoint, Plan

STAGE = Path("/run/choir-sandbox/stage")  # an empty folder; all that is ever in it is in private namespaces

_SCRIPT = """
stage=$1; shift
mount -t tmpfs -o mode=0711,size=64k choir-stage "$stage" || exit 125
while [ "$1" != -- ]; do
  case $1 in folder) mkdir "$stage/$3" ;; *) : >"$stage/$3" ;; esac || exit 125
  mount --no-canonicalize --bind "$2" "$stage/$3" || exit 125
  shift 3
done
shift
exec "$@"
"""


def place(plan: Plan, mount: MountPoint) -> str:
    """Where a lent path is found by the tier's program."""
    return str(STAGE / str(mount.number)) if plan.uid is not None else mount.source


def staged(plan: Plan, machine: Machine, mounts: tuple[MountPoint, ...], command: list[str]) -> list[str]:
    """The command with its stage set; nothing is changed where there is nothing to lend, or no root to lend it."""
    if plan.uid is None or not mounts:
        return command
    words = [word for mount in mounts for word in _lend(mount)]
    private = [machine.programs["unshare"], "--mount", "--propagation", "private", "--"]
    return [*private, machine.programs["sh"], "-c", _SCRIPT, "sh", str(STAGE), *words, "--", *command]


def _lend(mount: MountPoint) -> tuple[str, str, str]:
    return ("folder" if mount.is_folder else "file", mount.source, str(mount.number))
