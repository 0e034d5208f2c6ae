"""Hostile git repositories, made harmless.

Guarantees: git never runs on the host inside a repository that a stranger arranged. Whatever reads the
stranger's objects, refs and configuration runs in a sandbox and hands out a plain work tree: no hooks, no
filters, no submodules, no LFS, no configuration, no link that leads out, nothing called .git. On the host git
runs only with a repository that we made ourselves, kept outside the work tree, with an environment in which
nothing of the machine's or the tree's configuration has a say.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from choir.foundation.errors import Invalid
from choir.sandbox.egress.model import Egress, EgressRule
from choir.sandbox.files import Allowance, Target, put_folder, stays_inside, walk
from choir.sandbox.model import Limits, Result, Spec, Tier, Trust, UnsafeEntry, said
from choir.sandbox.policy import SandboxPolicy

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_REF = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,199}\Z")
_URL = re.compile(r"https://([A-Za-z0-9.-]{1,253})(?::(\d{1,5}))?/[\x21-\x7e]{1,1000}\Z")
_GIT_NAME = re.compile(r"(\.git|git~\d+)[. ]*(:.*)?\Z", re.IGNORECASE)
_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")  # HFS+ does not see these
_GIT_S_MAX = 300
_SAID_LETTERS = 200
_LINK, _SUBMODULE = "120000", "160000"  # modes of entries

# Attributes of ours that win over any .gitattributes in a tree: files are taken byte by byte as they are. Else a
# payload could hide a change from the diff by having git convert it away (line ends, $Id$, encodings).
_ATTRIBUTES = "* -text !eol -ident !filter !working-tree-encoding !diff !merge !conflict-marker-size\n"

# Configuration that wins over anything a repository says: it comes by the environment.
_SETTINGS = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.askPass": "",
    "core.sshCommand": "/bin/false",
    "core.pager": "cat",
    "core.protectHFS": "true",
    "core.protectNTFS": "true",
    "core.autocrlf": "false",
    "core.bigFileThreshold": "16m",
    "credential.helper": "",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "fetch.recurseSubmodules": "false",
    "transfer.fsckObjects": "true",
    "init.templateDir": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "commit.gpgSign": "false",
    "safe.directory": "*",
    "user.name": "choir",
    "user.email": "choir@localhost",
}

_PREPARE = """
set -eu
git init -q --bare clean
git -C clean fetch -q --no-tags --no-recurse-submodules --no-write-fetch-head --depth 1 "$1" "+$2:refs/choir/base"
git -C clean rev-parse --verify 'refs/choir/base^{commit}'
mkdir tree
git -C clean --work-tree="$PWD/tree" checkout -q --detach -f refs/choir/base
"""


class NotARepository(Invalid):
    """Git could make nothing of what it was given."""

    code = "sandbox.not_a_repository"
    sentence = "The repository cannot be prepared: {why}"


class Runs(Protocol):
    """Whoever runs specs: the service or the pool."""

    def run(self, spec: Spec) -> Result: ...


@dataclass(frozen=True, slots=True)
class PreparedRepository:
    """A harmless work tree."""

    folder: Path
    commit: str  # the stranger's commit that it was taken from
    refused: tuple[str, ...]  # entries that were left out, and why


def environment(protocols: str = "file") -> dict[str, str]:
    """An environment for git in which only our own configuration counts."""
    settings = _SETTINGS | {f"protocol.{name}.allow": "always" for name in protocols.split(":") if name}
    found = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": protocols,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_SSH_COMMAND": "/bin/false",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for place, (name, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{place}": name, f"GIT_CONFIG_VALUE_{place}": value}
    return found


def prepare(
    runs: Runs, source: Path | str, folder: Path, ref: str, policy: SandboxPolicy, tier_min: Tier = Tier.BUBBLEWRAP
) -> PreparedRepository:
    """Take one commit out of a repository (a folder, bare or not, or an https address) into `folder`/tree."""
    if not _REF.match(ref) or ".." in ref:
        raise Invalid(what=f"ref '{ref[:60]}'", why="it must be a commit, or a branch or tag in plain letters")
    wanted = ref if _COMMIT.match(ref) or ref.startswith("refs/") or ref == "HEAD" else f"refs/heads/{ref}"
    tree = folder / "tree"
    tree.mkdir(parents=True)
    remote = isinstance(source, str)
    spec = Spec(
        argv=("sh", "-c", _PREPARE, "sh", str(source) if remote else "/work/source", wanted),
        environment=environment("https" if remote else "file"),
        limits=_limits(policy),
        tier_min=tier_min,
        trust=Trust.STRANGER,
        folder=None if isinstance(source, str) else _git_folder(source),
        folder_at="source",
        egress=_egress(source) if isinstance(source, str) else None,
        collect=("tree",),
        collect_into=folder,
    )
    result = runs.run(spec)
    commit = result.stdout.decode(errors="replace").strip()
    if not result.ok or not _COMMIT.match(commit):
        last = said(result.stderr.strip().split(b"\n")[-1], _SAID_LETTERS)
        raise NotARepository(why=last or f"git was stopped ({result.ended}, code {result.exit_code}).")
    if _COMMIT.match(ref) and commit != ref:
        raise NotARepository(why=f"it answered with the commit {commit} instead.")
    check_plain(tree, policy)
    return PreparedRepository(tree, commit, result.files_refused)


def check_plain(tree: Path, policy: SandboxPolicy) -> None:
    """Looked at from outside: what ran in the sandbox read the stranger's data, so its word is not enough."""
    root = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        for path, _, _ in walk(root, Allowance.of(policy)):
            if not is_plain(path):
                raise UnsafeEntry(path=path[:100], why="a repository inside the tree is not allowed")
    finally:
        os.close(root)


