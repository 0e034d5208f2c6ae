"""The page about a person's tokens and those of their agents.

Guarantee: what a page shows is its visitor's and nothing else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.delegations.pages import delegations, grant_form, sorted_scopes
from choir.doors.http.access import NodeDep
from choir.doors.web.listings import all_of
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep
from choir.identity.agents.model import Agent, agent_id
from choir.identity.credentials.model import token_id
from choir.identity.credentials.token_store import ApiToken
from choir.identity.model import Scope
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@dataclass(frozen=True, slots=True)
class TokenLine:
    id: str
    token: ApiToken
    scopes: list[Scope]
    agent: str | None  # the name of the agent that uses it
    ended: str | None


def tokens(node: Node, tx: Tx, person: UUID) -> list[TokenLine]:
    """A person's tokens and those of their agents, newest first; ended ones at the end."""
    names = {each.id: each.name or agent_id(each.id) for each in _own_agents(node, tx, person)}
    ended = {line.delegation.id: line.ended for line in delegations(node, tx, person)}
    lines = [
        TokenLine(
            token_id(each.id),
            each,
            sorted_scopes(each.scopes),
            None if each.agent is None else names.get(each.agent, "another person's agent"),
            _token_ended(each, node.clock.now_us()) or (None if each.delegation is None else ended[each.delegation]),
        )
        for each in reversed(all_of(lambda after: node.tokens.of_person(tx, person, after=after)))
    ]
    return sorted(lines, key=lambda line: line.ended is not None)


def _token_ended(token: ApiToken, now_us: int) -> str | None:
    if token.revoked_us is not None:
        return "revoked"
    return "expired" if now_us >= token.expires_us else None


def _own_agents(node: Node, tx: Tx, person: UUID) -> list[Agent]:
    return all_of(lambda after: node.agents.of_person(tx, person, after=after))


@router.get("/tokens")
def tokens_page(request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """Tokens of a person's programs and agents."""
    with node.read() as tx:
        lines = tokens(node, tx, visitor.person.id)
    return page(request, "tokens.html", {"tokens": lines, **grant_form(node), "visitor": visitor})
