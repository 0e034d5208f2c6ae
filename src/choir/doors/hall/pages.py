"""The hall's pages: all jobs as figures, public jobs, and one's own.

Guarantees: a stranger sees figures and public jobs, and nothing else; what a person bought and sold is shown to that
person, as `/v1` shows it; every listing is a page of a bounded length.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.attempts.model import attempt_id, parse_attempt_id
from choir.bazaar.hall.model import Figure
from choir.bazaar.jobs.model import Job, JobState, JobType, job_id, parse_job_id
from choir.doors.hall import words
from choir.doors.hall.routes import PlaceCursor, cursor_of, place_of
from choir.doors.http.access import NodeDep
from choir.doors.http.paging import IdCursor, before_id
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep, Visitor, VisitorDep
from choir.foundation.errors import NotFound
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_SHOWN = 12  # of each listing on the hall's first page
_ROWS = 50  # on a page of one listing
_OWN_ROWS = 20  # each sold job is looked at by itself


@dataclass(frozen=True, slots=True)
class Line:
    """A job in a listing. Without a title it is a figure."""

    type: str
    state: str
    badge: str
    price: int | None
    at_us: int
    taken: str
    href: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class Lines:
    """A page of a listing, and the cursor of the next."""

    items: list[Line]
    next: str | None = None


def line(
    type_: JobType,
    state: JobState,
    price: int | None,
    created_us: int,
    closed_us: int | None,
    href: str = "",
    title: str = "",
) -> Line:
    word, badge = words.STATES[state]
    return Line(words.TYPES[type_], word, badge, price, created_us, words.took(created_us, closed_us), href, title)


def figures(node: Node, tx: Tx, cursor: str, size: int) -> Lines:
    found, following = node.bazaar.hall.figures(tx, place_of(cursor), size)
    return Lines([_of_figure(item) for item in found], cursor_of(following))


def public_jobs(node: Node, tx: Tx, cursor: str, size: int) -> Lines:
    found = node.bazaar.hall.public_jobs(tx, before_id(cursor, parse_job_id), size + 1)
    shown = found[:size]
    last = shown[-1].job if len(found) > size else None
    return Lines([_of_figure(item) for item in shown], None if last is None else job_id(last))


def bought(node: Node, tx: Tx, visitor: Visitor, cursor: str, size: int) -> Lines:
    """A person's orders."""
    jobs = node.bazaar.jobs
    found = jobs.of_buyer(tx, visitor.principal, before=before_id(cursor, parse_job_id), limit=size + 1)
    shown = found[:size]
    ordered = jobs.summaries(tx, shown)
    items = [_of_job(item, ordered.get(item.id)) for item in shown]
    return Lines(items, job_id(shown[-1].id) if len(found) > size else None)


def sold(node: Node, tx: Tx, visitor: Visitor, cursor: str, size: int) -> Lines:
    """What a person's provider was asked to do, each job as the provider may see it."""
    with suppress(NotFound):
        own = node.bazaar.providers.of(tx, visitor.principal).id
        before = before_id(cursor, parse_attempt_id)
        found = node.bazaar.attempts.page(tx, own, live=False, before=before, limit=size + 1)
        shown = found[:size]
        seen = [node.bazaar.access.job(tx, visitor.principal, item.job) for item in shown]
        items = [_of_job(item.job, item.summary) for item in seen]
        return Lines(items, attempt_id(shown[-1].id) if len(found) > size else None)
    return Lines([])


def _of_figure(item: Figure) -> Line:
    href = "" if item.job is None else f"/jobs/{job_id(item.job)}"
    return line(item.type, item.state, item.price, item.created_us, item.closed_us, href, item.summary or "")


def _of_job(item: Job, summary: str | None) -> Line:
    title = summary or ("Qualification" if item.qualifies is not None else "Closed order")
    return line(item.type, item.state, item.price, item.created_us, item.closed_us, f"/jobs/{job_id(item.id)}", title)


@router.get("/hall")
def hall(request: Request, node: NodeDep, visitor: VisitorDep) -> Response:
    """Totals, the latest jobs as figures, public jobs, and one's own."""
    with node.read() as tx:
        today, in_all = node.bazaar.hall.totals(tx)
        shown: dict[str, Any] = {
            "today": today,
            "in_all": in_all,
            "figures": figures(node, tx, "", _SHOWN),
            "public": public_jobs(node, tx, "", _SHOWN),
            "bought": bought(node, tx, visitor, "", _SHOWN) if visitor else Lines([]),
            "sold": sold(node, tx, visitor, "", _SHOWN) if visitor else Lines([]),
        }
    return page(request, "hall.html", {**shown, "visitor": visitor})


@router.get("/hall/figures")
def all_figures(request: Request, node: NodeDep, visitor: VisitorDep, before: PlaceCursor = "") -> Response:
    """All jobs as figures."""
    with node.read() as tx:
        found = figures(node, tx, before, _ROWS)
    return _listing(request, visitor, found, "figures", "All jobs", "Every job as a figure, newest first.")


@router.get("/hall/public")
def all_public(request: Request, node: NodeDep, visitor: VisitorDep, before: IdCursor = "") -> Response:
    """All public jobs."""
    with node.read() as tx:
        found = public_jobs(node, tx, before, _ROWS)
    return _listing(
        request, visitor, found, "public", "Public jobs", "Jobs that their buyers made public, newest first."
    )


@router.get("/hall/bought")
def all_bought(request: Request, node: NodeDep, visitor: SignedInVisitorDep, before: IdCursor = "") -> Response:
    """A person's orders."""
    with node.read() as tx:
        found = bought(node, tx, visitor, before, _OWN_ROWS)
    return _listing(request, visitor, found, "bought", "Your orders", "What you ordered, newest first.")


@router.get("/hall/sold")
def all_sold(request: Request, node: NodeDep, visitor: SignedInVisitorDep, before: IdCursor = "") -> Response:
    """What a person's provider was asked to do."""
    with node.read() as tx:
        found = sold(node, tx, visitor, before, _OWN_ROWS)
    return _listing(request, visitor, found, "sold", "Your work", "What your provider was asked to do, newest first.")


def _listing(request: Request, visitor: Visitor | None, found: Lines, kind: str, title: str, text: str) -> Response:
    context = {"visitor": visitor, "lines": found, "kind": kind, "title": title, "text": text}
    return page(request, "hall_listing.html", context)
