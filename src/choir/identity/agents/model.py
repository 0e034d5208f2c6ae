"""Agents: of a person, or standing on a key of their own."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.foundation.errors import NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of a person, or one that stands on a Nostr key."""

    id: UUID
    owner: UUID | None
    nostr_key: bytes | None
    name: str | None
    created_us: int
    retired_us: int | None


def parse_agent_id(text: str) -> UUID:
    return parse_id("agent", text)


def agent_id(value: UUID) -> str:
    return show_id("agent", value)


class NotYourAgent(NotAllowed):
    code = "identity.not_your_agent"
    sentence = "The agent {agent} is not yours, so you cannot create a token for it."
    hint = "It can sign its requests, or create a token under the delegation, with its own key."


class UnknownAgent(NotFound):
    code = "identity.agent_unknown"
    sentence = "There is no agent {agent}."


class AgentRetired(Refusal):
    code = "identity.agent_retired"
    sentence = "The agent {agent} is retired."
