"""Shapes of delegations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, WithJsonSchema

from choir.doors.agents.shapes import AGENT
from choir.doors.people.shapes import AT, OWNER, Name
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time
from choir.identity.agents.model import agent_id
from choir.identity.delegations.model import Period, delegation_id
from choir.identity.model import OFFERED_SCOPES, Scope, person_owner

if TYPE_CHECKING:
    from collections.abc import Iterable

    from choir.identity.delegations.model import Delegation
    from choir.identity.delegations.rules import CapState

DELEGATION = "delegation_01j9zq5m9xg7wtz2n4p5d6e7f8"


Id = Annotated[str, Field(max_length=60)]


# Every scope is valid; the description names those that something asks for.
_Offered = Annotated[Scope, WithJsonSchema({"type": "string", "enum": [scope.value for scope in OFFERED_SCOPES]})]


Scopes = Annotated[list[_Offered], Field(min_length=1, max_length=10, description="Allowed use.")]


Days = Annotated[int, Field(ge=1, le=3660, description="Lifetime in days from now.")]


class Lasting(Wire):
    """Lifetime: give exactly one of the two."""

    days: Days | None = None
    expires_at: str | None = Field(default=None, max_length=40, description="Instead of `days`: expiry time, ISO 8601.")


class CapIn(Wire, json_schema_extra=example(asset="SAT", period="day", cap="10000")):
    """A spending cap for an asset in a period; an asset without a cap cannot be spent."""

    asset: str = Field(max_length=20, examples=["SAT"])
    period: Period
    cap: str = Field(
        pattern=r"^(0|[1-9][0-9]{0,18})$", description="Smallest units as a decimal string.", examples=["10000"]
    )


_TERMS = {
    "scopes": ["read", "buy"],
    "caps": [{"asset": "SAT", "period": "day", "cap": "10000"}],
    "days": 30,
    "name": "the night shift",
}


class DelegationIn(Lasting, json_schema_extra=example(agent=AGENT, **_TERMS)):
    """A delegation to grant: from the calling person, or narrowed from the caller's own."""

    agent: Id
    scopes: Scopes
    caps: list[CapIn] = Field(default=[], max_length=24)
    name: Name | None = None


class CapOut(Wire, json_schema_extra=example(asset="SAT", period="day", cap="10000", spent="250")):
    """A cap, and the amount spent in the current window."""

    asset: str
    period: Period
    cap: str
    spent: str


_DELEGATION: dict[str, Any] = dict(  # noqa: C408 - as the shape names them
    id=DELEGATION,
    person=OWNER,
    agent=AGENT,
    parent=None,
    depth=0,
    scopes=["buy", "read"],
    caps=[{"asset": "SAT", "period": "day", "cap": "10000", "spent": "250"}],
    name="the night shift",
    created_at=AT,
    expires_at=AT,
    revoked_at=None,
)


class DelegationOut(Wire, json_schema_extra=example(**_DELEGATION)):  # fmt: skip
    """A delegation: an agent's authority."""

    id: str
    person: str = Field(description="The person whose authority it is.")
    agent: str
    parent: str | None = Field(description="The delegation it was narrowed from.")
    depth: int
    scopes: list[str]
    caps: list[CapOut]
    name: str | None
    created_at: str
    expires_at: str
    revoked_at: str | None

    @classmethod
    def of(cls, item: Delegation, usage: Iterable[CapState]) -> DelegationOut:
        """`usage` may be of several delegations."""
        caps = [
            CapOut(asset=state.asset, period=state.period, cap=str(state.cap), spent=str(state.spent))
            for state in usage
            if state.delegation == item.id
        ]
        return cls(
            id=delegation_id(item.id),
            person=person_owner(item.person),
            agent=agent_id(item.agent),
            parent=None if item.parent is None else delegation_id(item.parent),
            depth=item.depth,
            scopes=sorted(item.scopes),
            caps=caps,
            name=item.name,
            created_at=format_time(item.created_us),
            expires_at=format_time(item.expires_us),
            revoked_at=maybe_time(item.revoked_us),
        )


class DelegationPage(Wire, json_schema_extra=example(items=[_DELEGATION], next=None)):
    items: list[DelegationOut]
    next: str | None = None
