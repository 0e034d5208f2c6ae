"""Novelty over HTTP: what a draft would score, and what a version scored."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from choir.commons.articles.model import parse_article_id
from choir.doors.articles.shapes import QuoteIn
from choir.doors.http.access import AccessRoute, NodeDep, PublicDep, ResearcherDep
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.novelty.shapes import NoveltyOut, NoveltyScoreOut

router = RoomRouter(prefix="/articles", tags=["novelty"], route_class=AccessRoute)

Version = Annotated[int | None, Query(ge=1, le=10**9, description="Default: the newest version.")]


@router.post("/{article}/novelty", responses=problems(404, 409))
def measure_novelty(article: str, body: QuoteIn, who: ResearcherDep, node: NodeDep) -> NoveltyOut:
    """Measure a draft against all earlier work: score, reasons, nearest works, reward."""
    publications = node.commons.publications
    examined = publications.examine(node.read, who, parse_article_id(article), body.draft)
    return NoveltyOut.of(publications.novelty.quote(examined.novelty))


@router.get("/{article}/novelty", responses=problems(404))
def get_novelty(article: str, who: PublicDep, node: NodeDep, version: Version = None) -> NoveltyScoreOut:
    """Get what a published version scored and what was granted for it."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        found = node.commons.publications.version(tx, who, id_, version)
        score, reward = node.commons.novelty.score(tx, found)
    return NoveltyScoreOut.of(found.version, score, reward)
