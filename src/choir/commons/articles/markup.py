"""The one reading of an article's Markdown that parsing, sentences and rendering share.

CommonMark with tables, without HTML, and with two marks of ours: `[claim]{#c1}` and `{{extract sha256:…@120-188}}`.
Which brackets belong together is found out first, in one pass over a paragraph; the Markdown parser then meets the
marks as it goes, so what it takes for code or for a link's address cannot be a mark for anyone.

Guarantees: linear time, also for hostile nesting; a mark is reached exactly once or reported; offsets are of the
Markdown as it was given.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

_SIGN = re.compile(r"\\[\s\S]|`+|\[|\]|\{\{extract")
_LABEL = re.compile(r"\{#([A-Za-z0-9_-]{1,32})\}")
_QUOTE = re.compile(r"\{\{extract[ \t]+(\S{1,120}?)[ \t]*\}\}")
_LINK = re.compile(r"(?:https?://|mailto:|#)", re.IGNORECASE)
_FRONT = "---"


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in a paragraph; `name` is its label or pointer, `inner` where a claim's text ends."""

    name: str
    start: int
    inner: int
    end: int


@dataclass(slots=True)
class Marks:
    """The marks of a paragraph by where they start, brackets that have no partner, and what is wrong, if anything."""

    claims: dict[int, Mark] = field(default_factory=dict)
    quotes: dict[int, Mark] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    wrong: tuple[int, str] | None = None

    def refuse(self, at: int, why: str) -> None:
        self.wrong = self.wrong or (at, why)


@dataclass(frozen=True, slots=True)
class Said:
    """What a paragraph says in plain text, and its marks; of a claim, also start and end in that text."""

    text: str
    claims: tuple[tuple[int, int, Mark], ...]
    quotes: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, cell or fenced block; `line` counts from 1."""

    kind: str  # "text", "heading", "code", or what a fenced block of ours is called
    line: int
    content: str
    tokens: Sequence[Token] = ()
    places: tuple[tuple[int, int], ...] = ()  # for each of its lines: where in the content, where in the Markdown

    def place(self, at: int) -> int:
        """Where in the Markdown a place of the content is; only if `places` are known."""
        inside, outside = self.places[self._row(at)]
        return outside + at - inside

    def line_of(self, at: int) -> int:
        """The line of the Markdown that a place of the content is in."""
        return self.line + self._row(at)

    def _row(self, at: int) -> int:
        return max(bisect_right(self.places, at, key=lambda place: place[0]) - 1, 0)


OWN_BLOCKS = ("evidence", "hyperthesis")


def body_start(text: str) -> int:
    """Where the text behind the front matter starts; -1 if the front matter has no end."""
    if text != _FRONT and not text.startswith(f"{_FRONT}\n"):
        return 0
    end = text.find(f"\n{_FRONT}\n", len(_FRONT) - 1)
    if end >= 0:
        return end + len(_FRONT) + 2
    return len(text) if text.endswith(f"\n{_FRONT}") and len(text) > len(_FRONT) + 1 else -1


def tokenise(text: str, env: dict[str, Any]) -> list[Token]:
    """The tokens of an article's Markdown."""
    return engine().parse(text[max(body_start(text), 0) :], env)


def blocks(text: str) -> Iterator[Block]:
    """What an article's Markdown consists of, in order."""
    start = max(body_start(text), 0)
    first_line = text.count("\n", 0, start) + 1
    lines = [start, *(match.end() for match in re.compile("\n").finditer(text, start)), len(text) + 1, len(text) + 1]
    cursor = start
    opened = ""
    for token in tokenise(text, {}):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            yield Block(own_block(token) or "code", token.map[0] + first_line, token.content)
        elif token.type == "inline":
            assert token.map is not None
            cursor = max(cursor, lines[token.map[0]])
            places: tuple[tuple[int, int], ...] = ()
            if opened not in ("th_open", "td_open") or "|" not in token.content:  # else it was written \\|
                places, cursor = _places(text, token.content, cursor, lines[token.map[1]])
            kind = "heading" if opened == "heading_open" else "text"
            yield Block(kind, token.map[0] + first_line, token.content, token.children or (), places)
        opened = token.type


def own_block(token: Token) -> str | None:
    """Which of our fenced blocks a token is."""
    word = token.info.split()[:1] if token.type == "fence" else []
    return word[0].lower() if word and word[0].lower() in OWN_BLOCKS else None


def say(tokens: Sequence[Token], quote: Callable[[str], str] = lambda _: "") -> Said:
    """What inline tokens say; `quote` says what a quote's pointer points to."""
    parts: list[str] = []
    claims: list[tuple[int, int, Mark]] = []
    quotes: list[Mark] = []
    length = start = 0
    for token in tokens:
        part = ""
        match token.type:
            case "text" | "text_special" | "code_inline":
                part = token.content
            case "softbreak" | "hardbreak":
                part = " "
            case "image":
                part = say(token.children or []).text
            case "claim_open":
                start = length
            case "claim_close":
                claims.append((start, length, token.meta["mark"]))
            case "quote":
                quotes.append(token.meta["mark"])
                part = quote(token.meta["mark"].name)
        parts.append(part)
        length += len(part)
    return Said("".join(parts), tuple(claims), tuple(quotes))


