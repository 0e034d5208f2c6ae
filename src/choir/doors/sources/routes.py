"""Sources over HTTP: add a document, read its text, find spans."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Response

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.model import DocumentTooLarge, SourceRecord
from choir.doors.http.access import (
    AccessRoute,
    NodeDep,
    PublicDep,
    RawBodyDep,
    ReaderOrOperatorDep,
    ResearcherDep,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import Limit, NumberCursor, last_number, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.sources.shapes import SourceOut, SourcePage, SpanList, SpanOut, TextOut, UrlIn
from choir.foundation.canonical import parse_object_hash

router = RoomRouter(tags=["sources"], route_class=AccessRoute)

_RAW: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The document's bytes.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_TEXT_CHARS = 100_000  # of a text, in one answer
Text = Annotated[str | None, Query(max_length=300)]
Offset = Annotated[int, Query(ge=0, le=10**9)]


@router.post(
    "/sources",
    status_code=201,
    responses=also(200, SourceOut, "You had added it before.") | problems(409),
    openapi_extra=_RAW,
)
def add_source(
    who: ResearcherDep,
    node: NodeDep,
    data: RawBodyDep,
    response: Response,
    title: Text = None,
    filename: Text = None,
    media_type: Text = None,
) -> SourceOut:
    """Add a document, sent as raw bytes: PDF, HTML, Markdown or plain text."""
    limit = node.policy.of(SourcesPolicy).document_bytes_max
    if len(data) > limit:
        raise DocumentTooLarge(what="its size in bytes", size=len(data), limit=limit)
    sources = node.commons.sources
    document = sources.prepare(data, media_type, filename)
    found, new = node.write(
        lambda tx: sources.add(tx, who, document, origin="file" if filename else "upload", title=title or "")
    )
    return _answer(found, response, new=new)


@router.post(
    "/sources/fetched",
    status_code=201,
    responses=also(200, SourceOut, "You had added it before.") | problems(409),
)
def fetch_source(body: UrlIn, who: ResearcherDep, node: NodeDep, response: Response) -> SourceOut:
    """Fetch a document by its URL and add it. Nodes do not fetch unless their policy says so."""
    sources = node.commons.sources
    document, url = sources.fetch(body.url)
    found, new = node.write(lambda tx: sources.add(tx, who, document, origin="url", title=body.title or "", url=url))
    return _answer(found, response, new=new)


@router.get("/sources")
def list_sources(
    who: ReaderOrOperatorDep,
    node: NodeDep,
    mine: Annotated[bool, Query(description="Only what you added.")] = False,
    cursor: NumberCursor = "",
    limit: Limit = 100,
) -> SourcePage:
    """List sources that you may read, newest first."""
    size = page_rows(limit, node.policy.of(SourcesPolicy))
    with node.read() as tx:
        found = node.commons.sources.page(tx, who, own=mine, before=last_number(cursor), limit=size)
    following = str(found[-1].atom) if len(found) == size else None
    return SourcePage(items=[SourceOut.of(item) for item in found], next=following)


@router.get("/sources/{source}", responses=problems(404))
def get_source(source: str, who: PublicDep, node: NodeDep) -> SourceOut:
    """Get a source. Yours, or one that somebody has published."""
    name = parse_object_hash(source)
    with node.read() as tx:
        return SourceOut.of(node.commons.sources.get(tx, who, name))


@router.get("/sources/{source}/text", responses=problems(404))
def get_text(source: str, who: PublicDep, node: NodeDep, start: Offset = 0, end: Offset | None = None) -> TextOut:
    """Get a source's text, or a part of it, at most 100000 characters at a time."""
    name = parse_object_hash(source)
    with node.read() as tx:
        found = node.commons.sources.get(tx, who, name)
        last = min(found.chars if end is None else end, start + _TEXT_CHARS, found.chars)
        text = node.commons.sources.text_of(tx, found)[start:last]
    return TextOut(source=name, start=start, end=start + len(text), chars=found.chars, text=text)


@router.get("/sources/{source}/document", responses=_BYTES | problems(404), response_class=Response)
def get_document(source: str, who: PublicDep, node: NodeDep) -> Response:
    """Get a source's document as it was added."""
    name = parse_object_hash(source)
    with node.read() as tx:
        data = node.commons.sources.bytes_of(tx, node.commons.sources.get(tx, who, name))
    # Whatever a stranger's document claims to be, no browser shall run it.
    headers = {"Content-Disposition": "attachment"}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get("/spans", responses=problems(404))
def find_spans(
    who: ReaderOrOperatorDep,
    node: NodeDep,
    q: Annotated[str, Query(min_length=1, max_length=2_000, description="A quote, or words.")],
    source: Annotated[str | None, Query(max_length=80, description="Only in this source.")] = None,
    limit: Limit = 10,
) -> SpanList:
    """Find where something is said: a quote word for word, or else sentences by their words, best first."""
    name = None if source is None else parse_object_hash(source)
    size = page_rows(limit, node.policy.of(SourcesPolicy))
    with node.read() as tx:
        found = node.commons.sources.find(tx, who, q, name, size)
    return SpanList(items=[SpanOut.of(item) for item in found])


def _answer(found: SourceRecord, response: Response, *, new: bool) -> SourceOut:
    if not new:
        response.status_code = 200
    return SourceOut.of(found)
