"""An article as a safe page: its Markdown, its quotes out of their sources, and what was found about each claim.

Guarantees: no HTML of an author or a source reaches the page, whatever it imitates, as everything is escaped here and
what is not on a short list is removed once more at the end; nothing is loaded from elsewhere; ids are ours alone; a
level is shown only where it passed with all below it, so "undecided" never looks verified; each piece of text has its
own direction, and characters that would turn the text around are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Any

import nh3
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from choir.commons.articles import markup
from choir.commons.articles.model import Disclosure, EvidenceLine, MarkedClaim, ParsedArticle, Relation
from choir.commons.articles.words import BIDI_CONTROLS
from choir.commons.sources.model import Pointer
from choir.commons.verifiers.model import Level, Outcome, Verification

OWN = "own"  # a claim without evidence
FAILED = "failed"
NONE = "none"  # bound, but nothing is verified

_HEADING_LEVELS = 6
_MARK_WORDS = {OWN: "own", FAILED: "failed", NONE: "unverified"}
_OUTCOME_WORDS = {
    Outcome.PASS: "passed",
    Outcome.FAIL: "failed",
    Outcome.UNDECIDED: "undecided",
    Outcome.NOT_JUDGED: "not judged",
}


@dataclass(frozen=True, slots=True)
class Quote:
    """What a pointer points to: the source's own text, and the source's title."""

    text: str
    title: str


@dataclass(frozen=True, slots=True)
class ClaimMark:
    """What the verifiers said about the evidence of a claim."""

    verifications: Mapping[Pointer, Verification]

    def level(self, evidence: Sequence[EvidenceLine]) -> str:
        """The mark of a claim: the highest level that its support reached, if nothing about it failed."""
        found = [(line.relation, self.verifications.get(line.pointer)) for line in evidence]
        if any(one is not None and one.failed for _, one in found):
            return FAILED
        reached = [one.verified for relation, one in found if one is not None and relation is Relation.SUPPORTS]
        return max((level.value for level in reached if level is not None), default=NONE)


def render(article: ParsedArticle, quotes: Mapping[str, Quote], marks: Mapping[str, ClaimMark]) -> str:
    """The article as HTML; `quotes` by pointer as it is written, `marks` by label."""
    page = _Page(article, quotes, marks)
    return _clean(_body(page, lambda _: None) + page.evidence())


def render_text(article: ParsedArticle, quotes: Mapping[str, Quote], marks: Mapping[str, ClaimMark]) -> str:
    """The article's text as a part of a page that has the title already, and shows the evidence in its own way.

    Its headings are below the page's, none leaves a level out, and each mark says to those who hear it where it leads.
    """
    return _clean(_body(_Page(article, quotes, marks, within=True), lambda tokens: _fit(tokens, article.title)))


def _body(page: _Page, change: Callable[[list[Token]], None]) -> str:
    env: dict[str, Any] = {"page": page}
    tokens = markup.tokenise(page.article.markdown, env)
    change(tokens)
    _prepare(tokens)
    return str(_renderer().render(tokens, markup.engine().options, env))


def plain_text(article: ParsedArticle, quotes: Mapping[str, Quote]) -> str:
    """What an article says, as a source that others extract from: with its quotes, without marks and evidence."""

    def quoted(pointer: str) -> str:
        return f"“{quotes[pointer].text}”" if pointer in quotes else f"[{pointer}]"

    return _said(article, quoted)


def own_words(article: ParsedArticle) -> str:
    """What an article says in its authors' own words: without its quotes."""
    return _said(article, lambda _: "")


def _said(article: ParsedArticle, quoted: Callable[[str], str]) -> str:
    parts: list[str] = []
    for block in markup.blocks(article.markdown):
        if block.kind in ("text", "heading"):
            parts.append(markup.say(block.tokens, quoted).text)
        elif block.kind != "evidence":
            parts.append(block.content.strip("\n"))
    return "\n\n".join(part for part in parts if part.strip()).translate(BIDI_CONTROLS)


