"""The desk: a writer's articles with their next steps, sources, earnings and stakes.

Guarantee: what a page shows is its visitor's and nothing else's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.commons.articles.model import Article, ArticleState, article_id, parse_article_id
from choir.commons.citations.earnings import EarningsPage, MonthEarned
from choir.commons.citations.model import earning_line
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.policy import SourcesPolicy
from choir.commons.publication.model import Publication, PublicationState
from choir.commons.sources.model import SourceRecord
from choir.commons.stakes.model import Origin, Purpose, Stake
from choir.doors.http.access import NodeDep
from choir.doors.http.paging import IdCursor, NumberCursor, before_id, last_number
from choir.doors.web.charts import Chart, Point, bars
from choir.doors.web.rendering import money, page
from choir.doors.web.visitors import SignedInVisitorDep, Visitor, own_path
from choir.node import Node
from choir.storage.database import Tx
from choir.treasury.vesting.model import GrantKind, GrantTotal

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_ARTICLES = 20  # on a page of the desk
_SOURCES = 8  # on the desk; the page of sources has more
_SOURCES_PAGE = 50
_STAKES = 50
_MONTHS = 11  # an odd number, so that the chart labels this one

KINDS = {"application/pdf": "PDF", "text/html": "HTML", "text/markdown": "Markdown", "text/plain": "Text"}
_STATES = {
    ArticleState.DRAFT: ("Draft", ""),
    ArticleState.IN_REVIEW: ("In review", "badge-mind"),
    ArticleState.IN_WINDOW: ("Challenge window", "badge-mind"),
    ArticleState.PROMOTED: ("Promoted", "badge-good"),
    ArticleState.REFUSED: ("Refused", "badge-bad"),
    ArticleState.DEMOTED: ("Demoted", "badge-bad"),
    ArticleState.RETRACTED: ("Retracted", "badge-bad"),
}
_NEXT = {
    ArticleState.DRAFT: "Bind its claims to sources, then check and publish it.",
    ArticleState.IN_REVIEW: "The node reviews it now, which takes seconds.",
    ArticleState.IN_WINDOW: "Anybody can challenge it until its window ends; then it is promoted.",
    ArticleState.PROMOTED: "Others can cite it.",
    ArticleState.REFUSED: "The review refused it and the stake is back. Check it to see why, then publish again.",
    ArticleState.DEMOTED: "A challenge was won. Correct it and publish it again.",
    ArticleState.RETRACTED: "It cannot be cited any more. A correction is another text.",
}
_PURPOSES = {
    Purpose.CHALLENGE: "Your challenge",
    Purpose.REVISION: "Your proposed revision",
}


@dataclass(frozen=True, slots=True)
class ArticleLine:
    """An article with its state and its next step."""

    id: str
    article: Article
    state: str
    tone: str
    step: str
    due_us: int | None  # when the next step comes by itself
    due: str  # what comes then
    newer: bool  # a draft was saved after the newest version
    earned: str  # "You wrote …"; empty before a version is published


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A source in a list."""

    record: SourceRecord
    kind: str
    size: str


@dataclass(frozen=True, slots=True)
class StakeLine:
    """CHIP at risk, and when it comes back."""

    about: str
    article: str  # its id, or empty
    amount: int
    treasury: int  # of it
    back_us: int | None
    back: str


def article_line(tx: Tx, node: Node, who: Visitor, item: Article, earned: str) -> ArticleLine:
    """One article as its author sees it."""
    version = node.commons.publications.version(tx, who.principal, item.id) if item.versions else None
    state, tone = _STATES[item.state]
    due_us, due = _due(version)
    newer = version is not None and item.draft > version.draft
    return ArticleLine(article_id(item.id), item, state, tone, _NEXT[item.state], due_us, due, newer, earned)


def _due(version: Publication | None) -> tuple[int | None, str]:
    if version is None:
        return None, ""
    if version.state is PublicationState.IN_WINDOW:
        return version.window_until_us, "The window ends"
    return version.stake_due_us, "The stake comes back"


def source_line(item: SourceRecord) -> SourceLine:
    kind = "Text of an article" if item.origin == "article" else KINDS.get(item.media_type, item.media_type)
    return SourceLine(item, kind, _size(item.size))


