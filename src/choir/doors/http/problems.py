"""Errors as problem+json (RFC 9457): the one place where a category becomes an HTTP status."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from choir.doors.http.rooms import methods_at
from choir.doors.shapes import Malformed, Problem, RequestTimedOut, TooManyConnections, TooManyStreams
from choir.foundation.errors import (
    ChoirError,
    Gone,
    Invalid,
    NotAllowed,
    NotFound,
    Refusal,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from choir.identity.model import TooManyTries
from choir.storage.database import DatabaseBusy

log = logging.getLogger(__name__)

_STATUS: list[tuple[type[ChoirError], int]] = [  # the first that fits
    (TooLarge, 413),
    (Gone, 410),
    (NotFound, 404),
    (Unauthenticated, 401),
    (NotAllowed, 403),
    (Malformed, 400),
    (Invalid, 422),
    (TooManyTries, 429),
    (TooManyStreams, 429),
    (Refusal, 409),
    (DatabaseBusy, 503),
    (Unavailable, 503),
]
_ERRORS_SHOWN_MAX = 5
_BODY_UNREAD = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})
_LAST = frozenset({RequestTimedOut.code, TooManyConnections.code})  # errors after which a connection ends


def status_of(error: ChoirError) -> int:
    """The HTTP status of one of our errors."""
    return next((status for category, status in _STATUS if isinstance(error, category)), 500)


def problem_of(error: ChoirError, request_id: str = "") -> Problem:
    """One of our errors as a problem."""
    status = status_of(error)
    return Problem(
        type=f"urn:choir:problem:{error.code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=_whole(str(error)),
        code=error.code,
        hint=error.advice,
        fields={name: _plain(value) for name, value in error.fields.items()},
        request=request_id,
    )


def respond(problem: Problem) -> JSONResponse:
    headers = {}
    if problem.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(problem.fields.get("retry_s", 1))
    if problem.status == HTTPStatus.TOO_MANY_REQUESTS:
        retry_s = problem.fields.get("retry_s", 1)
        headers["Retry-After"] = str(retry_s)
        headers["RateLimit"] = f'"{problem.code}";r=0;t={retry_s}'  # draft-ietf-httpapi-ratelimit-headers
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    if problem.status in _BODY_UNREAD or problem.code in _LAST:
        headers["Connection"] = "close"  # so that the rest of the body is not waited for
    return JSONResponse(
        problem.model_dump(), status_code=problem.status, headers=headers, media_type="application/problem+json"
    )


def request_id(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


async def on_choir_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, ChoirError)
    problem = problem_of(error, request_id(request))
    if problem.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("request failed", extra={"code": error.code, "request": problem.request})
    return respond(problem)


async def on_validation_error(request: Request, error: Exception) -> JSONResponse:
    """What pydantic refused, in our words; the input itself is not repeated."""
    assert isinstance(error, RequestValidationError)
    reasons = []
    for item in error.errors()[:_ERRORS_SHOWN_MAX]:
        place = ".".join(str(part) for part in item["loc"] if part != "body")
        reasons.append(f"{place or 'body'}: {item['msg']}")
    invalid = Invalid(what="The request", why="; ".join(reasons)[:1000])
    return respond(problem_of(invalid, request_id(request)))


async def on_http_error(request: Request, error: Exception) -> JSONResponse:
    """What the framework itself refuses: unknown path, wrong method."""
    assert isinstance(error, HTTPException)
    if isinstance(error.__cause__, ChoirError):  # raised while it read the body
        return await on_choir_error(request, error.__cause__)
    status = HTTPStatus(error.status_code)
    problem = Problem(
        type="about:blank",
        title=status.phrase,
        status=status,
        detail=str(error.detail),
        code=f"http.{status.name.lower()}",
        hint="The API is described at /v1/openapi.json." if status == HTTPStatus.NOT_FOUND else "",
        request=request_id(request),
    )
    response = respond(problem)
    response.headers.update(error.headers or {})
    if status == HTTPStatus.METHOD_NOT_ALLOWED:  # the framework names those of one route, and a path may have several
        response.headers["Allow"] = ", ".join(methods_at(request.app, request.scope))
    return response


async def on_bug(request: Request, error: Exception) -> JSONResponse:
    """A bug: the log has all of it, the answer nothing but where to look."""
    log.exception("unexpected error", exc_info=error, extra={"request": request_id(request)})
    return respond(
        Problem(
            type="urn:choir:problem:internal",
            title="Internal Server Error",
            status=500,
            detail="Internal error of the node.",
            code="internal",
            hint="The node's log has the details under this request id.",
            request=request_id(request),
        )
    )


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | bool | float | None) else _whole(str(value))


def _whole(text: str) -> str:
    """Text that can be sent: what somebody wrote into a request may have half a character in it."""
    return text.encode(errors="replace").decode()
