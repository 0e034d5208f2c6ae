"""Which other sites' pages may read answers (CORS, WHATWG Fetch): none, unless the operator names them.

Guarantees: never with credentials of the browser, so a page elsewhere can use a token that it was given and
never the session of whoever looks at it; health and metrics are not opened to anybody.
"""

from __future__ import annotations

from collections.abc import Collection

from starlette.types import Scope

Headers = list[tuple[bytes, bytes]]

_ANY = "*"
_METHODS = b"GET, POST, PUT, PATCH, DELETE"
_REQUEST_HEADERS = b"authorization, content-type, idempotency-key, if-none-match, last-event-id"
_EXPOSED = b"etag, retry-after, ratelimit, x-request-id"
_PREFLIGHT_S = b"600"


class Cors:
    """Answers for requests that pages of other sites make."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(origins)

    def headers(self, scope: Scope) -> Headers:
        """What to add to the answer of a request."""
        if not self._origins or not scope["path"].startswith("/v1/"):
            return []
        origin = _header(scope, b"origin")
        allowed = self._allowed(origin)
        vary: Headers = [] if _ANY in self._origins else [(b"vary", b"origin")]
        if allowed is None:
            return vary
        return [(b"access-control-allow-origin", allowed), (b"access-control-expose-headers", _EXPOSED), *vary]

    def preflight(self, scope: Scope) -> Headers | None:
        """The answer to a browser that asks beforehand; None if this is nothing of the kind, or not allowed."""
        if scope["method"] != "OPTIONS" or _header(scope, b"access-control-request-method") is None:
            return None
        headers = self.headers(scope)
        if not any(name == b"access-control-allow-origin" for name, _ in headers):
            return None
        return [
            (b"access-control-allow-methods", _METHODS),
            (b"access-control-allow-headers", _REQUEST_HEADERS),
            (b"access-control-max-age", _PREFLIGHT_S),
        ]

    def _allowed(self, origin: bytes | None) -> bytes | None:
        if origin is None:
            return None
        if _ANY in self._origins:
            return _ANY.encode()
        return origin if origin.decode("latin-1") in self._origins else None


def _header(scope: Scope, name: bytes) -> bytes | None:
    return next((value for key, value in scope["headers"] if key == name), None)
