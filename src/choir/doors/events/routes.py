"""What happens on the node, as a stream of events that can be resumed."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Header, Query, Request
from starlette.responses import StreamingResponse

from choir.doors.http.access import AccessRoute, NodeDep, ReaderOrOperatorDep
from choir.doors.http.cookies import session_token
from choir.doors.http.credentials import Operators
from choir.doors.http.event_stream import MEDIA_TYPE, EventStream
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.http.streams import Stands, Streams, Subscription
from choir.foundation.errors import Unauthenticated
from choir.identity.credentials import standing
from choir.identity.model import Principal, Role
from choir.node import Node
from choir.storage.outbox import Position
from choir.storage.policy import NodePolicy

router = RoomRouter(tags=["events"], route_class=AccessRoute)

_EXAMPLE = (
    "retry: 1000\n\nid: 812-1\nevent: identity.person.signed_up\n"
    'data: {"id":"event_01j9…","type":"identity.person.signed_up","version":1,"subject":"person:01j9…",…}\n\n'
)
_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events. A comment with an `id` and no data is a keep-alive.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}
_TEXT = r"^[^\x00]*$"
_AFTER = "Start after this position, the `id` of an event; `0-0` is everything that is kept. Default: from now on."


@router.get("/events", response_class=StreamingResponse, responses=_ANSWER | problems(429))
async def stream_events(
    request: Request,
    who: ReaderOrOperatorDep,
    node: NodeDep,
    type_: Annotated[
        str, Query(alias="type", max_length=100, pattern=_TEXT, description="Only this type and its subtypes.")
    ] = "",
    subject: Annotated[str, Query(max_length=300, pattern=_TEXT, description="Only events about this subject.")] = "",
    follow: Annotated[bool, Query(description="Whether to follow new events; else it ends after past ones.")] = True,
    after: Annotated[str, Query(max_length=60, pattern=_TEXT, description=_AFTER)] = "",
    last_event_id: Annotated[
        str, Header(max_length=60, description="The same, as browsers send it on reconnect; it takes precedence.")
    ] = "",
) -> EventStream:
    """Stream events addressed to the caller or to everyone; the operator receives all.

    Each is delivered at least once, in one order. `events.missed` means that some are no longer kept.
    """
    resumed = last_event_id or after
    streams: Streams = request.app.state.streams
    hearing = Subscription(None if who.role is Role.OPERATOR else who.source, type_, subject)
    position, whole = await streams.first_position(Position.parse(resumed) if resumed else None)
    stream = streams.open(who.source, hearing, _stands(request, node, who))
    stream.position = position
    follow = follow and not getattr(request.state, "head", False)
    signed = node.policy.of(NodePolicy).stream_signed_s_max if who.credential == "nostr" else None
    return EventStream(streams, stream, node.policy.of(NodePolicy), whole=whole, follow=follow, limit_s=signed)


def _stands(request: Request, node: Node, who: Principal) -> Stands:
    """How to ask later whether the credential of this request still holds."""
    if who.role is Role.OPERATOR:
        return lambda _: _still_operator(request)
    session = session_token(request, node)
    if who.credential == "session" and session is not None:
        return lambda tx: _ignore(node.sessions.find(tx, session))  # listening does not keep a session alive
    if who.credential.startswith("token:"):
        text = request.headers["authorization"].partition(" ")[2].strip()
        return lambda tx: _ignore(node.tokens.principal_of(tx, text))
    return lambda tx: standing.check(tx, node.delegations, who)  # a signed request can be shown only once


def _still_operator(request: Request) -> None:
    """A further operator can be removed at any time."""
    operators: Operators = request.app.state.operators
    if operators.recognise(request.headers["authorization"].partition(" ")[2].strip()) is None:
        raise Unauthenticated


def _ignore(_: object) -> None:
    """What was looked up does not matter, only that it was there."""
