"""Archives of strangers, unpacked below one folder.

Guarantees: no member lands outside the folder, through a link, on a device, or twice in one place; what is
written is counted as it is written, whatever the archive says of its sizes; an archive that grows too much
is refused; no header and no compressor can make the host hold more than a few megabytes. A refused archive
leaves what was written before in the folder, which the caller throws away.
"""

from __future__ import annotations

import bz2
import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

from choir.foundation.errors import Invalid
from choir.sandbox.files import Allowance, Target, safe_path, stays_inside
from choir.sandbox.model import TooMuch, UnsafeEntry
from choir.sandbox.policy import SandboxPolicy

_PIECE = 65_536
_READ_MAX = 4 << 20  # no honest header is longer
_HEADER_BYTES = 4_096  # what the headers of one member of a tar file take on average, at most
_XZ_MEMORY_MAX = 128 << 20
_ZIP_END = struct.Struct("<4s4H2LH")  # end of central directory
_ZIP_ENTRY = b"PK\1\2"  # how an entry of the central directory begins
_ZIP_ENTRY_BYTES = 600  # room for one entry of the central directory, with its name


class _Decompressor(Protocol):
    @property
    def needs_input(self) -> bool: ...

    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


def unpack(archive: Path, folder: Path, policy: SandboxPolicy) -> int:
    """Unpack a tar (plain, gzip, bzip2, xz) or zip file; returns how many files were written."""
    allowance = Allowance.of(policy)
    fd = os.open(archive, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    root = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        with os.fdopen(fd, "rb") as source:
            size = os.fstat(source.fileno()).st_size
            if size > policy.files_bytes_max:
                raise TooMuch(what="The archive", size=size, limit=policy.files_bytes_max)
            writer = _Writer(Target(root), allowance, size, policy)
            magic = source.read(6)
            source.seek(0)
            if magic.startswith(b"PK"):
                _unpack_zip(source, size, writer, policy)
            else:
                _unpack_tar(_opened(source, magic), writer)
            return writer.finish()
    finally:
        os.close(root)


class _Writer:
    """Writes members one by one and keeps count."""

    def __init__(self, target: Target, allowance: Allowance, packed: int, policy: SandboxPolicy) -> None:
        self.target = target
        self.allowance = allowance
        self.files = 0
        self._seen: dict[str, bool] = {}  # path -> whether it is a folder
        self._links: list[tuple[str, str]] = []
        self._written = 0
        self._most = max(policy.archive_ratio_bytes_min, packed * policy.archive_ratio_max)

    def folder(self, name: str) -> None:
        path = self._claim(name, is_folder=True)
        if path:
            self.target.make_folder(path)

    def file(self, name: str, pieces: Iterator[bytes], executable: bool) -> None:
        path = self._claim(name, is_folder=False)
        with os.fdopen(self.target.make_file(path, 0o755 if executable else 0o644), "wb") as file:
            size = 0
            for piece in pieces:
                self.count(len(piece))
                size += len(piece)
                if size > self.allowance.file_bytes:
                    raise TooMuch(what=f"'{path}'", size=f"more than {size - 1}", limit=self.allowance.file_bytes)
                file.write(piece)
        self.files += 1

    def link(self, name: str, leads_to: str) -> None:
        """Links are made last, so that nothing is ever written through one."""
        path = self._claim(name, is_folder=False)
        if not stays_inside(path, leads_to):
            raise UnsafeEntry(path=path[:100], why="it is a link that points outside")
        self._links.append((path, leads_to))

    def count(self, size: int) -> None:
        self.allowance.take_bytes(size)
        self._written += size
        if self._written > self._most:
            raise TooMuch(what="The unpacked archive", size=f"more than {self._most}", limit=self._most)

    def finish(self) -> int:
        for path, leads_to in self._links:
            self.target.make_link(path, leads_to)
        return self.files

    def _claim(self, name: str, *, is_folder: bool) -> str:
        self.allowance.take_entry()
        if "\\" in name:
            raise UnsafeEntry(path=name[:100], why="its name has a backslash, which some systems read as a folder")
        if is_folder and name.strip("./") == "":
            return ""
        path = safe_path(name, self.allowance.depth)
        folders = path.split("/")[:-1]
        for depth in range(1, len(folders) + 1):
            if self._seen.setdefault("/".join(folders[:depth]), True) is False:
                raise UnsafeEntry(path=path[:100], why="a file and a folder have the same name")
        known = self._seen.get(path)
        if known is not None and not (known and is_folder):
            raise UnsafeEntry(path=path[:100], why="it is there twice")
        self._seen[path] = is_folder
        return path


# --- tar --------------------------------------------------------------------------------------------


def _unpack_tar(source: BinaryIO, writer: _Writer) -> None:
    try:
        forward = _Forward(source, writer)
        with tarfile.TarFile(fileobj=forward, mode="r", errorlevel=2) as archive:
            while (member := archive.next()) is not None:
                _unpack_member(archive, member, writer, forward)
                archive.members.clear()  # type: ignore[attr-defined]  # these two would grow with the archive
                archive.pax_headers = {}
                forward.next_member()
    except RecursionError:  # tarfile calls itself for each header that belongs to the next one
        raise TooMuch(what="The headers of a tar file", size="a long row", limit="one member") from None
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError, ValueError) as error:
        raise Invalid(what="The archive", why=f"it cannot be read ({type(error).__name__})") from None


