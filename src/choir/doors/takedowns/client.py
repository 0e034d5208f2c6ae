"""Takedowns, as a program asks for them."""

from __future__ import annotations

from choir.doors.sdk.calls import Call, R, Room, call, pages, path
from choir.doors.takedowns.shapes import TakedownOut, TakedownPage


class TakedownsClient(Room[R]):
    """For operators: what is taken out of public view."""

    @call
    def add(self, subject: str, category: str, reason: str) -> Call[TakedownOut]:
        """Take an article (by id) or a source (by hash) out of public view. Doing it twice is doing it once."""
        body = {"subject": subject, "category": category, "reason": reason}
        return Call("POST", "/v1/takedowns", TakedownOut, body, again=True)

    @pages
    def all(self, *, limit: int = 100) -> Call[TakedownPage]:
        """Iterate over takedowns, newest first, restored ones included."""
        return Call("GET", "/v1/takedowns", TakedownPage, params={"limit": limit})

    @call
    def restore(self, takedown: str, reason: str) -> Call[TakedownOut]:
        """Put what was taken down back into public view."""
        where = path("/v1/takedowns/{takedown}/restore", takedown=takedown)
        return Call("POST", where, TakedownOut, {"reason": reason})
