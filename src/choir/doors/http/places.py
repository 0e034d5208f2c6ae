"""Places for requests: how many are answered at one time, and what one too many is told.

A request that waits for longer than anybody waits for it helps nobody, so a process takes as many as it answers in good
time and refuses the rest at once. Streams have places of their own (`streams`): a request that becomes a stream gives
its place back. What costs next to nothing needs none: a busy node shall be seen to live, and a page that was served
shall get its styles.

Guarantees: a refusal is an answer, 503 with `Retry-After`, and never a broken connection: what the client still sends
is read for a moment before a connection ends. A refused request had no effect. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio

from starlette.types import Message, Receive, Scope, Send

from choir.doors.shapes import NodeBusy, TooManyConnections
from choir.foundation.errors import ChoirError
from choir.storage.policy import NodePolicy

REFUSED = "refused"  # in the state of a connection that is one too many
ON_STREAM = "on_stream"  # there, what to call when a connection becomes a stream
_FREE = ("/healthz", "/static/")


class Places:
    """The places of one process."""

    def __init__(self, policy: NodePolicy) -> None:
        self._policy = policy
        self.taken = 0

    def take(self, scope: Scope) -> Place:
        """A place for this request, or the refusal of one too many."""
        retry_s = self._policy.busy_retry_s
        if scope["state"].get(REFUSED, False):
            raise TooManyConnections(retry_s=retry_s)
        if scope["path"].startswith(_FREE):
            return Place(None)
        if self.taken >= self._policy.requests_max:
            raise NodeBusy(limit=self._policy.requests_max, retry_s=retry_s)
        self.taken += 1
        return Place(self)


class Place:
    """One request's place; given back once, however often that is said."""

    def __init__(self, places: Places | None) -> None:
        self._places = places

    def give_back(self) -> None:
        if self._places is not None:
            self._places.taken -= 1
            self._places = None


def ends_connection(error: ChoirError) -> bool:
    """Whether the connection ends with this refusal, and what comes of it is to be read before."""
    return isinstance(error, TooManyConnections)


def lingering(send: Send, receive: Receive, policy: NodePolicy) -> Send:
    """Ends an answer only when the client has sent what it has to send, or for too long, or too much.

    Closing a connection with something unread in it makes the kernel reset it, and the client may lose the answer. The
    answer has a length, so its reader does not wait for this.
    """

    async def sending(message: Message) -> None:
        if message["type"] != "http.response.body" or message.get("more_body", False):
            await send(message)
            return
        await send({**message, "more_body": True})
        await _drain(receive, policy)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return sending


async def _drain(receive: Receive, policy: NodePolicy) -> None:
    read = 0
    try:
        async with asyncio.timeout(policy.refusal_s_max):
            while read <= policy.body_bytes_max:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return
                read += len(message.get("body", b""))
    except TimeoutError:
        return
