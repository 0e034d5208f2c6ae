"""Sources, as a program asks for them."""

from __future__ import annotations

from choir.doors.sdk.calls import Call, R, Room, call, pages, path
from choir.doors.sources.shapes import SourceOut, SourcePage, SpanList, TextOut


class SourcesClient(Room[R]):
    """Documents, their text and spans of it."""

    @call
    def add(
        self, data: bytes, *, title: str | None = None, filename: str | None = None, media_type: str | None = None
    ) -> Call[SourceOut]:
        """Add a document: PDF, HTML, Markdown or plain text. Adding it again returns the same source."""
        params = {"title": title, "filename": filename, "media_type": media_type}
        return Call("POST", "/v1/sources", SourceOut, content=data, params=params, again=True)

    @call
    def fetch(self, url: str, *, title: str | None = None) -> Call[SourceOut]:
        """Have the node fetch a document by its URL, if its policy allows that."""
        return Call("POST", "/v1/sources/fetched", SourceOut, {"url": url, "title": title}, again=True)

    @pages
    def all(self, *, mine: bool = False, limit: int = 100) -> Call[SourcePage]:
        """Iterate over sources that you may read, newest first."""
        return Call("GET", "/v1/sources", SourcePage, params={"mine": mine, "limit": limit})

    @call
    def get(self, source: str) -> Call[SourceOut]:
        """Get a source."""
        return Call("GET", path("/v1/sources/{id}", id=source), SourceOut)

    @call
    def text(self, source: str, *, start: int = 0, end: int | None = None) -> Call[TextOut]:
        """Get a part of a source's text, at most 100000 characters."""
        return Call("GET", path("/v1/sources/{id}/text", id=source), TextOut, params={"start": start, "end": end})

    @call
    def document(self, source: str) -> Call[bytes]:
        """Get the document as it was added."""
        return Call("GET", path("/v1/sources/{id}/document", id=source), bytes)

    @call
    def find(self, words: str, *, source: str | None = None, limit: int = 10) -> Call[SpanList]:
        """Find where something is said, in one source or in all that you may read."""
        return Call("GET", "/v1/spans", SpanList, params={"q": words, "source": source, "limit": limit})
