"""The pages on which a person lets a program in, or confirms one act that a terminal asks for.

Guarantee: what is confirmed is shown whole, from what will be done and not from what the program says of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.delegations.pages import sorted_scopes
from choir.doors.http.access import NodeDep
from choir.doors.web.errors import wants_page
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep, Visitor
from choir.identity.agents.model import Agent, agent_id, parse_agent_id
from choir.identity.credentials.confirmations import asked_act, scopes_of
from choir.identity.credentials.model import ActKind, AskedAct, Login, UnknownLogin, parse_login_id
from choir.identity.delegations.model import Cap, Delegation, Period, delegation_id, parse_delegation_id
from choir.identity.model import Scope
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/login/{id_}")
def login(id_: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """A program requests a login; its person compares the codes and decides."""
    with node.read() as tx:
        found = _found(node, tx, visitor, id_)
    if found is None or found.act != "login":
        return page(request, "login.html", {"login": None, "visitor": visitor}, status=404)
    scopes = sorted_scopes(frozenset(Scope(scope) for scope in found.scopes))
    return page(request, "login.html", {"login": found, "id": id_, "scopes": scopes, "visitor": visitor})


@router.get("/confirm/{id_}")
def confirm(id_: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """A terminal asks for one act; its person sees what would be done and decides."""
    with node.read() as tx:
        found = _found(node, tx, visitor, id_)
        if found is None or found.act == "login":
            if not wants_page(request):
                raise UnknownLogin(login=id_[:60])
            return page(request, "confirm.html", {"login": None, "visitor": visitor}, status=404)
        shown = asked_view(node, tx, visitor.person.id, asked_act(found))
    return page(request, "confirm.html", {"login": found, "id": id_, "asked": shown, "visitor": visitor})


def _found(node: Node, tx: Tx, visitor: Visitor, id_: str) -> Login | None:
    try:
        return node.logins.get(tx, visitor.principal, parse_login_id(id_))
    except UnknownLogin:
        return None


@dataclass(frozen=True, slots=True)
class AskedView:
    """An act in the words of a page."""

    kind: str
    name: str | None  # what is to be made is called
    scopes: list[Scope]
    caps: list[Cap]
    ends_us: int
    agent: str | None  # who is to act
    foreign: bool  # whether that agent is somebody else's
    delegation: str | None  # under which one


def asked_view(node: Node, tx: Tx, person: UUID, act: AskedAct) -> AskedView:
    """What would be done, with names where the request has ids."""
    under = _delegation(node, tx, act)
    agent = _agent(node, tx, act, under)
    caps = [Cap(cap["asset"], Period(cap["period"]), int(cap["cap"])) for cap in act.body.get("caps", ())]
    return AskedView(
        kind=act.kind.value,
        name=act.body["name"],
        scopes=sorted_scopes(scopes_of(act)),
        caps=caps if under is None else list(under.caps),
        ends_us=act.ends_us,
        agent=None if agent is None else agent.name or agent_id(agent.id),
        foreign=agent is not None and agent.owner != person,
        delegation=None if under is None else under.name or delegation_id(under.id),
    )


def _delegation(node: Node, tx: Tx, act: AskedAct) -> Delegation | None:
    under = act.body.get("delegation")
    return None if under is None else node.delegations.get(tx, parse_delegation_id(under))


def _agent(node: Node, tx: Tx, act: AskedAct, under: Delegation | None) -> Agent | None:
    if under is not None:
        return node.agents.get(tx, under.agent)
    return node.agents.get(tx, parse_agent_id(act.body["agent"])) if act.kind is ActKind.DELEGATION else None
