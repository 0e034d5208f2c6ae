"""Search and the feed, as a program asks for them."""

from __future__ import annotations

from choir.doors.sdk.calls import Call, R, Room, call
from choir.doors.search.shapes import FeedOut, SearchOut


class SearchClient(Room[R]):
    """Finding promoted articles."""

    @call
    def find(
        self,
        query: str,
        *,
        topic: str | None = None,
        new: bool | None = None,
        days: int | None = None,
        limit: int = 20,
    ) -> Call[SearchOut]:
        """Find promoted articles, and why each stands where it stands."""
        params = {"q": query, "topic": topic, "new": new, "days": days, "limit": limit}
        return Call("GET", "/v1/search", SearchOut, params=params)

    @call
    def feed(self, *, topic: str | None = None) -> Call[FeedOut]:
        """New and much-cited articles."""
        return Call("GET", "/v1/feed", FeedOut, params={"topic": topic})