def misplaced(block: Block) -> tuple[int, str] | None:
    """The first mark of a paragraph that is not what it should be: where, and why."""
    marks = scan(block.content)
    if marks.wrong is not None:
        return marks.wrong
    inside: list[str] = []
    for token in block.tokens:
        if token.type in ("claim_open", "quote"):
            start = token.meta["mark"].start
            (marks.claims if token.type == "claim_open" else marks.quotes).pop(start)
            if inside:
                return start, f"a {token.type.split('_')[0]} cannot stand inside a {inside[-1]}"
        if token.type in ("link_open", "claim_open"):
            inside.append(token.type.split("_")[0])
        elif token.type in ("link_close", "claim_close"):
            inside.pop()
    for start in sorted([*marks.claims, *marks.quotes])[:1]:
        return start, "a mark cannot stand in a link's address, in an image, or this deep inside of other things"
    return None


def _places(text: str, content: str, at: int, limit: int) -> tuple[tuple[tuple[int, int], ...], int]:
    """Where each line of a block's content stands in the Markdown without signs of quotes and lists; and its end."""
    found: list[tuple[int, int]] = []
    inside = 0
    for line in content.split("\n"):
        bare = line.strip(" \t")
        outside = text.find(bare, at, limit)
        if outside < 0:
            return (), at
        found.append((inside + len(line) - len(line.lstrip(" \t")), outside))
        at = outside + len(bare)
        inside += len(line) + 1
    return tuple(found), at


# Marks


def scan(content: str) -> Marks:
    """All marks of a paragraph, in one pass."""
    marks = Marks()
    opened: list[int] = []
    code = _CodeSpans(content)
    at = 0
    while (sign := _SIGN.search(content, at)) is not None:
        at = sign.end()
        match sign[0][0]:
            case "`":
                at = code.end(sign.start(), at)
            case "[":
                opened.append(sign.start())
            case "]":
                at = _close(content, sign.start(), opened, marks)
            case "{":
                at = _scan_quote(content, sign.start(), marks)
    marks.alone.update(opened)
    return marks


def _close(content: str, at: int, opened: list[int], marks: Marks) -> int:
    """What a closing bracket closes; says where to go on."""
    start = opened.pop() if opened else None
    last = next(reversed(marks.claims), -1)
    if content.startswith("(", at + 1) and start is not None and last > start:
        marks.refuse(last, "a claim cannot stand inside a link or an image")
    if not content.startswith("{#", at + 1):
        return at + 1
    label = _LABEL.match(content, at + 1)
    if label is None:
        marks.refuse(at, "a label is {#…} with 1 to 32 letters, digits, - and _")
    elif start is None:
        marks.refuse(at, f"nothing opens the claim {label[1]}; write \\] if this is none")
    elif last > start:
        marks.refuse(start, f"the claim {label[1]} has another claim inside")
    else:
        marks.claims[start] = Mark(label[1], start, at, label.end())
    return at + 1 if label is None else label.end()


def _scan_quote(content: str, at: int, marks: Marks) -> int:
    quote = _QUOTE.match(content, at)
    if quote is None:
        marks.refuse(at, "a quote is written {{extract sha256:…@120-188}}")
        return at + 2
    marks.quotes[at] = Mark(quote[1], at, quote.end(), quote.end())
    return quote.end()


class _CodeSpans:
    """Where code spans end: at the next row of as many backticks."""

    def __init__(self, content: str) -> None:
        self._rows: dict[int, list[int]] = {}
        for row in re.finditer("`+", content):
            self._rows.setdefault(len(row[0]), []).append(row.start())

    def end(self, start: int, end: int) -> int:
        """The end of the span that the row of backticks opens; of the row itself if nothing closes it."""
        rows = self._rows.get(end - start, [])
        index = bisect_left(rows, end)
        return rows[index] + end - start if index < len(rows) else end


# The Markdown parser


@cache
def engine() -> MarkdownIt:
    """CommonMark with tables and our marks; it keeps nothing between two texts."""
    parser = MarkdownIt("commonmark", {"html": False, "xhtmlOut": False}).enable("table")
    parser.disable(["html_block", "html_inline"])
    parser.inline.ruler.before("link", "mark", _mark)
    parser.validateLink = _is_link  # type: ignore[method-assign]
    return parser


def _is_link(url: str) -> bool:
    return _LINK.match(url) is not None


def _mark(state: StateInline, silent: bool) -> bool:
    """The parser's rule for our marks."""
    sign = state.src[state.pos]
    if sign not in "[!{":
        return False
    known: dict[str, Marks] = state.env.setdefault("marks", {})
    marks = known.get(state.src)
    if marks is None:
        marks = known[state.src] = scan(state.src)
    if sign == "{":
        return _take_quote(state, marks.quotes.get(state.pos), silent)
    if state.pos + (sign == "!") in marks.alone:  # nothing to look for: it saves looking for it to the end each time
        if not silent:
            state.append_pending(sign)
        state.pos += 1
        return True
    return sign == "[" and _take_claim(state, marks.claims.get(state.pos), silent)


def _take_quote(state: StateInline, mark: Mark | None, silent: bool) -> bool:
    if mark is None or mark.end > state.posMax:
        return False
    if not silent:
        state.push("quote", "q", 0).meta = {"mark": mark}
    state.pos = mark.end
    return True


def _take_claim(state: StateInline, mark: Mark | None, silent: bool) -> bool:
    if mark is None or mark.end > state.posMax:
        return False
    if not silent:
        limit = state.posMax
        state.push("claim_open", "span", 1).meta = {"mark": mark}
        state.pos, state.posMax = mark.start + 1, mark.inner
        state.md.inline.tokenize(state)
        state.push("claim_close", "span", -1).meta = {"mark": mark}
        state.posMax = limit
    state.pos = mark.end
    return True
