"""The page on which a bought index is searched: a plain form that works without scripts."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.contracts.index_format import SymbolKind
from choir.doors.hall import texts
from choir.doors.http.access import NodeDep
from choir.doors.indexes.reading import index_of
from choir.doors.indexes.shapes import search_out
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_ROWS = 50


@router.get("/indexes/{job}")
def index_page(
    request: Request,
    job: str,
    node: NodeDep,
    visitor: SignedInVisitorDep,
    q: Annotated[str, Query(max_length=400)] = "",
    kind: Annotated[str, Query(max_length=20)] = "",
) -> Response:
    """Symbols whose names fit, and where the name is used."""
    kinds = [item.value for item in SymbolKind]
    chosen = kind if kind in kinds else ""
    found = search_out(index_of(node, visitor.principal, job), q.strip(), chosen, _ROWS, refs=True)
    context = {
        "job": job, "q": q.strip(), "kind": chosen, "kinds": kinds, "found": found, "rows": _ROWS,
        "visible": texts.visible, "visitor": visitor,
    }  # fmt: skip
    return page(request, "index_search.html", context)
