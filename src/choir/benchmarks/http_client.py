"""A client for measuring servers: processes of their own, raw sockets, requests that were made beforehand.

It does as little as a client can: write bytes, find the end of the answer, look at the status, note the time.
What it costs is measured with it (`cpu_s`), so that nobody has to believe that it is little.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import cast

import uvloop

_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_LAST = b"\r\nconnection: close"
BROKEN = 0  # instead of a status: the connection ended without an answer


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one round of one client, or of all together, was like."""

    statuses: dict[int, int] = field(default_factory=dict)
    samples: list[float] = field(default_factory=list)  # seconds
    began: float = 0.0  # on the machine's own clock, which all processes share
    ended: float = 0.0
    cpu_s: float = 0.0

    @property
    def elapsed_s(self) -> float:
        return self.ended - self.began


class _Caller(asyncio.Protocol):
    """One connection that sends its requests one after the other."""

    def __init__(self, requests: Sequence[bytes], done: asyncio.Future[None]) -> None:
        self._requests = iter(requests)
        self._done = done
        self._got = b""
        self._sent_at = 0.0
        self.samples: list[float] = []
        self.statuses: Counter[int] = Counter()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def begin(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self._done.set_result(None)
            return
        self._sent_at = time.perf_counter()
        self._transport.write(request)

    def leave(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        got = self._got = self._got + data if self._got else data
        head = got.find(_HEAD_END)
        if head < 0:
            return
        place = got.find(_LENGTH, 0, head)
        length = int(got[place + len(_LENGTH) : got.index(b"\r", place)]) if place >= 0 else 0
        if len(got) < head + len(_HEAD_END) + length:
            return
        self.samples.append(time.perf_counter() - self._sent_at)
        self.statuses[int(got[9:12])] += 1
        self._got = b""
        if got.find(_LAST, 0, head) >= 0:  # what was still to be sent is left away
            self._done.set_result(None)
        else:
            self.begin()

    def connection_lost(self, _: Exception | None) -> None:
        if not self._done.done():
            self.statuses[BROKEN] += 1
            self._done.set_result(None)


async def _drive(port: int, requests: Sequence[Sequence[bytes]]) -> Outcome:
    loop = asyncio.get_running_loop()
    callers: list[_Caller] = []
    waiting: list[asyncio.Future[None]] = []
    for own in requests:
        done: asyncio.Future[None] = loop.create_future()
        caller = _Caller(own, done)
        await loop.create_connection(lambda made=caller: made, "127.0.0.1", port)  # type: ignore[misc]
        callers.append(caller)
        waiting.append(done)
    began, cpu = time.monotonic(), time.process_time()
    for caller in callers:
        caller.begin()
    await asyncio.gather(*waiting)
    ended, cpu_s = time.monotonic(), time.process_time() - cpu
    for caller in callers:
        caller.leave()
    samples = [sample for caller in callers for sample in caller.samples]
    statuses: Counter[int] = sum((caller.statuses for caller in callers), Counter())
    return Outcome(dict(statuses), samples, began, ended, cpu_s)


def _drive_in_process(port: int, requests: Sequence[Sequence[bytes]]) -> Outcome:
    return uvloop.run(_drive(port, requests))


class Clients:
    """Several client processes that send at the same time."""

    def __init__(self, port: int, processes: int) -> None:
        self._port = port
        self._processes = processes
        self._pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"))

    def send(self, requests: Sequence[Sequence[bytes]]) -> Outcome:
        """Send each list over a connection of its own; the connections are shared out among the processes."""
        shares = [requests[start :: self._processes] for start in range(self._processes)]
        parts = list(self._pool.map(_drive_in_process, [self._port] * len(shares), shares))
        return Outcome(
            statuses=dict(sum((Counter(part.statuses) for part in parts), Counter())),
            samples=[sample for part in parts for sample in part.samples],
            began=min(part.began for part in parts),
            ended=max(part.ended for part in parts),
            cpu_s=sum(part.cpu_s for part in parts),
        )

    def close(self) -> None:
        self._pool.shutdown()
