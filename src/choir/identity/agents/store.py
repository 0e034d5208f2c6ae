"""Agents in PostgreSQL, and the locks that keep limits and retirements exact.

Locks are taken in one order everywhere: the person, the agent, delegations from the root, the ledger's head.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import LiteralString
from uuid import UUID

from choir.identity.agents.model import Agent
from choir.identity.model import person_owner
from choir.identity.people.model import UnknownPerson
from choir.storage.database import Tx

_SELECT: LiteralString = "select id, owner, nostr_key, name, created_us, retired_us from agents"


def lock_person(tx: Tx, person: UUID) -> None:
    """Nobody else changes what this person owns until the transaction ends; raises if they are gone."""
    found = tx.row("select 1 from people where id = %s and erased_us is null for no key update", person)
    if found is None:
        raise UnknownPerson(person=person_owner(person))


def insert(tx: Tx, agent: Agent) -> bool:
    """Add an agent; False: its key is another agent's."""
    added = tx.run(
        "insert into agents (id, owner, nostr_key, name, created_us) values (%s, %s, %s, %s, %s)"
        " on conflict (nostr_key) do nothing",
        agent.id, agent.owner, agent.nostr_key, agent.name, agent.created_us,
    )  # fmt: skip
    return added == 1


def get(tx: Tx, agent: UUID) -> Agent | None:
    return tx.one_or_none(Agent, _SELECT + " where id = %s", agent)


def names(tx: Tx, ids: Collection[UUID]) -> dict[UUID, str]:
    """The names of those of these agents that have one."""
    return dict(tx.rows("select id, name from agents where id = any(%s) and name is not null", list(ids)))


def owners(tx: Tx, ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Whose those of these agents are that have a person."""
    return dict(tx.rows("select id, owner from agents where id = any(%s) and owner is not null", list(ids)))


def lock(tx: Tx, agent: UUID) -> Agent | None:
    """The agent, unchanged until the transaction ends."""
    return tx.one_or_none(Agent, _SELECT + " where id = %s for no key update", agent)


def shared(tx: Tx, agent: UUID) -> Agent | None:
    """The same for any number at one time."""
    return tx.one_or_none(Agent, _SELECT + " where id = %s for share", agent)


def by_key(tx: Tx, nostr_key: bytes) -> Agent | None:
    return tx.one_or_none(Agent, _SELECT + " where nostr_key = %s", nostr_key)


def live_count(tx: Tx, person: UUID) -> int:
    return int(tx.value("select count(*) from agents where owner = %s and retired_us is null", person))


def of_person(tx: Tx, person: UUID, after: UUID, limit: int) -> list[Agent]:
    return tx.all(Agent, _SELECT + " where owner = %s and id > %s order by id limit %s", person, after, limit)


def rename(tx: Tx, agent: UUID, name: str | None) -> None:
    tx.run("update agents set name = %s where id = %s", name, agent)


def retire(tx: Tx, agent: UUID, now_us: int) -> None:
    """Retire the agent and end all that it could act by."""
    tx.run("update agents set retired_us = %s where id = %s", now_us, agent)
    live = tx.rows(  # locked from the root, like a spend does
        "select id from delegations where agent = %s and revoked_us is null order by depth, id for no key update", agent
    )
    tx.run("update delegations set revoked_us = %s where id = any(%s)", now_us, [row[0] for row in live])
    tx.run("update api_tokens set revoked_us = %s where agent = %s and revoked_us is null", now_us, agent)