def _unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, writer: _Writer, forward: _Forward) -> None:
    if member.isdir():
        writer.folder(member.name)
    elif member.issym():
        writer.link(member.name, member.linkname)
    elif member.isreg() and not member.issparse():
        content = archive.extractfile(member)
        assert content is not None
        with content, forward.content():
            writer.file(member.name, iter(lambda: content.read(_PIECE), b""), bool(member.mode & 0o100))
    else:
        raise UnsafeEntry(path=member.name[:100], why="it is a hard link, a device or another special entry")


class _Forward(io.RawIOBase):
    """What tarfile reads from: forward only, in bounded pieces, counting headers and what it skips.

    tarfile keeps what the headers of a member say, so that they must not be many; and reading them takes time, so
    that those of all members together must not either.
    """

    def __init__(self, source: BinaryIO, writer: _Writer) -> None:
        self._source = source
        self._writer = writer
        self._headers_left = writer.allowance.files * _HEADER_BYTES + _READ_MAX
        self._member_left = _READ_MAX
        self._is_content = False
        self._at = 0
        self._last = b""  # the last byte given
        self._replay = False  # whether it is to be given again

    @contextmanager
    def content(self) -> Iterator[None]:
        """While the content of a member is read, which its writer counts."""
        self._is_content = True
        try:
            yield
        finally:
            self._is_content = False

    def next_member(self) -> None:
        """The headers so far are forgotten."""
        self._member_left = _READ_MAX

    def tell(self) -> int:
        return self._at

    def seek(self, place: int, whence: int = 0) -> int:
        if place == self._at - 1 and whence == 0 and self._last and not self._replay:
            self._replay = True  # tarfile looks at the last byte of a member again to see that it is there
            self._at -= 1
        if whence != 0 or place < self._at:
            raise ValueError("backwards")
        with self.content():
            while self._at < place and (skipped := self.read(min(_PIECE, place - self._at))):
                self._writer.count(len(skipped))
        return self._at

    def read(self, size: int = -1, /) -> bytes:
        if not 0 <= size <= _READ_MAX:
            raise ValueError("too much at once")
        again = self._last if self._replay and size else b""
        self._replay = self._replay and not size
        data = again + _read_fully(self._source, size - len(again))
        self._at += len(data)
        if not self._is_content:
            self._headers_left -= len(data)
            self._member_left -= len(data)
            if min(self._headers_left, self._member_left) < 0:
                raise TooMuch(what="The headers of a tar file", size="one more", limit=f"{_READ_MAX} bytes in a row")
        self._last = data[-1:] or self._last
        return data


def _read_fully(source: BinaryIO, size: int) -> bytes:
    pieces: list[bytes] = []
    while size > 0 and (piece := source.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _opened(source: BinaryIO, magic: bytes) -> BinaryIO:
    """The archive's bytes, decompressed as they are read and never more than asked for."""
    makers: dict[bytes, Callable[[], _Decompressor]] = {
        b"\x1f\x8b": _Gzip,
        b"BZh": bz2.BZ2Decompressor,
        b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_XZ_MEMORY_MAX),
    }
    for start, make in makers.items():
        if magic.startswith(start):
            return io.BufferedReader(_Decompressed(source, make()), _PIECE)
    return source


