"""Shapes of acts that a terminal asks for and a person confirms in the browser."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from choir.doors.agents.shapes import AgentOut
from choir.doors.delegations.shapes import DelegationIn, DelegationOut
from choir.doors.people.shapes import Name
from choir.doors.shapes import Wire, example
from choir.doors.tokens.shapes import TokenIn, TokenOut

_CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


class NewAgentIn(Wire, json_schema_extra=example(name="night librarian")):
    """A new agent without a key of its own."""

    name: Name


class ConfirmationIn(
    Wire, json_schema_extra=example(challenge=_CHALLENGE, name="choir on laptop", agent={"name": "night librarian"})
):
    """One act of the calling person, to be confirmed with their passkey: exactly one of agent, delegation and token."""

    challenge: str = Field(
        pattern=r"^[A-Za-z0-9_-]{43}$",
        description="SHA-256 of a random verifier that the program keeps, in base64url without padding.",
    )
    name: Name = Field(description="The program's claimed name; shown on the page.")
    agent: NewAgentIn | None = Field(default=None, description="Create an agent.")
    delegation: DelegationIn | None = Field(default=None, description="Grant a delegation.")
    token: TokenIn | None = Field(default=None, description="Create a token.")
    key: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        pattern=r"^[\x20-\x7e]+$",
        description="Idempotency key of the act: what this key made before is returned, and nobody is asked again.",
    )


class ConfirmedOut(Wire, json_schema_extra=example(state="waiting", interval_s=2)):
    """What became of an act: still waiting, or what it made."""

    state: Literal["waiting", "done"]
    interval_s: int | None = Field(default=None, description="While it waits: seconds until the next attempt.")
    agent: AgentOut | None = None
    delegation: DelegationOut | None = None
    token: TokenOut | None = None
    secret: str | None = Field(
        default=None, repr=False, description="The token itself, in the first answer only; it cannot be recovered."
    )
