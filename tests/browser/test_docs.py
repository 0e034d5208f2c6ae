"""The documentation in a browser: from the navigation to a page, its outline, a search, with and without a node."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import expect

from choir.doors.docs import site
from choir.doors.docs.search import search
from tests.browser.conftest import NewDesk

QUERY = "rotate key"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[str]:
    """The address of a static copy."""
    site.build(tmp_path)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_from_the_navigation_to_a_heading(new_desk: NewDesk) -> None:
    made = new_desk()
    made.open("/")
    made.page.get_by_role("link", name="Docs").click()
    expect(made.page.get_by_role("heading", level=1)).to_have_text("Documentation")
    made.page.get_by_role("navigation", name="All pages").get_by_text("How-to").click()
    made.page.get_by_role("navigation", name="All pages").get_by_role("link", name="Buy work").click()
    expect(made.page.get_by_role("heading", level=1)).to_have_text("Buy work")
    made.page.get_by_role("navigation", name="On this page").get_by_role("link", name="Hidden checks").click()
    made.is_at("/docs/how-to/buy-work#hidden-checks")
    expect(made.page.get_by_role("heading", name="Hidden checks")).to_be_in_viewport()


def test_search_by_keyboard_and_without_scripts(new_desk: NewDesk) -> None:
    made = new_desk(java_script_enabled=False)
    made.open("/docs")
    made.page.get_by_label("Search the documentation").fill(QUERY)
    made.page.keyboard.press("Enter")
    made.page.get_by_role("main").get_by_role("listitem").get_by_role("link").first.click()
    expect(made.page.get_by_role("heading", level=1)).to_be_visible()


def test_nothing_found_is_said(new_desk: NewDesk) -> None:
    made = new_desk()
    made.open("/docs/search?q=zzyzx")
    expect(made.page.get_by_text("Nothing found.")).to_be_visible()


def test_a_static_copy_finds_what_a_node_finds(new_desk: NewDesk, copy: str) -> None:
    made = new_desk()
    made.page.goto(f"{copy}/search.html?q={QUERY.replace(' ', '+')}")
    links = made.page.locator(".docs-found a")
    expect(links.first).to_be_visible()
    shown = [str(link.get_attribute("href")) for link in links.all()]
    wanted = [
        site.file_of(found.part.page) + (f"#{found.part.anchor}" if found.part.anchor else "")
        for found in search(QUERY)
    ]
    assert shown == wanted
    links.first.click()
    expect(made.page.get_by_role("heading", level=1)).to_be_visible()
