"""Removing a folder that hostile code has filled.

Guarantees: no link is followed; no depth of nesting and no closed folder stops it, because whatever is nested is
first moved to the top; the answer says whether the folder is gone.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> bool:
    """Remove a folder with all that is in it; True if nothing of it is left."""
    try:
        top = _open_opened(str(path), None)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        _empty(top)
    except OSError:
        return False
    finally:
        os.close(top)
    with suppress(OSError):
        path.rmdir()
    return not path.exists()


def _empty(top: int) -> None:
    """Level by level: the folders inside a folder are moved up beside it, so that the descent is never deep."""
    moved = 0
    while names := os.listdir(top):
        for name in names:
            if not _is_folder(top, name):
                os.unlink(name, dir_fd=top)
                continue
            inner = _open_opened(name, top)
            try:
                moved = _lift(inner, top, moved)
            finally:
                os.close(inner)
            os.rmdir(name, dir_fd=top)


def _lift(inner: int, top: int, moved: int) -> int:
    """Remove the files of a folder and move its folders to the top."""
    for name in os.listdir(inner):
        if not _is_folder(inner, name):
            os.unlink(name, dir_fd=inner)
            continue
        os.close(_open_opened(name, inner))  # a folder that may not be written to may not be moved either
        while _exists(top, f"{moved}"):
            moved += 1
        os.rename(name, f"{moved}", src_dir_fd=inner, dst_dir_fd=top)
    return moved


def _open_opened(name: str, home: int | None) -> int:
    """Open a folder after giving its owner all rights to it; by descriptor, so that no link is taken for it."""
    place = os.open(name, os.O_PATH | _FOLDER, dir_fd=home)
    try:
        itself = f"/proc/self/fd/{place}"
        with suppress(PermissionError):
            os.chmod(itself, 0o700)  # noqa: PTH101
        return os.open(itself, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(place)


def _is_folder(home: int, name: str) -> bool:
    return os.stat(name, dir_fd=home, follow_symlinks=False).st_mode & 0o170000 == 0o040000


def _exists(home: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=home, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
