"""One connection pool to one node: what sends calls, for both kinds of client.

Guarantees: what is sent again, and when, is decided in `retrying`; how much of an answer is read, in `bodies`; what it
means, in `answers`; a stream goes on behind the last event it gave out. What is signed is signed by the node's time as
this node told it last, and once more if it was refused by another time than it was signed by. The two classes differ in
nothing but how they wait. An `AsyncTransport` that is cancelled leaves its other calls alone.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from contextlib import aclosing, closing
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from choir.doors.sdk import answers, bodies
from choir.doors.sdk.auth import AHEAD_S, NostrKey, header_value
from choir.doors.sdk.calls import Call
from choir.doors.sdk.deadlines import limited
from choir.doors.sdk.errors import NoNode
from choir.doors.sdk.retry import Attempts
from choir.doors.sdk.streams import EventReader, StreamEvent
from choir.doors.shapes import TIME_HEADER
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.foundation.errors import ChoirError, Invalid, Unavailable

T = TypeVar("T")
_DATE_S = 2.0  # a difference that a date in whole seconds, and the way here, can explain
_SILENCE_S_MAX = 60.0  # a node that streams gives a sign of life more often than that


class _BrokenOff(Exception):
    """A stream that had begun was cut."""


class _Ended(Exception):
    """A stream that was to end has done so."""


class _Base:
    """What both kinds know: the address, who asks, and how patient to be."""

    def __init__(self, url: str, auth: httpx.Auth | None, *, timeout_s: float, patience_s: float, connect_s: float):
        self.url = _checked_address(url)
        self._patience_s = patience_s
        self._connect_s = connect_s
        self.ahead_s = 0.0  # how far the node's clock was ahead of this machine's when it last answered
        self._options: dict[str, Any] = {
            "base_url": url,
            "auth": auth,
            "timeout": timeout_s,
            "trust_env": False,
            "verify": trust_for(url),
        }

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url})"

    def twin(self) -> Transport:
        """A transport that waits, for the same node and credential, with connections of its own."""
        auth, timeout_s = self._options["auth"], self._options["timeout"]
        made = Transport(self.url, auth, timeout_s=timeout_s, patience_s=self._patience_s, connect_s=self._connect_s)
        made.ahead_s = self.ahead_s
        return made

    def _attempts(self, call: Call[Any]) -> Attempts:
        patience_s, connect_s = limited(self._patience_s), limited(self._connect_s)
        return Attempts(repeatable=call.repeatable, patience_s=patience_s, connect_s=connect_s)

    def _pause(self, answer: httpx.Response, attempts: Attempts) -> float | None:
        """Seconds until it is sent again; None: this answer is the one."""
        self._heard(answer)
        apart_s = abs(self.ahead_s - answer.request.extensions.get(AHEAD_S, 0.0))
        signed = isinstance(self._options["auth"], NostrKey)
        if signed and answer.status_code == httpx.codes.UNAUTHORIZED and apart_s > _DATE_S and attempts.sign_again():
            return 0.0
        return attempts.after_answer(answer)

    def _heard(self, answer: httpx.Response) -> None:
        """Compare clocks; what is said takes its time to get here."""
        told_s = _time_of(answer)
        if told_s is not None:
            ahead_s = told_s - time.time()
            self.ahead_s = ahead_s if abs(ahead_s) > _DATE_S else 0.0

    def _unreachable(self, error: httpx.TransportError) -> ChoirError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return NoNode(url=self.url)
        return Unavailable(what=f"The node at {self.url}", why=f"the connection was lost ({type(error).__name__})")


def _checked_address(url: str) -> str:
    """An address without a name or password in it: those would show in messages."""
    try:
        parsed = httpx.URL(url)
        good = parsed.scheme in ("http", "https") and bool(parsed.host) and not parsed.userinfo
    except httpx.InvalidURL:
        good = False
    if not good:
        raise Invalid(what=f"the node's address '{url}'", why="write it like http://localhost:8420")
    return url


def trust_for(url: str) -> ssl.SSLContext:
    """Whom to believe that they are the node. A plain address gets a context that believes nobody and is not asked:
    reading the world's certificates takes longer than most calls."""
    if httpx.URL(url).scheme == "https":
        return httpx.create_ssl_context(trust_env=False)
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _time_of(answer: httpx.Response) -> float | None:
    """When the node says it answered; older ones, and strangers, say it by their machine's clock."""
    try:
        if told := answer.headers.get(TIME_HEADER):
            return parse_time(told) / MICROSECONDS
        return parsedate_to_datetime(answer.headers.get("Date", "")).timestamp()
    except (Invalid, ValueError, TypeError, OverflowError):
        return None


