"""The page of a job, for its parties and, where it is public, for everybody."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.disputes.model import Side, Trigger
from choir.bazaar.jobs.model import parse_job_id
from choir.doors.hall import texts, words
from choir.doors.hall.job_view import job_view
from choir.doors.http.access import NodeDep
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/jobs/{job}")
def job_page(request: Request, job: str, node: NodeDep, visitor: VisitorDep, more: bool = False) -> Response:
    """Stages, checks, what was delivered, the money, and what the reader can do."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        view = job_view(node, tx, visitor.principal if visitor else None, id_, more=more)
        key = str(node.keys.current(tx).vkey)
    context = {
        "view": view,
        "more": more,
        "key": key,
        "triggers": [(item.value, words.TRIGGERS[item]) for item in Trigger],
        "buyer_side": Side.BUYER,
        "provider_side": Side.PROVIDER,
        "visible": texts.visible,
        "paragraph": texts.paragraph,
        "visitor": visitor,
    }
    return page(request, "job.html", context)
