"""Searching a bought index: its buyer and its provider can, on the page and over HTTP; nobody else learns of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from choir.bazaar.contracts import RepoIndex
from choir.bazaar.contracts.index_format import IndexedFile, IndexReference, Symbol, resolved, with_ids
from choir.foundation.canonical import bytes_hash
from tests.doors.http import market
from tests.doors.http.market import Inside, Seller, verdict
from tests.doors.http.visitors import Browser, Json, client, done
from tests.operations.nodes import NodeUnderTest

COMMIT = "c" * 40
HTML = {"Accept": "text/html"}


@pytest.fixture
def hands(served: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(served) as found:
        yield found


def small_index() -> RepoIndex:
    """With names and texts that would do harm on a page that takes them as they are."""
    symbols = with_ids(
        [
            Symbol("put", "function", "", (1, 2), (0, 20), 4, "def put(x)", "<script>alert(1)</script>"),
            Symbol("put_\u202e", "function", "", (3, 4), (30, 60), 34, "def put_()", ""),
        ]
    )
    uses = (IndexReference("put", "call", (3, 1)),)
    files = (
        IndexedFile("shelf.py", bytes_hash(b"x"), 100, 5, "python", symbols=symbols, references=uses),
        IndexedFile("web.js", bytes_hash(b"y"), 10, 2, "javascript"),
    )
    return RepoIndex(COMMIT, ("javascript", "python"), {}, resolved(files))


def bought(served: NodeUnderTest, hands: Inside) -> tuple[Browser, Seller, Json]:
    who, stall = market.buyer(served), market.seller(served, "repo_index")
    terms = {"max_cost_msat": "5000000", "time_limit_s": 600, "idempotency_key": f"index {stall.id}"}
    other = market.seller(served, "repo_index")
    stall.beat()
    job = hands.order(who, "repo_index", {"base_commit": COMMIT, **terms}, {"repository": b"a bundle"}, stall, other)
    result = {"base_commit": COMMIT, "status": "success"}
    mine = next(item["id"] for item in job["attempts"] if item["provider"] == stall.id)
    hands.work(stall, mine, verdict(), artifact=small_index().to_bytes(), result=result)
    return who, stall, done(who.http.get(f"/v1/jobs/{job['id']}"))


def test_its_parties_search_a_bought_index(served: NodeUnderTest, hands: Inside) -> None:
    who, stall, job = bought(served, hands)
    where = f"/v1/indexes/{job['id']}"
    for party in (who, stall.browser):
        found = done(party.http.get(where, params={"q": "put", "refs": "true"}))
        assert [item["name"] for item in found["symbols"]] == ["put", "put_\u202e"]
        assert found["uses"] == [
            {"path": "shelf.py", "name": "put", "kind": "call", "line": 3, "column": 1, "symbol": "shelf.py#put"}
        ]
    assert done(who.http.get(where, params={"q": "put", "kind": "class"}))["symbols"] == []
    assert done(who.http.get(where))["symbols_in_all"] == 2
    assert market.buyer(served).http.get(where).status_code == 404


def test_the_page_shows_names_harmlessly_and_is_linked_from_the_job(served: NodeUnderTest, hands: Inside) -> None:
    who, _, job = bought(served, hands)
    path = f"/indexes/{job['id']}"
    assert f'href="{path}"' in who.http.get(f"/jobs/{job['id']}", headers=HTML).text
    empty = who.http.get(path, headers=HTML)
    assert (empty.status_code, "2 symbols and 1 places" in empty.text) == (200, True)
    shown = who.http.get(path, params={"q": "put"}, headers=HTML).text
    main = shown.partition("<main")[2]
    assert "shelf.py:1–2" in main
    assert "shelf.py:3:1" in main
    assert "<script>alert" not in main
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00-\x08\x0b-\x1f]", main)
    assert "No name holds this" in who.http.get(path, params={"q": "nothing"}, headers=HTML).text


def test_nobody_else_sees_the_page(served: NodeUnderTest, hands: Inside) -> None:
    _, _, job = bought(served, hands)
    nobody: httpx.Client = client(served, Accept="text/html")
    assert nobody.get(f"/indexes/{job['id']}").status_code in (302, 303, 307, 401)
    assert market.buyer(served).http.get(f"/indexes/{job['id']}", headers=HTML).status_code == 404
    who, stall = market.buyer(served), market.seller(served)
    run = market.order(who, stall)
    assert who.http.get(f"/indexes/{run['id']}", headers=HTML).status_code == 404