class _Page:
    """An article with what is shown beside it."""

    def __init__(
        self,
        article: ParsedArticle,
        quotes: Mapping[str, Quote],
        marks: Mapping[str, ClaimMark],
        *,
        within: bool = False,
    ) -> None:
        self.article = article
        self.within = within  # a page of ours, which has addresses to link to
        self.quotes = quotes
        self.marks = marks
        self.disclosures = iter(article.disclosures)
        self._lines: dict[str, list[EvidenceLine]] = {claim.label: [] for claim in article.claims}
        for line in article.evidence:
            self._lines[line.label].append(line)

    def level(self, label: str) -> str:
        lines = self._lines[label]
        return self.marks.get(label, ClaimMark({})).level(lines) if lines else OWN

    def evidence(self) -> str:
        """The list at the end: each claim, what it rests on, and what was found."""
        entries = "".join(self._entry(claim) for claim in self.article.claims)
        return f'<section class="evidence"><h2>Evidence</h2><ol>{entries}</ol></section>' if entries else ""

    def _entry(self, claim: MarkedClaim) -> str:
        lines = self._lines[claim.label]
        rests = "".join(self._binding(line) for line in lines)
        rests = f"<ul>{rests}</ul>" if lines else '<p class="own">the author\'s own statement</p>'
        said = f'<span class="statement" dir="auto">{escape(claim.text)}</span>'
        back = f'<a href="#claim-{claim.label}">{claim.label}</a>'
        return f'<li id="evidence-{claim.label}">{back} {said} {_badge(self.level(claim.label))}{rests}</li>'

    def _binding(self, line: EvidenceLine) -> str:
        verification = self.marks.get(line.label, ClaimMark({})).verifications.get(line.pointer)
        quote = self.quotes.get(str(line.pointer))
        parts = [
            f'<span class="relation">{line.relation}</span>',
            *([f'<span class="extract" dir="auto"><q>{escape(quote.text)}</q></span>'] if quote else []),
            _cite(line.pointer, quote),
            f'<span class="confidence">confidence {line.confidence_bps / 100:g} %</span>',
            _findings(verification) if verification else '<p class="unchecked">not checked</p>',
        ]
        return f'<li class="binding">{" ".join(parts)}</li>'


def _findings(verification: Verification) -> str:
    items = "".join(_level_said(verification, level) for level in Level)
    return f'<ul class="findings">{items}</ul>'


def _level_said(verification: Verification, level: Level) -> str:
    """What one level came to, in the words of its checks."""
    outcome = verification.at(level)
    said = "; ".join(finding.words for finding in verification.findings if finding.level is level)
    words = f"{level} {_OUTCOME_WORDS[outcome]}{': ' if said else ''}"
    return f'<li class="{outcome}">{words}<span dir="auto">{escape(said)}</span></li>'


def _badge(mark: str) -> str:
    return f'<span class="level" data-level="{mark}">{_MARK_WORDS.get(mark, mark)}</span>'


def _cite(pointer: Pointer | str, quote: Quote | None) -> str:
    title = f'<cite dir="auto">{escape(quote.title)}</cite> ' if quote and quote.title else ""
    return f'{title}<code class="pointer">{escape(str(pointer))}</code>'


def _link(pointer: str, quote: Quote | None) -> str:
    """The same on a page: it leads to where the source says it."""
    source, _, span = pointer.partition("@")
    title = escape(quote.title) if quote and quote.title else "source"
    return f'<a href="/sources/{source}?span={span}#span"><cite dir="auto">{title}</cite></a>'


# How tokens are shown


def _fit(tokens: list[Token], title: str) -> None:
    """Take out the title at the start, and put every heading below the page's own."""
    if len(tokens) > 2 and tokens[0].tag == "h1" and _is_plainly(tokens[1].children or [], title):
        del tokens[:3]
    level = 1
    for token in tokens:
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + 1, level + 1, _HEADING_LEVELS)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{level}"


def _is_plainly(tokens: Sequence[Token], title: str) -> bool:
    return all(token.type == "text" for token in tokens) and markup.say(tokens).text.strip() == title


def _prepare(tokens: Sequence[Token]) -> None:
    """Every block has a direction of its own; a paragraph of quotes alone becomes block quotes."""
    for at, token in enumerate(tokens):
        if token.nesting == 1 and token.tag in _DIRECTED:
            token.attrSet("dir", "auto")
        alone = tokens[at - 1].type == "paragraph_open" and _is_quotes(token.children or [])
        if alone:
            tokens[at - 1].hidden = tokens[at + 1].hidden = True
        links = 0
        for child in token.children or []:
            links += child.nesting if child.tag == "a" else 0
            child.hidden = alone or (child.type == "image" and links > 0)  # a quote alone; an image inside a link


def _is_quotes(tokens: Sequence[Token]) -> bool:
    kinds = {token.type for token in tokens if token.type != "text" or token.content.strip()}
    return "quote" in kinds and kinds <= {"quote", "softbreak", "hardbreak"}


