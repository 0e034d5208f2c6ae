"""An answer that does not end: server-sent events (WHATWG HTML, section 9.2), as one ASGI response.

Guarantees: events go out in order, each with the id by which the client resumes; while there is nothing to
tell, a comment now and then shows that the stream lives, with the id up to which nothing was missed; when the
stream is over, the client is gone or the process stops, the response ends at once, also while its reader
does not read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace

from prometheus_client import Gauge
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from choir.doors.http.streams import Stream, Streams
from choir.foundation.clock import format_time
from choir.foundation.ids import show_id
from choir.storage.outbox import Event, Position
from choir.storage.policy import NodePolicy

OPEN = Gauge("choir_http_streams", "Open event streams.", multiprocess_mode="livesum")
MEDIA_TYPE = "text/event-stream"
_FLUSH_S = 1.0  # for the last words to a reader that does not read


class EventStream(StreamingResponse):
    """Sends what one stream hears until it is over."""

    def __init__(
        self, streams: Streams, stream: Stream, policy: NodePolicy, *, whole: bool, follow: bool, limit_s: float | None
    ) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # the second: for nginx
        super().__init__(self._frames(), media_type=MEDIA_TYPE, headers=headers)
        self._streams, self._stream, self._policy = streams, stream, policy
        self._whole = whole  # nothing that was asked for has been forgotten
        self._follow = follow
        self._limit_s = limit_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        OPEN.inc()
        sender = asyncio.ensure_future(self.stream_response(send))
        gone = asyncio.ensure_future(self.listen_for_disconnect(receive))
        over = asyncio.ensure_future(self._over())
        try:
            await asyncio.wait({sender, gone, over}, return_when=asyncio.FIRST_COMPLETED)
            if not sender.done() and not gone.done():
                await asyncio.wait({sender}, timeout=_FLUSH_S)
        finally:
            OPEN.dec()
            self._streams.close(self._stream)
            unread = not sender.done() and not gone.done()
            for task in (sender, gone, over):
                task.cancel()
            outcomes = await asyncio.gather(sender, gone, over, return_exceptions=True)
            if unread:
                scope.get("state", {}).get("abort", _nothing)()
                await asyncio.sleep(0)  # so that the server sees that the connection is gone
        if isinstance(outcomes[0], Exception) and not isinstance(outcomes[0], OSError):
            raise outcomes[0]

    async def _over(self) -> None:
        try:
            async with asyncio.timeout(self._limit_s):
                await self._stream.over.wait()
        except TimeoutError:
            self._stream.end("the signature is too old; sign again")

    async def _frames(self) -> AsyncIterator[str]:
        stream, policy = self._stream, self._policy
        # The id is where it begins: who loses the connection before the first event goes on from there, not from later.
        yield f"retry: {policy.stream_retry_ms}\nid: {stream.position}\n\n"
        if not self._whole:
            yield f"event: events.missed\ndata: {json.dumps({'after': str(stream.position)})}\n\n"
        while (past := await self._streams.past(stream)) is not None:
            for event in past:
                yield self._told(event)
            if stream.over.is_set():
                return
        if not self._follow:
            return
        for event in await self._streams.follow(stream):
            yield self._told(event)
        while not stream.over.is_set():
            events = await stream.next(policy.stream_heartbeat_s)
            for event in events:
                yield self._told(event)
                stream.position = event.position
            if not events and not stream.over.is_set():
                yield heartbeat(self._streams.told(stream))
        yield f": over: {stream.why}\n\n"

    def _told(self, event: Event) -> str:
        """An operator hears which operator did something, others that an operator did."""
        is_named = self._stream.hearing.name is not None and event.actor.startswith("operator:")
        return frame(replace(event, actor="operator") if is_named else event)


def frame(event: Event) -> str:
    """One event as it travels: the position as id, the type, and the whole as one line of JSON."""
    data = {
        "id": show_id("event", event.id),
        "type": event.type,
        "version": event.version,
        "subject": event.subject,
        "at": format_time(event.at_us),
        "actor": event.actor,
        "cause": event.cause,
        "data": event.data,
    }
    return f"id: {event.position}\nevent: {event.type}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"


def heartbeat(position: Position) -> str:
    """A comment with an id and no data: clients remember the id and tell nobody."""
    return f": still here\nid: {position}\n\n"


def _nothing() -> None:
    """Outside our own server there is no way to cut a connection."""
