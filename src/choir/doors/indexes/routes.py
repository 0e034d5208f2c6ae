"""Searching bought indexes over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from choir.doors.http.access import AccessRoute, MarketReaderDep, NodeDep
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.indexes.reading import index_of
from choir.doors.indexes.shapes import USES_MAX, IndexSearchOut, search_out

router = RoomRouter(tags=["indexes"], route_class=AccessRoute)


@router.get("/indexes/{job}", responses=problems(404))
def search_index(
    job: str,
    who: MarketReaderDep,
    node: NodeDep,
    q: Annotated[str, Query(max_length=400, description="A name or a part of one, or a symbol's id.")] = "",
    kind: Annotated[str, Query(max_length=20, description="Only symbols of this kind, such as function.")] = "",
    refs: Annotated[bool, Query(description="Where the name is used, too.")] = False,
    limit: Annotated[int, Query(ge=1, le=USES_MAX, description="Maximum number of symbols, and of places.")] = 50,
) -> IndexSearchOut:
    """Search the index that a job was paid for. For who may read its artifact."""
    return search_out(index_of(node, who, job), q.strip(), kind, limit, refs=refs)
