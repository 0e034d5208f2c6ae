"""The page on which a person lets a program in."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.delegations.pages import sorted_scopes
from choir.doors.http.access import NodeDep
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep
from choir.identity.credentials.model import UnknownLogin, parse_login_id
from choir.identity.model import Scope

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/login/{id_}")
def login(id_: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep) -> Response:
    """A program requests a login; its person compares the codes and decides."""
    asked = parse_login_id(id_)
    with node.read() as tx:
        try:
            found = node.logins.get(tx, visitor.principal, asked)
        except UnknownLogin:
            return page(request, "login.html", {"login": None, "visitor": visitor}, status=404)
    scopes = sorted_scopes(frozenset(Scope(scope) for scope in found.scopes))
    return page(request, "login.html", {"login": found, "id": id_, "scopes": scopes, "visitor": visitor})
