"""A local folder as a git bundle to send along with an order, and a local diff to have reviewed.

What is sent is one commit without parents that is made for this: the files as they are in the commit that was
named, no history, no author, no message. Its id is another than the user's commit, its files are the same, so that
a diff against it applies to the user's checkout with `git apply`. A folder inside a repository keeps its place in it
(the order's `subdir`), and nothing beside it is sent. The same files give the same bundle.

Guarantees: nothing that git ignores, no submodule, no link that leads out, and nothing that looks like a secret is
sent unless it is named; changes that are not committed are sent only if asked for; what is sent and what is left out
is told. The repository's own configuration has no say (`git_tools`).
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.policy import BazaarPolicy, VerificationPolicy
from choir.bazaar.uploads.secrets import looks_secret
from choir.doors.mesh import git
from choir.doors.mesh.git import Checkout, GitFailed, OwnRepository
from choir.foundation.errors import Invalid, Refusal, TooLarge
from choir.sandbox.files import stays_inside
from choir.sandbox.repositories import is_plain

_BRANCH = "refs/heads/choir"
_LINK, _SUBMODULE = "120000", "160000"
_SHOWN_MAX = 5
_DIFF = ("-p", "-r", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--full-index")
_REVIEW_BYTES_MAX = 50_000_000  # of whole files beside a diff; without them a review is poorer, not impossible
_INDEX_BYTES_MAX = 1_000_000_000


class Uncommitted(Refusal):
    """The work tree is not what the commit says; nobody should be surprised by what was sent."""

    code = "sdk.uncommitted"
    sentence = "{folder} has uncommitted changes: {paths}."
    hint = "Commit them, include them with --dirty, or send only the commit with --ref HEAD."


class NothingToSend(Invalid):
    """A folder without a file that may be sent."""

    code = "sdk.nothing_to_send"
    sentence = "There is nothing to send in {folder}: {why}."


@dataclass(frozen=True, slots=True)
class Bundle:
    """A git bundle on disk, and what is in it."""

    file: Path
    commit: str  # the made one: what the order is about
    source: str  # what it was taken from: a commit of the user's, or "the folder"
    subdir: str  # where the folder stands in it
    files: tuple[str, ...]
    bytes: int  # of the files, not of the bundle
    left_out: tuple[tuple[str, str], ...] = ()  # paths, and why they were not taken
    sizes: tuple[int, ...] = ()  # of the files, in their order
    origin: str = ""  # the address and commit that it was fetched from


@dataclass(frozen=True, slots=True)
class LocalDiff:
    """A diff between two commits of a local repository."""

    data: bytes
    base: str
    head: str
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Entry:
    mode: str
    blob: str
    size: int
    path: str


@contextmanager
def bundle(
    folder: Path | str,
    *,
    ref: str | None = None,
    dirty: bool = False,
    include: Sequence[str] = (),
    bytes_max: int | None = None,
) -> Iterator[Bundle]:
    """A bundle of a folder, for as long as it is needed.

    Without `ref` it is what is checked out, and changes that are not committed are refused, or sent with `dirty`.
    A folder outside any repository is sent as it is. `include` names files to be sent although they look like secrets.
    """
    limit = BazaarPolicy().inputs_bytes_max if bytes_max is None else bytes_max
    folder = Path(folder).absolute()
    place = Path(tempfile.mkdtemp(prefix="choir-bundle-"))
    try:
        checkout = git.find(folder)
        own = OwnRepository(place / "own.git", checkout, folder)
        tree, source = _tree(own, checkout, folder, ref, dirty, limit)
        prefix = checkout.prefix if checkout else ""
        yield _packed(own, _entries(own, tree, prefix), source, prefix, include, limit, place, folder)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def text_of(sent: Bundle, path: str) -> str:
    """The text of a file that a bundle holds, for as long as there is the bundle; what is no text is told as well as
    it can be."""
    place = sent.file.parent
    given = git.git("cat-file", "blob", f"{sent.commit}:{path}", cwd=place, more={"GIT_DIR": str(place / "own.git")})
    return given.decode("utf-8", "replace")


def bundle_of_tree(tree: Path, place: Path, source: str, include: Sequence[str], limit: int) -> Bundle:
    """A bundle of all files of a folder that is nobody's checkout, ignored ones too; made below `place`."""
    own, made = _taken(tree, place, "index")
    return _packed(own, _entries(own, made, ""), source, "", include, limit, place, tree)


def changes_of_trees(
    base: Path, head: Path, place: Path, include: Sequence[str], limit: int
) -> tuple[LocalDiff, Bundle | None]:
    """What differs between two such folders, and a bundle of the changed files as the second has them."""
    first = _taken(base, place, "first")[1]
    own, second = _taken(head, place, "second")
    return _changes(own, first, second, [":(top)"], include, place, head, limit)


