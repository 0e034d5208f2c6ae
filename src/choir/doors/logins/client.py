"""Logging a program in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from choir.doors.logins.confirmation_shapes import ConfirmedOut
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

    @call
    def ask(
        self, challenge: str, *, name: str, act: str, content: dict[str, Any], key: str | None = None
    ) -> Call[LoginStartedOut]:
        """Ask for one act that needs a passkey: an `agent`, a `delegation` or a `token`, with its content."""
        body = {"challenge": challenge, "name": name, act: content, "key": key}
        return Call("POST", "/v1/confirmations", LoginStartedOut, body)

    @call
    def result(self, login: str, verifier: str) -> Call[ConfirmedOut]:
        """What became of an act. Sent again it says the same, without the secret of a token."""
        return Call("POST", path("/v1/confirmations/{login}/result", login=login), ConfirmedOut, {"verifier": verifier})