class _Renderer(RendererHTML):
    """How our tokens, and what we show in another way than Markdown does, become HTML."""

    def claim_open(self, tokens: Sequence[Token], idx: int, _options: Any, env: Any) -> str:
        label = tokens[idx].meta["mark"].name
        return f'<span class="claim" id="claim-{label}" data-level="{env["page"].level(label)}" dir="auto">'

    def claim_close(self, tokens: Sequence[Token], idx: int, _options: Any, env: Any) -> str:
        label = tokens[idx].meta["mark"].name
        mark = env["page"].level(label)
        spoken = f'<span class="spoken">, evidence of {label}</span>' if env["page"].within else ""
        return f'<sup class="mark"><a href="#evidence-{label}">{_MARK_WORDS.get(mark, mark)}{spoken}</a></sup></span>'

    def quote(self, tokens: Sequence[Token], idx: int, _options: Any, env: Any) -> str:
        pointer = tokens[idx].meta["mark"].name
        quote = env["page"].quotes.get(pointer)
        text = escape(quote.text) if quote else "This quote is not available."
        within = env["page"].within
        cite = _link(pointer, quote) if within else _cite(pointer, quote)
        if not tokens[idx].hidden:
            shown = f"<q>{text}</q>" if quote else text
            return f'<span class="extract" dir="auto">{shown} ({cite})</span>'
        below = "p" if within else "footer"  # a page has one footer
        shown = f"<p>{_lines(text)}</p><{below}>{cite}</{below}>"
        return f'<blockquote class="extract" dir="auto">{shown}</blockquote>\n'

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        own = markup.own_block(tokens[idx])
        if own == "hyperthesis":
            return _disclosure(next(env["page"].disclosures))
        return "" if own else self.code_block(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, _options: Any, _env: Any) -> str:
        """A link to it: loading it would tell its server who reads."""
        token = tokens[idx]
        alt = escape(markup.say(token.children or []).text.strip() or "image")
        return alt if token.hidden else f'<a href="{escape(str(token.attrGet("src") or ""))}">{alt}</a>'


def _lines(escaped: str) -> str:
    return "<br>".join(escaped.split("\n"))


def _disclosure(disclosure: Disclosure) -> str:
    statement = _lines(escape(disclosure.statement))
    bound = f'<p dir="auto">Bound: {escape(disclosure.bound)}</p>'
    return f'<aside class="hyperthesis"><p>Disclosed blind spot</p><p dir="auto">{statement}</p>{bound}</aside>\n'


@cache
def _renderer() -> _Renderer:
    return _Renderer(markup.engine())


# The second wall

_NAMES = (
    "a aside blockquote br cite code em footer h1 h2 h3 h4 h5 h6 hr li ol p pre q section span strong sup"
    " table tbody td th thead tr ul"
)
TAGS = frozenset(_NAMES.split())
_DIRECTED = TAGS - {"br", "hr", "table", "tbody", "thead", "tr"}
ATTRIBUTES = {tag: {"class", "dir"} if tag in _DIRECTED else set() for tag in TAGS} | {
    "a": {"href"},
    "li": {"class", "dir", "id"},
    "ol": {"dir", "start"},
    "span": {"class", "dir", "id", "data-level"},
}
_VALUES = {
    "class": re.compile(r"[a-z_]+"),
    "dir": re.compile("auto"),
    "data-level": re.compile(r"L[0-3]|own|failed|none"),
    "id": re.compile(r"(?:claim|evidence)-[A-Za-z0-9_-]{1,32}"),
    "href": re.compile(
        r"(?:https?://|mailto:|#)[^\x00-\x20]*|/sources/sha256:[0-9a-f]{64}\?span=\d{1,9}-\d{1,9}#span", re.IGNORECASE
    ),
    "start": re.compile(r"\d{1,9}"),
}


def _clean(html: str) -> str:
    cleaned = nh3.clean(
        html,
        tags=set(TAGS),
        attributes={tag: set(names) for tag, names in ATTRIBUTES.items()},
        attribute_filter=_allowed,
        link_rel="nofollow noopener noreferrer",
        url_schemes={"http", "https", "mailto"},
    )
    return cleaned.translate(BIDI_CONTROLS)


def _allowed(_tag: str, name: str, value: str) -> str | None:
    pattern = _VALUES.get(name)
    return value if name == "rel" or (pattern is not None and pattern.fullmatch(value)) else None
