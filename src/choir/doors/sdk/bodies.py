"""The body of an answer, read to its end and no further than is sensible.

Guarantees: whoever answers, a caller holds at most so many bytes of it, compressed or not, and waits for it at most so
long, however slowly it drips. What takes too long counts as a broken connection, what is too large as a fault.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx

from choir.doors.sdk.errors import NodeError

BYTES_MAX = 64 * 1024 * 1024  # several times the largest part of a blob, and the longest page of a listing
SECONDS_MAX = 300.0
_DECODED = ("content-encoding", "content-length", "transfer-encoding")


class Body:
    """What has come of an answer so far."""

    def __init__(
        self,
        answer: httpx.Response,
        *,
        bytes_max: int = BYTES_MAX,
        seconds_max: float = SECONDS_MAX,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._answer = answer
        self._bytes_max = bytes_max
        self._now = now
        self._until = now() + seconds_max
        self._pieces: list[bytes] = []
        self._size = 0

    def take(self, piece: bytes) -> None:
        """The next piece of it."""
        self._size += len(piece)
        if self._size > self._bytes_max:
            raise NodeError(detail=f"The node's answer is longer than {self._bytes_max} bytes.")
        if self._now() > self._until:
            raise httpx.ReadTimeout("the answer takes too long", request=self._answer.request)
        self._pieces.append(piece)

    def whole(self) -> httpx.Response:
        """The answer with its body."""
        headers = [(name, value) for name, value in self._answer.headers.multi_items() if name not in _DECODED]
        content = b"".join(self._pieces)
        return httpx.Response(self._answer.status_code, headers=headers, content=content, request=self._answer.request)


def read(answer: httpx.Response) -> httpx.Response:
    """All of an answer that was begun to be read; its connection is given back."""
    try:
        body = Body(answer)
        for piece in answer.iter_bytes():
            body.take(piece)
    finally:
        answer.close()
    return body.whole()


async def read_async(answer: httpx.Response) -> httpx.Response:
    """The same for an event loop."""
    try:
        body = Body(answer)
        async for piece in answer.aiter_bytes():
            body.take(piece)
    finally:
        await answer.aclose()
    return body.whole()
