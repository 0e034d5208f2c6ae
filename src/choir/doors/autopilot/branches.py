"""A branch with a patch on it, made without touching the work tree.

Guarantees: no hook, filter or program of the repository runs; nothing of the patch is run here; files, index and the
checked-out branch stay as they are; the same patch on the same commit makes the same commit, and a branch that has
something else is left alone.
"""

from __future__ import annotations

from pathlib import Path

from choir.doors.mesh.git import Checkout, commit_of, git
from choir.foundation.errors import Refusal

_NOTHING = "0" * 40


class BranchTaken(Refusal):
    code = "autopilot.branch_taken"
    sentence = "There is a branch {branch} already, with something else on it."
    hint = "Name another one with --branch."


def make(checkout: Checkout, base: str, diff: bytes, message: str, branch: str, index: Path) -> str:
    """The commit of a branch that holds the base and the patch; `index` is a file for the time of making it."""
    top = checkout.top or checkout.folder
    more = {"GIT_INDEX_FILE": str(index), "GIT_DIR": str(checkout.git)}
    for left in (index, index.with_name(f"{index.name}.lock")):  # of one who was killed here
        left.unlink(missing_ok=True)
    git("read-tree", base, cwd=top, more=more)
    git("apply", "--cached", "--whitespace=nowarn", "-", cwd=top, more=more, given=diff)
    tree = git("write-tree", cwd=top, more=more).decode().strip()
    commit = git("commit-tree", tree, "-p", base, cwd=top, more=more, given=message.encode()).decode().strip()
    index.unlink(missing_ok=True)
    there = commit_of(checkout, f"refs/heads/{branch}")
    if there not in (None, commit):
        raise BranchTaken(branch=branch)
    if there is None:
        git("update-ref", f"refs/heads/{branch}", commit, _NOTHING, cwd=top)
    return commit
