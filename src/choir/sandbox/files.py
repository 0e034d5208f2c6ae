"""Files into and out of a folder that hostile code may have arranged.

Guarantees: no link is ever followed, no path leaves the folder, only regular files are read, and at most
so many files, bytes and levels are looked at, whatever the tree does meanwhile. What was left out is
named with the reason.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from choir.sandbox.model import InFile, OutFile, TooMuch, UnsafeEntry
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.syscalls import open_beneath

_libc = ctypes.CDLL(None, use_errno=True)
_PIECE = 1 << 20
_PATH_BYTES_MAX = 4_000
_NAME_BYTES_MAX = 255
_REFUSED_MAX = 100  # reasons kept; a tree of a million links needs no million sentences


@dataclass(slots=True)
class Allowance:
    """How much may still be moved; every file and byte is counted as it comes."""

    files: int
    bytes: int
    file_bytes: int
    depth: int
    files_max: int = 0
    bytes_max: int = 0

    def __post_init__(self) -> None:
        self.files_max, self.bytes_max = self.files, self.bytes

    @classmethod
    def of(cls, policy: SandboxPolicy) -> Allowance:
        return cls(policy.files_max, policy.files_bytes_max, policy.file_bytes_max, policy.depth_max)

    def take_entry(self) -> None:
        self.files -= 1
        if self.files < 0:
            raise TooMuch(what="The number of files", size="one more", limit=self.files_max)

    def take_bytes(self, count: int) -> None:
        self.bytes -= count
        if self.bytes < 0:
            raise TooMuch(what="All files together", size=f"{-self.bytes} bytes more", limit=self.bytes_max)


@dataclass(slots=True)
class CollectedFiles:
    """What came out of a folder."""

    files: list[OutFile] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    def refuse(self, path: str, why: str) -> None:
        if len(self.refused) < _REFUSED_MAX:
            self.refused.append(f"{path[:200]!r}: {why}")


def safe_path(text: str, depth_max: int = 64) -> str:
    """A relative path in plain form, or the refusal that says why not."""
    try:
        size = len(os.fsencode(text))
    except UnicodeEncodeError:
        raise UnsafeEntry(path=ascii(text[:100]), why="it has letters that no file system can hold") from None
    if not text or "\0" in text or size > _PATH_BYTES_MAX:
        raise UnsafeEntry(path=text[:100], why="a path must have between 1 and 4000 bytes and no NUL")
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if text.startswith("/") or ".." in parts or not parts:
        raise UnsafeEntry(path=text[:100], why="a path must be relative and stay below its folder")
    if len(parts) > depth_max or any(len(os.fsencode(part)) > _NAME_BYTES_MAX for part in parts):
        raise UnsafeEntry(path=text[:100], why="it is nested too deeply or a name is too long")
    return "/".join(parts)


@contextmanager
def acting_as(uid: int | None) -> Iterator[None]:
    """File access of this thread as another user. A tmpfs of a user namespace takes files only from its own."""
    if uid is None:
        yield
        return
    old_group = _libc.setfsgid(uid)
    old_user = _libc.setfsuid(uid)
    try:
        yield
    finally:
        _libc.setfsuid(old_user)
        _libc.setfsgid(old_group)


def make_folders(folder: int, path: str) -> int:
    """Make the folders of a safe path and return a descriptor of the last one."""
    current = os.dup(folder)
    try:
        for part in PurePosixPath(path).parts:
            with suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=current)
            below = open_beneath(current, part, os.O_RDONLY | os.O_DIRECTORY)
            os.close(current)
            current = below
    except BaseException:
        os.close(current)
        raise
    return current


@dataclass(frozen=True, slots=True)
class Target:
    """A folder to put files into, and as whom."""

    folder: int
    uid: int | None = None

    def make_folder(self, path: str) -> None:
        with acting_as(self.uid):
            os.close(make_folders(self.folder, path))

    def make_file(self, path: str, mode: int) -> int:
        """A new or emptied file; a link or a pipe in its place is refused, and not waited for."""
        parent, _, name = path.rpartition("/")
        with acting_as(self.uid):
            home = make_folders(self.folder, parent)
            try:
                fd = open_beneath(home, name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK, mode)
            finally:
                os.close(home)
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise UnsafeEntry(path=path[:100], why="something that is no regular file has its name")
        return fd

    def remove_file(self, path: str) -> None:
        parent, _, name = path.rpartition("/")
        with acting_as(self.uid):
            home = make_folders(self.folder, parent)
            try:
                os.unlink(name, dir_fd=home)
            finally:
                os.close(home)

    def make_link(self, path: str, leads_to: str) -> None:
        """A link leads nowhere until someone follows it, and then inside the sandbox."""
        parent, _, name = path.rpartition("/")
        with acting_as(self.uid):
            home = make_folders(self.folder, parent)
            try:
                os.symlink(leads_to, name, dir_fd=home)
            finally:
                os.close(home)


def put_file(target: Target, item: InFile, allowance: Allowance) -> None:
    """Write one file; a file that is already there is replaced, a link is refused."""
    path = safe_path(item.path, allowance.depth)
    allowance.take_entry()
    try:
        if item.link is not None:
            target.make_link(path, item.link)
            return
        _write(target, path, _pieces(item, allowance), item.executable, allowance)
    except OSError as error:
        raise UnsafeEntry(path=path, why=f"it cannot be put in: {error.strerror}") from None


def _write(target: Target, path: str, pieces: Iterator[bytes], executable: bool, allowance: Allowance) -> None:
    fd = target.make_file(path, 0o755 if executable else 0o644)
    try:
        with os.fdopen(fd, "wb") as file:
            for piece in pieces:
                allowance.take_bytes(len(piece))
                file.write(piece)
    except BaseException:  # half a file would be taken for a whole one
        with suppress(OSError):
            target.remove_file(path)
        raise


def _pieces(item: InFile, allowance: Allowance) -> Iterator[bytes]:
    if item.source is None:
        if len(item.content) > allowance.file_bytes:
            raise TooMuch(what=f"'{item.path}'", size=len(item.content), limit=allowance.file_bytes)
        yield item.content
        return
    fd = os.open(item.source, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as source:
        yield from _read_regular(source.fileno(), item.path, allowance)


def _read_regular(fd: int, path: str, allowance: Allowance) -> Iterator[bytes]:
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode):
        raise UnsafeEntry(path=path, why="it is not a regular file")
    if facts.st_size > allowance.file_bytes:  # sparse ones cost nothing to make
        raise TooMuch(what=f"'{path}'", size=facts.st_size, limit=allowance.file_bytes)
    total = 0
    while piece := os.read(fd, min(_PIECE, allowance.file_bytes - total + 1)):
        total += len(piece)
        if total > allowance.file_bytes:
            raise TooMuch(what=f"'{path}'", size=f"more than {total - 1}", limit=allowance.file_bytes)
        yield piece


def put_folder(
    target: Target,
    source: Path,
    allowance: Allowance,
    at: str = "",
    keep: Callable[[str], bool] = lambda _: True,
    *,
    links_inside: bool = False,
) -> None:
    """Copy a folder of the host: regular files and folders, links as links (or only those inside), nothing else."""
    prefix = f"{safe_path(at, allowance.depth)}/" if at else ""
    root = os.open(source, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        for path, fd, facts in walk(root, allowance):
            if not keep(path):
                continue
            if stat.S_ISDIR(facts.st_mode):
                target.make_folder(prefix + path)
            elif stat.S_ISLNK(facts.st_mode):
                leads_to = _read_link(root, path)
                if links_inside and not stays_inside(path, leads_to):
                    raise UnsafeEntry(path=path[:100], why="it is a link that points outside")
                target.make_link(prefix + path, leads_to)
            elif fd < 0:
                raise UnsafeEntry(path=path[:100], why="it is not a regular file")
            else:
                executable = bool(facts.st_mode & 0o100)
                _write(target, prefix + path, _read_regular(fd, path, allowance), executable, allowance)
    except OSError as error:
        raise UnsafeEntry(path=str(source), why=f"it cannot be put in: {error.strerror}") from None
    finally:
        os.close(root)


def _read_link(root: int, path: str) -> str:
    parent, _, name = path.rpartition("/")
    home = open_beneath(root, parent or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        return os.readlink(name, dir_fd=home)
    finally:
        os.close(home)


def walk(root: int, allowance: Allowance) -> Iterator[tuple[str, int, os.stat_result]]:
    """Every entry below a folder in order; folders and regular files come with an open descriptor, others with -1."""
    yield from _walk(root, "", 1, allowance)


def _walk(folder: int, prefix: str, depth: int, allowance: Allowance) -> Iterator[tuple[str, int, os.stat_result]]:
    if depth > allowance.depth:
        raise TooMuch(what=f"The nesting of '{prefix[:100]}'", size=depth, limit=allowance.depth)
    for name in _names(folder, allowance):
        path = prefix + name
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if not (stat.S_ISDIR(facts.st_mode) or stat.S_ISREG(facts.st_mode)):
            yield path, -1, facts
            continue
        fd = open_beneath(folder, name, os.O_RDONLY | os.O_NONBLOCK)
        try:
            facts = os.fstat(fd)
            yield path, fd, facts
            if stat.S_ISDIR(facts.st_mode):
                yield from _walk(fd, f"{path}/", depth + 1, allowance)
        finally:
            os.close(fd)


def _names(folder: int, allowance: Allowance) -> list[str]:
    names: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            allowance.take_entry()
            names.append(entry.name)
    return sorted(names)


def collect(folder: int, wanted: tuple[str, ...], allowance: Allowance, into: Target | None = None) -> CollectedFiles:
    """The regular files that were asked for, in memory or written below `into`, there with links that stay inside.

    A hostile tree costs at most the allowance.
    """
    found = CollectedFiles()
    for item in wanted:
        _collect_one(folder, item, allowance, found, into)
    return found


def _collect_one(folder: int, item: str, allowance: Allowance, found: CollectedFiles, into: Target | None) -> None:
    everything = item in (".", "./")
    path = "." if everything else safe_path(item, allowance.depth)
    try:
        fd = open_beneath(folder, path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError as error:
        found.refuse(path, error.strerror or "it cannot be opened")
        return
    try:
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            allowance.take_entry()
            _collect_file(path, fd, allowance, found, into)
            return
        prefix = "" if everything else f"{path}/"
        for below, inner, facts in walk(fd, allowance):
            if stat.S_ISREG(facts.st_mode):
                _collect_file(prefix + below, inner, allowance, found, into)
            elif stat.S_ISLNK(facts.st_mode) and into is not None:
                _collect_link(fd, prefix, below, found, into)
            elif not stat.S_ISDIR(facts.st_mode):
                found.refuse(prefix + below, "it is not a regular file")
    except (TooMuch, OSError) as error:
        found.refuse(path, str(error))
    finally:
        os.close(fd)


def _collect_link(root: int, prefix: str, below: str, found: CollectedFiles, into: Target) -> None:
    leads_to = _read_link(root, below)
    if stays_inside(prefix + below, leads_to):
        into.make_link(prefix + below, leads_to)
    else:
        found.refuse(prefix + below, "it is a link that points outside")


def stays_inside(path: str, leads_to: str) -> bool:
    """Whether a link at `path` leads to a place below the same folder, read as text alone.

    Text tells where a link leads only while `..` comes first: `up/..` is another place when `up` is a link too, so
    that two links which each stay inside would lead out together.
    """
    if not leads_to or leads_to.startswith("/") or "\0" in leads_to:
        return False
    place = list(PurePosixPath(path).parent.parts)
    named = False
    for part in leads_to.split("/"):
        if part == "..":
            if named or not place:
                return False
            place.pop()
        elif part not in ("", "."):
            named = True
            place.append(part)
    return ".git" not in (part.lower() for part in place)


def _collect_file(path: str, fd: int, allowance: Allowance, found: CollectedFiles, into: Target | None) -> None:
    executable = bool(os.fstat(fd).st_mode & 0o100)
    try:
        os.fsencode(path).decode()
        if into is not None:
            _write(into, path, _read_regular(fd, path, allowance), executable, allowance)
            content = b""
        else:
            content = b"".join(_counted(_read_regular(fd, path, allowance), allowance))
    except UnicodeDecodeError:
        found.refuse(path, "its name is not UTF-8")
    except UnsafeEntry:
        found.refuse(path, "it is not a regular file")
    except TooMuch as error:
        found.refuse(path, str(error))
        if allowance.bytes < 0:
            raise
    else:
        found.files.append(OutFile(path, content, executable))


def _counted(pieces: Iterator[bytes], allowance: Allowance) -> Iterator[bytes]:
    for piece in pieces:
        allowance.take_bytes(len(piece))
        yield piece
