"""Trees: the buyer's, taken from the bundle; the patched one; and what really differs between them.

Guarantees: git touches the buyer's bundle and the provider's diff only inside a sandbox. What comes out is plain files
and links that stay inside. What changed is read from the two trees byte by byte, never from the diff.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.model import Cancelled, Runs
from choir.foundation.canonical import bytes_hash
from choir.foundation.errors import Invalid
from choir.sandbox.model import EndReason, InFile, Limits, Result, Spec
from choir.sandbox.repositories import environment

_MEMORY_BYTES = 512_000_000  # for git itself; what lies in the workspace counts on top
_BASE_BYTES = 2_000_000_000
_ROOM_BYTES = 16_000_000
_PIECE = 1 << 20
_REFUSED_MAX = 50  # links that lead out and the like; a tree with more is not taken in part

# Attributes of the tree could change bytes on their way out, so ours stand above them.
_CHECKOUT = """
set -eu
git init -q --bare clean
mkdir -p clean/info
echo '* -text -ident !eol !filter !working-tree-encoding' > clean/info/attributes
git -C clean bundle unbundle /work/bundle >/dev/null
git -C clean rev-parse --verify "$1^{commit}"
mkdir tree
git -C clean --work-tree="$PWD/tree" checkout -q --detach -f "$1"
"""
_APPLY = "cd tree && exec git apply --whitespace=nowarn --verbose ../delivery"


class NoBase(Invalid):
    """The buyer's bundle does not give the commit that was ordered against."""

    code = "bazaar.no_base"
    sentence = "The bundle does not contain the base commit {commit}: {why}"
    hint = "Create it with `git bundle create FILE HEAD` where that commit is in the history."


