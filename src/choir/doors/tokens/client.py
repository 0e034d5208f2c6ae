"""API tokens, as a program asks for them."""

from __future__ import annotations

from collections.abc import Sequence

from choir.doors.delegations.client import lasting
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path
from choir.doors.tokens.shapes import NewTokenOut, TokenPage


class TokensClient(Room[R]):
    """API tokens."""

    @pages
    def all(self, *, limit: int = 100) -> Call[TokenPage]:
        """List a person's tokens and those under their delegations; oldest first, including ended ones."""
        return Call("GET", "/v1/tokens", TokenPage, params={"limit": limit})

    @call
    def create(
        self,
        name: str,
        scopes: Sequence[str],
        *,
        days: int | None = None,
        expires_at: str | None = None,
        delegation: str | None = None,
        key: str | None = None,
    ) -> Call[NewTokenOut]:
        """Create a token, shown only once: for yourself, or for the agent of a delegation."""
        body = {"name": name, "scopes": list(scopes), "delegation": delegation, **lasting(days, expires_at)}
        return Call("POST", "/v1/tokens", NewTokenOut, body, key=key_or_new(key))

    @call
    def revoke(self, token: str) -> Call[None]:
        """Revoke a token at once; a token may revoke itself."""
        return Call("DELETE", path("/v1/tokens/{token}", token=token), type(None), again=True)
