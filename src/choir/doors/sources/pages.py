"""A source as a page: what it is, and its text around what an article points to.

Guarantees: only who may read the source by the rule of the service sees it, and others cannot tell that it is there; a
page has a bounded part of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.http.access import NodeDep
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep, reader
from choir.foundation.canonical import parse_object_hash

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_WINDOW_CHARS = 12_000  # of the text on one page
_BEFORE_CHARS = 2_000  # of it before the span that is asked for
_SPAN = re.compile(r"(\d{1,9})-(\d{1,9})", re.ASCII)
KINDS = {
    "application/pdf": "PDF document",
    "text/html": "Web page",
    "text/markdown": "Markdown text",
    "text/plain": "Plain text",
}
STATES = {
    "UNTRUSTED": "Private: only whoever added it can read it.",
    "QUARANTINED": "Public, and not at stake.",
    "PROMOTION-PENDING": "An article that rests on it is in review or in its window.",
    "PROMOTED": "A promoted article rests on it.",
    "RETRACTED": "Retracted: nothing can rest on it any more.",
}


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a text: before the span, the span as far as it is in this part, and after it."""

    start: int
    end: int
    before: str
    span: str
    after: str


@router.get("/sources/{source}")
def source_page(
    request: Request,
    node: NodeDep,
    visitor: VisitorDep,
    source: Annotated[str, Path(max_length=80)],
    span: Annotated[str, Query(max_length=20)] = "",
    start: Annotated[int | None, Query(ge=0, le=10**9)] = None,
) -> Response:
    """A source and a part of its text, with the cited span marked."""
    who, found_span = reader(visitor), _span(span)
    with node.read() as tx:
        found = node.commons.sources.get(tx, who, parse_object_hash(source))
        text = node.commons.sources.text_of(tx, found)
        of_article = node.commons.sources.article_of(tx, found.hash)
    inside = found_span is not None and found_span[1] <= len(text)
    window = _window(text, found_span if inside else None, start)
    context = {
        "source": found,
        "kind": KINDS.get(found.media_type, found.media_type),
        "state": STATES[found.state],
        "window": window,
        "span": span if inside else "",
        "outside": span if span and not inside else "",
        "back": max(0, window.start - _WINDOW_CHARS) if window.start else None,
        "on": window.end if window.end < len(text) else None,
        "origin_url": found.url if found.url and found.url.startswith(("http://", "https://")) else "",
        "of_article": of_article,
        "visitor": visitor,
    }
    return page(request, "source.html", context)


def _span(text: str) -> tuple[int, int] | None:
    match = _SPAN.fullmatch(text)
    return (int(match[1]), int(match[2])) if match and int(match[1]) < int(match[2]) else None


def _window(text: str, span: tuple[int, int] | None, start: int | None) -> Window:
    """The part that begins at `start`, or a little before the span."""
    if start is None:
        start = 0 if span is None else max(0, span[0] - _BEFORE_CHARS)
    start = min(start, max(0, len(text) - 1))
    end = min(len(text), start + _WINDOW_CHARS)
    low, high = (min(max(at, start), end) for at in (span or (end, end)))
    return Window(start, end, text[start:low], text[low:high], text[high:end])
