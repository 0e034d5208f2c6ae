"""Which pages and files the documentation has, in which order, and where a link leads.

`project` beside this file holds the project's own files: links in a checkout, copies in an installed package. So what a
node shows is what came with its code. `docs/README.md` is the table of contents: its headings are the sections of the
navigation, and the pages it links to below a heading are that section, in the same order. A page that is itself a
table (`…/README.md`) brings along those pages of its own folder that it links to.

Guarantee: only what was found when the library was read has an address; nothing else can be asked for.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).with_name("project")
CONTENTS = "docs/README.md"
_OUTSIDE = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)")
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n*", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_MARKS = re.compile(r"[`*]|\[([^\]]*)\]\([^)]*\)")
_FILES = {".py", ".toml", ".json", ".yml", ".sh", ".png", ".svg", ""}


@dataclass(frozen=True, slots=True)
class Page:
    """A page by its path in the project and its name in an address."""

    path: str
    name: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """Pages under one heading of the table of contents."""

    title: str
    pages: tuple[Page, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a link leads: to a page, a file, or outside. Nowhere, if it is none of these."""

    page: Page | None = None
    file: str = ""
    outside: str = ""
    anchor: str = ""


class Library:
    """The pages and files below a folder that is laid out like the project."""

    def __init__(self, root: Path) -> None:
        found = sorted(item for item in _walk(root) if item.is_file())
        paths = {item.relative_to(root).as_posix(): item for item in found}
        self._pages = {path: _page(path, item) for path, item in paths.items() if _is_page(path)}
        self._files = {
            path: item for path, item in paths.items() if item.suffix in _FILES and "__pycache__" not in path
        }
        self._named = {page.name: page for page in self._pages.values()}
        self._filed = {_file_name(path): path for path in self._files}
        assert len(self._named) == len(self._pages), "two pages have one address"
        self.sections = self._contents()
        self._sections = {page.path: section for section in self.sections for page in section.pages}

    def pages(self) -> list[Page]:
        """Every page, in the order of the navigation; those that it lacks come last."""
        listed = [page for section in self.sections for page in section.pages]
        return [self._pages[CONTENTS], *listed, *self.unlisted()]

    def unlisted(self) -> list[Page]:
        """Pages that the table of contents does not lead to."""
        listed = {CONTENTS, *(page.path for section in self.sections for page in section.pages)}
        return [page for path, page in self._pages.items() if path not in listed]

    def find(self, name: str) -> Page | None:
        return self._named.get(name)

    def file(self, name: str) -> Path | None:
        """A file by its name in an address."""
        path = self._filed.get(name)
        return self._files[path] if path is not None else None

    def files(self) -> dict[str, Path]:
        """Every file by its name in an address."""
        return {name: self._files[path] for name, path in self._filed.items()}

    def section_of(self, page: Page) -> Section | None:
        return self._sections.get(page.path)

    def target(self, source: Page, href: str) -> Target:
        """Where a link of a page leads."""
        if _OUTSIDE.match(href):
            return Target(outside=href)
        path, _, anchor = href.partition("#")
        full = posixpath.normpath(posixpath.join(posixpath.dirname(source.path), path)) if path else source.path
        if full in self._pages:
            return Target(page=self._pages[full], anchor=anchor)
        return Target(file=_file_name(full)) if full in self._files else Target()

    def _contents(self) -> tuple[Section, ...]:
        home = self._pages[CONTENTS]
        taken = {CONTENTS}
        sections = []
        for part in re.split(r"^## ", _FENCED.sub("", home.text), flags=re.MULTILINE)[1:]:
            title, _, text = part.partition("\n")
            sections.append(Section(title.strip(), tuple(self._linked(home, text, taken))))
        return tuple(section for section in sections if section.pages)

    def _linked(self, source: Page, text: str, taken: set[str]) -> list[Page]:
        """Pages that a text links to and that nothing before it did."""
        found: list[Page] = []
        for href in _LINK.findall(text):
            page = self.target(source, href).page
            if page is None or page.path in taken:
                continue
            taken.add(page.path)
            found.append(page)
            if page.path.endswith("/README.md"):
                below = self._linked(page, _FENCED.sub("", page.text), set(taken))
                found += [one for one in below if one.path.startswith(posixpath.dirname(page.path) + "/")]
                taken |= {one.path for one in found}
        return found


@cache
def library() -> Library:
    """This project's, read once."""
    return Library(PROJECT)


def _walk(folder: Path) -> list[Path]:
    """Everything below a folder; links of a checkout are followed, which `rglob` does not do."""
    found = []
    for item in folder.iterdir():
        found += _walk(item) if item.is_dir() else [item]
    return found


def _is_page(path: str) -> bool:
    return path.endswith(".md") and (path.startswith("docs/") or "/" not in path)


def _page(path: str, file: Path) -> Page:
    text = _COMMENT.sub("", file.read_text(encoding="utf-8"))
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    return Page(path, _name(path), plain(title[1]) if title else path, text)


def _name(path: str) -> str:
    """The address of a page: its path without what every path has."""
    if "/" not in path:
        return f"project/{path.removesuffix('.md').lower()}"
    inner = path.removeprefix("docs/").removesuffix(".md")
    return "" if inner == "README" else inner.removesuffix("/README")


def _file_name(path: str) -> str:
    return path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}"


def plain(text: str) -> str:
    """A heading or sentence without marks."""
    return _MARKS.sub(lambda match: match[1] or "", text).strip()
