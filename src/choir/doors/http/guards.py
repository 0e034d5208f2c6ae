"""What every request passes: an id, the client's address, a place among those answered at one time, a size limit, a
time limit, the disk guard, security headers, the node's time, other sites' rights, metrics.

Plain ASGI, so that it costs little and holds for streams too. Guarantees: no body beyond the limit is read,
which is low for strangers; a request that takes too long is answered; writes are refused while the disk is
nearly full; a header that decides what a request is came once or not at all; what is refused here is told as a page to
whoever asked for one.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

from prometheus_client import Counter, Histogram
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from choir.doors.http.cors import Cors, Headers
from choir.doors.http.places import ON_STREAM, Place, Places, ends_connection, lingering
from choir.doors.http.proxies import Proxies
from choir.doors.shapes import TIME_HEADER, HeaderTwice, NoHost, RequestTimedOut
from choir.foundation.clock import Clock, format_time
from choir.foundation.deadline import Deadline
from choir.foundation.errors import ChoirError, TooLarge
from choir.storage.policy import NodePolicy

access = logging.getLogger("choir.access")

REQUESTS = Counter("choir_http_requests_total", "Requests answered.", ["method", "route", "status"])
SECONDS = Histogram("choir_http_request_seconds", "Response time.", ["method", "route"])

_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]
_API_CSP = b"default-src 'none'; frame-ancestors 'none'"
# Our own files and nothing inline; forms stay on this node, and no string becomes markup or code.
_PAGE_CSP = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    b" base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_DISK_FRESH_S = 1.0
_STREAM = b"text/event-stream; charset=utf-8"
# Of which no value can be preferred to another.
_ONCE = {b"host": "Host", b"idempotency-key": "Idempotency-Key", b"authorization": "Authorization"}
_TIME = TIME_HEADER.lower().encode()


ErrorAnswer = Callable[[Scope, ChoirError], Awaitable[Response]]


class Guards:
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        policy: NodePolicy,
        check_disk: Callable[[], None],
        proxies: Proxies,
        cors: Cors,
        clock: Clock,
        *,
        over_tls: bool,
        answer_error: ErrorAnswer,
    ) -> None:
        self._app = app
        self._places = Places(policy)
        self._answer_error = answer_error
        self._clock = clock
        # Only where the public address says so: whatever is in front of the node speaks TLS, not the node itself.
        self._hsts = [(b"strict-transport-security", b"max-age=%d" % policy.hsts_s)] if over_tls else []
        self._proxies = proxies
        self._cors = cors
        self._policy = policy
        self._check_disk = check_disk
        self._disk_checked_at = -_DISK_FRESH_S
        self._disk_problem: ChoirError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        self._proxies.resolve(scope)
        answer = _Answer(scope, send, request_id, [*self._cors.headers(scope), *self._hsts], self._clock)
        place = None
        deadline = Deadline(self._policy.request_s_max)
        try:
            preflight = self._cors.preflight(scope)
            if preflight is not None:
                await Response(status_code=204, headers=_shown(preflight))(scope, receive, answer.send)
                return
            self._check(scope)
            place = self._places.take(scope)
            limit = BodyLimit(self._policy)
            scope["state"]["body_limit"] = limit
            limited = _limited(receive, limit)
            if scope["method"] == "HEAD":  # as GET; the server leaves the body away
                scope = {**scope, "method": "GET"}
                scope["state"]["head"] = True
            answer.scope = scope  # where the route is noted
            async with asyncio.timeout(self._policy.request_s_max) as timer:
                on_stream = scope["state"].get(ON_STREAM, _nothing)
                answer.on_stream = partial(_lift, timer, deadline, place, on_stream)
                with deadline.holds():
                    await self._app(scope, limited, answer.send)
        except TimeoutError:
            deadline.expire()
            await self._fail(answer, RequestTimedOut(limit_s=self._policy.request_s_max), receive)
        except ChoirError as error:
            await self._fail(answer, error, receive)
        finally:
            if place is not None:
                place.give_back()
            answer.record()

    async def _fail(self, answer: _Answer, error: ChoirError, receive: Receive) -> None:
        """Answer with the error, unless an answer has begun."""
        if answer.begun:
            return
        response = await self._answer_error(answer.scope, error)
        send = lingering(answer.send, receive, self._policy) if ends_connection(error) else answer.send
        await response(answer.scope, _no_body, send)

    def _check(self, scope: Scope) -> None:
        _check_once(scope)
        for name, value in scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._policy.body_bytes_max:
                raise TooLarge(what="The request body", size=int(value), limit=self._policy.body_bytes_max)
        if scope["method"] not in _SAFE_METHODS:
            self._refuse_on_low_disk()

    def _refuse_on_low_disk(self) -> None:
        now = time.monotonic()
        if now - self._disk_checked_at >= _DISK_FRESH_S:
            self._disk_checked_at = now
            try:
                self._check_disk()
                self._disk_problem = None
            except ChoirError as error:
                self._disk_problem = error
        if self._disk_problem is not None:
            raise self._disk_problem


class BodyLimit:
    """How large the body of a request may be: little, until it is known who asks.

    A body waits in memory until it is whole, and strangers may have many connections.
    """

    def __init__(self, policy: NodePolicy) -> None:
        self._policy = policy
        self.bytes_max = min(policy.stranger_body_bytes_max, policy.body_bytes_max)

    def lift(self) -> None:
        """Somebody known asks."""
        self.bytes_max = self._policy.body_bytes_max


class _Answer:
    """Adds headers to the answer and remembers what it was."""

    def __init__(self, scope: Scope, send: Send, request_id: str, extra: Headers, clock: Clock) -> None:
        self.scope = scope
        self._clock = clock
        self._extra = extra
        self._method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._send = send
        self._request_id = request_id
        self._began = time.perf_counter()
        self._status = 0
        self._streams = False
        self.on_stream: Callable[[], None] = lambda: None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = message.get("headers", [])
            if (b"content-type", _STREAM) in headers:
                self._streams = True  # a stream has no time limit
                self.on_stream()
            extra = [(b"x-request-id", self._request_id.encode()), *_HEADERS, *self._extra]
            # What a signed request is judged by, and a development node's may be moved; proxies write `Date` anew.
            extra.append((_TIME, format_time(self._clock.now_us()).encode()))
            extra.append((b"content-security-policy", _PAGE_CSP if _is_page(headers) else _API_CSP))
            message = {**message, "headers": [*headers, *extra]}
        await self._send(message)

    @property
    def begun(self) -> bool:
        return self._status != 0

    def record(self) -> None:
        route = self.scope.get("route")
        path = getattr(route, "path", "other")
        if path != "other" and self.scope["path"].startswith("/v1/") and not path.startswith("/v1/"):
            path = f"/v1{path}"  # the router's prefix is not part of its routes' paths
        elapsed = time.perf_counter() - self._began
        REQUESTS.labels(self._method, path, str(self._status)).inc()
        if not self._streams:
            SECONDS.labels(self._method, path).observe(elapsed)
        access.info(
            "request",
            extra={
                "method": self._method,
                "route": path,
                "status": self._status,
                "ms": round(elapsed * 1000, 1),
                "request": self._request_id,
            },
        )


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def _check_once(scope: Scope) -> None:
    """Refuse what another reader before or behind this one could take for another request."""
    names = [name for name, _ in scope["headers"] if name in _ONCE]
    for name, shown in _ONCE.items():
        if names.count(name) > 1:
            raise HeaderTwice(header=shown)
    if b"host" not in names and scope["http_version"] == "1.1":
        raise NoHost


def _is_page(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether it is HTML: by what the answer is, so that no page can leave without the rules for pages."""
    return any(name.lower() == b"content-type" and value.startswith(b"text/html") for name, value in headers)


def _limited(receive: Receive, limit: BodyLimit) -> Receive:
    """Count what is read and stop at the limit, whatever the headers said."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        if message["type"] == "http.request":
            read += len(message.get("body", b""))
            if read > limit.bytes_max:
                raise TooLarge(what="The request body", size=read, limit=limit.bytes_max)
        return message

    return counted


async def _no_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _shown(headers: Headers) -> dict[str, str]:
    return {name.decode(): value.decode() for name, value in headers}


def _lift(limit: asyncio.Timeout, deadline: Deadline, place: Place, on_stream: Callable[[], None]) -> None:
    """A stream has no time limit, and places of its own."""
    limit.reschedule(None)
    deadline.lift()
    place.give_back()
    on_stream()


def _nothing() -> None:
    """Outside our own server connections are not counted."""
