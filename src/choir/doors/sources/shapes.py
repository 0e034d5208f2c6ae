"""Shapes about sources."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from choir.commons.sources.model import FoundSpan, SourceRecord
from choir.doors.shapes import Wire, example
from choir.foundation.clock import format_time

_HASH = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
_SOURCE: dict[str, Any] = {
    "hash": _HASH,
    "state": "UNTRUSTED",
    "title": "Wind loads on cable bridges",
    "media_type": "application/pdf",
    "bytes": _HASH,
    "size": 482113,
    "text": _HASH,
    "chars": 61200,
    "reader": "pdf/1 pypdf/7.0.1 text/1",
    "origin": "file",
    "url": None,
    "added_at": "2026-01-02T03:04:05.000000Z",
}


class UrlIn(Wire, json_schema_extra=example(url="https://example.org/report.pdf")):
    """A document by its URL."""

    url: str = Field(min_length=1, max_length=2_000)
    title: str | None = Field(default=None, max_length=2_000, description="Default: the document's own title.")


class SourceOut(Wire, json_schema_extra=example(**_SOURCE)):
    """A source."""

    hash: str
    state: str
    title: str
    media_type: str
    bytes: str = Field(description="Hash of the document's bytes.")
    size: int
    text: str = Field(description="Hash of the normalised text.")
    chars: int
    reader: str = Field(description="What made the text; the same bytes and reader give the same text.")
    origin: str
    url: str | None = None
    added_at: str

    @classmethod
    def of(cls, item: SourceRecord) -> SourceOut:
        return cls(
            hash=item.hash,
            state=item.state,
            title=item.title,
            media_type=item.media_type,
            bytes=item.bytes,
            size=item.size,
            text=item.text,
            chars=item.chars,
            reader=item.reader,
            origin=item.origin,
            url=item.url,
            added_at=format_time(item.added_us),
        )


class SourcePage(Wire, json_schema_extra=example(items=[_SOURCE], next=None)):
    items: list[SourceOut]
    next: str | None = None


class TextOut(Wire, json_schema_extra=example(source=_HASH, start=0, end=11, chars=61200, text="Wind loads…")):
    """A part of a source's text; offsets count characters."""

    source: str
    start: int
    end: int
    chars: int
    text: str


class SpanOut(Wire, json_schema_extra=example(pointer=f"{_HASH}@120-188", title="Wind loads", text="…")):
    """Where something is said."""

    pointer: str = Field(description="As an article's evidence names it.")
    title: str
    text: str

    @classmethod
    def of(cls, item: FoundSpan) -> SpanOut:
        return cls(pointer=str(item.pointer), title=item.title, text=item.text)


class SpanList(Wire, json_schema_extra=example(items=[])):
    items: list[SpanOut]
