"""Git on a repository that somebody else may have arranged, without doing what it says.

Guarantees: what is in the repository's configuration, hooks, attributes and index is never run. Only `rev-parse` is
asked inside the repository itself, with settings of ours that win over its own; all else happens in an empty
repository of ours that borrows the other's objects and has neither its configuration nor its hooks. No protocol is
allowed, so nothing is fetched either. A repository that places its work tree elsewhere (`core.worktree`) is refused,
and so is one that git cannot read: neither may decide that other files are sent than those in the folder that was
named.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from choir.foundation.errors import Invalid, Unavailable
from choir.sandbox.model import said
from choir.sandbox.repositories import environment

_GIT_S_MAX = 300
_SAID_LETTERS = 200
_RULES_BYTES_MAX = 1_000_000
_DATE = "1000000000 +0000"  # any, but always the same
_IDENTITY = {
    "GIT_AUTHOR_NAME": "choir",
    "GIT_AUTHOR_EMAIL": "choir@localhost",
    "GIT_AUTHOR_DATE": _DATE,
    "GIT_COMMITTER_NAME": "choir",
    "GIT_COMMITTER_EMAIL": "choir@localhost",
    "GIT_COMMITTER_DATE": _DATE,
}


class GitMissing(Unavailable):
    """Nothing can be bundled without git."""

    code = "sdk.git_missing"
    sentence = "This needs git, which is not installed."
    hint = "Install it, for example with `apt install git`."


class GitFailed(Invalid):
    """Git could make nothing of what it was given."""

    code = "sdk.git_failed"
    sentence = "Git cannot read {folder}: {why}"


class NoSuchCommit(Invalid):
    """A name that stands for no commit."""

    code = "sdk.no_such_commit"
    sentence = "There is no commit '{ref}' in {folder}."
    hint = "Name a commit, a branch or a tag that `git log` shows there."


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where a folder stands in a repository."""

    folder: Path  # what was asked for
    top: Path | None  # of the work tree; none in a bare repository
    git: Path  # the repository's own folder
    objects: Path
    prefix: str  # of the folder in the work tree; empty, or ends with /


def git(
    *words: str, cwd: Path, more: Mapping[str, str] | None = None, given: bytes = b"", may_fail: bool = False
) -> bytes:
    """What git prints. It sees our settings and nothing of the user's or the machine's."""
    try:
        done = subprocess.run(
            ["git", *words],
            input=given,
            capture_output=True,
            cwd=cwd,
            env=environment("") | {"PATH": os.environ.get("PATH", os.defpath)} | _IDENTITY | dict(more or {}),
            timeout=_GIT_S_MAX,
            check=False,
        )
    except FileNotFoundError:
        if not cwd.is_dir():
            raise GitFailed(folder=str(cwd), why="there is no such folder.") from None
        raise GitMissing from None
    except subprocess.TimeoutExpired:
        raise GitFailed(folder=str(cwd), why=f"it took longer than {_GIT_S_MAX} seconds.") from None
    if done.returncode and not may_fail:
        last = said(done.stderr.strip().split(b"\n")[-1], _SAID_LETTERS)
        raise GitFailed(folder=str(cwd), why=last or f"`git {words[0]}` failed.")
    return b"" if done.returncode else done.stdout


def find(folder: Path) -> Checkout | None:
    """The repository that a folder is in, or nothing."""
    if not folder.is_dir():
        raise GitFailed(
            folder=str(folder), why="it is not a folder." if folder.exists() else "there is no such folder."
        )
    claimed = _claimed(folder)
    where = git("rev-parse", "--absolute-git-dir", "--git-common-dir", cwd=folder, may_fail=not claimed)
    if not where:
        return None
    own, common = (os.fsdecode(line) for line in where.splitlines()[:2])
    top = os.fsdecode(git("rev-parse", "--show-toplevel", cwd=folder, may_fail=True).rstrip(b"\n"))
    if top and not folder.resolve().is_relative_to(Path(top).resolve()):
        raise GitFailed(folder=str(folder), why=f"its configuration says that its files are in {top}.")
    prefix = os.fsdecode(git("rev-parse", "--show-prefix", cwd=folder, may_fail=True).rstrip(b"\n")) if top else ""
    objects = (folder / common).resolve() / "objects"
    return Checkout(folder, Path(top) if top else None, Path(own), objects, prefix)


