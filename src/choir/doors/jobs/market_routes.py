"""Keeping a job's bytes longer, and second reviews, over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query, Response

from choir.bazaar.jobs.model import parse_job_id
from choir.bazaar.retention.model import RetentionState
from choir.doors.http.access import AccessRoute, BuyerDep, KeyDep, MarketReaderDep, NodeDep
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.jobs.blob_parts import BYTES, Part, answer_part
from choir.doors.jobs.market_shapes import KeepIn, KeepOut, RetentionOut, SecondReviewList, SecondReviewOut
from choir.storage.database import Tx

router = RoomRouter(prefix="/jobs", tags=["jobs"], route_class=AccessRoute)

Days = Annotated[int | None, Query(ge=1, le=36_500, description="Also tell what keeping so much longer would cost.")]
Number = Annotated[int, Path(ge=1, le=100)]


@router.get("/{job}/retention", responses=problems(404))
def get_retention(job: str, who: MarketReaderDep, node: NodeDep, days: Days = None) -> RetentionOut:
    """Get until when the inputs, artifacts and trajectories of a job are kept."""
    id_, retention = parse_job_id(job), node.bazaar.retention

    def look(tx: Tx) -> tuple[RetentionState, tuple[int, int] | None]:
        node.bazaar.access.job(tx, who, id_)
        return retention.state(tx, id_), None if days is None else retention.quote(tx, who, id_, days)

    state, quote = node.write(look)  # a quote locks the job
    return RetentionOut.of(job, state, retention.until_us(state), quote)


@router.post("/{job}/keep", status_code=201, responses=problems(404, 409, 410))
def keep_job(job: str, body: KeepIn, who: BuyerDep, key: KeyDep, node: NodeDep) -> KeepOut:
    """Keep the bytes of a closed job longer, for a price that is charged at once; the same key charges once."""
    id_ = parse_job_id(job)
    return KeepOut.of(node.write(lambda tx: node.bazaar.retention.keep(tx, who, id_, body.days, key)))


@router.get("/{job}/second-reviews", responses=problems(404))
def list_second_reviews(job: str, who: MarketReaderDep, node: NodeDep) -> SecondReviewList:
    """List what became of the second reviews that were ordered with a job, one for each of its tries."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        found = node.bazaar.access.second_reviews(tx, who, id_)
    return SecondReviewList(items=[SecondReviewOut.of(item) for item in found])


@router.get("/{job}/second-reviews/{n}/review", response_class=Response, responses=BYTES | problems(404, 410))
def get_second_review(job: str, n: Number, who: MarketReaderDep, node: NodeDep, part: Part = 0) -> Response:
    """Get a second review: for the buyer once the work that it quotes is paid, and for that work's provider."""
    id_ = parse_job_id(job)
    return answer_part(node, part, lambda tx: node.bazaar.access.second_review(tx, who, id_, n))
