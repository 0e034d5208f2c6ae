"""A room of the API: a router that looks at its routes only for paths that begin as one of them does.

The framework tries every route of every router in turn, and there are more than a hundred: without this, finding the
route of a request took longer than some of the requests themselves.
"""

from __future__ import annotations

from functools import cached_property

from fastapi import APIRouter, FastAPI
from starlette.routing import Match, Route
from starlette.types import Scope

BELOW = "/v1"  # where all rooms are
_METHODS = ("DELETE", "GET", "PATCH", "POST", "PUT")


class RoomRouter(APIRouter):
    """To be included below `BELOW`, once all its routes are there."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        path: str = scope["path"]
        if not path.startswith(f"{BELOW}/") or _head(path[len(BELOW) :]) not in self._heads:
            return Match.NONE, {}
        return super().matches(scope)

    @cached_property
    def _heads(self) -> frozenset[str]:
        heads = frozenset(_head(route.path) for route in self.routes if isinstance(route, Route))
        assert not any("{" in head for head in heads), "a route of a room begins with a word of its own"
        return heads


def methods_at(app: FastAPI, scope: Scope) -> list[str]:
    """Every method that a path can be asked with; HEAD is answered wherever GET is."""

    def takes(method: str) -> bool:
        asked = {"type": "http", "method": method, "path": scope["path"], "headers": []}
        return any(route.matches(asked)[0] is Match.FULL for route in app.routes)

    found = [method for method in _METHODS if takes(method)]
    return sorted([*found, "HEAD"]) if "GET" in found else found


def _head(path: str) -> str:
    """The first word of a path that begins with a slash."""
    return path[1:].partition("/")[0]