class Kind(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or link of a tree."""

    content: bytes
    executable: bool = False
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """One path that is not what it was."""

    path: str
    before: Entry | None
    after: Entry | None

    @property
    def kind(self) -> Kind:
        if self.before is None:
            return Kind.ADDED
        return Kind.DELETED if self.after is None else Kind.CHANGED


class DoesNotApply(Exception):
    """Git would not apply the diff. `why` is one of a few words, never git's own text."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def guarded(runs: Runs, spec: Spec, cancelled: Callable[[], bool]) -> Result:
    """Run a spec; a run that was cancelled has no verdict."""
    result = runs.run(spec, None, cancelled)
    if result.ended is EndReason.CANCELLED:
        raise Cancelled
    return result


def check_out(runs: Runs, bundle: Path, commit: str, folder: Path, cancelled: Callable[[], bool]) -> Path:
    """The tree of one commit of a bundle, below `folder`."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    spec = Spec(
        argv=("sh", "-c", _CHECKOUT, "sh", commit),
        environment=environment("file"),
        limits=Limits(memory_bytes=_BASE_BYTES, disk_bytes=_BASE_BYTES),
        files=(InFile("bundle", source=bundle),),
        collect=("tree",),
        collect_into=folder,
    )
    result = guarded(runs, spec, cancelled)
    found = result.stdout.decode(errors="replace").strip()
    if not result.ok or found != commit:
        why = "git cannot read it." if result.ended is EndReason.EXITED else f"git was stopped ({result.ended})."
        raise NoBase(commit=commit[:64], why=why)
    refused = result.files_refused
    if len(refused) >= _REFUSED_MAX or any(item.startswith("'tree':") for item in refused):  # cut off, not odd entries
        raise NoBase(commit=commit[:64], why="its tree has more files or bytes than the sandbox takes out.")
    return _opened(tree)


def apply(
    runs: Runs, base: Path, diff: bytes, folder: Path, policy: VerificationPolicy, cancelled: Callable[[], bool]
) -> tuple[Path, Result]:
    """The tree with the diff applied, below `folder`."""
    tree = folder / "tree"
    tree.mkdir(parents=True)
    room = size_of(base) + 2 * policy.patch_grown_bytes_max + _ROOM_BYTES
    spec = Spec(
        argv=("sh", "-c", _APPLY),
        environment=environment(""),
        limits=Limits(memory_bytes=_MEMORY_BYTES + room, disk_bytes=room, wall_s=60),
        files=(InFile("delivery", diff),),
        folder=base,
        folder_at="tree",
        collect=("tree",),
        collect_into=folder,
    )
    result = guarded(runs, spec, cancelled)
    if not result.ok:
        full = b"No space left" in result.stderr or b"Out of memory" in result.stderr
        grown = full or result.out_of_memory or result.ended is not EndReason.EXITED or result.exit_code > 128
        raise DoesNotApply("too_large" if grown else "does_not_apply")
    if b"\nerror:" in b"\n" + result.stderr:  # git takes what it can read and ends with code 0 all the same
        raise DoesNotApply("does_not_apply")
    if result.files_refused:
        raise DoesNotApply("unsafe_entry")
    return _opened(tree), result


def size_of(tree: Path) -> int:
    return sum(facts.st_size for _, facts in entries_of(tree).values())


def entries_of(tree: Path) -> dict[str, tuple[Path, os.stat_result]]:
    """Every file and link below a folder that we made ourselves, by its path."""
    found = {}
    for folder, folders, files in os.walk(tree):
        home = Path(folder)
        for name in [*files, *(item for item in folders if (home / item).is_symlink())]:
            path = home / name
            found[path.relative_to(tree).as_posix()] = (path, path.lstat())
    return found


def read_entry(path: Path, facts: os.stat_result) -> Entry:
    if stat.S_ISLNK(facts.st_mode):
        return Entry(b"", link=str(path.readlink()))
    return Entry(path.read_bytes(), bool(facts.st_mode & 0o100))


def compare(base: Path, patched: Path, bytes_max: int) -> list[Change]:
    """What differs, in the order of the paths. Only that comes into memory, and no more than `bytes_max` of it."""
    before, after = entries_of(base), entries_of(patched)
    found = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old is not None and new is not None and _same(old, new):
            continue
        bytes_max -= sum(facts.st_size for _, facts in (item for item in (old, new) if item is not None))
        if bytes_max < 0:
            raise DoesNotApply("too_large")
        found.append(Change(path, read_entry(*old) if old else None, read_entry(*new) if new else None))
    return found


def _same(old: tuple[Path, os.stat_result], new: tuple[Path, os.stat_result]) -> bool:
    """Whether two entries are alike, read piece by piece."""
    facts = [(stat.S_IFMT(item.st_mode), bool(item.st_mode & 0o100), item.st_size) for _, item in (old, new)]
    if stat.S_ISLNK(old[1].st_mode) and stat.S_ISLNK(new[1].st_mode):
        return old[0].readlink() == new[0].readlink()
    if facts[0] != facts[1]:
        return False
    with old[0].open("rb") as first, new[0].open("rb") as second:
        while (piece := first.read(_PIECE)) == second.read(_PIECE):
            if not piece:
                return True
    return False


def make_folder(place: Path) -> None:
    """A folder that everyone may read, whatever the node's umask: a sandbox may have a user id of its own."""
    if place.is_dir():
        return
    make_folder(place.parent)
    place.mkdir()
    place.chmod(0o755)


def _opened(tree: Path) -> Path:
    """The tree, readable to everyone, whatever the node's umask."""
    for folder, _, files in os.walk(tree):
        Path(folder).chmod(0o755)
        for name in files:
            place = Path(folder) / name
            if not place.is_symlink():
                place.chmod(0o755 if place.stat().st_mode & 0o100 else 0o644)
    return tree


def lay_out(source: Path, folder: Path) -> Path:
    """A copy of a tree that shares its files; a file must be replaced there, never written into."""
    shutil.copytree(source, folder, symlinks=True, copy_function=_link)
    return folder


def _link(source: str, target: str) -> None:
    if Path(source).is_symlink():
        Path(target).symlink_to(Path(source).readlink())
    else:
        os.link(source, target)


def put(tree: Path, path: str, entry: Entry | None) -> None:
    """Make one path of a laid-out tree what it should be."""
    place = tree / path
    if place.is_symlink() or place.is_file():
        place.unlink()
    if entry is None:
        return
    for folder in reversed(place.relative_to(tree).parents):
        if (tree / folder).is_symlink() or (tree / folder).is_file():
            (tree / folder).unlink()  # the patch put something where a folder was
    if place.is_dir():
        shutil.rmtree(place)
    make_folder(place.parent)
    if entry.link is not None:
        place.symlink_to(entry.link)
        return
    place.write_bytes(entry.content)
    place.chmod(0o755 if entry.executable else 0o644)


def manifest(changes: Iterable[Change]) -> list[dict[str, object]]:
    """The changes for evidence, itself shown by its hash only: which files a fix touches is part of what is sold."""
    return [
        {
            "path_hash": bytes_hash(change.path.encode(errors="surrogateescape")),
            "kind": change.kind.value,
            "after": None if change.after is None else bytes_hash(change.after.content),
        }
        for change in changes
    ]
