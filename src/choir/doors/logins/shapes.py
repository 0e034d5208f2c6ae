"""Shapes of programs' logins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from choir.doors.delegations.shapes import Days, Scopes
from choir.doors.people.shapes import AT, Name
from choir.doors.shapes import Wire, example
from choir.foundation.clock import format_time
from choir.identity.credentials.model import login_id

if TYPE_CHECKING:
    from choir.identity.credentials.model import Login

LOGIN = "login_01j9zq7d3zj9ywb4q6r7f8g9ha"


class LoginIn(
    Wire,
    json_schema_extra=example(
        challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", name="choir on laptop", scopes=["read"], days=30
    ),
):
    """A program's request for a token, to be approved by a person in the browser."""

    challenge: str = Field(
        pattern=r"^[A-Za-z0-9_-]{43}$",
        description="SHA-256 of a random verifier that the program keeps, in base64url without padding.",
    )
    name: Name
    scopes: Scopes
    days: Days


class LoginStartedOut(
    Wire,
    json_schema_extra=example(
        login=LOGIN, code="7HXQ-2M4T", url=f"http://localhost:8420/login/{LOGIN}", expires_at=AT, interval_s=2
    ),
):
    """Where the person approves, and the code to compare."""

    login: str
    code: str = Field(description="Shown in the terminal and on the page, for comparison.")
    url: str
    expires_at: str
    interval_s: int = Field(description="Seconds between attempts to fetch the token.")


class VerifierIn(Wire, json_schema_extra=example(verifier="dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")):
    """The verifier, known only to the requesting program."""

    verifier: str = Field(repr=False, pattern=r"^[A-Za-z0-9._~-]{43,128}$")


class LoginWaitingOut(Wire, json_schema_extra=example(state="waiting", interval_s=2)):
    state: Literal["waiting"] = "waiting"
    interval_s: int


class LoginOut(
    Wire,
    json_schema_extra=example(
        id=LOGIN, name="choir on laptop", scopes=["read"], days=30, code="7HXQ-2M4T", state="waiting",
        act="login", asked=None, created_at=AT, expires_at=AT,
    ),
):  # fmt: skip
    """A login request, as shown to the approving person."""

    id: str
    name: str = Field(description="The program's claimed name; not verified.")
    scopes: list[str]
    days: int
    code: str
    state: Literal["waiting", "approved", "denied", "done"]
    act: Literal["login", "agent", "delegation", "token"] = Field(description="What is asked: a login, or one act.")
    asked: dict[str, Any] | None = Field(description="The content of the act, as its own route takes it.")
    created_at: str
    expires_at: str

    @classmethod
    def of(cls, item: Login) -> LoginOut:
        return cls.model_validate(
            {
                "id": login_id(item.id),
                "name": item.name,
                "scopes": item.scopes,
                "days": item.days,
                "code": item.code,
                "state": item.state,
                "act": item.act,
                "asked": None if item.terms is None else item.terms["body"],
                "created_at": format_time(item.created_us),
                "expires_at": format_time(item.expires_us),
            }
        )