def _size(count: int) -> str:
    """A size in bytes as people say it."""
    for step, name in ((1_000_000, "MB"), (1_000, "KB")):
        if count >= step:
            return f"{count / step:.1f} {name}"
    return f"{count} bytes"


def _stake_line(item: Stake, version: Publication | None, title: Callable[[UUID], str]) -> StakeLine:
    treasury = item.of(Origin.TREASURY)
    if version is None:
        about = _PURPOSES.get(item.purpose, "An article")
        return StakeLine(about, "", item.amount, treasury, None, "when it is decided")
    back = {
        PublicationState.IN_REVIEW: "some time after the article is promoted, or at once if the review refuses it",
        PublicationState.IN_WINDOW: "some time after the article is promoted",
    }.get(version.state, "when no challenge is open")
    shown = (title(version.article), article_id(version.article))
    return StakeLine(*shown, item.amount, treasury, version.stake_due_us, back)


def _charts(months: list[MonthEarned]) -> list[Chart]:
    usdc = [Point(item.month, item.citation, money(item.citation, "USDC")) for item in months]
    chip = [Point(item.month, item.novelty, money(item.novelty, "CHIP")) for item in months]
    return [
        bars("Granted for citations, by month", "USDC", usdc),
        bars("Granted for novelty, by month", "CHIP", chip),
    ]


def _figures(found: EarningsPage) -> dict[str, GrantTotal]:
    nothing = GrantTotal(0, 0, 0)
    return {kind.value: found.totals.get(kind, nothing) for kind in GrantKind}


def desk(node: Node, tx: Tx, who: Visitor, before: UUID | None) -> dict[str, Any]:
    """All that the desk shows."""
    commons, owner = node.commons, who.person.owner
    articles = commons.articles.own_page(tx, who.principal, before, _ARTICLES)
    found = commons.earnings.of(tx, owner, before, _ARTICLES)
    earned = {item.article: earning_line(item) for item in found.items}
    sources = commons.sources.page(tx, who.principal, own=True, before=None, limit=_SOURCES)

    def title(id_: UUID) -> str:
        return commons.articles.get(tx, who.principal, id_).title

    return {
        "articles": [article_line(tx, node, who, item, earned.get(item.id, "")) for item in articles],
        "next": article_id(articles[-1].id) if len(articles) == _ARTICLES else None,
        "sources": [source_line(item) for item in sources],
        "totals": _figures(found),
        "owed": found.owed,
        "allowance": found.allowance,
        "rewarded": commons.novelty.rewarded_in_month(tx, owner),
        "rewarded_max": node.policy.of(NoveltyPolicy).rewarded_per_month,
        "charts": _charts(commons.earnings.by_month(tx, owner, _MONTHS)),
        "stakes": [_stake_line(*item, title) for item in commons.publications.at_stake(tx, owner, _STAKES)],
    }


@router.get("/desk")
def desk_page(request: Request, node: NodeDep, visitor: SignedInVisitorDep, before: IdCursor = "") -> Response:
    """Articles with their next steps, sources, earnings, stakes."""
    with node.read() as tx:
        shown = desk(node, tx, visitor, before_id(before, parse_article_id))
    return page(request, "desk.html", {**shown, "visitor": visitor})


@router.get("/desk/sources")
def sources_page(
    request: Request, node: NodeDep, visitor: SignedInVisitorDep, before: NumberCursor = "", then: str = ""
) -> Response:
    """A writer's sources, and the forms that add one; `then` leads back to an editor."""
    policy, at = node.policy.of(SourcesPolicy), last_number(before)
    with node.read() as tx:
        found = node.commons.sources.page(tx, visitor.principal, own=True, before=at, limit=_SOURCES_PAGE)
    shown = {
        "sources": [source_line(item) for item in found],
        "next": str(found[-1].atom) if len(found) == _SOURCES_PAGE else None,
        "then": own_path(then, "") if then.startswith("/desk/") else "",
        "size": _size(policy.document_bytes_max),
        "bytes_max": policy.document_bytes_max,
        "fetches": bool(policy.fetch_urls),
    }
    return page(request, "desk_sources.html", {**shown, "visitor": visitor})
