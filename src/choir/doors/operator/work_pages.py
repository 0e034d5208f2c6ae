"""What the node is at, as operators see it: tasks, subscribers of events, jobs by state, providers online.

Guarantees: for operators alone, as all their pages; every listing is bounded and goes on behind its last row; errors
are shown without what may be secret; a job's page shows its steps, and never what was ordered or delivered.
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.jobs.model import JobState, job_id, parse_job_id
from choir.bazaar.providers.model import parse_provider_id, provider_id
from choir.doors.http.access import NodeDep
from choir.doors.http.paging import IdCursor, before_id, last_id
from choir.doors.operator.pages import InBrowser, outside, shown
from choir.doors.operator.work import LIVE
from choir.doors.web.names import name, names
from choir.doors.web.visitors import VisitorDep
from choir.identity.credentials.operator_sessions import SESSION
from choir.identity.credentials.operator_store import OperatorSession
from choir.identity.model import Principal, Role
from choir.storage import work_list
from choir.storage.work_list import COUNT_MAX, TaskLine

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, prefix="/operator")

_ROWS = 20  # of a listing on one page

TaskCursor = Annotated[str, Query(max_length=600, description="Name and key of the last task.")]


@router.get("/work")
def work(
    request: Request,
    node: NodeDep,
    operator: InBrowser,
    visitor: VisitorDep,
    tasks: TaskCursor = "",
    providers: IdCursor = "",
) -> Response:
    """Background tasks, subscribers of events, jobs by state, providers online."""
    if operator is None:
        return outside(request, visitor)
    after, _, key = tasks.partition(" ")
    with node.read() as tx:
        lines = work_list.tasks(tx, after=(_plain(after), _plain(key)), limit=_ROWS)
        online = node.bazaar.providers.online(tx, after=last_id(providers, parse_provider_id), limit=_ROWS)
        context = {
            "failing": work_list.failing_tasks(tx, limit=_ROWS),
            "subscribers": work_list.subscribers(tx),
            "counts": node.bazaar.jobs.counts(tx, _reader(operator), COUNT_MAX),
            "owners": names(node, tx, [one.provider.owner for one in online]),
        }
    more = {
        "more_tasks": f"?tasks={_task_cursor(lines[-1])}" if len(lines) == _ROWS else "",
        "more_online": f"?providers={provider_id(online[-1].provider.id)}" if len(online) == _ROWS else "",
    }
    shown_online = [(provider_id(one.provider.id), one) for one in online]
    context |= {"tasks": lines, "online": shown_online, "live": LIVE, "most": COUNT_MAX}
    return shown(request, "operator_work.html", operator, visitor, **context, **more)


@router.get("/jobs")
def jobs(
    request: Request,
    node: NodeDep,
    operator: InBrowser,
    visitor: VisitorDep,
    state: JobState = JobState.OPEN,
    cursor: IdCursor = "",
) -> Response:
    """Jobs in one state, newest first."""
    if operator is None:
        return outside(request, visitor)
    before = before_id(cursor, parse_job_id)
    with node.read() as tx:
        found = node.bazaar.jobs.in_state(tx, _reader(operator), state, before=before, limit=_ROWS)
        buyers = names(node, tx, [job.buyer for job in found])
    lines = [(job_id(job.id), job, buyers[job.buyer].text) for job in found]
    more = f"?state={state}&cursor={lines[-1][0]}" if len(lines) == _ROWS else ""
    context = {"lines": lines, "more": more, "state": state, "states": list(JobState)}
    return shown(request, "operator_jobs.html", operator, visitor, **context)


@router.get("/jobs/{job}")
def job_steps(request: Request, job: str, node: NodeDep, operator: InBrowser, visitor: VisitorDep) -> Response:
    """One job: where it is and how it came there."""
    if operator is None:
        return outside(request, visitor)
    id_, who = parse_job_id(job), _reader(operator)
    with node.read() as tx:
        seen = node.bazaar.access.job(tx, who, id_)
        context = {
            "id": job,
            "job": seen.job,
            "buyer": name(node, tx, seen.job.buyer).text,
            "attempts": [(provider_id(item.provider), item) for item in seen.attempts],
            "steps": node.bazaar.access.steps(tx, who, id_),
        }
    return shown(request, "operator_job.html", operator, visitor, **context)


def _reader(operator: OperatorSession) -> Principal:
    return Principal(Role.OPERATOR, operator.source, credential=SESSION)


def _task_cursor(line: TaskLine) -> str:
    return quote(f"{line.name} {line.key}", safe="")


def _plain(text: str) -> str:
    """What the database can compare."""
    return text.replace("\0", "")
