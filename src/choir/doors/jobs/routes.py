"""Jobs over HTTP: ordering work, seeing what became of it, and fetching what was paid for."""

from __future__ import annotations

import logging
from typing import Annotated

from fastapi import Path, Response

from choir.bazaar.hall.model import Sides
from choir.bazaar.jobs.access import VisibleJob
from choir.bazaar.jobs.model import Job, job_id, parse_job_id
from choir.bazaar.jobs.orders import ARCHIVE
from choir.bazaar.policy import BazaarPolicy
from choir.bazaar.providers import selection_rules
from choir.bazaar.uploads.blobs import SentBlob, read_blob
from choir.bazaar.uploads.repositories import repository_of
from choir.doors.http.access import (
    AccessRoute,
    AnyoneDep,
    BuyerDep,
    BuyerOrSellerDep,
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
    LeftOutOut,
    RepositoryIn,
    RepositoryOut,
    RequestOut,
    SelectionIn,
    SelectionOut,
    SharingOut,
)
from choir.foundation.errors import ChoirError
from choir.foundation.money import parse_units
from choir.node import Node
from choir.sandbox.policy import SandboxPolicy
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

    def opened(tx: Tx) -> tuple[Job, bool]:
        job, new = bazaar.orders.open(tx, who, asked)
        if body.public:
            bazaar.hall.share(tx, who, job.id)
        return job, new

    job, new = node.write(opened)
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


@router.get("/jobs/{job}/sharing", responses=problems(404))
def get_sharing(job: str, who: MarketReaderDep, node: NodeDep) -> SharingOut:
    """Get which of your own sides of a job are public."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        return _sharing(job, node.bazaar.hall.sides(tx, who, id_))


@router.put("/jobs/{job}/sharing", responses=problems(404))
def share_job(job: str, who: BuyerOrSellerDep, node: NodeDep) -> SharingOut:
    """Make your own side of a job public: as its buyer the order and what came of it, as its provider the trajectory.

    A trajectory can be read while the buyer's side is public too. Inputs and hidden checks never are. Idempotent.
    """
    id_ = parse_job_id(job)
    return _sharing(job, node.write(lambda tx: node.bazaar.hall.share(tx, who, id_)))


@router.delete("/jobs/{job}/sharing", responses=problems(404))
def unshare_job(job: str, who: BuyerOrSellerDep, node: NodeDep) -> SharingOut:
    """Take back that your own side of a job is public. Idempotent."""
    id_ = parse_job_id(job)
    return _sharing(job, node.write(lambda tx: node.bazaar.hall.unshare(tx, who, id_)))


@router.post("/repositories", responses=problems(404))
def make_repository(body: RepositoryIn, who: BuyerDep, node: NodeDep) -> RepositoryOut:
    """Turn an archive into a git bundle that an order can name; a git bundle is kept as it is.

    Files that git reserves or that look like secrets are left out. The same files give the same bundle.
    """
    sent = read_blob(ARCHIVE, body.data, body.hash)
    with node.read() as tx:
        data = node.bazaar.orders.sent_bytes(tx, who, sent)
    made = repository_of(data, node.policy.of(BazaarPolicy), node.policy.of(SandboxPolicy))
    name = node.write(lambda tx: node.bazaar.orders.keep_repository(tx, who, made.data))
    left_out = [LeftOutOut(path=path, why=why) for path, why in made.left_out]
    return RepositoryOut(hash=name, commit=made.commit, files=made.files, left_out=left_out)


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


def _sharing(job: str, sides: Sides) -> SharingOut:
    return SharingOut(job=job, sides={side.value: public for side, public in sides.items()})


def _shown(tx: Tx, node: Node, seen: VisibleJob) -> JobOut:
    return JobOut.of(seen, node.bazaar.jobs.held(tx, seen.job) if seen.whole else None)
