"""Reading a unified diff line by line, with or without git's headers.

Used to name reasons and to know which lines a review may point at. What a patch does is never taken from here: that
is seen in the tree after it was applied. A line inside a hunk is never mistaken for a header.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_HUNK = re.compile(rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_MODE = re.compile(rb"(?:old mode|new mode|new file mode|deleted file mode) ([0-7]{1,7})\s*\Z")
_INDEX_MODE = re.compile(rb"index [0-9a-f]+\.\.[0-9a-f]+ ([0-7]{6})\s*\Z")
_PATH = re.compile(rb"(?:---|\+\+\+) (.*)\Z", re.DOTALL)
_MOVE = re.compile(
    rb"(?:rename (?:from|to|old|new)|copy (?:from|to)) (.*)\Z", re.DOTALL
)  # old and new: git reads them too
_LITERAL = re.compile(rb"(?:literal|delta) (\d{1,15})\s*\Z")
_SLASHES = re.compile(r"/+")  # git takes several for one
_OCTAL = re.compile(r"[0-7]{3}")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", '"': '"', "\\": "\\"}


@dataclass(slots=True)
class FileDiff:
    """What a diff says of one file."""

    old_path: str | None = None  # None: it is new
    new_path: str | None = None  # None: it is deleted
    old_lines: dict[int, str] = field(default_factory=dict)  # number -> text without its end
    new_lines: dict[int, str] = field(default_factory=dict)
    added: set[int] = field(default_factory=set)  # numbers on the new side
    binary: bool = False

    @property
    def path(self) -> str:
        return self.new_path or self.old_path or ""

    @property
    def lines(self) -> dict[int, str]:
        """The side that a review points at."""
        return self.old_lines if self.new_path is None else self.new_lines


@dataclass(slots=True)
class Headers:
    """All that the headers name, good or bad."""

    paths: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)  # both sides of what is copied or renamed, as paths of the tree
    modes: set[str] = field(default_factory=set)
    literal_bytes: int = 0  # what the binary parts say they grow to


@dataclass(slots=True)
class Diff:
    """A diff, read."""

    files: list[FileDiff] = field(default_factory=list)
    headers: Headers = field(default_factory=Headers)


class _Reader:
    """The state between lines."""

    def __init__(self) -> None:
        self.diff = Diff()
        self.file: FileDiff | None = None
        self.old_left = self.new_left = 0
        self.old_at = self.new_at = 0
        self.renamed_from: str | None = None

    def read(self, data: bytes) -> Diff:
        for line in data.split(b"\n"):
            if self.old_left > 0 or self.new_left > 0:
                self._inside(line)
            else:
                self._header(line)
        return self.diff

    def _inside(self, line: bytes) -> None:
        assert self.file is not None
        sign, text = line[:1], line[1:].decode(errors="replace").removesuffix("\r")
        if sign == b"\\":
            return
        if sign in (b"-", b" ", b""):
            self.file.old_lines[self.old_at] = text
            self.old_at, self.old_left = self.old_at + 1, self.old_left - 1
        if sign in (b"+", b" ", b""):
            self.file.new_lines[self.new_at] = text
            if sign == b"+":
                self.file.added.add(self.new_at)
            self.new_at, self.new_left = self.new_at + 1, self.new_left - 1
        if sign not in (b"-", b"+", b" ", b""):
            self.old_left = self.new_left = 0  # the counts lied; what follows is read as headers

    def _header(self, line: bytes) -> None:
        headers = self.diff.headers
        if found := _HUNK.match(line):
            self._hunk(found)
        elif line.startswith(b"diff --git "):
            self.file = None
            headers.paths |= _git_paths(line[len(b"diff --git ") :])
        elif found := _MODE.match(line) or _INDEX_MODE.match(line):
            headers.modes.add(found[1].decode())
        elif found := _LITERAL.match(line):
            headers.literal_bytes += int(found[1])
            if self.file is not None:
                self.file.binary = True
        elif found := _MOVE.match(line):
            self._move(_whole_name(found[1]))
        elif found := _PATH.match(line):
            self._path(line.split(b" ")[0], _name(found[1]))

    def _path(self, word: bytes, name: str | None) -> None:
        if name is not None:
            self.diff.headers.paths.add(name)
        if word == b"---":
            self.file = FileDiff(old_path=_stripped(name))
            self.diff.files.append(self.file)
        elif word == b"+++" and self.file is not None:
            self.file.new_path = _stripped(name)

    def _move(self, name: str) -> None:
        self.diff.headers.paths.add(name)
        self.diff.headers.moved.add(_SLASHES.sub("/", name))

    def _hunk(self, found: re.Match[bytes]) -> None:
        if self.file is None:
            self.file = FileDiff()
            self.diff.files.append(self.file)
        self.old_at, self.new_at = int(found[1]), int(found[3])
        self.old_left = int(found[2] or b"1")
        self.new_left = int(found[4] or b"1")


def read_diff(data: bytes) -> Diff:
    """The diff as far as it can be read; never raises."""
    return _Reader().read(data)


def _name(raw: bytes) -> str | None:
    """A path in a header: quoted as git does it, or bare up to a tab; None for /dev/null."""
    text = raw.split(b"\t")[0].rstrip(b"\r ").decode(errors="surrogateescape")
    if text == "/dev/null":
        return None
    return _unquoted(text) if text.startswith('"') else text


def _whole_name(raw: bytes) -> str:
    """A path in a header of a copy or rename, which goes to the line's end, tabs and all."""
    text = raw.rstrip(b"\r ").decode(errors="surrogateescape")
    return _unquoted(text) if text.startswith('"') else text


def _unquoted(text: str) -> str:
    out = bytearray()
    place = 1
    while place < len(text) and text[place] != '"':
        if text[place] != "\\":
            out += text[place].encode(errors="surrogateescape")
            place += 1
        elif octal := _OCTAL.match(text, place + 1):  # without a copy of the rest: a name can be megabytes long
            out.append(int(octal[0], 8) & 0xFF)
            place += 4
        else:
            out += _ESCAPES.get(text[place + 1 : place + 2], "").encode()
            place += 2
    return out.decode(errors="surrogateescape")


def _stripped(name: str | None) -> str | None:
    """Without the first part, as git applies it."""
    if name is None or "/" not in name:
        return name
    return name.split("/", 1)[1]


def _git_paths(rest: bytes) -> set[str]:
    """Both names of a `diff --git` line. Names with spaces are ambiguous there; the other headers name them."""
    text = rest.rstrip(b"\r\n").decode(errors="surrogateescape")
    parts = re.findall(r'"(?:[^"\\]|\\.)*"|\S+', text)
    return {_unquoted(part) if part.startswith('"') else part for part in parts}
