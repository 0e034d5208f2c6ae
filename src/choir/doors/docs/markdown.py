"""A page of the documentation as HTML.

Guarantees: HTML in a page is shown as text; a heading is known by the same anchor as in the project's files; a link
that leads nowhere is told (a test finds it); wide tables and code scroll by themselves and can be reached by keyboard.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from choir.doors.docs.library import Library, Page, Target, plain

OUTLINE_MAX = 60  # a longer outline helps nobody; then only the upper headings are in it


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that the outline leads to."""

    level: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page's text, its headings, and the links in it that lead nowhere."""

    body: Markup
    headings: tuple[Heading, ...]
    dead: tuple[str, ...]

    @property
    def outline(self) -> list[Heading]:
        found = [heading for heading in self.headings if heading.level in (2, 3)]
        return found if len(found) <= OUTLINE_MAX else [heading for heading in found if heading.level == 2]


Address = Callable[[Target], str]


def render(library: Library, page: Page, address: Address) -> Rendered:
    """A page whose links lead where `address` says."""
    tokens = _engine().parse(page.text)
    headings = _name_headings(tokens)
    dead: list[str] = []
    for token in (child for block in tokens for child in block.children or ()):
        key = {"link_open": "href", "image": "src"}.get(token.type)
        if key is None:
            continue
        href = str(token.attrs[key])
        target = library.target(page, href)
        if target == Target():
            dead.append(href)
        token.attrs[key] = address(target)
        if target.outside:
            token.attrs["rel"] = "noreferrer"
    renderer, options = _engine().renderer, _engine().options
    return Rendered(Markup(renderer.render(tokens, options, {})), tuple(headings), tuple(dead))  # noqa: S704 - escaped by the renderer


def _name_headings(tokens: list[Token]) -> list[Heading]:
    """Each heading gets the anchor that the project's files know it by; a second one of the same words a number."""
    found: list[Heading] = []
    used: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type != "heading_open":
            continue
        anchor = anchor_of(inline.content)
        used[anchor] = used.get(anchor, -1) + 1
        if used[anchor]:
            anchor = f"{anchor}-{used[anchor]}"
        opening.attrs["id"] = anchor
        found.append(Heading(int(opening.tag[1]), anchor, plain(inline.content)))
    return found


def anchor_of(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@cache
def _engine() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable("table")
    made.add_render_rule("fence", _fence)
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", _table_close)
    made.add_render_rule("heading_close", _heading_close)
    return made


def _fence(_self: object, tokens: list[Token], at: int, _options: object, _env: object) -> str:
    """Code; in a console the lines that a reader types stand out."""
    kind, _, name = tokens[at].info.strip().partition(" ")
    text = _console(tokens[at].content) if kind == "console" else escape(tokens[at].content)
    head = f'<p class="docs-file">{escape(name)}</p>' if name else ""
    return f'{head}<pre tabindex="0"><code>{text}</code></pre>\n'


def _console(text: str) -> str:
    shown, typing = [], False
    for line in text.splitlines():
        typing = typing or line.startswith("$ ")
        shown.append(f'<b class="typed">{escape(line)}</b>' if typing else escape(line))
        typing = typing and line.endswith("\\")
    return "\n".join(shown) + "\n"


def _table_open(*_: object) -> str:
    return '<div class="table" tabindex="0" role="region" aria-label="Table"><table>\n'


def _table_close(*_: object) -> str:
    return "</table></div>\n"


def _heading_close(_self: object, tokens: list[Token], at: int, _options: object, _env: object) -> str:
    opening = tokens[at - 2]
    if opening.tag == "h1":
        return "</h1>\n"
    words = escape(plain(tokens[at - 1].content))
    return (
        f' <a class="docs-anchor" href="#{opening.attrs["id"]}" aria-label="Link to: {words}">#</a></{opening.tag}>\n'
    )
