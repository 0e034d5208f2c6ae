"""Pages for a signed-in person: account, agents, delegations, tokens, letting a program in."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.http.access import NodeDep
from choir.doors.web import views
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep
from choir.identity.model import Scope, UnknownLogin, parse_agent_id, parse_login_id

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/account")
def account(request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """Passkeys, recovery codes, sessions, balances, recent acts."""
    person = visitor.person
    with node.unit_of_work() as tx:
        shown = views.account(node, tx, person.id, visitor.session, person.owner)
    return page(request, "account.html", {**shown, "visitor": visitor})


@router.get("/agents")
def agents(request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """A person's agents."""
    with node.unit_of_work() as tx:
        lines = views.agents(node, tx, visitor.person.id)
    return page(request, "agents.html", {"agents": lines, "visitor": visitor})


@router.get("/agents/{id_}")
def agent(id_: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """One agent: how far it may act, and how far it went."""
    with node.unit_of_work() as tx:
        shown = views.agent(node, tx, visitor.person.id, parse_agent_id(id_))
    return page(request, "agent.html", {**shown, **views.grant_form(node), "visitor": visitor})


@router.get("/login/{id_}")
def login(id_: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """A program asks to be let in; its person compares the codes and decides."""
    asked = parse_login_id(id_)
    with node.unit_of_work() as tx:
        try:
            found = node.logins.get(tx, visitor.principal, asked)
        except UnknownLogin:
            return page(request, "login.html", {"login": None, "visitor": visitor}, status=404)
    scopes = views.sorted_scopes(frozenset(Scope(scope) for scope in found.scopes))
    return page(request, "login.html", {"login": found, "id": id_, "scopes": scopes, "visitor": visitor})


@router.get("/tokens")
def tokens(request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """Tokens of a person's programs and agents."""
    with node.unit_of_work() as tx:
        lines = views.tokens(node, tx, visitor.person.id)
    return page(request, "tokens.html", {"tokens": lines, **views.grant_form(node), "visitor": visitor})
