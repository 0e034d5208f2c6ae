"""The documentation on a node: pages, files, and a search that needs no script.

Guarantee: everybody sees the same; a name that the library does not know is not found, whatever it points to.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.docs.library import Page, Target, library
from choir.doors.docs.markdown import Rendered, render
from choir.doors.docs.search import QUERY_MAX, Found, search
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep
from choir.foundation.errors import NotFound

TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".json": "application/json"}

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


class UnknownPage(NotFound):
    code = "docs.page_unknown"
    sentence = "The documentation has no page {name}."
    hint = "Look for it: /docs/search."


def address(target: Target) -> str:
    """Where a node has what a link leads to."""
    if target.page is None:
        return target.outside or f"/docs/{target.file}"
    return f"/docs/{target.page.name}".rstrip("/") + (f"#{target.anchor}" if target.anchor else "")


@cache
def rendered(name: str) -> Rendered:
    """Each page once for the process; only names that the library knows come here."""
    known = library().find(name)
    assert known is not None
    return render(library(), known, address)


@router.get("/docs/search")
def search_page(request: Request, visitor: VisitorDep, q: str = "") -> Response:
    """What was found, best first."""
    found = search(q)
    return page(request, "docs_search.html", {**_around(), "visitor": visitor, "query": q[:QUERY_MAX], "found": found})


@router.get("/docs")
def contents_page(request: Request, visitor: VisitorDep) -> Response:
    return docs_page(request, visitor, "")


@router.get("/docs/{name:path}")
def docs_page(request: Request, visitor: VisitorDep, name: str) -> Response:
    """A page, or a file that a page links to."""
    known = library().find(name.removesuffix("/"))
    if known is None:
        file = library().file(name)
        if file is None:
            raise UnknownPage(name=name[:60])
        return _file(file, request)
    text = rendered(known.name)
    shown = {"known": known, "body": text.body, "outline": text.outline, "query": ""}
    return page(request, "docs_page.html", {**_around(), **shown, "visitor": visitor})


def _around() -> dict[str, object]:
    return {
        "frame": "base.html",
        "sections": library().sections,
        "section_of": library().section_of,
        "to": _to,
        "found_at": _found_at,
        "search_at": "/docs/search",
    }


def _to(known: Page) -> str:
    return address(Target(page=known))


def _found_at(found: Found) -> str:
    return address(Target(page=found.part.page, anchor=found.part.anchor))


def _file(file: Path, request: Request) -> Response:
    body, etag = _content(file)
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=TYPES.get(file.suffix, "text/plain; charset=utf-8"), headers=headers)


@cache
def _content(file: Path) -> tuple[bytes, str]:
    body = file.read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:32]}"'
