"""Whatever answers at a node's address, the SDK neither fills the memory nor waits for ever nor breaks."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest

from choir.doors.sdk import answers, bodies
from choir.doors.sdk.bodies import BYTES_MAX, Body
from choir.doors.sdk.errors import NodeError
from choir.doors.sdk.streams import StreamEvent
from choir.sdk import AsyncClient, Client
from tests.doors.servers import answer, problem, script

REQUEST = httpx.Request("GET", "http://node")


class Endless(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that never ends, and counts what was taken of it."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[bytes]:
        while True:
            self.taken += 1 << 20
            yield b" " * (1 << 20)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    stream = Endless()
    with pytest.raises(NodeError, match="longer than"):
        bodies.read(httpx.Response(200, stream=stream, request=REQUEST))
    assert stream.taken <= BYTES_MAX + (1 << 20)
    stream = Endless()
    with pytest.raises(NodeError, match="longer than"):
        asyncio.run(bodies.read_async(httpx.Response(200, stream=stream, request=REQUEST)))
    assert stream.taken <= BYTES_MAX + (1 << 20)


def test_an_answer_that_drips_counts_as_a_broken_connection() -> None:
    seconds = iter(range(100))
    body = Body(httpx.Response(200, request=REQUEST), seconds_max=3, now=lambda: float(next(seconds)))
    for _ in range(3):
        body.take(b"x")
    with pytest.raises(httpx.ReadTimeout):
        body.take(b"x")


def raw(data: bytes, *headers: str) -> bytes:
    lines = ["HTTP/1.1 200 X", "Connection: close", f"Content-Length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def sync(url: str) -> object:
    with Client(url, "t", patience_s=0) as client:
        return client.node()


def in_a_loop(url: str) -> object:
    async def ask() -> object:
        client = AsyncClient(url, "t", patience_s=0)
        try:
            return await client.node()
        finally:
            await client.close()

    return asyncio.run(ask())


@pytest.mark.parametrize("ask", [sync, in_a_loop])
def test_what_is_small_only_while_it_is_compressed_is_too_large(ask: Callable[[str], object]) -> None:
    bomb = gzip.compress(b" " * (BYTES_MAX + 1))
    assert len(bomb) < 100_000
    with script(raw(bomb, "Content-Encoding: gzip")) as node, pytest.raises(NodeError, match="longer than"):
        ask(node.url)


@pytest.mark.parametrize("ask", [sync, in_a_loop])
@pytest.mark.parametrize("status", [200, 400, 503])
def test_an_answer_that_is_nested_without_end_is_no_answer(ask: Callable[[str], object], status: int) -> None:
    with script(answer(status, "[" * 100_000)) as node, pytest.raises(NodeError):
        ask(node.url)


def test_an_event_that_is_nested_without_end_is_no_event() -> None:
    with pytest.raises(NodeError):
        _ = StreamEvent("1", "x", "[" * 100_000).value


@pytest.mark.parametrize(
    ("code", "fields"),
    [
        ("sdk.no_node", '{"self": 1, "url": "x"}'),
        ("sdk.verdict_differs", '{"differences": "x"}'),
        ("storage.disk", "[1]"),
        ("sdk.no_node", "7"),
    ],
)
def test_a_refusal_with_fields_that_do_not_fit_is_still_one(code: str, fields: str) -> None:
    with script(problem(400, code, fields)) as node, pytest.raises(NodeError) as caught:
        sync(node.url)
    assert caught.value.advice == ""


def test_a_hint_that_lacks_its_fields_is_not_shown() -> None:
    from choir.doors.provider.model import IsolationMissing

    found = answers.error_of(IsolationMissing.code, "It was said.", {"tier": "gvisor", "why": "x"})
    assert isinstance(found, NodeError)
    assert str(found) == "It was said."
