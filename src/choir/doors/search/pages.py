"""The search page: a plain form that works without scripts, and why each result stands where it stands."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.commons.articles.model import article_id
from choir.commons.search.model import Found
from choir.doors.http.access import NodeDep
from choir.doors.web.names import names
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep
from choir.foundation.errors import Invalid
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_ROWS = 20
_TOPIC_CHARS = 100
AGES = {"": "Any time", "7": "The last 7 days", "30": "The last 30 days", "365": "The last year"}
SIGNALS = {
    "relevance": "Relevance by words and meaning",
    "confidence": "Confidence of its verified evidence",
    "reuse": "Independent reuse",
    "survival": "Survival",
    "recency": "Recency",
    "diversity": "Diversity of authors",
}


@router.get("/search")
def search_page(
    request: Request, node: NodeDep, visitor: VisitorDep, q: str = "", topic: str = "", age: str = ""
) -> Response:
    """What was found, best first; sponsored places apart."""
    asked = {"q": q.strip(), "topic": topic.strip().lower()[:_TOPIC_CHARS], "age": age if age in AGES else ""}
    with node.read() as tx:
        found, wrong = _found(node, tx, asked)
        results = found.results if found else ()
        context: dict[str, Any] = {
            **asked,
            "found": found,
            "wrong": wrong,
            "called": names(node, tx, {item.candidate.author for item in results}),
            "challenged": node.commons.challenges.challenged(tx, [item.candidate.article for item in results]),
        }
    shared = {"ages": AGES, "signals": SIGNALS, "article_id": article_id, "visitor": visitor}
    return page(request, "search.html", context | shared)


def _found(node: Node, tx: Tx, asked: dict[str, str]) -> tuple[Found | None, str]:
    """What was found, or why the question cannot be asked; neither where nothing is asked."""
    if not asked["q"]:
        return None, ""
    days = int(asked["age"]) if asked["age"] else None
    try:
        return node.commons.search.find(tx, asked["q"], topic=asked["topic"] or None, limit=_ROWS, days=days), ""
    except Invalid as error:
        return None, str(error)