def _claimed(folder: Path) -> bool:
    """Whether somebody meant this folder to be in a repository. One that cannot be read is then an error: taken for a
    plain folder, it would be sent with all that was never committed."""
    folder = folder.resolve()
    device = folder.stat().st_dev
    near = (place for place in (folder, *folder.parents) if place.stat().st_dev == device)  # as far as git looks
    return any(os.path.lexists(place / ".git") for place in near)


def is_readable(file: Path, bytes_max: int) -> bool:
    """Whether a file of the repository's can be read to its end: a plain one, and not endless."""
    try:
        found = file.stat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= bytes_max


def commit_of(checkout: Checkout, ref: str) -> str | None:
    """The commit that a name stands for."""
    if not ref or ref.startswith("-") or "\0" in ref:
        return None
    found = git(
        "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", cwd=checkout.folder, may_fail=True
    )
    return found.decode().strip() or None


def must_commit(checkout: Checkout, ref: str) -> str:
    found = commit_of(checkout, ref)
    if found is None:
        raise NoSuchCommit(ref=ref[:100], folder=str(checkout.folder))
    if len(found) != 40:
        raise GitFailed(folder=str(checkout.folder), why="its objects have SHA-256 names, which are not supported yet.")
    return found


class OwnRepository:
    """An empty repository of ours that borrows another's objects; the work tree may be looked at from it."""

    def __init__(self, place: Path, checkout: Checkout | None, folder: Path) -> None:
        self.place = place
        self.tree = (checkout.top if checkout else folder) or folder
        git("init", "-q", "--bare", "--object-format=sha1", str(place), cwd=folder)
        (place / "info").mkdir(exist_ok=True)
        self._more = {"GIT_DIR": str(place), "GIT_WORK_TREE": str(self.tree), "GIT_INDEX_FILE": str(place / "index")}
        if checkout is not None:
            (place / "objects" / "info").mkdir(parents=True, exist_ok=True)
            (place / "objects" / "info" / "alternates").write_bytes(os.fsencode(checkout.objects) + b"\n")
            self._ignore_the_same(checkout)
        else:  # no commit has to be met, so that files are taken byte by byte
            (place / "info" / "attributes").write_text("* -text -ident !eol !filter !working-tree-encoding\n")

    def git(self, *words: str, given: bytes = b"", may_fail: bool = False, index: str = "index") -> bytes:
        more = self._more | {"GIT_INDEX_FILE": str(self.place / index)}
        return git(*words, cwd=self.tree, more=more, given=given, may_fail=may_fail)

    def _ignore_the_same(self, checkout: Checkout) -> None:
        """What the user keeps out of git in other ways than by .gitignore stays out here too."""
        rules = [checkout.objects.parent / "info" / "exclude", *_user_ignores()]
        large = next((path for path in rules if path.is_file() and not is_readable(path, _RULES_BYTES_MAX)), None)
        if large is not None:
            raise GitFailed(folder=str(checkout.folder), why=f"{large} is too large for a list of names to ignore.")
        found = [path.read_bytes() for path in rules if path.is_file()]
        (self.place / "info" / "exclude").write_bytes(b"\n".join(found) + b"\n")


def _user_ignores() -> list[Path]:
    """The user's own file of names to ignore. Their configuration is read here and nothing in it is run."""
    home = os.environ.get("HOME", "")
    configured = os.environ.get("XDG_CONFIG_HOME", "") or f"{home}/.config"
    try:
        done = subprocess.run(
            ["git", "config", "--global", "--type=path", "--get", "core.excludesFile"],
            capture_output=True,
            cwd="/",
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": home, "XDG_CONFIG_HOME": configured},
            timeout=_GIT_S_MAX,
            check=False,
        )
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return []
    named = os.fsdecode(done.stdout.rstrip(b"\n"))
    return [Path(named) if named else Path(configured) / "git" / "ignore"]
