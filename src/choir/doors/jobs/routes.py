"""Jobs over HTTP: ordering work, seeing what became of it, and fetching what was paid for."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import Path, Response

from choir.bazaar.jobs.access import VisibleJob
from choir.bazaar.jobs.model import Job, job_id, parse_job_id
from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.providers import selection_rules
from choir.bazaar.uploads.blobs import SentBlob, read_blob
from choir.doors.http.access import (
    AccessRoute,
    AnyoneDep,
    BuyerDep,
    MarketReaderDep,
    NodeDep,
    ReaderDep,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.jobs.blob_parts import BYTES, Part, answer_part
from choir.doors.jobs.shapes import (
    IdOut,
    InputName,
    JobIn,
    JobOut,
    JobPage,
    JobStepList,
    JobStepOut,
    RequestOut,
    SelectionIn,
    SelectionOut,
)
from choir.foundation.errors import ChoirError
from choir.foundation.money import parse_units
from choir.node import Node
from choir.storage.database import Tx

log = logging.getLogger(__name__)

router = RoomRouter(tags=["jobs"], route_class=AccessRoute)

_SEED_BYTES = 16
IdPrefix = Annotated[str, Path(max_length=60, pattern=r"^[a-z]+_[A-Za-z0-9]+$", description="Such as job_01j9zr1v7c.")]


@router.post(
    "/jobs",
    status_code=201,
    responses=also(200, JobOut, "This key had ordered it before.") | problems(404, 409),
)
def open_job(body: JobIn, who: BuyerDep, node: NodeDep, response: Response) -> JobOut:
    """Order work: the budget is held and the job offered to providers. The key in the request makes repeats one job."""
    bazaar = node.bazaar
    inputs: dict[str, SentBlob] = {name: read_blob(name, blob.data, blob.hash) for name, blob in body.inputs.items()}
    asked = bazaar.orders.read(body.type, body.request, inputs, body.strategy, body.criteria)
    job, new = node.write(lambda tx: bazaar.orders.open(tx, who, asked))
    if not new:
        response.status_code = 200
    elif job.ready_us <= node.clock.now_us():  # others are examined first
        job = _offered(node, job)
    with node.read() as tx:
        return _shown(tx, node, bazaar.access.ordered(tx, job))


@router.get("/jobs")
def list_jobs(who: ReaderDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> JobPage:
    """List your own jobs, newest first, with the number of attempts but not the attempts."""
    size, before = page_rows(limit, node.policy.of(BazaarPolicy)), before_id(cursor, parse_job_id)
    with node.read() as tx:
        found = node.bazaar.jobs.of_buyer(tx, who, before=before, limit=size)
        made = node.bazaar.jobs.attempts_made(tx, found)
        ordered = node.bazaar.jobs.summaries(tx, found)
        held = {item.id: node.bazaar.jobs.held(tx, item) for item in found if item.closed_us is None}  # else nothing is
    items = [JobOut.listed(item, held.get(item.id, 0), made.get(item.id, 0), ordered.get(item.id)) for item in found]
    return JobPage(items=items, next=job_id(found[-1].id) if len(found) == size else None)


@router.get("/jobs/{job}", responses=problems(404))
def get_job(job: str, who: MarketReaderDep, node: NodeDep) -> JobOut:
    """Get a job with its attempts. For its buyer, its providers, and operators."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        return _shown(tx, node, node.bazaar.access.job(tx, who, id_))


@router.get("/jobs/{job}/steps", responses=problems(404))
def list_steps(job: str, who: MarketReaderDep, node: NodeDep) -> JobStepList:
    """List every step of a job. A provider sees its own steps; only the buyer sees why providers were selected."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        return JobStepList(items=[JobStepOut.of(item) for item in node.bazaar.access.steps(tx, who, id_)])


@router.get("/jobs/{job}/request", responses=problems(404))
def get_request(job: str, who: MarketReaderDep, node: NodeDep) -> RequestOut:
    """Get the full order."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        name = node.bazaar.access.request(tx, who, id_)
        return RequestOut(hash=name, request=node.objects.get_atom(tx, name))


@router.get("/jobs/{job}/inputs/{name}", response_class=Response, responses=BYTES | problems(404))
def get_input(job: str, name: InputName, who: MarketReaderDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a part of an input."""
    id_ = parse_job_id(job)
    return answer_part(node, part, lambda tx: node.bazaar.access.input(tx, who, id_, name))


@router.get("/jobs/{job}/artifact", response_class=Response, responses=BYTES | problems(404))
def get_artifact(job: str, who: MarketReaderDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a part of the paid artifact."""
    id_ = parse_job_id(job)
    return answer_part(node, part, lambda tx: node.bazaar.access.bought(tx, who, id_))


@router.post("/jobs/{job}/cancel", responses=problems(404, 409))
def cancel_job(job: str, who: BuyerDep, node: NodeDep) -> JobOut:
    """Cancel a job. Earlier deliveries are still verified, and paid a share if they pass."""
    id_ = parse_job_id(job)

    def cancel(tx: Tx) -> JobOut:
        cancelled = node.bazaar.jobs.cancel(tx, who, id_)
        return _shown(tx, node, node.bazaar.access.ordered(tx, cancelled))

    return node.write(cancel)


@router.get("/ids/{prefix}", responses=problems(404, 409))
def find_id(prefix: IdPrefix, who: MarketReaderDep, node: NodeDep) -> IdOut:
    """Find the one job, dispute or provider whose id starts with this, among those that the caller may see."""
    with node.read() as tx:
        return IdOut(id=node.bazaar.access.id(tx, who, prefix))


@router.post("/selections")
def select(body: SelectionIn, _: AnyoneDep, node: NodeDep) -> SelectionOut:
    """Preview which providers would be selected for such a job now, best first, and why; nothing is ordered."""
    criteria = selection_rules.criteria_from(body.type, parse_units(body.max_price), body.criteria)
    seed = node.entropy.bytes(_SEED_BYTES)
    with node.read() as tx:
        found = node.bazaar.providers.selection.select(tx, criteria, node.clock.now_us(), seed)
    return SelectionOut(explanation=found.as_json())


def _offered(node: Node, job: Job) -> Job:
    """Ask providers at once; if that fails, the node's own round does it a moment later."""
    try:
        return node.write(lambda tx: node.bazaar.jobs.assign(tx, job.id))
    except ChoirError as error:
        log.warning("a new job was not offered at once", extra={"job": job_id(job.id), "error": error.code})
        return job


def _shown(tx: Tx, node: Node, seen: VisibleJob) -> JobOut:
    return JobOut.of(seen, node.bazaar.jobs.held(tx, seen.job) if seen.whole else None)