def _request(http: httpx.Client | httpx.AsyncClient, call: Call[Any], ahead_s: float) -> httpx.Request:
    headers = {"Idempotency-Key": header_value(call.key, "the key")} if call.key is not None else {}
    if call.content is not None:
        headers["Content-Type"] = "application/octet-stream"
        body: dict[str, Any] = {"content": call.content}
    else:
        body = {"json": call.body}
    timeout = httpx.Timeout(limited(http.timeout.read or _SILENCE_S_MAX))
    extensions = {AHEAD_S: ahead_s, "timeout": timeout.as_dict()}
    return http.build_request(call.method, call.path, params=call.given, headers=headers, extensions=extensions, **body)


def _stream_request(
    http: httpx.Client | httpx.AsyncClient, call: Call[Any], last_id: str | None, ahead_s: float
) -> httpx.Request:
    headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-store"}
    if last_id:
        headers["Last-Event-ID"] = header_value(last_id, "the event to continue after")
    timeout = httpx.Timeout(_SILENCE_S_MAX)
    return http.build_request(
        call.method, call.path, params=call.given, headers=headers, timeout=timeout, extensions={AHEAD_S: ahead_s}
    )


def _shaped(call: Call[T], told: StreamEvent) -> T:
    return answers.read(call.shape, told.value) if call.reads is None else call.reads(told)


class Transport(_Base):
    """Sends calls and waits for their answers. Threads may share it."""

    def __init__(
        self,
        url: str,
        auth: httpx.Auth | None,
        *,
        timeout_s: float,
        patience_s: float,
        connect_s: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, auth, timeout_s=timeout_s, patience_s=patience_s, connect_s=connect_s)
        self._http = httpx.Client(**self._options)
        self._sleep = sleep

    def close(self) -> None:
        self._http.close()

    def run(self, call: Call[T]) -> T:
        """The answer, or the node's refusal as an exception."""
        attempts = self._attempts(call)
        while True:
            try:
                answer = bodies.read(self._http.send(_request(self._http, call, self.ahead_s), stream=True))
            except httpx.TransportError as error:
                pause_s = attempts.after_error(error)
                if pause_s is None:
                    raise self._unreachable(error) from None
            else:
                pause_s = self._pause(answer, attempts)
                if pause_s is None:
                    return answers.result(call.shape, answer)
            self._sleep(pause_s)

    def pages(self, call: Call[Any]) -> Iterator[Any]:
        """The rows of every page."""
        while True:
            page = self.run(call)
            yield from page.items
            if page.next is None:
                return
            call = call.behind(page.next)

    def stream(self, call: Call[T]) -> Iterator[T]:
        """Events for as long as the caller wants them."""
        reader = EventReader(call.after)
        attempts = self._attempts(call)
        while not self._http.is_closed:  # by whoever has had enough, maybe in another thread
            try:
                with closing(self._open(call, reader, attempts)) as pieces:
                    for data in pieces:
                        for told in reader.feed(data):
                            yield _shaped(call, told)
            except _Ended:
                return
            except _BrokenOff:
                attempts = self._attempts(call)  # it had answered: patience begins anew
                self._sleep(reader.retry_s)
            except httpx.TransportError as error:
                pause_s = attempts.after_error(error)
                if pause_s is None:
                    raise self._unreachable(error) from None
                self._sleep(pause_s)
            reader.start_again()

    def _open(self, call: Call[Any], reader: EventReader, attempts: Attempts) -> Generator[bytes, None, None]:
        """What one connection brings; another one is needed when it returns or breaks off."""
        answer = self._http.send(_stream_request(self._http, call, reader.last_id, self.ahead_s), stream=True)
        try:
            if answer.is_success:
                try:
                    yield from answer.iter_bytes()
                except httpx.TransportError:
                    raise _BrokenOff from None
                raise _Ended if call.ends else _BrokenOff
            answer = bodies.read(answer)
            pause_s = self._pause(answer, attempts)
            if pause_s is None:
                raise answers.refusal(answer)
        finally:
            answer.close()
        self._sleep(pause_s)


