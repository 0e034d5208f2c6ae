"""A skill's folder on this machine, as files to publish.

Guarantees: only regular files are read, and none through a link; a link, a device or too much is refused before
anything is sent; what git and the system leave behind (.git, .DS_Store) is left out.
"""

from __future__ import annotations

import base64
import os
import stat
from pathlib import Path
from typing import Any

from choir.bazaar.contracts.skills import MAIN
from choir.foundation.errors import Invalid
from choir.foundation.words import on_screen

_LEFT_OUT = frozenset({".git", ".DS_Store", "__pycache__"})
_DESCRIPTION = "description:"
_FENCE = "---"


def files_of(folder: Path, files_max: int, bytes_max: int) -> list[dict[str, Any]]:
    """The files of a folder, as a request has them."""
    if not (folder / MAIN).is_file():
        raise Invalid(what=f"The folder {folder}", why=f"it has no {MAIN}")
    found: list[dict[str, Any]] = []
    size = 0
    for place, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(name for name in folders if name not in _LEFT_OUT)
        for name in sorted(names):
            if name in _LEFT_OUT:
                continue
            file = Path(place) / name
            data, executable = _read(file, folder, bytes_max - size)
            size += len(data)
            path = file.relative_to(folder).as_posix()
            found.append({"path": path, "content": base64.b64encode(data).decode(), "executable": executable})
            if len(found) > files_max:
                raise Invalid(what=f"The folder {folder}", why=f"it has more than {files_max} files")
        _refuse_links(Path(place), folders, folder)
    return found


def _read(file: Path, folder: Path, most: int) -> tuple[bytes, bool]:
    try:
        number = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Invalid(what=_shown(file, folder), why="it is a link, or cannot be read") from error
    with os.fdopen(number, "rb") as opened:
        state = os.fstat(opened.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_size > most:
            raise Invalid(what=_shown(file, folder), why="it is not a regular file, or the skill becomes too large")
        return opened.read(most + 1)[:most], bool(state.st_mode & 0o111)


def _refuse_links(place: Path, folders: list[str], top: Path) -> None:
    for name in folders:
        if (place / name).is_symlink():
            raise Invalid(what=_shown(place / name, top), why="it is a link")


def _shown(file: Path, folder: Path) -> str:
    return f"'{on_screen(file.relative_to(folder).as_posix()[:100])}'"


def description_of(folder: Path) -> str:
    """What `SKILL.md` says about itself: its `description`, else its first line of text; nothing if it has none."""
    lines = (folder / MAIN).read_text(encoding="utf-8", errors="replace").splitlines()
    head: list[str] = []
    if lines and lines[0].strip() == _FENCE and _FENCE in [line.strip() for line in lines[1:]]:
        end = [line.strip() for line in lines[1:]].index(_FENCE) + 1
        head, lines = lines[1:end], lines[end + 1 :]
    said = [line[len(_DESCRIPTION) :].strip().strip("\"'") for line in head if line.startswith(_DESCRIPTION)]
    text = [line.strip().lstrip("#").strip() for line in lines if line.strip()]
    return next((line for line in (*said, *text) if line), "")
