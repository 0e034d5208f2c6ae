"""What goes over a connection of the proxy, piece by piece: bodies, chunks, heads of answers, TLS greetings.

Guarantees: no piece is larger than `PIECE`, whatever the other side says of its size; what cannot be read as it is
announced ends the transfer; an answer that holds the credential is stopped before any part of that has gone on.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from choir.sandbox.egress import rules
from choir.sandbox.egress.model import EgressFailed, EgressRule

PIECE = 65_536
_SECRET_BYTES_MIN = 8  # shorter ones are found by chance
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}\Z")


class Cut(Exception):
    """A limit was reached in the middle of a transfer."""


class Guard:
    """Lets an answer through piece by piece, but holds back what may be the beginning of the credential."""

    def __init__(self, rule: EgressRule | None) -> None:
        credential = rule.credential if rule else None
        secret = credential.value.split(" ")[-1].encode() if credential else b""
        self._secret = secret if len(secret) >= _SECRET_BYTES_MIN else b""
        self._held = b""

    def pass_on(self, piece: bytes) -> bytes:
        """What may go on now."""
        text = self._held + piece
        if not self._secret:
            return text
        if self._secret in text:
            raise Cut("the answer held the credential")
        begun = next(n for n in range(len(self._secret) - 1, -1, -1) if text.endswith(self._secret[:n]))
        self._held = text[len(text) - begun :]
        return text[: len(text) - begun]

    def rest(self) -> bytes:
        """What is left at the end. Most of a credential is as good as all of it."""
        if len(self._held) >= max(_SECRET_BYTES_MIN, len(self._secret) // 2):
            raise Cut("the answer held a part of the credential")
        held, self._held = self._held, b""
        return held


async def read_hello(reader: asyncio.StreamReader) -> bytes:
    """The first TLS record, or the first bytes of whatever else it is."""
    head = await reader.readexactly(5)
    if head[0] != rules.TLS_HANDSHAKE:
        return head
    size = int.from_bytes(head[3:5])
    return head + await reader.readexactly(min(size, 16_384))


LAST_CHUNK = b"0\r\n\r\n"


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(piece), piece)


async def chunks(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The content of a chunked body in bounded pieces; what follows the last chunk is not read."""
    while True:
        size = (await reader.readline()).partition(b";")[0].strip()
        if not _CHUNK_SIZE.match(size):
            raise Cut("the chunks of the body cannot be read")
        left = int(size, 16)
        if left == 0:
            return
        while left:
            piece = await reader.read(min(PIECE, left))
            if not piece:
                raise Cut("the body ended in the middle of a chunk")
            left -= len(piece)
            yield piece
        if await reader.readexactly(2) != b"\r\n":
            raise Cut("the chunks of the body cannot be read")


async def plain(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    """The content of a body of known length, or until the end (-1)."""
    left = length
    while left != 0 and (piece := await reader.read(PIECE if left < 0 else min(PIECE, left))):
        left -= len(piece) if left > 0 else 0
        yield piece


@dataclass(frozen=True, slots=True)
class Answer:
    """The head of an answer."""

    status: int
    kept: bytes  # as it is handed on
    length: int  # of the body; -1: until the end
    chunked: bool


def answer_head(head: bytes) -> Answer:
    """Taken apart. An answer that says its length in two ways is handed on with one."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        raise EgressFailed(why="the answer cannot be read")
    headers = [(line.partition(b":")[0].lower().strip(), line.partition(b":")[2].strip(), line) for line in lines[1:]]
    codings = [value.lower() for name, value, _ in headers if name == b"transfer-encoding"]
    if codings and codings != [b"chunked"]:
        raise EgressFailed(why="the answer is packed in a way that was not asked for")
    lengths = {value for name, value, _ in headers if name == b"content-length" and value.isdigit()}
    if len(lengths) > 1:
        raise EgressFailed(why="the answer says its length in two ways")
    dropped = {b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"upgrade", b"trailer"}
    dropped |= {b"content-length"} if codings else set()
    kept = [b"HTTP/1.1 " + b" ".join(words[1:]), *(line for name, _, line in headers if name not in dropped)]
    length = -1 if codings or not lengths else int(lengths.pop())
    return Answer(int(words[1]), b"\r\n".join([*kept, b"Connection: close", b"", b""]), length, bool(codings))
