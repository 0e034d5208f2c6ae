"""Novelty, as a program asks for it."""

from __future__ import annotations

from choir.doors.novelty.shapes import NoveltyOut, NoveltyScoreOut
from choir.doors.sdk.calls import Call, R, Room, call, path


class NoveltyClient(Room[R]):
    """How new articles are."""

    @call
    def measure(self, article: str, *, draft: int | None = None) -> Call[NoveltyOut]:
        """Measure a draft against all earlier work."""
        return Call("POST", path("/v1/articles/{id}/novelty", id=article), NoveltyOut, {"draft": draft}, again=True)

    @call
    def get(self, article: str, *, version: int | None = None) -> Call[NoveltyScoreOut]:
        """Get what a published version scored."""
        params = {"version": version}
        return Call("GET", path("/v1/articles/{id}/novelty", id=article), NoveltyScoreOut, params=params)
