"""Pages that stay current: a stream that says that something of a topic happened, and never what.

A page asks for topics; on each notice its script fetches the page again and replaces its live parts. So a page shows
live what its visitor may see anyway, and the stream needs no credential.

Guarantees: a notice carries nothing but its topic; at most one a second; only public topics can be asked for; the
number of streams from one place is bounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import StreamingResponse

from choir.doors.http.access import AddressDep, NodeDep
from choir.doors.http.event_stream import EventStream, heartbeat
from choir.doors.http.streams import Streams, Subscription
from choir.foundation.errors import NotFound
from choir.storage.database import Tx
from choir.storage.outbox import Event
from choir.storage.policy import NodePolicy

TOPICS = ("bazaar.job", "commons", "treasury")
_REST_S = 1.0

router = APIRouter(include_in_schema=False)


class UnknownTopic(NotFound):
    code = "web.topic_unknown"
    sentence = "Nothing is told about this topic."


@dataclass(frozen=True, slots=True)
class TopicSubscription(Subscription):
    """Hears of everything below its topics, whoever it is addressed to."""

    topics: tuple[str, ...] = ()

    def wants(self, event: Event) -> bool:
        return any(event.type.startswith(f"{topic}.") for topic in self.topics)


class ChangeStream(EventStream):
    """Sends that something changed, without its content."""

    async def _frames(self) -> AsyncIterator[str]:
        stream, policy = self._stream, self._policy
        yield f"retry: {policy.stream_retry_ms}\n: listening\n\n"
        await self._streams.follow(stream)
        while not stream.over.is_set():
            events = await stream.next(policy.stream_heartbeat_s)
            if events:
                stream.position = events[-1].position
                yield "event: changed\ndata: {}\n\n"
                await asyncio.sleep(_REST_S)
            elif not stream.over.is_set():
                yield heartbeat(self._streams.told(stream))


@router.get("/live", response_class=StreamingResponse)
async def live(
    request: Request, node: NodeDep, address: AddressDep, topics: Annotated[str, Query(max_length=100)]
) -> ChangeStream:
    """Notices that something of these topics happened."""
    asked = tuple(topics.split(","))
    if not set(asked) <= set(TOPICS):
        raise UnknownTopic
    streams: Streams = request.app.state.streams
    position, _ = await streams.first_position(None)
    stream = streams.open(f"place:{address}", TopicSubscription(None, topics=asked), _always)
    stream.position = position
    follow = not getattr(request.state, "head", False)
    return ChangeStream(streams, stream, node.policy.of(NodePolicy), whole=True, follow=follow, limit_s=None)


def _always(_: Tx) -> None:
    """There is no credential that could end."""
