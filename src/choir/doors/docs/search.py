"""Search in the documentation: sections of pages whose words begin like those asked for.

A section counts if each word asked for begins some word of it, of its heading or of its page's title. Words in headings
weigh more than words in the text. `docs_search.js` does the same over `index()` where there is no node; a test in
a browser compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import unescape

from choir.doors.docs.library import Page, library, plain
from choir.doors.docs.markdown import anchor_of

QUERY_MAX = 200
WORDS_MAX = 8
RESULTS_MAX = 25
_EXCERPT = 110  # characters before and behind the first word that was found
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Part:
    """A heading of a page with the text below it."""

    page: Page
    heading: str
    anchor: str
    text: str
    spaced: tuple[str, str, str]  # of title, heading and text; made once, since every search reads them

    def score(self, words: Sequence[str]) -> int:
        """How well it fits; 0 if a word is missing."""
        title, heading, text = self.spaced
        total = 0
        for word in words:
            begun = f" {word}"
            found = 12 * (begun in heading) + 6 * (begun in title) + min(text.count(begun), 4)
            if found == 0:
                return 0
            total += found
        return total


@dataclass(frozen=True, slots=True)
class Found:
    """A part with the place where a word was found, in three pieces."""

    part: Part
    before: str
    hit: str
    after: str


def words_of(query: str) -> list[str]:
    return _WORD.findall(query[:QUERY_MAX].lower())[:WORDS_MAX]


def search(query: str) -> list[Found]:
    """The parts that fit best; among equals those that come first in the navigation."""
    words = words_of(query)
    if not words:
        return []
    scored = [(part.score(words), part) for part in index()]
    best = sorted((item for item in scored if item[0]), key=lambda item: -item[0])[:RESULTS_MAX]
    return [_excerpt(part, words) for _, part in best]


@cache
def index() -> list[Part]:
    """Every part of every page, made once."""
    return [part for page in library().pages() for part in parts(page)]


def parts(page: Page) -> list[Part]:
    """A page in its parts; code belongs to the part it stands in."""
    found: list[tuple[str, list[str]]] = [(page.title, [])]
    used: dict[str, int] = {}
    anchors = [""]
    fenced = False
    for line in page.text.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"#{1,6} (.+)", line)
        if heading is None:
            found[-1][1].append(line)
            continue
        anchor = anchor_of(heading[1])
        used[anchor] = used.get(anchor, -1) + 1
        if line.startswith("# "):
            continue
        found.append((plain(heading[1]), []))
        anchors.append(f"{anchor}-{used[anchor]}" if used[anchor] else anchor)
    return [_part(page, heading, anchor, _said(lines)) for (heading, lines), anchor in zip(found, anchors, strict=True)]


def _part(page: Page, heading: str, anchor: str, text: str) -> Part:
    return Part(page, heading, anchor, text, (_spaced(page.title), _spaced(heading), _spaced(text)))


def _said(lines: Sequence[str]) -> str:
    kept = (line for line in lines if not line.startswith("```") and not re.fullmatch(r"[|\- ]*", line))
    return unescape(" ".join(plain(" ".join(kept)).replace("\\|", "|").replace("|", " ").split()))


def _spaced(text: str) -> str:
    """Words, each behind one space, so that a word's beginning can be looked for."""
    return " " + " ".join(_WORD.findall(text.lower()))


def _excerpt(part: Part, words: Sequence[str]) -> Found:
    match = re.search(rf"\b{re.escape(words[0])}", part.text, re.IGNORECASE)
    if match is None:
        return Found(part, "", "", part.text[: 2 * _EXCERPT])
    start, end = match.span()
    before, after = part.text[max(0, start - _EXCERPT) : start], part.text[end : end + _EXCERPT]
    return Found(part, ("…" if start > _EXCERPT else "") + before, match[0], after)
