"""Authorisation as a table: every route and every kind of caller; a route without a row fails."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from choir.doors.http.access import access_of
from choir.doors.http.app import make_api
from tests.doors.http import bazaar_table, commons_table, discovery_table, table, treasury_table
from tests.doors.http.table import CALLERS, PAGES, Row, Scene, ask
from tests.operations.nodes import NodeUnderTest

ROWS = [*table.ROWS, *bazaar_table.ROWS, *commons_table.ROWS, *discovery_table.ROWS, *treasury_table.ROWS]
_AS_FRAMEWORK = "/v1/openapi.json"  # the one path that is no route of ours


@cache
def _api() -> FastAPI:
    return make_api()


@pytest.fixture(scope="module")
def scene(served: NodeUnderTest) -> Scene:
    return Scene(served)


def _routes(api: FastAPI) -> set[tuple[str, str]]:
    """Every method and path of the application, also those that the description leaves out."""
    found = {("GET", _AS_FRAMEWORK)}
    for route in api.routes:
        contexts = getattr(route, "effective_route_contexts", None)
        for item in [route] if contexts is None else contexts():
            path, methods = getattr(item, "path", None), getattr(item, "methods", None) or ()
            assert path is not None, f"{item!r} is no route that the table knows how to read"
            found |= {(method, path) for method in methods if method != "HEAD"}
    return found


def test_every_route_has_a_row() -> None:
    rows = [(row.method, row.route) for row in ROWS]
    assert len(rows) == len(set(rows))
    assert _routes(_api()) == set(rows)


def test_the_description_has_every_route() -> None:
    paths = _api().openapi()["paths"]
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    pages = {("GET", row.route) for row in PAGES}  # for people; the description is for programs
    assert described == _routes(_api()) - {("GET", _AS_FRAMEWORK)} - pages


def test_a_route_that_declares_no_access_cannot_be_made() -> None:
    from choir.doors.people.routes import router

    def forgot() -> None:
        """A route whose author forgot to say who may."""

    with pytest.raises(TypeError, match="exactly one kind of access"):
        router.add_api_route("/forgot", forgot)
    assert all(access_of(route) for route in router.routes if isinstance(route, APIRoute))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_who_gets_what(row: Row, scene: Scene, served: NodeUnderTest) -> None:
    found = []
    for caller in CALLERS:
        where = Scene(served) if row.alone else scene
        answer = ask(row, where, caller)
        found.append(answer.status_code)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == answer.status_code
    assert dict(zip(CALLERS, found, strict=True)) == dict(zip(CALLERS, row.answers, strict=True))


def _listings() -> list[Row]:
    """Every route that is read page by page, as the description has them."""
    paths = _api().openapi()["paths"]
    paged = {
        (method.upper(), path)
        for path, methods in paths.items()
        for method, operation in methods.items()
        if any(parameter["name"] == "cursor" for parameter in operation.get("parameters", []))
    }
    return [row for row in ROWS if (row.method, row.route) in paged]


def test_an_empty_cursor_is_the_first_page_in_every_listing(scene: Scene) -> None:
    """One test for all: which they are stands in the description, which takes too long to make while collecting."""
    rows = _listings()
    assert rows
    for row in rows:
        caller = CALLERS[row.answers.index(200)]
        first = ask(row, scene, caller, limit="1")
        empty = ask(row, scene, caller, limit="1", cursor="")
        assert (first.status_code, empty.status_code) == (200, 200), (row.name, empty.text)
        assert {"items", "next"} <= empty.json().keys(), row.name
        items = [[_lasting(item) for item in page.json()["items"]] for page in (empty, first)]
        assert items[0] == items[1], row.name


def _lasting(item: Any) -> Any:
    """What names an item: the rest of it may change while a test looks."""
    return next((item[name] for name in ("id", "name", "n", "seq", "version") if name in item), item)


@pytest.mark.parametrize("row", [row for row in ROWS if row.body is not None], ids=lambda row: row.name)
def test_who_may_not_is_told_so_before_the_body_is_parsed(row: Row, scene: Scene) -> None:
    path = row.route if row.path is None else row.path(scene)
    for caller, status in zip(CALLERS, row.answers, strict=True):
        headers = {"Content-Type": "application/json", "Idempotency-Key": "k"}
        answer = scene.callers[caller].request(row.method, path, content=b"{not json", headers=headers)
        kept_out = status == 401 and caller == "nobody" and row.answers != (401,) * 6
        if kept_out:
            assert answer.status_code == 401
        elif status == 403 and (row.name, caller) not in _JUDGED_INSIDE:
            assert answer.status_code == 403
        else:
            assert answer.status_code == 422


# Here it depends on the body: whose token is asked for, from whose account something is sent. Or on whose article it is
_JUDGED_INSIDE = {("POST /v1/tokens", caller) for caller in ("unscoped", "scoped", "operator")}
_JUDGED_INSIDE |= {("POST /v1/transfers", "other"), ("POST /v1/articles/{article}/revisions", "owner")}
_JUDGED_INSIDE |= {("POST /v1/treasury/payments", "scoped")}  # what its delegation may spend
