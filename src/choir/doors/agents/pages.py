"""Pages about a person's agents.

Guarantee: what a page shows is its visitor's and nothing else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.accounts.pages import balances
from choir.doors.delegations.pages import delegations, grant_form
from choir.doors.http.access import NodeDep
from choir.doors.web.listings import all_of
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep
from choir.identity.agents.model import Agent, UnknownAgent, agent_id, parse_agent_id
from choir.identity.model import agent_owner
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@dataclass(frozen=True, slots=True)
class AgentLine:
    id: str
    agent: Agent
    live: int


def agents(node: Node, tx: Tx, person: UUID) -> list[AgentLine]:
    """A person's agents, newest first, retired ones at the end."""
    live: dict[UUID, int] = {}
    for each in delegations(node, tx, person):
        live[each.delegation.agent] = live.get(each.delegation.agent, 0) + (each.ended is None)
    own = all_of(lambda after: node.agents.of_person(tx, person, after=after))
    lines = [AgentLine(agent_id(agent.id), agent, live.get(agent.id, 0)) for agent in reversed(own)]
    return sorted(lines, key=lambda line: line.agent.retired_us is not None)


def agent(node: Node, tx: Tx, person: UUID, id_: UUID) -> dict[str, Any]:
    """One agent, its delegations and what it has."""
    found = node.agents.get(tx, id_)
    if found.owner != person:
        raise UnknownAgent(agent=agent_id(id_))
    lines = [line for line in delegations(node, tx, person) if line.delegation.agent == id_]
    return {
        "agent": AgentLine(agent_id(id_), found, sum(line.ended is None for line in lines)),
        "delegations": lines,
        "balances": balances(node, tx, agent_owner(id_)),
    }


@router.get("/agents")
def agents_page(request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """A person's agents."""
    with node.read() as tx:
        lines = agents(node, tx, visitor.person.id)
    return page(request, "agents.html", {"agents": lines, "visitor": visitor})


@router.get("/agents/{id_}")
def agent_page(id_: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """One agent: how far it may act, and how far it went."""
    with node.read() as tx:
        shown = agent(node, tx, visitor.person.id, parse_agent_id(id_))
    return page(request, "agent.html", {**shown, **grant_form(node), "visitor": visitor})
