"""Errors as pages, for whoever asked for one; programs keep getting problem+json."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from fastapi import Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.http.problems import request_id
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignInFirst, on_sign_in_first

Handler = Callable[[Request, Exception], Awaitable[Response]]

_NOTHING = "This page does not exist, or you may not see it. Check the address for typos."
_PAGES = {
    401: ("Log in first", "You need to log in to see this."),
    403: ("Not allowed", "You cannot see or do this."),
    404: ("Not found", _NOTHING),
    405: ("Not found", _NOTHING),
    503: ("Temporarily unavailable", "The node cannot answer right now. Nothing was lost; reload the page soon."),
}
_KEPT = ("Allow", "Retry-After", "Connection")
_WRONG = ("Something went wrong", "The node failed; it is not your fault. Nothing was changed.")


def wants_page(request: Request) -> bool:
    """Whether a person with a browser asked."""
    return not request.url.path.startswith("/v1/") and "text/html" in request.headers.get("accept", "")


def or_page(handler: Handler) -> Handler:
    """The same handler, but for browsers it answers with a page."""

    async def handle(request: Request, error: Exception) -> Response:
        if not wants_page(request):
            return await handler(request, error)
        if isinstance(error, SignInFirst):
            return await on_sign_in_first(request, error)
        plain = await handler(request, error)  # it knows the status, and writes the log
        shown = error_page(request, plain.status_code)
        for name in _KEPT:
            if name in plain.headers:
                shown.headers[name] = plain.headers[name]
        return shown

    return handle


def error_page(request: Request, status: int) -> HTMLResponse:
    """What a person is told; the only thing on a page that can be malformed is its address."""
    shown = HTTPStatus.NOT_FOUND if status == HTTPStatus.UNPROCESSABLE_ENTITY else HTTPStatus(status)
    title, text = _PAGES.get(shown, _WRONG)
    context = {"title": title, "text": text, "status": int(shown), "request_id": request_id(request)}
    return page(request, "error.html", context, status=shown)
