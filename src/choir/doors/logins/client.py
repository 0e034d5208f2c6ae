"""Logging a program in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from choir.doors.logins.shapes import LoginStartedOut
from choir.doors.sdk.calls import Call, R, Room, call, path
from choir.doors.shapes import Wire
from choir.doors.tokens.shapes import TokenOut


class LoginAnswer(Wire):
    """What became of a login so far: still waiting, or the token."""

    state: Literal["waiting"] | None = None
    interval_s: int | None = None
    token: TokenOut | None = None
    secret: str | None = Field(default=None, repr=False)


class LoginsClient(Room[R]):
    """How a program gets a token of whoever approves it in the browser (see `choir login`)."""

    @call
    def begin(self, challenge: str, *, name: str, scopes: Sequence[str], days: int) -> Call[LoginStartedOut]:
        """Request a login; `challenge` is the base64url SHA-256 of a verifier that only this program knows."""
        body = {"challenge": challenge, "name": name, "scopes": list(scopes), "days": days}
        return Call("POST", "/v1/logins", LoginStartedOut, body)

    @call
    def token(self, login: str, verifier: str) -> Call[LoginAnswer]:
        """Fetch the token, once. No idempotency key: the answer cannot be repeated."""
        return Call("POST", path("/v1/logins/{login}/token", login=login), LoginAnswer, {"verifier": verifier})