class AsyncTransport(_Base):
    """The same for one event loop."""

    def __init__(
        self, url: str, auth: httpx.Auth | None, *, timeout_s: float, patience_s: float, connect_s: float
    ) -> None:
        super().__init__(url, auth, timeout_s=timeout_s, patience_s=patience_s, connect_s=connect_s)
        self._http = httpx.AsyncClient(**self._options)

    async def close(self) -> None:
        await self._http.aclose()

    async def run(self, call: Call[T]) -> T:
        """The answer, or the node's refusal as an exception."""
        attempts = self._attempts(call)
        while True:
            try:
                request = _request(self._http, call, self.ahead_s)
                answer = await bodies.read_async(await self._http.send(request, stream=True))
            except httpx.TransportError as error:
                pause_s = attempts.after_error(error)
                if pause_s is None:
                    raise self._unreachable(error) from None
            else:
                pause_s = self._pause(answer, attempts)
                if pause_s is None:
                    return answers.result(call.shape, answer)
            await asyncio.sleep(pause_s)

    async def pages(self, call: Call[Any]) -> AsyncIterator[Any]:
        """The rows of every page."""
        while True:
            page = await self.run(call)
            for item in page.items:
                yield item
            if page.next is None:
                return
            call = call.behind(page.next)

    async def stream(self, call: Call[T]) -> AsyncIterator[T]:
        """Events for as long as the caller wants them."""
        reader = EventReader(call.after)
        attempts = self._attempts(call)
        while not self._http.is_closed:  # by whoever has had enough, maybe in another thread
            try:
                async with aclosing(self._open(call, reader, attempts)) as pieces:
                    async for data in pieces:
                        for told in reader.feed(data):
                            yield _shaped(call, told)
            except _Ended:
                return
            except _BrokenOff:
                attempts = self._attempts(call)  # it had answered: patience begins anew
                await asyncio.sleep(reader.retry_s)
            except httpx.TransportError as error:
                pause_s = attempts.after_error(error)
                if pause_s is None:
                    raise self._unreachable(error) from None
                await asyncio.sleep(pause_s)
            reader.start_again()

    async def _open(self, call: Call[Any], reader: EventReader, attempts: Attempts) -> AsyncGenerator[bytes, None]:
        """What one connection brings; another one is needed when it returns or breaks off."""
        answer = await self._http.send(_stream_request(self._http, call, reader.last_id, self.ahead_s), stream=True)
        try:
            if answer.is_success:
                try:
                    async for data in answer.aiter_bytes():
                        yield data
                except httpx.TransportError:
                    raise _BrokenOff from None
                raise _Ended if call.ends else _BrokenOff
            answer = await bodies.read_async(answer)
            pause_s = self._pause(answer, attempts)
            if pause_s is None:
                raise answers.refusal(answer)
        finally:
            await answer.aclose()
        await asyncio.sleep(pause_s)