def _limits(policy: SandboxPolicy) -> Limits:
    return Limits(
        wall_s=min(policy.repository_s_max, policy.wall_s_max),
        cpu_s=min(policy.repository_s_max, policy.cpu_s_max),
        memory_bytes=policy.memory_bytes_max,
        disk_bytes=policy.disk_bytes_max,
    )


def _git_folder(source: Path) -> Path:
    """Only the repository itself goes into the sandbox, not the work tree around it."""
    inner = source / ".git"
    return inner if inner.is_dir() and not inner.is_symlink() else source


def _egress(address: str) -> Egress:
    found = _URL.match(address)
    if not found:
        raise Invalid(what="the address", why="it must begin with https:// and name a host and a path")
    port = int(found[2] or 443)
    return Egress((EgressRule(found[1].lower(), (port,), tunnel=True),))


class WorkTree:
    """A folder whose changes are measured against where it began. The repository is beside it, never inside."""

    def __init__(self, folder: Path, repository: Path, policy: SandboxPolicy | None = None) -> None:
        self.folder = folder
        self.repository = repository
        self.policy = policy or SandboxPolicy()

    def begin(self) -> str:
        """Make the repository and record what is there now; returns the base."""
        self.repository.mkdir(mode=0o700, parents=True)
        self._git("init", "-q", "--bare", str(self.repository))
        self._git("config", "core.bare", "false")
        (self.repository / "info").mkdir(exist_ok=True)
        (self.repository / "info" / "attributes").write_text(_ATTRIBUTES)
        return self._record("base")

    def changes(self, base: str) -> bytes:
        """What changed since, as a binary diff that `git apply` takes. Read from the files, not from anyone's word."""
        if not _COMMIT.match(base):
            raise Invalid(what="base", why="it must be a commit")
        self._add()
        return self._git("diff", "--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-renames", base)

    def ignored(self) -> list[str]:
        """New files that the tree's own ignore rules leave out. Such rules can hide a file and nothing else."""
        self._check()
        found = self._git("ls-files", "--others", "--ignored", "--exclude-standard", "-z")
        return [os.fsdecode(path) for path in found.split(b"\0") if path]

    def apply(self, diff: bytes) -> None:
        """Apply a diff to the files. Git refuses paths that leave the tree or lead through a link, we links that do."""
        self._git("apply", "--cached", "--whitespace=nowarn", "-", given=diff)
        try:
            self._check_index()
            self._git("apply", "--whitespace=nowarn", "-", given=diff)
        except BaseException:
            self._git("apply", "--cached", "--reverse", "--whitespace=nowarn", "-", given=diff)
            raise

    def _check_index(self) -> None:
        """What a diff made is looked at before any of it is a file."""
        fields = self._git("diff", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "HEAD").split(b"\0")
        for facts, name in zip(fields[::2], fields[1::2], strict=False):
            _, mode, _, blob, _ = facts.decode().split(" ")
            path = os.fsdecode(name)
            if mode == _SUBMODULE or not is_plain(path):
                raise UnsafeEntry(path=path[:100], why="a repository inside the tree is not allowed")
            if mode == _LINK and not stays_inside(path, os.fsdecode(self._git("cat-file", "blob", blob))):
                raise UnsafeEntry(path=path[:100], why="it is a link that points outside")

    def _record(self, message: str) -> str:
        self._add()
        self._git("commit", "-q", "--allow-empty", "--no-verify", "-m", message)
        return self._git("rev-parse", "HEAD").decode().strip()

    def _add(self) -> None:
        self._check()
        self._git("add", "-A", "-f", "--", ".")

    def _check(self) -> None:
        """A repository inside the tree would bring its own configuration along, so there must be none."""
        allowance = Allowance.of(self.policy)
        root = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            for path, _, facts in walk(root, allowance):
                if not is_plain(path):
                    raise UnsafeEntry(path=path[:100], why="a repository inside the tree is not allowed")
                allowance.take_bytes(facts.st_size)
        finally:
            os.close(root)

    def _git(self, *words: str, given: bytes = b"") -> bytes:
        more = {"GIT_DIR": str(self.repository), "GIT_WORK_TREE": str(self.folder)}
        done = subprocess.run(
            ["/usr/bin/prlimit", f"--fsize={self.policy.file_bytes_max}", "--core=0", "--", "/usr/bin/git", *words],
            input=given,
            capture_output=True,
            cwd=self.folder,
            env=environment("") | (more if words[0] != "init" else {}),
            timeout=_GIT_S_MAX,
            check=False,
        )
        if done.returncode:
            last = said(done.stderr.strip().split(b"\n")[-1], _SAID_LETTERS)
            raise NotARepository(why=f"git {words[0]}: {last}")
        return done.stdout


def copy_plain(source: Path, folder: Path, policy: SandboxPolicy) -> None:
    """Copy a folder that is no repository, without whatever is called .git in any spelling; no link may lead out."""
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        put_folder(Target(root), source, Allowance.of(policy), keep=is_plain, links_inside=True)
    finally:
        os.close(root)


def is_plain(path: str) -> bool:
    """Whether no part of a path is read as .git by any file system: case, trailing dots, short names, ignorables."""
    return not any(_GIT_NAME.match(_IGNORED.sub("", part)) for part in path.split("/"))
