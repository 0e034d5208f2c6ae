"""The editor of a draft, its earlier drafts, and the check before publishing.

Guarantees: only authors reach a draft; the check shows what the node itself found and costs nothing; the rendered draft
is the only markup that does not come from a template, and it is cleaned where it is made (`articles.rendering`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from choir.commons.articles import diffs
from choir.commons.articles.diffs import Change, DiffLine
from choir.commons.articles.model import Article, Draft, Relation, article_id, parse_article_id
from choir.commons.articles.syntax import parse
from choir.commons.articles.words import HIDDEN
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.novelty.rules import band_of
from choir.commons.policy import CommonsPolicy, SourcesPolicy
from choir.commons.publication.model import STANDING, Publication, Quote
from choir.commons.sources.model import SourceRecord
from choir.doors.desk.pages import article_line, source_line
from choir.doors.http.access import NodeDep
from choir.doors.web.names import names
from choir.doors.web.rendering import page
from choir.doors.web.visitors import SignedInVisitorDep, Visitor
from choir.foundation.canonical import parse_object_hash
from choir.foundation.errors import ChoirError
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_SOURCES = 100  # to choose from in the editor; the search finds all others
_WINDOW_CHARS = 20_000  # of a source's text, shown at once
_HOUR_S = 3_600
_DAY_S = 86_400
_COLOURS = {Change.SAME: "", Change.ADDED: "plus", Change.REMOVED: "minus"}
_HEADING = re.compile(r"(</?h)([1-6])\b")
_LEVELS = 2  # the page's own title, and the section's
_STARTED = "# \n\n"

Number = Annotated[int | None, Query(ge=1, le=10**9)]
Chosen = Annotated[str, Query(max_length=80)]


@dataclass(frozen=True, slots=True)
class Step:
    """Something that happens after publishing."""

    when: str
    what: str


def _editor(node: Node, tx: Tx, who: Visitor, chosen: str) -> dict[str, Any]:
    """What the editor needs, whatever is edited."""
    commons, policy = node.commons, node.policy.of(CommonsPolicy)
    found = commons.sources.page(tx, who.principal, own=True, before=None, limit=_SOURCES)
    extra = _chosen(node, tx, who, chosen)
    if extra is not None and extra.hash not in {item.hash for item in found}:
        found = [extra, *found]
    return {
        "sources": [source_line(item) for item in found],
        "chosen": "" if extra is None else extra.hash,
        "relations": [item.value for item in Relation],
        "confidence": f"{policy.confidence_default_bps / 10_000:.4g}",
        "extract_max": node.policy.of(SourcesPolicy).extract_chars_max,
        "window": _WINDOW_CHARS,
    }


def _chosen(node: Node, tx: Tx, who: Visitor, chosen: str) -> SourceRecord | None:
    """The source that a link asks for; one that is not there for this reader is left away."""
    if not chosen:
        return None
    try:
        return node.commons.sources.get(tx, who.principal, parse_object_hash(chosen))
    except ChoirError:
        return None


def _own(node: Node, draft: Draft) -> tuple[str, str]:
    """Title and topics as far as the text does not say them itself."""
    said = parse(draft.text, node.policy.of(CommonsPolicy))
    title = "" if said.title == draft.title else draft.title
    return title, "" if said.topics == draft.topics else ", ".join(draft.topics)


@router.get("/desk/new")
def new_page(request: Request, node: NodeDep, visitor: SignedInVisitorDep, source: Chosen = "") -> Response:
    """An empty editor."""
    with node.read() as tx:
        shown = _editor(node, tx, visitor, source)
    start = {"line": None, "text": _STARTED, "title": "", "topics": "", "base": 0, "restored": None, "standing": None}
    return page(request, "desk_editor.html", {**shown, **start, "visitor": visitor})


@router.get("/desk/{article}")
def editor_page(
    article: str,
    request: Request,
    node: NodeDep,
    visitor: SignedInVisitorDep,
    draft: Number = None,
    source: Chosen = "",
) -> Response:
    """The newest draft, or an earlier one to be saved as the next."""
    id_, commons = parse_article_id(article), node.commons
    with node.read() as tx:
        found = commons.articles.draft(tx, visitor.principal, id_, draft)
        item = commons.articles.get(tx, visitor.principal, id_)
        title, topics = _own(node, found)
        shown = _editor(node, tx, visitor, source) | {
            "line": article_line(tx, node, visitor, item, ""),
            "text": found.text,
            "title": title,
            "topics": topics,
            "base": item.draft,
            "restored": found.n if found.n != item.draft else None,
            "standing": _standing(node, tx, visitor, item),
        }
    return page(request, "desk_editor.html", {**shown, "visitor": visitor})


def _standing(node: Node, tx: Tx, who: Visitor, item: Article) -> dict[str, Any] | None:
    """What can be done with a version that stands."""
    if not item.versions:
        return None
    policy = node.policy.of(CommonsPolicy)
    version: Publication = node.commons.publications.version(tx, who.principal, item.id)
    return {
        "version": version,
        "stands": version.state in STANDING,
        "promoted": version.promoted_us is not None and version.state in STANDING,
        "boosted_us": node.commons.revisions.boosted_until(tx, item.id),
        "boost_price": policy.boost_price,
        "boost": _span(policy.boost_s),
    }


@router.get("/desk/{article}/drafts")
def drafts_page(
    article: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep, a: Number = None, b: Number = None
) -> Response:
    """The drafts that are kept, and what changed between two of them."""
    id_, articles = parse_article_id(article), node.commons.articles
    with node.read() as tx:
        kept = articles.drafts(tx, visitor.principal, id_)
        item = articles.get(tx, visitor.principal, id_)
        newest = kept[0].n
        before, after = a or next((each.n for each in kept[1:]), newest), b or newest
        texts = [articles.draft(tx, visitor.principal, id_, n).text for n in (before, after)]
        savers = names(node, tx, {each.saved_by for each in kept})
    lines = diffs.compare(texts[0], texts[1], node.policy.of(CommonsPolicy))
    shown = {
        "id": article_id(id_),
        "article": item,
        "drafts": kept,
        "savers": savers,
        "before": before,
        "after": after,
        "hunks": [[_marked(line) for line in hunk] for hunk in diffs.hunks(lines)],
    }
    return page(request, "desk_drafts.html", {**shown, "visitor": visitor})


def _marked(line: DiffLine) -> tuple[str, str]:
    """A line with its sign, and the class that colours it; what could not be seen is shown, since it may deceive."""
    return line.change.value + HIDDEN.sub("\N{REPLACEMENT CHARACTER}", line.text), _COLOURS[line.change]


@router.get("/desk/{article}/check")
def check_page(
    article: str, request: Request, node: NodeDep, visitor: SignedInVisitorDep, draft: Number = None
) -> Response:
    """A draft as it would be read, what the node finds about it, what publishing costs and brings."""
    commons, id_ = node.commons, parse_article_id(article)
    examined = commons.publications.examine(node.read, visitor.principal, id_, draft)
    with node.read() as tx:
        item = commons.articles.get(tx, visitor.principal, id_)
        quote = commons.publications.quote(tx, visitor.principal, examined)
        shown = {
            "line": article_line(tx, node, visitor, item, ""),
            "draft": examined.n,
            "title": examined.read.title,
            "html": _below(commons.reading.preview(tx, visitor.principal, examined)),
            "quote": quote,
            "undecided": _undecided(quote),
            "opens": [commons.sources.get(tx, visitor.principal, parse_object_hash(name)) for name in quote.publishes],
            "rewarded": commons.novelty.rewarded_in_month(tx, visitor.person.owner),
        }
    return page(request, "desk_check.html", {**shown, **_terms(node, quote), "visitor": visitor})


def _below(html: str) -> Markup:
    """A rendered draft, with its headings below those of the page. No text in it has an unescaped `<`."""
    lowered = _HEADING.sub(lambda found: f"{found[1]}{min(6, int(found[2]) + _LEVELS)}", html)
    return Markup(lowered)  # noqa: S704 - cleaned where it was made


def _terms(node: Node, quote: Quote) -> dict[str, Any]:
    """What publishing costs and what follows, in words."""
    policy, novelty = node.policy.of(CommonsPolicy), node.policy.of(NoveltyPolicy)
    return {
        "total": quote.stake + quote.fee,
        "co_stake": 0 if quote.contribution is None else quote.contribution.co_stake,
        "band": band_of(quote.novelty.distance_ppm, novelty),
        "rewarded_max": novelty.rewarded_per_month,
        "vesting_days": novelty.vesting_days,
        "steps": [
            Step("At once", "The stake and the fee leave your account, and the node reviews the article."),
            Step("Some seconds later", "If the review passes, the challenge window opens; if not, the stake is back."),
            Step(
                f"{_span(quote.window_s)} later",
                "If no challenge is open, the article is promoted: others can cite it, and its novelty is rewarded.",
            ),
            Step(
                f"{_span(policy.stake_return_s)} after that",
                "The stake comes back, if the article stands. A challenge that is won takes it.",
            ),
        ],
    }


def _undecided(quote: Quote) -> list[tuple[str, str, str]]:
    """Label, level and words of what the verifiers could not decide."""
    return [
        (binding.label, finding.level.value, finding.words)
        for binding in quote.bindings
        for finding in binding.verification.findings
        if finding.outcome.value == "undecided"
    ]


def _span(seconds: int) -> str:
    """A time of the policy in words."""
    for size, name in ((_DAY_S, "day"), (_HOUR_S, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size and seconds % size == 0:
            count = seconds // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    return f"{seconds} seconds"
