"""The documentation as a static site: `python -m choir.doors.docs.site FOLDER`, which `make docs` calls.

The same pages, in the same templates, as on a node, with relative links, so that they can lie anywhere on a web server.
The search is a script over `search.json`, since there is no node to ask.
"""

from __future__ import annotations

import json
import os.path
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from choir.doors.docs.library import Library, Page, Target, library
from choir.doors.docs.markdown import render
from choir.doors.docs.search import index
from choir.doors.web import assets
from choir.doors.web.rendering import environment

STYLES = ("tokens.css", "frame.css", "page.css", "forms.css", "parts.css", "data.css", "docs.css")
_OTHERS = ("mark.svg", "docs_search.js")


def build(folder: Path) -> int:
    """Writes the site and answers how many pages it has. What was in the folder is replaced."""
    books = library()
    if folder.exists():
        shutil.rmtree(folder)
    for page in books.pages():
        _write(folder, file_of(page), _shown(books, page))
    _write(folder, "search.html", _search(books))
    _write(folder, "search.json", json.dumps(_index(), ensure_ascii=False, separators=(",", ":")))
    for name in (*STYLES, *_OTHERS):
        _copy(folder, f"static/{name}", assets.assets()[name].body)
    for name, file in books.files().items():
        _copy(folder, name, file.read_bytes())
    return len(books.pages())


def file_of(page: Page) -> str:
    return f"{page.name or 'index'}.html"


def _shown(books: Library, page: Page) -> str:
    to = _relative(file_of(page))
    text = render(books, page, lambda target: _address(to, target))
    context = {"known": page, "body": text.body, "outline": text.outline}
    return _fill(books, "docs_page.html", to, context)


def _search(books: Library) -> str:
    return _fill(books, "docs_search.html", _relative("search.html"), {"found": []})


def _fill(books: Library, template: str, to: Callable[[str], str], context: dict[str, Any]) -> str:
    around = {
        "frame": "docs_frame.html",
        "sections": books.sections,
        "section_of": books.section_of,
        "to": lambda page: to(file_of(page)),
        "found_at": None,
        "search_at": to("search.html"),
        "index_at": to("search.json"),
        "home_at": to("index.html"),
        "asset": lambda name: to(f"static/{name}"),
        "styles": STYLES,
        "query": "",
    }
    return environment().get_template(template).render({**around, **context})


def _relative(source: str) -> Callable[[str], str]:
    """From one file of the site to another."""
    return lambda goal: os.path.relpath(goal, os.path.dirname(source) or ".")  # noqa: PTH120 - both are addresses


def _address(to: Callable[[str], str], target: Target) -> str:
    if target.page is None:
        return target.outside or to(target.file or "index.html")
    return to(file_of(target.page)) + (f"#{target.anchor}" if target.anchor else "")


def _index() -> list[list[str]]:
    """For the script: address, title, heading, text."""
    return [
        [file_of(part.page) + (f"#{part.anchor}" if part.anchor else ""), part.page.title, part.heading, part.text]
        for part in index()
    ]


def _write(folder: Path, name: str, text: str) -> None:
    _copy(folder, name, text.encode())


def _copy(folder: Path, name: str, body: bytes) -> None:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(body)


if __name__ == "__main__":
    print(f"{build(Path(sys.argv[1]))} pages written to {sys.argv[1]}.")  # noqa: T201 - a program of its own
