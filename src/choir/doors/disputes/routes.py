"""Disputes over HTTP: for both sides of an attempt, and for the operators who decide."""

from __future__ import annotations

from fastapi import Response

from choir.bazaar.attempts.model import parse_attempt_id
from choir.bazaar.disputes.model import Dispute, dispute_id, parse_dispute_id
from choir.bazaar.jobs.model import parse_job_id
from choir.bazaar.policy import BazaarPolicy
from choir.doors.disputes.shapes import DisputeIn, DisputeOut, DisputePage, ResponseIn, RulingIn
from choir.doors.http.access import (
    AccessRoute,
    BuyerOrSellerDep,
    MarketReaderDep,
    NodeDep,
    OperatorDep,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, last_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["disputes"], route_class=AccessRoute)


@router.get("/jobs/{job}/disputes", responses=problems(404))
def list_disputes_of_job(job: str, who: MarketReaderDep, node: NodeDep) -> DisputePage:
    """List a job's disputes that the caller is a party to."""
    id_ = parse_job_id(job)
    with node.read() as tx:
        return DisputePage(items=[_shown(tx, node, item) for item in node.bazaar.disputes.of_job(tx, who, id_)])


@router.post(
    "/jobs/{job}/disputes",
    status_code=201,
    responses=also(200, DisputeOut, "This side had disputed it before.") | problems(404, 409),
)
def open_dispute(job: str, body: DisputeIn, who: BuyerOrSellerDep, node: NodeDep, response: Response) -> DisputeOut:
    """Dispute the outcome of an attempt; takes a deposit. Opening it again returns the same dispute."""
    id_ = parse_job_id(job)
    attempt = None if body.attempt is None else parse_attempt_id(body.attempt)

    def doubt(tx: Tx) -> tuple[DisputeOut, bool]:
        found, new = node.bazaar.disputes.open_or_find(tx, who, id_, attempt, body.trigger, body.statement)
        return _shown(tx, node, found), new

    shown, new = node.write(doubt)
    if not new:
        response.status_code = 200
    return shown


@router.get("/disputes")
def list_disputes(who: OperatorDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> DisputePage:
    """List disputes that await a ruling, oldest first."""
    size, after = page_rows(limit, node.policy.of(BazaarPolicy)), last_id(cursor, parse_dispute_id)
    with node.read() as tx:
        found = node.bazaar.disputes.under_review(tx, who, after=after, limit=size)
        shown = [_shown(tx, node, item) for item in found]
    following = dispute_id(found[-1].id) if len(found) == size else None
    return DisputePage(items=shown, next=following)


@router.get("/disputes/{dispute}", responses=problems(404))
def get_dispute(dispute: str, who: MarketReaderDep, node: NodeDep) -> DisputeOut:
    """Get a dispute. For both sides and for operators."""
    id_ = parse_dispute_id(dispute)
    with node.read() as tx:
        return _shown(tx, node, node.bazaar.disputes.get(tx, who, id_))


@router.post("/disputes/{dispute}/response", responses=problems(404, 409))
def respond(dispute: str, body: ResponseIn, who: BuyerOrSellerDep, node: NodeDep) -> DisputeOut:
    """Answer a dispute as the other side; the first answer stands."""
    id_ = parse_dispute_id(dispute)

    def answer(tx: Tx) -> DisputeOut:
        return _shown(tx, node, node.bazaar.disputes.respond(tx, who, id_, body.response))

    return node.write(answer)


@router.post("/disputes/{dispute}/rulings", responses=problems(404, 409))
def rule(dispute: str, body: RulingIn, who: OperatorDep, node: NodeDep) -> DisputeOut:
    """Rule on a dispute. It is decided once enough operators agree; an operator's first ruling stands."""
    id_ = parse_dispute_id(dispute)

    def decide(tx: Tx) -> DisputeOut:
        return _shown(tx, node, node.bazaar.disputes.rule(tx, who, id_, body.winner, body.reasoning))

    return node.write(decide)


def _shown(tx: Tx, node: Node, item: Dispute) -> DisputeOut:
    return DisputeOut.of(item, node.bazaar.disputes.rulings(tx, item))
