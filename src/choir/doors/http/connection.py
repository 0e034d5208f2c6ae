"""One connection of the server, with limits that uvicorn's own protocol does not have.

Guarantees: a request's head arrives within its time and size or the connection ends, also behind another
request; what follows a body is no header; a connection ends whose client does not read its answer; no address
has more connections than it may, trusted proxies and event streams apart, and no process more than it can bear. One too
many is read and answered with 503 (`places`), up to a number; only beyond that it is closed unread. A body's time is
limited by the guards, which answer it.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from choir.doors.http.places import ON_STREAM, REFUSED
from choir.doors.http.proxies import parse_address
from choir.doors.http.upgraded import ON_LOST, UNREAD_S
from choir.storage.policy import NodePolicy

_TIMED_OUT = b"408 Request Timeout"
_TOO_LONG = b"431 Request Header Fields Too Large"
_FULL = b"503 Service Unavailable\r\nretry-after: %d"
_HOST_BITS_V6 = 64  # RFC 4291, section 2.5.4: the rest is the host's own to choose


class Limits:
    """What all connections of a process share."""

    def __init__(self, policy: NodePolicy, is_proxy: Callable[[str], bool]) -> None:
        self.policy = policy
        self.is_proxy = is_proxy
        self.total = 0
        self.refused = 0
        self._of: Counter[str] = Counter()

    def enter(self, address: str) -> bool:
        """Whether there is room for one more; if so, it is counted."""
        policy, host = self.policy, host_of(address)
        full = self.total >= policy.connections_max
        if full or (self._of[host] >= policy.connections_per_address_max and not self.is_proxy(address)):
            return False
        self.total += 1
        self._of[host] += 1
        return True

    def leave(self, address: str, *, was_stream: bool = False) -> None:
        self.total -= 1
        if not was_stream:
            self.to_stream(address)

    def to_stream(self, address: str) -> None:
        """A connection became a stream: these have a limit of their own, and leave their address its connections."""
        host = host_of(address)
        self._of[host] -= 1
        if not self._of[host]:
            del self._of[host]

    def refuse(self) -> bool:
        """Whether there is room to tell one more that there is none; if so, it is counted."""
        if self.refused >= self.policy.connections_refused_max:
            return False
        self.refused += 1
        return True


def host_of(address: str) -> str:
    """What counts as one address: with IPv6 the whole network of a host, which may take any address in it."""
    found = parse_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((found, _HOST_BITS_V6), strict=False))
    return address if found is None else str(found)


class LimitedProtocol(HttpToolsProtocol):
    """uvicorn's protocol, with a deadline for the head of a request and for a client that does not read."""

    limits: Limits  # set by `limited_protocol`

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._address: str | None = None  # set while it counts
        self._head_timer = _Timer(self.loop)
        self._write_timer = _Timer(self.loop)
        self._head_bytes = 0
        self._in_head = True
        self._is_refused = False
        self._is_stream = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self.app_state = {**self.app_state, ON_LOST: self._let_go, UNREAD_S: self.limits.policy.unread_s_max}
        if self.limits.enter(address):
            self._address = address
            self.app_state = {**self.app_state, "abort": transport.abort, ON_STREAM: self._become_stream}
            self._expect_head()
        elif self.limits.refuse():
            self._is_refused = True
            self.app_state = {**self.app_state, REFUSED: True}
            self._head_timer.start(self.limits.policy.refusal_s_max, lambda: self._refuse(self._full))
        else:
            self._refuse(self._full)

    def connection_lost(self, exc: Exception | None) -> None:
        self._let_go()
        super().connection_lost(exc)

    def _let_go(self) -> None:
        """It is gone, or what it has become is (`upgraded`)."""
        if self._address is not None:
            self.limits.leave(self._address, was_stream=self._is_stream)
            self._address = None
        if self._is_refused:
            self.limits.refused -= 1
            self._is_refused = False
        self._head_timer.stop()
        self._write_timer.stop()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return  # it has ended, or has become a WebSocket
        if self._head_bytes > self.limits.policy.head_bytes_max:
            self._end_long_head()
        elif not self._answering and not self._head_timer.runs:
            self._expect_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        # What stands behind a body (RFC 9110, trailers) must not count as a header: a proxy in front has not seen it.
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._head_timer.stop()
        self._head_bytes = 0
        self._in_head = False
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_bytes = 0  # what comes is no head; behind the last piece there may be one again
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._head_bytes = 0
        super().on_message_complete()

    def _end_long_head(self) -> None:
        """A head behind a request that is being answered, or behind a body, would else grow without an end."""
        if self._answering:
            self.transport.abort()  # there is an answer under way, which nothing can be put into
        else:
            self._refuse(_TOO_LONG)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._write_timer.start(self.limits.policy.unread_s_max, self.transport.abort)

    def resume_writing(self) -> None:
        self._write_timer.stop()
        super().resume_writing()

    def _become_stream(self) -> None:
        if self._address is not None and not self._is_stream:
            self._is_stream = True
            self.limits.to_stream(self._address)

    @property
    def _full(self) -> bytes:
        return _FULL % self.limits.policy.busy_retry_s

    @property
    def _answering(self) -> bool:
        """Whether a request is under way; its time is limited elsewhere."""
        return self.cycle is not None and not self.cycle.response_complete

    def _expect_head(self) -> None:
        """From the first moment, and from the first byte after an answer: also what never becomes a request counts."""
        self._head_timer.start(self.limits.policy.head_s_max, lambda: self._refuse(_TIMED_OUT))

    def _refuse(self, status: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 " + status + b"\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()


def limited_protocol(limits: Limits) -> type[LimitedProtocol]:
    """The protocol of a process."""
    return type("Protocol", (LimitedProtocol,), {"limits": limits})


class _Timer:
    """Calls something later, unless it is stopped or started again before."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._handle: asyncio.TimerHandle | None = None

    @property
    def runs(self) -> bool:
        return self._handle is not None

    def start(self, seconds: float, then: Callable[[], None]) -> None:
        self.stop()
        self._handle = self._loop.call_later(seconds, then)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
