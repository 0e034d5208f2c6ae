"""The operator's page of layers: what is kept, for whom it was made, and removing it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.environments.layers import shelf_at
from choir.bazaar.policy import EnvironmentsPolicy
from choir.doors.environments.shapes import LayerOut
from choir.doors.http.access import NodeDep
from choir.doors.operator.pages import InBrowser, outside, shown
from choir.doors.web.visitors import VisitorDep

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, prefix="/operator")

_ROWS = 100


@router.get("/environments")
def environments(request: Request, node: NodeDep, operator: InBrowser, visitor: VisitorDep) -> Response:
    """The layers that this node keeps."""
    if operator is None:
        return outside(request, visitor)
    found = shelf_at(node.settings.home).all()
    policy = node.policy.of(EnvironmentsPolicy)
    context = {
        "layers": [LayerOut.of(item) for item in found[:_ROWS]],
        "more": max(0, len(found) - _ROWS),
        "megabytes": sum(item.bytes for item in found) // 1_000_000,
        "megabytes_max": policy.layers_bytes_max // 1_000_000,
    }
    return shown(request, "operator_environments.html", operator, visitor, **context)
