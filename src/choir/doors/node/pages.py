"""The front page: what this node is, what goes on right now, and where to go from here.

Guarantee: it shows nothing that a stranger may not know: figures, promoted articles, the rate, the last checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.commons.articles.model import article_id
from choir.commons.search.model import FeedItem
from choir.doors.http.access import NodeDep
from choir.doors.people.shapes import gifts
from choir.doors.web.names import names
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep
from choir.identity.delegations.rules import NO_ID
from choir.ledger import queries
from choir.node import Node
from choir.storage.database import Tx
from choir.treasury.months import month_of
from choir.treasury.rates.service import CitationRates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_ARTICLES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class ArticleLine:
    """An article as the front page names it."""

    id: str
    title: str
    author: str
    at_us: int
    citations: int


@router.get("/")
def home(request: Request, node: NodeDep, visitor: VisitorDep) -> Response:
    """The front page."""
    with node.read() as tx:
        facts = {
            "entries": queries.head(tx).seq,
            "key": str(node.keys.current(tx).vkey),
            "checkpoint": node.checkpoints.latest(tx),
            "rate": node.of(CitationRates).fixed(tx, month_of(node.clock.now_us())),
            "cleared": node.bazaar.hall.totals(tx),
            **_articles(node, tx),
        }
    facts["gifts"] = gifts(node.people.gift(NO_ID))
    facts["address"] = node.settings.public_url
    return page(request, "home.html", {**facts, "visitor": visitor})


def _articles(node: Node, tx: Tx) -> dict[str, Any]:
    """The newest and the most cited articles."""
    feed = node.commons.search.feed(tx)
    new, cited = feed.new[:_ARTICLES_SHOWN], feed.cited[:_ARTICLES_SHOWN]
    called = names(node, tx, {item.author for item in (*new, *cited)})

    def line(item: FeedItem) -> ArticleLine:
        return ArticleLine(
            article_id(item.article), item.title, called[item.author].text, item.promoted_us, item.citations
        )

    return {"new_articles": [line(item) for item in new], "cited_articles": [line(item) for item in cited]}
