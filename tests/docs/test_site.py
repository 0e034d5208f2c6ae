"""The documentation as pages: every link and anchor leads somewhere, on a node and in the static site."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from choir.doors.docs import search, site
from choir.doors.docs.library import Library, Page, library
from choir.doors.docs.markdown import Rendered, render
from choir.doors.docs.pages import address
from choir.doors.web.rendering import environment

PAGES = library().pages()
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.links += [found[key] or "" for key in ("href", "src", "action", "data-index") if key in found]
        if found.get("id"):
            self.ids.append(found["id"] or "")


@cache
def _rendered(page: Page) -> Rendered:
    return render(library(), page, address)


def test_every_page_is_in_the_navigation() -> None:
    assert [page.path for page in library().unlisted()] == []
    assert [section.title for section in library().sections] == [
        "Tutorials", "How-to", "Reference", "Explanation", "Operations", "Security", "Decisions", "Project",
    ]  # fmt: skip


def test_no_link_and_no_anchor_is_dead() -> None:
    """On a node; where a page's links lead in the static site follows from the same targets."""
    shown = {page.path: _rendered(page) for page in PAGES}
    assert {path: text.dead for path, text in shown.items() if text.dead} == {}
    anchors = {path: {heading.anchor for heading in text.headings} for path, text in shown.items()}
    for page in PAGES:
        for href in _LINK.findall(_FENCED.sub("", page.text)):
            target = library().target(page, href)
            assert not target.anchor or (target.page and target.anchor in anchors[target.page.path]), (page.path, href)


def test_no_heading_has_a_name_of_the_frame() -> None:
    source = environment().loader.get_source(environment(), "base.html")[0]  # type: ignore[union-attr]
    frame = set(re.findall(r'id="([\w-]+)"', source)) | {"docs-q", "docs-pages", "docs-all", "docs-outline"}
    for page in PAGES:
        names = [heading.anchor for heading in _rendered(page).headings]
        assert not frame & set(names), page.path
        assert len(names) == len(set(names)), page.path


def test_the_static_site_leads_nowhere_else_and_is_light(tmp_path: Path) -> None:
    site.build(tmp_path)
    files = {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*") if file.is_file()}
    html = {name: _Links((tmp_path / name).read_text()) for name in files if name.endswith(".html")}
    assert len(html) == len(PAGES) + 1
    for name, found in html.items():
        assert len(found.ids) == len(set(found.ids)), name
        for link in found.links:
            if re.match(r"[a-z]+:", link):
                assert link.startswith("https://"), (name, link)
                continue
            path, _, anchor = link.partition("#")
            goal = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
            assert goal in files, (name, link)
            assert not anchor or anchor in html[goal].ids, (name, link)
    loaded = [*site.STYLES, "docs_search.js"]
    assert sum((tmp_path / "static" / name).stat().st_size for name in loaded) < 100_000


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("buy work", "docs/tutorials/buyer.md"),
        ("restore backup", "docs/how-to/back-up-and-restore.md"),
        ("ledger.insufficient", "docs/reference/errors.md"),
        ("CHECKPOINT", "docs/tutorials/auditor.md"),
        ("gvisor", "docs/security/sandbox.md"),
    ],
)
def test_search_finds_the_page(query: str, page: str) -> None:
    assert page in [found.part.page.path for found in search.search(query)]


@pytest.mark.parametrize("query", ["", " ", "<>", "zzyzx", "backup zzyzx", "a" * 5000])
def test_search_finds_nothing_without_harm(query: str) -> None:
    assert search.search(query) == []


def test_a_part_links_to_a_heading_that_is_there() -> None:
    anchors = {page.path: {heading.anchor for heading in _rendered(page).headings} for page in PAGES}
    assert [part for part in search.index() if part.anchor and part.anchor not in anchors[part.page.path]] == []


def test_html_and_scripts_in_a_page_are_text(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    hostile = "# A <b>page</b>\n\n<script>alert(1)</script> [x](javascript:alert(1)) [y](../../../etc/passwd)\n"
    (tmp_path / "docs" / "README.md").write_text(hostile)
    books = Library(tmp_path)
    text = render(books, books.pages()[0], address)
    assert "<script" not in text.body
    assert "<b>" not in text.body
    assert 'href="javascript' not in text.body
    assert text.dead == ("../../../etc/passwd",)