class _Gzip:
    """zlib with the same shape as the other decompressors."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    def decompress(self, data: bytes, max_length: int = 0) -> bytes:
        if self._zlib.eof:
            raise EOFError
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, max_length)


class _Decompressed(io.RawIOBase):
    """Bytes out of a decompressor, a bounded piece at a time."""

    def __init__(self, source: BinaryIO, decompressor: _Decompressor) -> None:
        self._source = source
        self._decompressor = decompressor

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while True:
            hungry = self._decompressor.needs_input
            packed = self._source.read(_PIECE) if hungry else b""
            try:
                data = self._decompressor.decompress(packed, len(view))
            except (EOFError, OSError):
                return 0
            if data:
                view[: len(data)] = data
                return len(data)
            if hungry and not packed:
                return 0


# --- zip --------------------------------------------------------------------------------------------


def _unpack_zip(source: BinaryIO, size: int, writer: _Writer, policy: SandboxPolicy) -> None:
    _check_zip_end(source, size, policy)
    try:
        with zipfile.ZipFile(source) as archive:
            for member in archive.infolist():
                _unpack_zip_member(archive, member, writer)
    except (zipfile.BadZipFile, NotImplementedError, zlib.error, lzma.LZMAError, EOFError) as error:
        raise Invalid(what="The archive", why=f"it cannot be read ({type(error).__name__})") from None


def _unpack_zip_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, writer: _Writer) -> None:
    mode = member.external_attr >> 16
    if not member.filename:
        raise UnsafeEntry(path="", why="it has no name")
    if member.flag_bits & 1:
        raise UnsafeEntry(path=member.filename[:100], why="it is encrypted")
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise UnsafeEntry(path=member.filename[:100], why="its compression is not allowed")
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise UnsafeEntry(path=member.filename[:100], why="it is a link, a device or another special entry")
    if member.is_dir():
        writer.folder(member.filename)
        return
    if member.header_offset < 0:  # zipfile moves what a directory says by where it found the directory
        raise Invalid(what="The archive", why="a file in it begins before the archive does")
    with archive.open(member) as content:
        writer.file(member.filename, iter(lambda: content.read(_PIECE), b""), bool(mode & 0o100))


def _check_zip_end(source: BinaryIO, size: int, policy: SandboxPolicy) -> None:
    """zipfile reads the whole directory at once, so its size is looked at first."""
    source.seek(max(0, size - 65_557))
    tail = source.read()
    at = tail.rfind(b"PK\5\6")
    if at < 0 or len(tail) - at < _ZIP_END.size:
        raise Invalid(what="The archive", why="it has no end")
    if tail[max(0, at - 20) :].startswith(b"PK\6\7"):
        raise TooMuch(what="The archive", size="zip64", limit="the size of an ordinary zip file")
    _, _, _, _, entries, directory_bytes, offset, _ = _ZIP_END.unpack_from(tail, at)
    if 0xFFFFFFFF in (directory_bytes, offset) or entries == 0xFFFF:
        raise TooMuch(what="The archive", size="zip64", limit="the size of an ordinary zip file")
    if entries > policy.files_max or directory_bytes > policy.files_max * _ZIP_ENTRY_BYTES:
        raise TooMuch(what="The number of files", size=entries, limit=policy.files_max)
    _count_zip_entries(source, size - len(tail) + at - directory_bytes, directory_bytes, policy)
    source.seek(0)


def _count_zip_entries(source: BinaryIO, begin: int, length: int, policy: SandboxPolicy) -> None:
    """The number at the end may be a lie: zipfile makes an object of every entry that it finds."""
    if begin < 0:
        raise Invalid(what="The archive", why="its directory begins before the file does")
    source.seek(begin)
    found = source.read(length).count(_ZIP_ENTRY)
    if found > policy.files_max:
        raise TooMuch(what="The number of files", size=found, limit=policy.files_max)
