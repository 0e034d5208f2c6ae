"""Whatever is sent to the commons: no answer is a server's error, and nothing is kept of what was refused."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from tests.doors.http import commons_table, discovery_table
from tests.doors.http.press import WritersDesk, writer
from tests.doors.http.table import Row, Scene
from tests.doors.http.visitors import Browser, Json, client, key
from tests.operations.nodes import NodeUnderTest

DEEP = 50_000
BODIES = {
    "brackets": b"[" * DEEP,
    "closed brackets": b"[" * DEEP + b"]" * DEEP,
    "braces": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "deep in a field": b'{"text":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "nothing": b"",
    "no text": b"\xff\xfe\x00",
    "a number": b"7",
    "nan": b"NaN",
    "a long number": b"9" * 5_000,
    "a name twice": b'{"text": "a", "text": "b"}',
    "half a character": b'"\\ud800"',
}
# For every field that takes a text, a list or a number.
VALUES: dict[str, Any] = {
    "nul": "a\0b",
    "half a character": "\ud800",
    "invisible": "\u200b\u202e\u2066",
    "no character": "\ufdd0\uffff\U0010fffe",
    "marks": "e" + "\u0301" * 5_000,
    "wrong hash": "sha256:zz",
    "huge pointer": f"{commons_table.NO_HASH}@0-{'9' * 30}",
    "percent": "%s %(x)s %n",
    "quote": "'; drop table atoms; --",
    "markup": "<script>alert(1)</script>",
    "list": [],
    "deep list": [[[["x"]]]],
    "object": {},
    "nothing": None,
    "huge": 10**30,
    "negative": -1,
    "fraction": 0.5,
    "truth": True,
}
ROWS = [*commons_table.ROWS, *discovery_table.ROWS]
WRITES = [row for row in ROWS if row.body is not None]


@pytest.fixture(scope="module")
def scene(served: NodeUnderTest) -> Scene:
    return Scene(served)


def kept(node: NodeUnderTest) -> list[tuple[int, ...]]:
    """How much of everything there is."""
    tables = (
        "atoms",
        "sources",
        "articles",
        "article_drafts",
        "publications",
        "atom_challenges",
        "revisions",
        "boosts",
    )
    with psycopg.connect(node.dsn()) as owner:
        rows = [owner.execute(f"select count(*) from {name}").fetchone() for name in tables]
    return [row for row in rows if row is not None]


@pytest.mark.parametrize("row", WRITES, ids=lambda row: row.name)
def test_bodies_that_are_no_body(row: Row, scene: Scene, served: NodeUnderTest) -> None:
    path = row.route if row.path is None else row.path(scene)
    before = kept(served)
    for name, body in BODIES.items():
        headers = key() | {"Content-Type": "application/json"}
        for caller in ("owner", "nobody"):
            answer = scene.callers[caller].request(row.method, path, content=body, headers=headers)
            assert answer.status_code in (400, 401, 403, 422), (name, answer.text)
            assert answer.headers["content-type"] == "application/problem+json"
    assert kept(served) == before


@pytest.mark.parametrize("row", WRITES, ids=lambda row: row.name)
def test_fields_that_are_no_such_field(row: Row, scene: Scene) -> None:
    """As the owner, one field after the other, from a body that is right otherwise."""
    path = row.route if row.path is None else row.path(scene)
    assert row.body is not None
    right: Json = row.body(scene)
    for field in right.keys() | {"surprise"}:
        for name, value in VALUES.items():
            given = [value] if isinstance(right.get(field), list) and isinstance(value, str) else value
            content = json.dumps(right | {field: given})
            headers = key() | {"Content-Type": "application/json"}
            answer = scene.callers["owner"].request(row.method, path, content=content, headers=headers)
            assert answer.status_code < 500, (field, name, answer.text)
            assert answer.is_success or answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_odd_names_in_paths_and_queries(row: Row, scene: Scene) -> None:
    http = scene.callers["owner"]
    for odd in (
        "%00",
        "%ff",
        "..",
        "%2e%2e%2fsources",
        "sha256:zz",
        "x" * 3_000,
        "article_" + "z" * 26,
        "💥",
        "1e9",
        "-1",
    ):
        path = row.route
        while "{" in path:
            head, _, rest = path.partition("{")
            path = head + odd + rest.partition("}")[2]
        body = None if row.body is None else row.body(scene)
        params = dict.fromkeys((*row.params, "cursor", "limit", "version", "source", "start", "end"), odd)
        for asked in ({}, params):
            answer = http.request(row.method, path, params=asked, json=body, headers=key())
            assert answer.status_code < 500, (path, answer.text)


def test_a_document_that_is_anything(served: NodeUnderTest) -> None:
    author: Browser = writer(served, 0)
    desk = WritersDesk(author)
    for data in (
        *BODIES.values(),
        b"%PDF-1.7" + b"[" * DEEP,
        b"<html>" + b"<div>" * DEEP,
        b"<!doctype html>" + b"&" * DEEP,
    ):
        answer = author.http.post("/v1/sources", content=data)
        assert answer.status_code in (200, 201, 409, 413, 422), answer.text
    with client(served) as nobody:
        assert nobody.post("/v1/sources", content=b"[" * DEEP).status_code == 401
    assert desk.source
