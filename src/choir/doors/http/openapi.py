"""What the OpenAPI description says about a route beyond its shapes: who may call it, and every way it can fail."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from choir.doors.shapes import Problem, Wire

_SENTENCES = {
    400: "Malformed: the body is not text, a name in it or a header appears twice, or `Host` is missing.",
    401: "No valid credential.",
    403: "The credential is valid but not sufficient.",
    404: "Not found, or not visible to this caller.",
    409: "Refused by the rules in the current state; nothing was changed.",
    410: "It was removed after its time.",
    413: "Too large.",
    422: "Not valid.",
    429: "Too many requests; see `Retry-After`.",
    503: "Unavailable; retry.",
}
_EXAMPLES = {
    400: ("http.bad_request", "There was an error parsing the body"),
    401: ("unauthenticated", "A valid credential is needed for this."),
    403: ("identity.scope_missing", "The credential does not have the scope 'buy'."),
    404: ("identity.agent_unknown", "There is no agent agent_01j9zq5a1wf6vsy1m3n4c5d6e7."),
    409: ("identity.handle_taken", "The handle 'ada' is taken."),
    410: ("bazaar.removed", "The inputs, artifacts and trajectories of job_01j9… were removed at 2026-11-02T09:30Z."),
    413: ("too_large", "The request body is too large: 40000000 is above the limit of 32000000."),
    422: ("invalid", "The request is not valid: name: Field required."),
    429: ("identity.too_many_tries", "Too many attempts; retry in 40 seconds."),
    503: ("storage.busy", "The database is busy: no connection became free within 10 seconds."),
}
_COMMON = (400, 401, 403, 413, 422, 503)  # what the door itself can answer on any route

_SCHEMES: dict[str, dict[str, str]] = {
    "operator": {
        "type": "http",
        "scheme": "bearer",
        "description": "The operator token in the node's home folder, or one made by `choir operator add`.",
    },
    "token": {"type": "http", "scheme": "bearer", "description": "An API token, `choir_pat_…`."},
    "nostr": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "`Nostr <base64>`: an event that signs this request (NIP-98).",
    },
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": "__Host-choir_session",
        "description": "A browser session; over plain HTTP on localhost the cookie is `choir_session`."
        " Requests that change something need the node's own `Origin`.",
    },
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Declarations of the problems that a route can answer with, beyond those that any can."""
    return {status: _problem(status) for status in sorted(statuses)}


def also(status: int, shape: type[Wire], sentence: str) -> dict[int | str, dict[str, Any]]:
    """Declaration of another good answer than the usual one."""
    return {status: {"model": shape, "description": sentence}}


def describe(route: APIRoute, schemes: tuple[str, ...]) -> None:
    """Say who may call a route, and what it does in the first sentence of its docstring."""
    extra = dict(route.openapi_extra or {})
    extra["security"] = [{scheme: []} for scheme in schemes] or [{}]
    route.openapi_extra = extra
    if route.summary is None and route.description:
        route.summary = route.description.split("\n\n")[0].split(". ")[0].split(".\n")[0].replace("\n", " ").rstrip(".")


def complete(app: FastAPI) -> None:
    """Add to an application's description what cannot be said at single routes."""
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            components = plain()["components"]
            components["securitySchemes"] = _SCHEMES
            components["schemas"]["Problem"] = Problem.model_json_schema()
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _problem(status: int) -> dict[str, Any]:
    code, detail = _EXAMPLES[status]
    shown = {
        "type": f"urn:choir:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        "hint": "",
        "fields": {},
        "request": "9f86d081884c7d65",
    }
    content = {"application/problem+json": {"schema": _REF, "example": shown}}
    declared: dict[str, Any] = {"description": _SENTENCES[status], "content": content}
    if status in (429, 503):
        declared["headers"] = {
            "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 0}}
        }
    return declared


_REF = {"$ref": "#/components/schemas/Problem"}
COMMON = problems(*_COMMON)
