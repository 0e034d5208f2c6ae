"""The documentation on a node over plain HTTP: for everybody, escaped, and nothing but itself."""

from __future__ import annotations

import httpx
import pytest

from choir.doors.docs.library import library
from tests.operations.nodes import PLAIN, NodeUnderTest

BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}


@pytest.fixture
def http(running: NodeUnderTest) -> httpx.Client:
    return httpx.Client(base_url=running.url, headers=BROWSER, timeout=60, trust_env=False, verify=PLAIN)


def test_every_page_is_served(http: httpx.Client) -> None:
    for page in library().pages():
        answer = http.get(f"/docs/{page.name}".rstrip("/"))
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8"), page.path
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.text.count("<h1") == 1, page.path


def test_files_that_pages_link_to_are_served_as_what_they_are(http: httpx.Client) -> None:
    for name, file in library().files().items():
        answer = http.get(f"/docs/{name}")
        assert (answer.status_code, answer.content) == (200, file.read_bytes()), name
        kind = answer.headers["content-type"]
        assert kind.startswith(("text/plain", "image/", "application/json"))
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert http.get(f"/docs/{name}", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


@pytest.mark.parametrize(
    "path",
    [
        "/docs/nothing", "/docs/how-to", "/docs/how-to/buy-work.md", "/docs/../pyproject.toml",
        "/docs/%2e%2e/pyproject.toml", "/docs/..%2f..%2fpyproject.toml", "/docs//etc/passwd",
        "/docs/files/../library.py", "/docs/files/%00", "/docs/a%0ab",
    ],
)  # fmt: skip
def test_nothing_else_can_be_asked_for(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 404
    assert "build-backend" not in answer.text


def test_a_search_without_scripts(http: httpx.Client) -> None:
    text = http.get("/docs/search", params={"q": "rotate key"}).text
    assert '<a href="/docs/how-to/rotate-the-node-key"' in text
    assert "Nothing found" in http.get("/docs/search", params={"q": "zzyzx"}).text
    assert "Nothing found" not in http.get("/docs/search").text


def test_what_was_searched_for_is_escaped_and_bounded(http: httpx.Client) -> None:
    text = http.get("/docs/search", params={"q": '"><script>alert(1)</script>' + "x" * 1000}).text
    assert "<script>alert" not in text
    assert "x" * 300 not in text
    assert http.get("/docs/search", params={"q": "\u202ehold\x00"}).status_code == 200


def test_the_navigation_leads_to_the_documentation(http: httpx.Client) -> None:
    assert '<a href="/docs">Docs</a>' in http.get("/").text
