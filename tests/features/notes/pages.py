"""The page with the notes."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.http.access import NodeDep
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep
from tests.features.notes.service import Notes

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/notes")
def notes_page(request: Request, node: NodeDep, visitor: VisitorDep) -> Response:
    """How many notes there are."""
    with node.read() as tx:
        count = node.of(Notes).count(tx)
    return page(request, "notes.html", {"count": count, "visitor": visitor})
