"""Search and the feed over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from choir.doors.http.access import AccessRoute, NodeDep, PublicDep
from choir.doors.http.rooms import RoomRouter
from choir.doors.search.shapes import FeedOut, SearchOut

router = RoomRouter(tags=["search"], route_class=AccessRoute)

Topic = Annotated[str | None, Query(max_length=100, description="Only articles of this topic.")]


@router.get("/search")
def search(
    who: PublicDep,  # noqa: ARG001
    node: NodeDep,
    q: Annotated[str, Query(min_length=1, max_length=2_000, description="What to look for.")],
    topic: Topic = None,
    new: Annotated[bool | None, Query(description="Whether being new counts. Default: as the query asks.")] = None,
    days: Annotated[int | None, Query(ge=1, le=10_000, description="Only what was promoted in so many days.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="Maximum number of results; policy may allow fewer.")] = 20,
) -> SearchOut:
    """Find promoted articles by their words and their sense; each result says why it stands where it stands."""
    with node.read() as tx:
        return SearchOut.of(node.commons.search.find(tx, q, topic=topic, limit=limit, new=new, days=days))


@router.get("/feed")
def feed(who: PublicDep, node: NodeDep, topic: Topic = None) -> FeedOut:  # noqa: ARG001
    """New and much-cited articles, with sponsored places beside them."""
    with node.read() as tx:
        return FeedOut.of(node.commons.search.feed(tx, topic=topic))
