"""The front page: what this node is, and what one can do here."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.http.access import NodeDep
from choir.doors.people.shapes import gifts
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep
from choir.identity.delegations.rules import NO_ID
from choir.ledger import queries

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/")
def home(request: Request, node: NodeDep, visitor: VisitorDep) -> Response:
    """The front page."""
    with node.read() as tx:
        entries = queries.head(tx).seq
        key = str(node.keys.current(tx).vkey)
    given = gifts(node.people.gift(NO_ID))
    facts = {"entries": entries, "key": key, "gifts": given, "address": node.settings.public_url}
    return page(request, "home.html", {**facts, "visitor": visitor})
