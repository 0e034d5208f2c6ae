"""The hall over HTTP, for everybody: figures of all jobs, and what parties made public."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from choir.bazaar.attempts.model import parse_attempt_id
from choir.bazaar.hall.model import Place
from choir.bazaar.jobs.model import job_id, parse_job_id
from choir.bazaar.policy import BazaarPolicy
from choir.doors.hall.shapes import FigureOut, FigurePage, HallOut, PublicAttemptOut, PublicJobOut, TotalsOut
from choir.doors.http.access import AccessRoute, AnyoneDep, NodeDep
from choir.doors.http.openapi import problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.jobs.attempt_routes import receipt_file, signed_receipt
from choir.doors.jobs.blob_parts import BYTES, Part, answer_part
from choir.doors.jobs.shapes import ReceiptFileOut

router = RoomRouter(prefix="/hall", tags=["hall"], route_class=AccessRoute)

PlaceCursor = Annotated[
    str, Query(max_length=40, pattern=r"^([0-9]{1,18}\.[0-9]{1,9})?$", description="`next` of the previous page.")
]


@router.get("")
def get_hall(_: AnyoneDep, node: NodeDep) -> HallOut:
    """Get what was cleared today (UTC), and in all."""
    with node.read() as tx:
        today, in_all = node.bazaar.hall.totals(tx)
    return HallOut(today=TotalsOut.of(today), in_all=TotalsOut.of(in_all))


@router.get("/figures")
def list_figures(_: AnyoneDep, node: NodeDep, cursor: PlaceCursor = "", limit: Limit = 100) -> FigurePage:
    """List all jobs as figures, newest first: type, state, price, time taken. Parties and ids are not shown."""
    size = page_rows(limit, node.policy.of(BazaarPolicy))
    with node.read() as tx:
        found, following = node.bazaar.hall.figures(tx, place_of(cursor), size)
    return FigurePage(items=[FigureOut.of(item) for item in found], next=cursor_of(following))


@router.get("/jobs")
def list_public_jobs(_: AnyoneDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> FigurePage:
    """List jobs that their buyers made public, newest first."""
    size, before = page_rows(limit, node.policy.of(BazaarPolicy)), before_id(cursor, parse_job_id)
    with node.read() as tx:
        found = node.bazaar.hall.public_jobs(tx, before, size)
    last = found[-1].job if len(found) == size else None
    return FigurePage(items=[FigureOut.of(item) for item in found], next=None if last is None else job_id(last))


@router.get("/jobs/{job}", responses=problems(404))
def get_public_job(job: str, _: AnyoneDep, node: NodeDep) -> PublicJobOut:
    """Get a public job: the order, each verdict with its checks, and the receipts."""
    id_, hall = parse_job_id(job), node.bazaar.hall
    with node.read() as tx:
        found = hall.job(tx, id_)
        attempts = [
            PublicAttemptOut.of(item, hall.verdict(tx, item.id)[1], signed_receipt(tx, node, hall.receipt(tx, item.id)))
            for item in found.attempts
        ]
        return PublicJobOut.of(found, hall.request(tx, id_), attempts)


@router.get("/jobs/{job}/artifact", response_class=Response, responses=BYTES | problems(404))
def get_public_artifact(job: str, _: AnyoneDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a part of the artifact that a public job was paid for."""
    id_ = parse_job_id(job)
    return answer_part(node, part, lambda tx: node.bazaar.hall.artifact(tx, id_))


@router.get("/attempts/{attempt}/trajectory", response_class=Response, responses=BYTES | problems(404))
def get_public_trajectory(attempt: str, _: AnyoneDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a part of the trajectory that a provider made public."""
    id_ = parse_attempt_id(attempt)
    return answer_part(node, part, lambda tx: node.bazaar.hall.trajectory(tx, id_))


@router.get("/attempts/{attempt}/receipt/file", responses=problems(404))
def get_public_receipt_file(attempt: str, _: AnyoneDep, node: NodeDep) -> ReceiptFileOut:
    """Get the receipt of an attempt at a public job with all that is needed to verify it."""
    id_, hall = parse_attempt_id(attempt), node.bazaar.hall
    return receipt_file(node, id_, lambda tx: hall.receipt(tx, id_), lambda tx: hall.verdict(tx, id_))


def place_of(cursor: str) -> Place | None:
    """Where a page begins, from what its address says."""
    at_us, _, skipped = cursor.partition(".")
    return Place(int(at_us), int(skipped)) if cursor else None


def cursor_of(place: Place | None) -> str | None:
    return None if place is None else f"{place.at_us}.{place.skipped}"
