"""Strangers' texts on a page: diffs, outputs, names.

Guarantees: pure; every letter that could deceive (control characters, marks of direction, what has no width) is shown
by its number instead of acting; lines and texts are cut; a line inside a hunk is never taken for a header of a diff.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

LINE_CHARS_MAX = 400
_HUNK = re.compile(rb"@@ -\d{1,9}(?:,(\d{1,9}))? \+\d{1,9}(?:,(\d{1,9}))? @@")
_KINDS = {b"+": "plus", b"-": "minus"}


def visible(text: str, most: int = LINE_CHARS_MAX) -> str:
    """A line with nothing in it that acts, cut at the end."""
    cut = text[:most]
    shown = "".join(letter if letter.isprintable() or letter == "\t" else f"⟨U+{ord(letter):04X}⟩" for letter in cut)
    return shown if len(text) <= most else f"{shown}…"


def paragraph(text: str, lines_max: int = 60, chars_max: int = 8_000) -> str:
    """A text of several lines, likewise."""
    lines = text[:chars_max].replace("\r\n", "\n").split("\n")
    more = len(lines) > lines_max or len(text) > chars_max
    return "\n".join([*(visible(line, chars_max) for line in lines[:lines_max]), *(["…"] if more else [])])


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a listing; its kind is a class: plus, minus, file or none."""

    text: str
    kind: str = ""


@dataclass(slots=True)
class FileRows:
    """What a diff says of one file."""

    path: str = ""
    rows: list[Row] = field(default_factory=list)
    added: int = 0
    removed: int = 0
    begun: bool = False  # a hunk of it was seen


@dataclass(frozen=True, slots=True)
class Listing:
    """Lines of a text, and whether there are more."""

    rows: tuple[Row, ...]
    more: bool = False


@dataclass(frozen=True, slots=True)
class DiffView:
    """A diff by files, and whether there is more of it."""

    files: tuple[FileRows, ...]
    more: bool = False


def listing(data: bytes, lines_max: int) -> Listing:
    """What a program wrote."""
    lines = data[: lines_max * LINE_CHARS_MAX].decode(errors="replace").replace("\r\n", "\n").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    more = len(lines) > lines_max or len(data) > lines_max * LINE_CHARS_MAX
    return Listing(tuple(Row(visible(line)) for line in lines[:lines_max]), more)


def diff_view(data: bytes, lines_max: int, *, whole: bool = True) -> DiffView:
    """A diff by files. `whole`: there are no more bytes of it than these."""
    lines = data.split(b"\n")
    if lines and lines[-1] == b"":
        lines.pop()
    reader = _Reader()
    for line in lines[:lines_max]:
        reader.take(line)
    return DiffView(tuple(reader.files), more=len(lines) > lines_max or not whole)


class _Reader:
    """The state between lines."""

    def __init__(self) -> None:
        self.files: list[FileRows] = []
        self._old = self._new = 0  # lines that the hunk still has on each side

    def take(self, line: bytes) -> None:
        if self._old > 0 or self._new > 0:
            self._inside(line)
        else:
            self._header(line)

    def _inside(self, line: bytes) -> None:
        sign, file = line[:1], self.files[-1]
        if sign in (b"-", b" ", b""):
            self._old -= 1
        if sign in (b"+", b" ", b""):
            self._new -= 1
        file.added += sign == b"+"
        file.removed += sign == b"-"
        if sign not in (b"-", b"+", b" ", b"", b"\\"):
            self._old = self._new = 0  # the counts lied; what follows is read as headers
        file.rows.append(Row(visible(line.decode(errors="replace")), _KINDS.get(sign, "")))

    def _header(self, line: bytes) -> None:
        hunk = _HUNK.match(line)
        starts = line.startswith(b"diff --git ") or (line.startswith(b"--- ") and (self._file().begun))
        file = self._next() if starts else self._file()
        if hunk:
            self._old, self._new = int(hunk[1] or b"1"), int(hunk[2] or b"1")
            file.begun = True
        if line.startswith((b"+++ ", b"--- ")) and not line[4:].startswith(b"/dev/null"):
            file.path = visible(line[4:].split(b"\t")[0].decode(errors="replace").removeprefix("a/").removeprefix("b/"))
        elif line.startswith(b"diff --git "):
            file.path = visible(line[11:].rpartition(b" ")[2].decode(errors="replace").removeprefix("b/"))
        file.rows.append(Row(visible(line.decode(errors="replace")), "file"))

    def _file(self) -> FileRows:
        return self.files[-1] if self.files else self._next()

    def _next(self) -> FileRows:
        self.files.append(FileRows())
        return self.files[-1]
