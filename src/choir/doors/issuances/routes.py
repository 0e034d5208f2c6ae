"""Issuances over HTTP: one operator proposes, another approves."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Depends, Query, Request, Response

from choir.doors.http.access import AccessRoute, KeyDep, NodeDep, OperatorDep
from choir.doors.http.credentials import Operators
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.issuances.shapes import IssuanceIn, IssuanceOut, IssuancePage
from choir.foundation.money import parse_units
from choir.ledger.issuances.model import Issuance, issuance_id, parse_issuance_id
from choir.ledger.issuances.rules import agreed
from choir.ledger.model import Leg
from choir.ledger.policy import LedgerPolicy
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["issuances"], route_class=AccessRoute)


def _operators(request: Request) -> Operators:
    operators = request.app.state.operators
    assert isinstance(operators, Operators)
    return operators


OperatorsDep = Annotated[Operators, Depends(_operators)]


@router.post(
    "/issuances",
    status_code=201,
    responses=also(200, IssuanceOut, "It had been proposed with this key before.") | problems(404, 409),
)
def propose_issuance(
    body: IssuanceIn, who: OperatorDep, key: KeyDep, node: NodeDep, operators: OperatorsDep, response: Response
) -> IssuanceOut:
    """Propose an issuance. Nothing is posted before enough operators approve."""
    legs = tuple(Leg(leg.from_, leg.to, parse_units(leg.amount)) for leg in body.legs)

    def propose(tx: Tx) -> tuple[Issuance, bool]:
        return node.issuances.propose(tx, who.source, legs, reason=body.reason, key=key)

    issuance, new = node.write(propose)
    if not new:
        response.status_code = 200
    return _shown(node, issuance, operators)


@router.get("/issuances")
def list_issuances(
    _: OperatorDep,
    node: NodeDep,
    operators: OperatorsDep,
    state: Annotated[Literal["open"] | None, Query(description="Only issuances that await approval.")] = None,
    cursor: IdCursor = "",
    limit: Limit = 100,
) -> IssuancePage:
    """List issuances, all or open, newest first."""
    size = page_rows(limit, node.policy.of(LedgerPolicy))
    page = node.issuances.newest if state is None else node.issuances.newest_open
    with node.read() as tx:
        found = page(tx, before=before_id(cursor, parse_issuance_id), limit=size)
    following = issuance_id(found[-1].id) if len(found) == size else None
    return IssuancePage(items=[_shown(node, item, operators) for item in found], next=following)


@router.get("/issuances/{issuance}", responses=problems(404))
def get_issuance(issuance: str, _: OperatorDep, node: NodeDep, operators: OperatorsDep) -> IssuanceOut:
    """Get an issuance and its approvals."""
    id_ = parse_issuance_id(issuance)
    with node.read() as tx:
        return _shown(node, node.issuances.get(tx, id_), operators)


@router.post("/issuances/{issuance}/approve", responses=problems(404, 409))
def approve_issuance(issuance: str, who: OperatorDep, node: NodeDep, operators: OperatorsDep) -> IssuanceOut:
    """Approve an issuance. It is posted once enough operators approve; its proposer may not also approve.

    An approval counts if its author was an operator then and still is.
    """
    id_ = parse_issuance_id(issuance)
    approved = node.write(lambda tx: node.issuances.approve(tx, who.source, id_, operators.since))
    return _shown(node, approved, operators)


@router.post("/issuances/{issuance}/withdraw", responses=problems(404, 409))
def withdraw_issuance(issuance: str, who: OperatorDep, node: NodeDep, operators: OperatorsDep) -> IssuanceOut:
    """Withdraw an issuance; any operator may."""
    id_ = parse_issuance_id(issuance)
    return _shown(node, node.write(lambda tx: node.issuances.withdraw(tx, who.source, id_)), operators)


def _shown(node: Node, issuance: Issuance, operators: Operators) -> IssuanceOut:
    return IssuanceOut.of(
        issuance,
        node.issuances.state(issuance),
        needed=node.issuances.operators_needed(issuance),
        agreed=len(agreed(issuance, operators.since)),
    )
