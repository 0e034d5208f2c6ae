"""Takes what a set-up wrote out of its sandbox, after its last process is gone.

Guarantees: only folders, regular files and links come out; no owner, set-uid bit, extended attribute, device or
whiteout does. No link is followed. At most so many files and bytes are looked at, whatever the tree does. Files that
the tree had before are left out, as are compiled Python files beside the tree's own: a stale one would be run instead
of the source that a delivery brings. The content hash has no times in it, so that two builds of the same can be equal.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from choir.sandbox.files import Allowance, walk
from choir.sandbox.layers.model import ROOM_PART, TREE, TREE_PART, Capture, Captured
from choir.sandbox.model import TooMuch, UnsafeEntry
from choir.sandbox.removal import remove_tree
from choir.sandbox.syscalls import open_beneath

_PIECE = 1 << 20
_LEFT_OUT_MAX = 20
_COMPILED = "__pycache__"
_NEVER = frozenset({".git", _COMPILED})  # of the tree's part


def take(wanted: Capture, workspace: int, room: int) -> Captured:
    """Copy the room and what is new in the tree; a layer that is too large or odd is told in `fault`, and gone."""
    allowance = Allowance(wanted.files_max, wanted.bytes_max, wanted.bytes_max, wanted.depth_max)
    taken = _Taken(allowance)
    try:
        if room >= 0:
            _take_part(taken, room, wanted.into / ROOM_PART, ROOM_PART, lambda _: True)
        tree = open_beneath(workspace, TREE, os.O_RDONLY | os.O_DIRECTORY)
        try:
            _take_part(taken, tree, wanted.into / TREE_PART, TREE_PART, _is_new(wanted.known))
        finally:
            os.close(tree)
    except TooMuch as error:
        return _nothing(wanted.into, f"it is too large: {error}")
    except UnsafeEntry as error:
        return _nothing(wanted.into, str(error))
    except OSError as error:
        return _nothing(wanted.into, f"what it left cannot be read: {error.strerror}")
    return Captured(f"sha256:{taken.digest.hexdigest()}", taken.files, taken.size, tuple(taken.left_out))


@dataclass(slots=True)
class _Taken:
    allowance: Allowance
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)
    files: int = 0
    size: int = 0
    left_out: list[str] = field(default_factory=list)

    def note(self, *words: bytes) -> None:
        """One entry of the content hash; each word by its length, so that no two entries read alike."""
        for word in words:
            self.digest.update(len(word).to_bytes(8, "big") + word)

    def leave_out(self, path: str, why: str) -> None:
        if len(self.left_out) < _LEFT_OUT_MAX:
            self.left_out.append(f"{path[:200]!r}: {why}")


def _take_part(taken: _Taken, root: int, into: Path, part: str, is_wanted: Callable[[str], bool]) -> None:
    _make_folder(into)
    for path, fd, facts in walk(root, taken.allowance):
        if not is_wanted(path):
            continue
        name = os.fsencode(f"{part}/{path}")
        place = into / path  # all above it were made here as real folders: no link can be on the way
        if stat.S_ISDIR(facts.st_mode):
            _make_folder(place)
            taken.note(b"folder", name)
        elif stat.S_ISLNK(facts.st_mode):
            _make_folder(place.parent)
            leads_to = _link_at(root, path)
            os.symlink(leads_to, place)  # noqa: PTH211 - where it leads may be no text
            taken.note(b"link", name, leads_to)
        elif stat.S_ISREG(facts.st_mode):
            _make_folder(place.parent)
            executable = bool(facts.st_mode & 0o111)
            content = _copy(fd, place, executable, taken)
            taken.note(b"program" if executable else b"file", name, content)
        else:
            taken.leave_out(path, "it is neither a folder, a regular file nor a link")
            continue
        taken.files += 1


def _make_folder(place: Path) -> None:
    """A folder that everyone may read, whatever the node's umask: the user id of a sandbox is nobody else's."""
    if place.is_dir():
        return
    _make_folder(place.parent)
    place.mkdir()
    place.chmod(0o755)


def _copy(fd: int, place: Path, executable: bool, taken: _Taken) -> bytes:
    digest = hashlib.sha256()
    out = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        while piece := os.read(fd, _PIECE):
            taken.allowance.take_bytes(len(piece))
            taken.size += len(piece)
            digest.update(piece)
            view = memoryview(piece)
            while view:
                view = view[os.write(out, view) :]
        os.fchmod(out, 0o755 if executable else 0o644)
    finally:
        os.close(out)
    return digest.digest()


def _link_at(root: int, path: str) -> bytes:
    parent, _, name = path.rpartition("/")
    home = open_beneath(root, parent or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        return os.fsencode(os.readlink(name, dir_fd=home))
    finally:
        os.close(home)


def _is_new(known: frozenset[str]) -> Callable[[str], bool]:
    """Whether a path of the tree was added by the set-up. A folder that was there, or is above one, is not."""
    folders = {str(parent) for path in known for parent in PurePosixPath(path).parents}

    def found(path: str) -> bool:
        parts = PurePosixPath(path).parts
        if path in known or path in folders or _NEVER.intersection(parts) or path.endswith(".pyc"):
            return False
        return not any(str(parent) in known for parent in PurePosixPath(path).parents)

    return found


def _nothing(into: Path, why: str) -> Captured:
    with suppress(OSError):
        for part in (ROOM_PART, TREE_PART):
            remove_tree(into / part)
    return Captured("", 0, 0, fault=why)
