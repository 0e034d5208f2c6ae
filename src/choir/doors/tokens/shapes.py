"""Shapes of API tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from choir.doors.delegations.shapes import Id, Lasting, Scopes
from choir.doors.people.shapes import AT, OWNER, Name
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time
from choir.identity.credentials.model import token_id
from choir.identity.delegations.model import delegation_id
from choir.identity.model import agent_owner, person_owner

if TYPE_CHECKING:
    from uuid import UUID

    from choir.identity.credentials.token_store import ApiToken

TOKEN = "token_01j9zq6c2yh8xva3p5q6e7f8g9"  # noqa: S105 - an id


_SECRET = "choir_pat_" + "0" * 49


class TokenIn(Lasting, json_schema_extra=example(name="laptop", scopes=["read"], days=90)):
    """A token for the caller's own programs, or for an agent under a delegation."""

    name: Name
    scopes: Scopes
    delegation: Id | None = Field(default=None, description="For the agent of this delegation.")


_TOKEN = {
    "id": TOKEN, "owner": OWNER, "delegation": None, "name": "laptop", "scopes": ["read"],
    "created_at": AT, "expires_at": AT, "last_used_at": None, "revoked_at": None,
}  # fmt: skip


class TokenOut(Wire, json_schema_extra=example(**_TOKEN)):
    """A token, without its secret."""

    id: str
    owner: str = Field(description="The principal it authenticates as.")
    delegation: str | None
    name: str
    scopes: list[str]
    created_at: str
    expires_at: str
    last_used_at: str | None
    revoked_at: str | None

    @classmethod
    def of(cls, item: ApiToken) -> TokenOut:
        return cls(
            id=token_id(item.id),
            owner=_token_owner(item.person, item.agent),
            delegation=None if item.delegation is None else delegation_id(item.delegation),
            name=item.name,
            scopes=sorted(item.scopes),
            created_at=format_time(item.created_us),
            expires_at=format_time(item.expires_us),
            last_used_at=maybe_time(item.last_used_us),
            revoked_at=maybe_time(item.revoked_us),
        )


class TokenPage(Wire, json_schema_extra=example(items=[_TOKEN], next=None)):
    items: list[TokenOut]
    next: str | None = None


class NewTokenOut(Wire, json_schema_extra=example(token=_TOKEN, secret=_SECRET)):
    """A newly created token."""

    token: TokenOut
    secret: str | None = Field(
        repr=False,
        description="The token itself, shown only once. Null if the same Idempotency-Key created it before: it cannot "
        "be recovered, so revoke it and create another.",
    )


def _token_owner(person: UUID | None, agent_: UUID | None) -> str:
    if person is not None:
        return person_owner(person)
    assert agent_ is not None  # the table sees to it
    return agent_owner(agent_)
