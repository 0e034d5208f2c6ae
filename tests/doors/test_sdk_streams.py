"""Streams: events are whole or not there, and a broken connection is gone on from where it broke."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.doors.sdk.calls import Call, R, Room, stream
from choir.doors.sdk.errors import NodeError, NoNode
from choir.doors.sdk.streams import EventReader, StreamEvent
from choir.doors.sdk.transport import AsyncTransport, Transport
from choir.doors.shapes import Wire
from choir.foundation.errors import Unauthenticated
from tests.doors.servers import problem, script
from tests.operations.nodes import free_port


class Tick(Wire):
    n: int


class Ticks(Room[R]):
    @stream
    def ticks(self, after: str | None = None) -> Call[Tick]:
        """Numbers."""
        return Call("GET", "/v1/ticks", Tick, after=after)


def sync_ticks(url: str, *, patience_s: float = 5) -> Ticks[Transport]:
    return Ticks(Transport(url, None, timeout_s=5, patience_s=patience_s, connect_s=patience_s))


def async_ticks(url: str) -> Ticks[AsyncTransport]:
    return Ticks(AsyncTransport(url, None, timeout_s=5, patience_s=5, connect_s=5))


def events(*numbers: int, rest: str = "") -> bytes:
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\nretry: 10\n\n"
    body = "".join(f': a sign of life\n\nid: {n}\nevent: tick\ndata: {{"n": {n}}}\n\n' for n in numbers)
    return (head + body + rest).encode()


def asked_behind(requests: list[bytes]) -> list[str | None]:
    found: list[str | None] = []
    for request in requests:
        lines = [line.decode() for line in request.split(b"\r\n")]
        ids = [line.partition(": ")[2] for line in lines if line.lower().startswith("last-event-id:")]
        found.append(ids[0] if ids else None)
    return found


# Reading


def read(data: bytes, cuts: list[int]) -> list[StreamEvent]:
    reader = EventReader()
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return [told for low, high in itertools.pairwise(places) for told in reader.feed(data[low:high])]


FEED = (
    "id: 1\r\nevent: a\r\ndata: one\r\n\r\n: quiet\n\ndata:two\ndata: lines \u2028 \u0085 here\n\n"
    "id: 3\rdata:  space\r\rdata\n\nid: x\0y\nnonsense: 1\ndata: {}\n\nid\ndata: no id\n\ndata: never finished\n"
).encode()
EXPECTED = [
    StreamEvent("1", "a", "one"),
    StreamEvent("1", "message", "two\nlines \u2028 \u0085 here"),
    StreamEvent("3", "message", " space"),
    StreamEvent("3", "message", ""),
    StreamEvent("3", "message", "{}"),
    StreamEvent("", "message", "no id"),
]


@given(st.lists(st.integers(0, 10_000), max_size=30))
def test_events_are_the_same_however_the_bytes_come(cuts: list[int]) -> None:
    assert read(FEED, cuts) == EXPECTED


def test_an_event_that_never_ends_is_refused() -> None:
    endless = EventReader()
    for piece in (b"x" * 1_000_000, b"data: x\n" * 100_000):
        with pytest.raises(NodeError):
            list(itertools.chain.from_iterable(endless.feed(piece) for _ in range(40)))
    patient = EventReader()
    large = (b"data: " + b"x" * 10_000 + b"\n\n") * 100
    assert sum(len(list(patient.feed(large))) for _ in range(30)) == 3000


# Going on


def take(ticks: Iterator[Tick], count: int) -> list[int]:
    return [tick.n for tick in itertools.islice(ticks, count)]


def test_a_stream_goes_on_behind_the_last_whole_event() -> None:
    broken = events(3, rest='id: 4\ndata: {"n": 4}\n')  # the empty line that would end it is missing
    away = problem(503, "storage.unavailable", '{"why": "a test"}')
    with script(events(1, 2), b"", broken, away, events(4, 5)) as server:
        assert take(sync_ticks(server.url).ticks(), 5) == [1, 2, 3, 4, 5]
    assert asked_behind(server.requests) == [None, "2", "2", "3", "3"]


def test_an_asynchronous_stream_does_too() -> None:
    async def run(url: str) -> list[int]:
        found = []
        async for tick in async_ticks(url).ticks():
            found.append(tick.n)
            if len(found) == 4:
                break
        return found

    with script(events(1), b"", events(2, 3), events(4)) as server:
        assert asyncio.run(run(server.url)) == [1, 2, 3, 4]
    assert asked_behind(server.requests) == [None, "1", "1", "3"]


def test_a_stream_can_be_taken_up_later() -> None:
    with script(events(8)) as server:
        assert take(sync_ticks(server.url).ticks(after="7"), 1) == [8]
    assert asked_behind(server.requests) == ["7"]


def test_a_refusal_ends_a_stream_at_once() -> None:
    with script(problem(401, "unauthenticated")) as server:
        with pytest.raises(Unauthenticated):
            next(sync_ticks(server.url).ticks())
        assert len(server.requests) == 1


def test_a_node_that_stays_away_is_told_of() -> None:
    begun = time.monotonic()
    with pytest.raises(NoNode):
        next(sync_ticks(f"http://127.0.0.1:{free_port()}", patience_s=0.5).ticks())
    assert time.monotonic() - begun < 5


def test_what_is_no_event_of_ours_is_a_plain_error() -> None:
    for rest in ("data: no json\n\n", f"data: {json.dumps({'m': 1})}\n\n"):
        with script(events(rest=rest)) as server, pytest.raises(NodeError):
            next(sync_ticks(server.url).ticks())


def test_cancelling_an_asynchronous_stream_closes_it() -> None:
    async def run(url: str) -> int:
        ticks = async_ticks(url).ticks()
        first = await anext(ticks)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(ticks), 0.3)
        return first.n

    quiet = events(1) + b": quiet\n" * 10
    with script(quiet, problem(503, "storage.unavailable", '{"why": "a test"}')) as server:
        assert asyncio.run(run(server.url)) == 1
