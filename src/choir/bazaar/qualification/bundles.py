"""A git bundle of a few files in one commit, written without git: the repository of a job that the node makes up.

The format is git's own: objects named by the SHA-1 of their header and content, a pack (version 2), and a bundle
header (version 2) that names the commit. Author, date and branch are those that buyers' bundles have.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

_COMMIT, _TREE, _BLOB = 1, 2, 3
_NAMES = {_COMMIT: b"commit", _TREE: b"tree", _BLOB: b"blob"}
_WHO = b"choir <choir@localhost> 1000000000 +0000"
_BRANCH = "refs/heads/choir"


@dataclass(frozen=True, slots=True)
class Bundle:
    """The bytes of a bundle, and the commit that it holds."""

    data: bytes
    commit: str


def blob_name(content: bytes) -> str:
    """What git calls a file with this content."""
    return _sha1(_BLOB, content).hex()


def bundle_of(files: Mapping[str, bytes]) -> Bundle:
    """A bundle of these files, all at the top of the tree."""
    blobs = [(name.encode(), content) for name, content in sorted(files.items(), key=lambda item: item[0].encode())]
    tree = b"".join(b"100644 " + name + b"\0" + _sha1(_BLOB, content) for name, content in blobs)
    root = _sha1(_TREE, tree).hex().encode()
    commit = b"tree %s\nauthor %s\ncommitter %s\n\nbase\n" % (root, _WHO, _WHO)
    objects = [(_COMMIT, commit), (_TREE, tree), *((_BLOB, content) for _, content in blobs)]
    pack = b"PACK" + struct.pack(">II", 2, len(objects)) + b"".join(_packed(*item) for item in objects)
    name = _sha1(_COMMIT, commit).hex()
    head = f"# v2 git bundle\n{name} {_BRANCH}\n\n".encode()
    return Bundle(head + pack + hashlib.sha1(pack, usedforsecurity=False).digest(), name)


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
