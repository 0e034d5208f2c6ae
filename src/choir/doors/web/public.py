"""Pages for everybody: what this node is, signing up, signing in, recovering."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from choir.doors.http import identity_views
from choir.doors.http.access import NodeDep
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep, own_path
from choir.identity.delegation_rules import NO_ID
from choir.identity.policy import PeoplePolicy
from choir.ledger import reading

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
def home(request: Request, node: NodeDep, visitor: VisitorDep) -> Response:
    """What this node is, and what one can do here."""
    with node.unit_of_work() as tx:
        entries = reading.head(tx).seq
        key = str(node.keys.current(tx).vkey)
    gifts = identity_views.gifts(node.people.gift(NO_ID))
    facts = {"entries": entries, "key": key, "gifts": gifts, "address": node.settings.public_url}
    return page(request, "home.html", {**facts, "visitor": visitor})


@router.get("/sign-up")
def sign_up(request: Request, node: NodeDep, visitor: VisitorDep) -> Response:
    """A handle and a passkey make a person."""
    if visitor is not None:
        return RedirectResponse("/account", status_code=303)
    policy = node.policy.of(PeoplePolicy)
    return page(request, "sign_up.html", {"policy": policy})


@router.get("/sign-in")
def sign_in(request: Request, visitor: VisitorDep, next: str = "") -> Response:  # noqa: A002 - the name in the address
    """Showing a passkey; afterwards the visitor goes on to where they wanted to be."""
    goal = own_path(next)
    if visitor is not None:
        return RedirectResponse(goal, status_code=303)
    return page(request, "sign_in.html", {"next": goal, "asked": next != ""})


@router.get("/recover")
def recover(request: Request, visitor: VisitorDep) -> Response:
    """A recovery code instead of a lost passkey."""
    return page(request, "recover.html", {"visitor": visitor})
