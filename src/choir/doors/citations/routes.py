"""Citations and earnings over HTTP."""

from __future__ import annotations

from choir.commons.articles.model import parse_article_id
from choir.commons.citations.model import citation_id, parse_citation_id
from choir.commons.people import owner_of
from choir.commons.policy import CommonsPolicy
from choir.doors.citations.shapes import (
    CitationOut,
    CitationPage,
    CiteIn,
    CiteOut,
    EarningsOut,
    GrantOut,
    GrantPage,
)
from choir.doors.http.access import AccessRoute, NodeDep, PublicDep, ReaderDep, ResearcherDep
from choir.doors.http.openapi import problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.storage.database import Tx
from choir.treasury.vesting.model import parse_grant_id
from choir.treasury.vesting.service import Vesting

router = RoomRouter(tags=["citations"], route_class=AccessRoute)


@router.post("/articles/{article}/citations", status_code=201, responses=problems(404, 409))
def cite(article: str, body: CiteIn, who: ResearcherDep, node: NodeDep) -> CiteOut:
    """Cite an article in one's draft: add a claim that is bound to the cited article's own words."""
    citing, cited = parse_article_id(article), parse_article_id(body.article)

    def add(tx: Tx) -> CiteOut:
        line = node.commons.citing.cite(
            tx,
            who,
            citing,
            cited,
            body.claim,
            body.quote,
            relation=body.relation,
            confidence_bps=body.confidence_bps,
        )
        return CiteOut.of(line)

    return node.write(add)


@router.get("/articles/{article}/citations", responses=problems(404))
def list_citations(
    article: str, who: PublicDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100
) -> CitationPage:
    """List who cites an article, newest first, and what each citation pays."""
    id_, before = parse_article_id(article), before_id(cursor, parse_citation_id)
    size = page_rows(limit, node.policy.of(CommonsPolicy))
    with node.read() as tx:
        node.commons.articles.get(tx, who, id_)
        found = node.commons.citations.of_article(tx, id_, before, size)
    items = [CitationOut.of(item) for item in found]
    return CitationPage(items=items, next=citation_id(found[-1].id) if len(found) == size else None)


@router.get("/citations/{citation}", responses=problems(404))
def get_citation(citation: str, who: PublicDep, node: NodeDep) -> CitationOut:  # noqa: ARG001
    """Get a citation and what it pays."""
    id_ = parse_citation_id(citation)
    with node.read() as tx:
        return CitationOut.of(node.commons.citations.get(tx, id_))


@router.get("/earnings")
def get_earnings(who: ReaderDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> EarningsOut:
    """What your articles earned: each article in a line, and all together."""
    before, size = before_id(cursor, parse_article_id), page_rows(limit, node.policy.of(CommonsPolicy))
    with node.read() as tx:
        return EarningsOut.of(node.commons.earnings.of(tx, owner_of(who), before, size))


@router.get("/earnings/grants")
def list_grants(who: ReaderDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> GrantPage:
    """Your statement: everything that was granted to you, newest first, and how much of each has vested."""
    before, size = before_id(cursor, parse_grant_id), page_rows(limit, node.policy.of(CommonsPolicy))
    with node.read() as tx:
        found = node.of(Vesting).of(tx, owner_of(who), before=before, limit=size)
    items = [GrantOut.of(item) for item in found]
    return GrantPage(items=items, next=items[-1].id if len(items) == size else None)