def _taken(tree: Path, place: Path, index: str) -> tuple[OwnRepository, str]:
    own = OwnRepository(place / "own.git", None, tree)
    own.git("add", "-A", "-f", "--", ".", index=index)
    return own, own.git("write-tree", index=index).decode().strip()


def diff(
    folder: Path | str, base: str, head: str = "HEAD", *, include: Sequence[str] = (), bytes_max: int | None = None
) -> LocalDiff:
    """What changed in a folder from one commit to another."""
    with changes(folder, base, head, include=include, bytes_max=bytes_max) as (found, _):
        return found


@contextmanager
def changes(
    folder: Path | str, base: str, head: str = "HEAD", *, include: Sequence[str] = (), bytes_max: int | None = None
) -> Iterator[tuple[LocalDiff, Bundle | None]]:
    """The same, with a bundle of the changed files as they are at the head: who reviews them sees them whole."""
    folder = Path(folder).absolute()
    checkout = git.find(folder)
    if checkout is None:
        raise Invalid(what=f"The folder {folder}", why="it is not in a git repository")
    first, second = git.must_commit(checkout, base), git.must_commit(checkout, head)
    with tempfile.TemporaryDirectory(prefix="choir-diff-") as name:
        place = Path(name)
        own = OwnRepository(place / "own.git", checkout, folder)
        where = [f":(top,literal){checkout.prefix}"] if checkout.prefix else [":(top)"]
        limit = VerificationPolicy().review_diff_bytes_max if bytes_max is None else bytes_max
        yield _changes(own, first, second, where, include, place, folder, limit)


def _changes(
    own: OwnRepository,
    first: str,
    second: str,
    where: list[str],
    include: Sequence[str],
    place: Path,
    folder: Path,
    limit: int,
) -> tuple[LocalDiff, Bundle | None]:
    listed = own.git("diff-tree", "-r", "-z", "--name-only", "--no-renames", first, second, "--", *where)
    names = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    out = [(name, "it looks like a secret") for name in names if looks_secret(name) and name not in include]
    keep = where + [f":(top,exclude,literal){name}" for name, _ in out]
    data = own.git("diff-tree", *_DIFF, first, second, "--", *keep)
    if not data.strip():
        raise NothingToSend(folder=str(folder), why=f"nothing changed from {first[:12]} to {second[:12]}")
    if len(data) > limit:
        raise TooLarge(what="The diff", size=len(data), limit=limit)
    return LocalDiff(data, first, second, tuple(out)), _whole_files(own, second, names, include, place, folder)


def _whole_files(
    own: OwnRepository, commit: str, names: list[str], include: Sequence[str], place: Path, folder: Path
) -> Bundle | None:
    """A bundle of these files; none where there is nothing whole to send, or too much."""
    wanted = set(names)
    entries = [entry for entry in _entries(own, commit, "") if entry.path in wanted]
    try:
        return _packed(own, iter(entries), commit, "", include, _REVIEW_BYTES_MAX, place, folder)
    except (NothingToSend, TooLarge):
        return None


def _tree(
    own: OwnRepository, checkout: Checkout | None, folder: Path, ref: str | None, dirty: bool, limit: int
) -> tuple[str, str]:
    """The tree to send, in our repository, and where it came from."""
    if checkout is None:
        if ref is not None:
            raise Invalid(what="The commit", why=f"{folder} is not in a git repository")
        return _as_it_is(own, "", limit), "the folder"
    name = "HEAD" if ref is None else ref
    commit = git.commit_of(checkout, name)
    if commit is None and ref is None and checkout.top is not None:  # a repository without a commit yet
        return _as_it_is(own, checkout.prefix, limit), "the folder"
    commit = git.must_commit(checkout, name)
    if ref is not None or checkout.top is None:
        return commit, commit
    _load_index(own, checkout, commit)
    changed = _changed(own, checkout.prefix) | _staged(own, commit, checkout.prefix)
    if not changed:
        return commit, commit
    if not dirty:
        shown = ", ".join(sorted(changed)[:_SHOWN_MAX]) + (" and others" if len(changed) > _SHOWN_MAX else "")
        raise Uncommitted(folder=str(folder), paths=shown)
    return _as_it_is(own, checkout.prefix, limit), f"{commit} with changes"


def _load_index(own: OwnRepository, checkout: Checkout, commit: str) -> None:
    """A copy of the user's index: it knows which files were not touched, so that they need not be read."""
    index, theirs = own.place / "index", checkout.git / "index"
    if git.is_readable(theirs, _INDEX_BYTES_MAX):
        try:
            shutil.copyfile(theirs, index)
        except OSError:
            index.unlink(missing_ok=True)
    if not index.exists() or not own.git("write-tree", may_fail=True):
        index.unlink(missing_ok=True)
        own.git("read-tree", commit)
    own.git("update-index", "-q", "--refresh", "--ignore-submodules", may_fail=True)


