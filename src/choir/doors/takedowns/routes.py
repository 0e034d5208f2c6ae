"""Takedowns over HTTP, for operators."""

from __future__ import annotations

from fastapi import Response

from choir.commons.policy import CommonsPolicy
from choir.commons.takedowns.model import Category, Takedown, parse_takedown_id, takedown_id
from choir.doors.http.access import AccessRoute, NodeDep, OperatorDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.takedowns.shapes import RestoreIn, TakedownIn, TakedownOut, TakedownPage
from choir.storage.database import Tx

router = RoomRouter(prefix="/takedowns", tags=["takedowns"], route_class=AccessRoute)


@router.post("", status_code=201, responses=also(200, TakedownOut, "It was taken down before.") | problems(404))
def take_down(body: TakedownIn, who: OperatorDep, node: NodeDep, response: Response) -> TakedownOut:
    """Take an article or a source out of public view. Nothing is deleted, and no money moves."""
    category = Category(body.category)

    def add(tx: Tx) -> tuple[Takedown, bool]:
        return node.commons.takedowns.add(tx, who, body.subject, category, body.reason)

    found, new = node.write(add)
    if not new:
        response.status_code = 200
    return TakedownOut.of(found)


@router.get("")
def list_takedowns(_: OperatorDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> TakedownPage:
    """List takedowns, newest first, restored ones included."""
    size = page_rows(limit, node.policy.of(CommonsPolicy))
    with node.read() as tx:
        found = node.commons.takedowns.page(tx, before=before_id(cursor, parse_takedown_id), limit=size)
    following = takedown_id(found[-1].id) if len(found) == size else None
    return TakedownPage(items=[TakedownOut.of(item) for item in found], next=following)


@router.post("/{takedown}/restore", responses=problems(404, 409))
def restore(takedown: str, body: RestoreIn, who: OperatorDep, node: NodeDep) -> TakedownOut:
    """Put what was taken down back into public view."""
    id_ = parse_takedown_id(takedown)
    return TakedownOut.of(node.write(lambda tx: node.commons.takedowns.restore(tx, who, id_, body.reason)))
