"""Where the relay is: `/relay`, a WebSocket for clients; over HTTP it says what it is and allows (NIP-11)."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.websockets import WebSocket

from choir.doors.http.access import NodeDep
from choir.doors.http.connection import host_of
from choir.doors.http.places import ON_STREAM, REFUSED
from choir.doors.http.proxies import Proxies
from choir.doors.relay.hub import Hub
from choir.doors.relay.session import Session
from choir.node import Node
from choir.relay.policy import RelayPolicy

PATH = "/relay"
_NIPS = [1, 9, 11, 40, 42, 45, 70]
_ANYBODY = {
    "access-control-allow-origin": "*",
    "access-control-allow-headers": "*",
    "access-control-allow-methods": "*",
}

router = APIRouter()


@router.get(PATH, include_in_schema=False)
def describe(_: Request, node: NodeDep) -> JSONResponse:
    """What the relay is and allows (NIP-11)."""
    policy = node.policy.of(RelayPolicy)
    return JSONResponse(_description(policy), headers=_ANYBODY, media_type="application/nostr+json")


def _description(policy: RelayPolicy) -> dict[str, Any]:
    return {
        "name": "Choir",
        "description": "The relay of a Choir node: jobs, results and announcements of providers.",
        "supported_nips": _NIPS,
        "software": "choir",
        "version": version("choir"),
        "limitation": {
            "max_message_length": policy.message_bytes_max,
            "max_subscriptions": policy.subscriptions_max,
            "max_subid_length": policy.subscription_chars_max,
            "max_limit": policy.filter_events_max,
            "default_limit": policy.filter_events_max,
            "max_event_tags": policy.tags_max,
            "max_content_length": policy.event_bytes_max,
            "created_at_upper_limit": policy.future_s_max,
            "auth_required": False,
            "payment_required": False,
            "restricted_writes": False,
        },
        "retention": [{"time": policy.keep_s}],
    }


@router.websocket(PATH)
async def connect(websocket: WebSocket) -> None:
    """A client's connection."""
    node: Node = websocket.app.state.node
    hub = _hub(websocket)
    Proxies(node.settings.trusted_proxies).resolve(websocket.scope)
    address = host_of(websocket.client.host if websocket.client else "")
    state = websocket.scope.get("state", {})
    if state.get(REFUSED, False) or not hub.has_room(address):
        await websocket.send_denial_response(JSONResponse({"error": "too many connections"}, 503))
        return
    state.get(ON_STREAM, _nothing)()
    await websocket.accept()
    own = {urlsplit(node.settings.public_url).netloc.lower(), websocket.headers.get("host", "").lower()}
    await Session(hub, websocket, address, frozenset(own)).run()


def _hub(websocket: WebSocket) -> Hub:
    """What the connections of this process share; made with the first."""
    state = websocket.app.state
    if not hasattr(state, "relay"):
        state.relay = Hub(state.node)
    found: Hub = state.relay
    return found


def _nothing() -> None:
    """Outside our own server connections are not counted."""