def _changed(own: OwnRepository, prefix: str) -> set[str]:
    """Files of the work tree that are new, gone or not as recorded; repositories inside it are not looked into."""
    where = f":(top,literal){prefix}" if prefix else ":(top)"
    listed = own.git("ls-files", "-m", "-d", "-o", "--exclude-standard", "-z", "--full-name", "--", where)
    found = {os.fsdecode(name) for name in listed.split(b"\0") if name}
    return {name for name in found if not name.endswith("/")} - _submodules(own)


def _staged(own: OwnRepository, commit: str, prefix: str) -> set[str]:
    where = f":(top,literal){prefix}" if prefix else ":(top)"
    listed = own.git(
        "diff-index", "--cached", "--name-only", "-z", "--ignore-submodules=all", "--no-renames", commit, "--", where
    )
    return {os.fsdecode(name) for name in listed.split(b"\0") if name}


def _submodules(own: OwnRepository) -> set[str]:
    rows = own.git("ls-files", "--stage", "-z", "--full-name", "--", ":(top)").split(b"\0")
    return {os.fsdecode(row.partition(b"\t")[2]) for row in rows if row.startswith(_SUBMODULE.encode())}


def _as_it_is(own: OwnRepository, prefix: str, limit: int) -> str:
    """A tree of the files as they lie there, without what is ignored. Too much of it is not even copied."""
    names = sorted(_changed(own, prefix))
    sizes = {name: _size(own.tree / name) for name in names}
    if sum(sizes.values()) > limit:
        largest = max(names, key=lambda name: sizes[name])
        raise TooLarge(what=f"What is to be sent (the largest is {largest})", size=sum(sizes.values()), limit=limit)
    given = b"".join(os.fsencode(name) + b"\0" for name in names)
    own.git("update-index", "--add", "--remove", "-z", "--stdin", given=given)
    return own.git("write-tree").decode().strip()


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:  # it is gone
        return 0


def _packed(
    own: OwnRepository,
    entries: Iterator[_Entry],
    source: str,
    prefix: str,
    include: Sequence[str],
    limit: int,
    place: Path,
    folder: Path,
) -> Bundle:
    kept, out = _sorted_out(own, entries, include)
    if not kept:
        raise NothingToSend(folder=str(folder), why="it has no files, or none that may be sent")
    total = sum(entry.size for entry in kept)
    if total > limit:
        largest = max(kept, key=lambda entry: entry.size)
        raise TooLarge(what=f"What is to be sent (the largest is {largest.path})", size=total, limit=limit)
    given = b"".join(f"{e.mode} blob {e.blob}\t".encode() + os.fsencode(e.path) + b"\0" for e in kept)
    own.git("update-index", "-z", "--index-info", given=given, index="sent")
    made = own.git("write-tree", index="sent").decode().strip()
    commit = own.git("commit-tree", made, "-m", "base").decode().strip()
    own.git("update-ref", _BRANCH, commit)
    file = place / "repository.bundle"
    own.git("-c", "pack.threads=1", "bundle", "create", "-q", str(file), _BRANCH)
    names = tuple(entry.path for entry in kept)
    sizes = tuple(entry.size for entry in kept)
    return Bundle(file, commit, source, prefix.rstrip("/"), names, total, tuple(out), sizes)


def _entries(own: OwnRepository, tree: str, prefix: str) -> Iterator[_Entry]:
    where = ("--", prefix) if prefix else ()
    for row in own.git("ls-tree", "-r", "-z", "-l", "--full-tree", tree, *where).split(b"\0"):
        if row:
            facts, _, path = row.partition(b"\t")
            mode, _, blob, size = facts.decode().split()
            if size == "BAD":
                why = "an object of it is missing, as in a partial clone; fetch it first."
                raise GitFailed(folder=str(own.tree), why=why)
            yield _Entry(mode, blob, 0 if size == "-" else int(size), os.fsdecode(path))


def _sorted_out(
    own: OwnRepository, entries: Iterator[_Entry], include: Sequence[str]
) -> tuple[list[_Entry], list[tuple[str, str]]]:
    kept, out = [], []
    for entry in entries:
        why = _why_not(own, entry)
        if not why and looks_secret(entry.path) and entry.path not in include:
            why = "it looks like a secret"
        if why:
            out.append((entry.path, why))
        else:
            kept.append(entry)
    return kept, out


def _why_not(own: OwnRepository, entry: _Entry) -> str:
    if entry.mode == _SUBMODULE:
        return "it is a submodule"
    if not is_plain(entry.path):
        return "git reserves that name"
    if entry.mode == _LINK and not stays_inside(entry.path, os.fsdecode(own.git("cat-file", "blob", entry.blob))):
        return "it is a link that points outside"
    return ""
