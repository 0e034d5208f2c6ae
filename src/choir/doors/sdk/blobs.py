"""Bytes to and from a node, in whatever number of parts.

Guarantees: what was fetched hashes to the name it was asked for by, or it is an error; no more is read than the
limit; an upload that broke off goes on with the parts that are missing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from choir.foundation.errors import Broken, TooLarge

if TYPE_CHECKING:
    from choir.doors.sdk.client import Client

INLINE_BYTES_MAX = 150_000  # in base64 still below what a request that is signed by a key may have
_PIECE_BYTES = 1 << 20
_ROUNDS_MAX = 1_000  # an upload tells of a thousand missing parts at a time

Part = Callable[[int], bytes]


class WrongBytes(Broken):
    """What came is not what was asked for."""

    code = "sdk.wrong_bytes"
    sentence = "{what} does not match its hash, {hash}."
    hint = "Do not use it. Keep the job's id and tell the node's operator."


def to_send(client: Client, data: bytes | Path) -> dict[str, str]:
    """The bytes as a request carries them: in it where they are few, else as the name of an upload."""
    if isinstance(data, bytes) and len(data) <= INLINE_BYTES_MAX:
        return {"data": base64.b64encode(data).decode()}
    if isinstance(data, Path) and data.stat().st_size <= INLINE_BYTES_MAX:
        return {"data": base64.b64encode(data.read_bytes()).decode()}
    return {"hash": upload(client, data)}


def upload(client: Client, data: bytes | Path) -> str:
    """Send bytes in parts; returns their hash, by which they are known from then on."""
    size, name = _measured(data)
    begun = client.uploads.begin(size, name)
    for _ in range(_ROUNDS_MAX):
        if begun.done or not begun.missing:
            break
        with _opened(data) as file:
            for n in begun.missing:
                file.seek(n * begun.part_bytes)
                client.uploads.put_part(begun.id, n, file.read(begun.part_bytes))
        begun = client.uploads.get(begun.id)
    if not begun.done:
        begun = client.uploads.finish(begun.id)
    return begun.hash


def whole(part: Part, name: str, what: str, bytes_max: int) -> bytes:
    """All parts of something, if they hash to its name."""
    return b"".join(_pieces(part, name, what, bytes_max))


def whole_file(part: Part, name: str, what: str, bytes_max: int, file: Path) -> Path:
    """The same into a file."""
    with file.open("wb") as out:
        for piece in _pieces(part, name, what, bytes_max):
            out.write(piece)
    return file


def _pieces(part: Part, name: str, what: str, bytes_max: int) -> Iterator[bytes]:
    """Ends as soon as the hash fits, so that what has one part takes one request."""
    digest = hashlib.sha256()
    size = n = 0
    while True:
        piece = part(n)
        size += len(piece)
        if size > bytes_max:
            raise TooLarge(what=what, size=size, limit=bytes_max)
        digest.update(piece)
        yield piece
        if f"sha256:{digest.hexdigest()}" == name:
            return
        if not piece:
            raise WrongBytes(what=what, hash=name)
        n += 1


def _measured(data: bytes | Path) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    with _opened(data) as file:
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            size += len(piece)
    return size, f"sha256:{digest.hexdigest()}"


def _opened(data: bytes | Path) -> BinaryIO:
    import io

    return io.BytesIO(data) if isinstance(data, bytes) else data.open("rb")
