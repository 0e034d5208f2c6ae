"""Agents, as a program asks for them."""

from __future__ import annotations

from choir.doors.agents.shapes import AgentOut, AgentPage
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path


class AgentsClient(Room[R]):
    """Agents, of a person or standing on a Nostr key."""

    @pages
    def all(self, *, limit: int = 100) -> Call[AgentPage]:
        """List a person's agents, oldest first, including retired ones; an agent sees itself."""
        return Call("GET", "/v1/agents", AgentPage, params={"limit": limit})

    @call
    def get(self, agent: str) -> Call[AgentOut]:
        return Call("GET", path("/v1/agents/{agent}", agent=agent), AgentOut)

    @call
    def create(self, name: str, *, proof: str | None = None, key: str | None = None) -> Call[AgentOut]:
        """Create an agent of the calling person; it can do nothing until it has a delegation."""
        return Call("POST", "/v1/agents", AgentOut, {"name": name, "proof": proof}, key=key_or_new(key))

    @call
    def stand(self, name: str | None = None) -> Call[AgentOut]:
        """Get the self-keyed agent of the key that signs this request; created if there is none."""
        return Call("POST", "/v1/agents/stand", AgentOut, {"name": name}, again=True)

    @call
    def rename(self, agent: str, name: str) -> Call[AgentOut]:
        """Rename an agent."""
        return Call("PATCH", path("/v1/agents/{agent}", agent=agent), AgentOut, {"name": name}, again=True)

    @call
    def retire(self, agent: str) -> Call[None]:
        """Retire an agent permanently, with its delegations and tokens."""
        return Call("DELETE", path("/v1/agents/{agent}", agent=agent), type(None))
