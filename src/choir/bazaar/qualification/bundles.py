"""A git bundle of files in one commit, written without git: the repository of a job that the node makes up, or of an
archive that somebody sent.

The format is git's own: objects named by the SHA-1 of their header and content, a pack (version 2), and a bundle
header (version 2) that names the commit. Author, date and branch are those that buyers' bundles have.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COMMIT, _TREE, _BLOB = 1, 2, 3
_NAMES = {_COMMIT: b"commit", _TREE: b"tree", _BLOB: b"blob"}
_WHO = b"choir <choir@localhost> 1000000000 +0000"
_BRANCH = "refs/heads/choir"
PLAIN, EXECUTABLE, LINK = "100644", "100755", "120000"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The bytes of a bundle, and the commit that it holds."""

    data: bytes
    commit: str


def blob_name(content: bytes) -> str:
    """What git calls a file with this content."""
    return _sha1(_BLOB, content).hex()


def bundle_of(files: Mapping[str, bytes], modes: Mapping[str, str] | None = None) -> Bundle:
    """A bundle of these files by their paths. A file is a plain one unless its mode is given, in git's digits."""
    objects: dict[bytes, tuple[int, bytes]] = {}
    folder: dict[bytes, Any] = {}
    for path, content in files.items():
        *above, last = os.fsencode(path).split(b"/")
        place = folder
        for each in above:
            place = place.setdefault(each, {})
        place[last] = ((modes or {}).get(path, PLAIN).encode(), _add(objects, _BLOB, content))
    root = _tree(folder, objects).hex().encode()
    commit = b"tree %s\nauthor %s\ncommitter %s\n\nbase\n" % (root, _WHO, _WHO)
    made = [(_COMMIT, commit), *objects.values()]
    pack = b"PACK" + struct.pack(">II", 2, len(made)) + b"".join(_packed(*item) for item in made)
    name = _sha1(_COMMIT, commit).hex()
    head = f"# v2 git bundle\n{name} {_BRANCH}\n\n".encode()
    return Bundle(head + pack + hashlib.sha1(pack, usedforsecurity=False).digest(), name)


def _tree(folder: Mapping[bytes, Any], objects: dict[bytes, tuple[int, bytes]]) -> bytes:
    """The tree of a folder. Git sorts folders as if their names ended with a slash."""
    rows = []
    for name, item in folder.items():
        if isinstance(item, dict):
            rows.append((name + b"/", b"40000 " + name + b"\0" + _tree(item, objects)))
        else:
            rows.append((name, item[0] + b" " + name + b"\0" + item[1]))
    return _add(objects, _TREE, b"".join(row for _, row in sorted(rows)))


def _add(objects: dict[bytes, tuple[int, bytes]], kind: int, content: bytes) -> bytes:
    """Keep an object, once; its name."""
    name = _sha1(kind, content)
    objects.setdefault(name, (kind, content))
    return name


def _sha1(kind: int, content: bytes) -> bytes:
    head = b"%s %d\0" % (_NAMES[kind], len(content))
    return hashlib.sha1(head + content, usedforsecurity=False).digest()


def _packed(kind: int, content: bytes) -> bytes:
    """An object in a pack: its kind and size in groups of bits, then its content compressed."""
    size = len(content)
    head = bytearray([kind << 4 | size & 15])
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head) + zlib.compress(content)
