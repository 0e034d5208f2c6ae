"""Who is asking. For now there is one principal: the operator, by the token in the node's home."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Header, Request, Response
from fastapi.routing import APIRoute

from choir.foundation.errors import Invalid, Unauthenticated
from choir.node import Node

_KEY_CHARS_MAX = 200


@dataclass(frozen=True, slots=True)
class Principal:
    """Who a request speaks for; `source` is what entries carry."""

    source: str


class Operators:
    """Knows the operator's token by its hash only."""

    def __init__(self, token: str) -> None:
        self._digest = hashlib.sha256(token.encode()).digest() if token else b""

    def recognise(self, given: str) -> Principal | None:
        if self._digest and hmac.compare_digest(hashlib.sha256(given.encode()).digest(), self._digest):
            return Principal("operator")
        return None


def current_node(request: Request) -> Node:
    node = request.app.state.node
    assert isinstance(node, Node)
    return node


def current_operator(request: Request, authorization: Annotated[str | None, Header()] = None) -> Principal:
    scheme, _, given = (authorization or "").partition(" ")
    operators: Operators = request.app.state.operators
    found = operators.recognise(given.strip()) if scheme.lower() == "bearer" else None
    if found is None:
        raise Unauthenticated
    return found


class OperatorRoute(APIRoute):
    """Asks who it is before the body is read: a stranger's body is never parsed."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def asked(request: Request) -> Response:
            current_operator(request, request.headers.get("authorization"))
            return await handle(request)

        return asked


def idempotency_key(
    key: Annotated[str, Header(alias="Idempotency-Key", min_length=1, max_length=_KEY_CHARS_MAX)],
) -> str:
    """The caller's key: the same request with the same key has one effect."""
    if not key.isascii() or not key.isprintable():
        raise Invalid(what="Idempotency-Key", why="it must be printable ASCII")
    return key


NodeDep = Annotated[Node, Depends(current_node)]
OperatorDep = Annotated[Principal, Depends(current_operator)]
KeyDep = Annotated[str, Depends(idempotency_key)]
