"""Agents: of a person, or standing on a Nostr key.

Guarantees: a person has only so many; an agent that is retired loses every delegation and token in the
same transaction and never comes back; whoever may not manage an agent is told that there is none.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from choir.foundation.clock import Clock, Entropy
from choir.identity import audit
from choir.identity.agents import store as agent_store
from choir.identity.agents.model import Agent, AgentRetired, UnknownAgent, agent_id
from choir.identity.credentials.rates import Rates
from choir.identity.delegations.rules import NO_ID, checked_name, new_id, page_size
from choir.identity.keys import store as key_store
from choir.identity.keys.model import KeyTaken
from choir.identity.keys.nostr_keys import checked_public, npub
from choir.identity.model import Principal, Role, TooMany, agent_owner, person_owner
from choir.identity.policy import DelegationsPolicy
from choir.storage.database import Tx


class Agents:
    """The acts on agents; all inside the caller's transaction."""

    def __init__(self, rates: Rates, clock: Clock, entropy: Entropy, policy: DelegationsPolicy) -> None:
        self._rates = rates
        self._clock = clock
        self._entropy = entropy
        self._policy = policy

    def create(self, tx: Tx, person: UUID, name: str, nostr_key: bytes | None = None) -> Agent:
        """A new agent of a person. A key must have been proven by a signature before."""
        name = checked_name(name, self._policy.name_chars_max)
        agent_store.lock_person(tx, person)
        if agent_store.live_count(tx, person) >= self._policy.agents_per_person_max:
            raise TooMany(what="agents of this person", limit=self._policy.agents_per_person_max)
        agent = self._new(tx, person, nostr_key, name)
        self._record(tx, agent, person_owner(person), "agent.created")
        return agent

    @staticmethod
    def names(tx: Tx, ids: Collection[UUID]) -> dict[UUID, str]:
        """The names of these agents; one without a name is left out."""
        return agent_store.names(tx, ids) if ids else {}

    @staticmethod
    def owners(tx: Tx, ids: Collection[UUID]) -> dict[UUID, UUID]:
        """The people of these agents; one that stands by itself is left out."""
        return agent_store.owners(tx, ids) if ids else {}

    def stand(self, tx: Tx, nostr_key: bytes, name: str | None = None, *, address: str = "") -> Agent:
        """The agent that stands on this key, made if there is none. The key must have been proven before.

        Keys cost nothing, so how many new ones stand up is limited by where they come from.
        """
        found = agent_store.by_key(tx, checked_public(nostr_key))
        if found is None:
            if name is not None:
                name = checked_name(name, self._policy.name_chars_max)
            self._count_stand(tx, address)
            found = self._new(tx, None, nostr_key, name)
            self._record(tx, found, agent_owner(found.id), "agent.stood_up")
        elif found.retired_us is not None:
            raise AgentRetired(agent=agent_id(found.id))
        return found

    def _count_stand(self, tx: Tx, address: str) -> None:
        policy = self._policy
        place = self._rates.place(tx, address)
        here, node = policy.stands_per_place, policy.stands_global
        self._rates.count_at(tx, "stand", place, window_s=policy.stand_window_s, here=here, node=node)

    def get(self, tx: Tx, agent: UUID) -> Agent:
        found = agent_store.get(tx, agent)
        if found is None:
            raise UnknownAgent(agent=agent_id(agent))
        return found

    def visible(self, tx: Tx, by: Principal, agent: UUID) -> Agent:
        """The agent, for its person and for itself."""
        found = self.get(tx, agent)
        if by.agent == found.id or (by.role is Role.PERSON and by.person == found.owner):
            return found
        raise UnknownAgent(agent=agent_id(agent))

    def of_person(self, tx: Tx, person: UUID, *, after: UUID = NO_ID, limit: int | None = None) -> list[Agent]:
        """A page of a person's agents, oldest first, retired ones included."""
        return agent_store.of_person(tx, person, after, page_size(limit, self._policy))

    def rename(self, tx: Tx, by: Principal, agent: UUID, name: str) -> None:
        name = checked_name(name, self._policy.name_chars_max)
        found = self._managed(tx, by, agent)
        agent_store.rename(tx, agent, name)
        self._record(tx, found, by.source, "agent.renamed")

    def retire(self, tx: Tx, by: Principal, agent: UUID) -> None:
        """End an agent for good, with its delegations, what was narrowed from them, and its tokens."""
        found = self._managed(tx, by, agent)
        agent_store.retire(tx, agent, self._clock.now_us())
        self._record(tx, found, by.source, "agent.retired")

    def _new(self, tx: Tx, person: UUID | None, nostr_key: bytes | None, name: str | None) -> Agent:
        now_us = self._clock.now_us()
        agent = Agent(new_id(now_us, self._entropy.bytes(8)), person, nostr_key, name, now_us, None)
        if nostr_key is not None:
            taken = key_store.owner_of(tx, checked_public(nostr_key)) is not None
            if taken or not agent_store.insert(tx, agent):
                raise KeyTaken(key=npub(nostr_key))
        else:
            agent_store.insert(tx, agent)
        return agent

    @staticmethod
    def _managed(tx: Tx, by: Principal, agent: UUID) -> Agent:
        """The live agent, locked, if this principal may manage it: its person, or it itself when it has none."""
        found = agent_store.lock(tx, agent)
        if found is None or not _manages(by, found):
            raise UnknownAgent(agent=agent_id(agent))
        if found.retired_us is not None:
            raise AgentRetired(agent=agent_id(agent))
        return found

    def _record(self, tx: Tx, agent: Agent, actor: str, act: str) -> None:
        owner = agent_owner(agent.id) if agent.owner is None else person_owner(agent.owner)
        audit.record(tx, act, at_us=self._clock.now_us(), actor=actor, owner=owner, subject=agent_owner(agent.id))


def _manages(by: Principal, agent: Agent) -> bool:
    if agent.owner is None:
        return by.agent == agent.id and by.delegation is None
    return by.role is Role.PERSON and by.must_be_person() == agent.owner
