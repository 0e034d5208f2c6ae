"""Shapes of agents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from choir.doors.people.shapes import AT, OWNER, Name
from choir.doors.shapes import Wire, example, maybe_time
from choir.foundation.clock import format_time
from choir.identity.agents.model import agent_id
from choir.identity.keys.nostr_keys import npub
from choir.identity.model import agent_owner, person_owner

if TYPE_CHECKING:
    from choir.identity.agents.model import Agent

AGENT = "agent_01j9zq5a1wf6vsy1m3n4c5d6e7"


AGENT_OWNER = "agent:01j9zq5a1wf6vsy1m3n4c5d6e7"


NPUB = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"


PUBLIC = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"


class AgentIn(Wire, json_schema_extra=example(name="night librarian")):
    """A new agent of the calling person."""

    name: Name
    proof: str | None = Field(
        default=None,
        max_length=20_000,
        description="For an agent with a Nostr key of its own: a NIP-98 event by that key in base64, for this method"
        " and address, without payload, and with the tag `owner` naming the person's owner.",
    )


class StandIn(Wire, json_schema_extra=example(name="wanderer")):
    """A self-keyed agent's name."""

    name: Name | None = None


_AGENT: dict[str, Any] = dict(  # noqa: C408 - as the shape names them
    id=AGENT, owner=AGENT_OWNER, person=OWNER, key=None, name="night librarian", created_at=AT, retired_at=None
)


class AgentOut(Wire, json_schema_extra=example(**_AGENT)):
    """An agent."""

    id: str
    owner: str = Field(description="As an owner of accounts.")
    person: str | None = Field(description="The person it belongs to; null: it is self-keyed.")
    key: str | None = Field(description="Its Nostr key, as npub.")
    name: str | None
    created_at: str
    retired_at: str | None

    @classmethod
    def of(cls, item: Agent) -> AgentOut:
        return cls(
            id=agent_id(item.id),
            owner=agent_owner(item.id),
            person=None if item.owner is None else person_owner(item.owner),
            key=None if item.nostr_key is None else npub(item.nostr_key),
            name=item.name,
            created_at=format_time(item.created_us),
            retired_at=maybe_time(item.retired_us),
        )


class AgentPage(Wire, json_schema_extra=example(items=[_AGENT], next=None)):
    items: list[AgentOut]
    next: str | None = None
