"""Revisions, boosts and assertions over HTTP."""

from __future__ import annotations

from fastapi import Response

from choir.commons.articles.model import parse_article_id
from choir.commons.policy import CommonsPolicy
from choir.commons.revisions.model import Revision, parse_revision_id, revision_id
from choir.doors.articles.shapes import (
    AssertionIn,
    AssertionOut,
    BoostOut,
    RevisionIn,
    RevisionOut,
    RevisionPage,
    VoteIn,
)
from choir.doors.http.access import (
    AccessRoute,
    KeyDep,
    NodeDep,
    OptionalKeyDep,
    PublisherDep,
    ReaderOrOperatorDep,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.foundation.errors import Invalid
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(tags=["articles"], route_class=AccessRoute)


@router.post(
    "/articles/{article}/revisions",
    status_code=201,
    responses=also(200, RevisionOut, "It had been proposed with this key before.") | problems(404, 409),
)
def propose_revision(
    article: str, body: RevisionIn, who: PublisherDep, node: NodeDep, key: OptionalKeyDep, response: Response
) -> RevisionOut:
    """Propose a revision of somebody else's article; takes a fee, which goes back in part if it is refused."""
    id_, commons = parse_article_id(article), node.commons
    read = commons.articles.read(body.text, body.title, body.topics)

    def propose(tx: Tx) -> tuple[RevisionOut, bool]:
        found, new = commons.revisions.propose(tx, who, id_, read, body.summary, key)
        return _shown(tx, node, found), new

    shown, new = node.write(propose)
    if not new:
        response.status_code = 200
    return shown


@router.get("/articles/{article}/revisions", responses=problems(404))
def list_revisions(
    article: str, who: ReaderOrOperatorDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100
) -> RevisionPage:
    """List proposed revisions, newest first: all for authors, your own otherwise."""
    id_, size = parse_article_id(article), page_rows(limit, node.policy.of(CommonsPolicy))
    with node.read() as tx:
        found = node.commons.revisions.page(tx, who, id_, before_id(cursor, parse_revision_id), size)
        shown = [_shown(tx, node, item) for item in found]
    return RevisionPage(items=shown, next=revision_id(found[-1].id) if len(found) == size else None)


@router.get("/revisions/{revision}", responses=problems(404))
def get_revision(revision: str, who: ReaderOrOperatorDep, node: NodeDep) -> RevisionOut:
    """Get a revision. For its proposer and the article's authors."""
    id_ = parse_revision_id(revision)
    with node.read() as tx:
        return _shown(tx, node, node.commons.revisions.get(tx, who, id_))


@router.post("/revisions/{revision}/votes", responses=problems(404, 409))
def vote(revision: str, body: VoteIn, who: PublisherDep, node: NodeDep) -> RevisionOut:
    """Vote on a revision of your article; the first vote stands. Accepted by all authors, it is the newest draft."""
    id_, revisions = parse_revision_id(revision), node.commons.revisions
    return node.write(lambda tx: _shown(tx, node, revisions.vote(tx, who, id_, accepts=body.accepts)))


@router.post(
    "/articles/{article}/boosts",
    status_code=201,
    responses=also(200, BoostOut, "It had been boosted with this key before.") | problems(404, 409),
)
def boost(article: str, who: PublisherDep, node: NodeDep, key: KeyDep, response: Response) -> BoostOut:
    """Boost a promoted article: a labelled sponsored place for a while. It changes no ranking."""
    id_ = parse_article_id(article)
    found, new = node.write(lambda tx: node.commons.revisions.boost(tx, who, id_, key))
    if not new:
        response.status_code = 200
    return BoostOut.of(found)


@router.post("/assertions", responses=problems(404, 409))
def assert_text(body: AssertionIn, who: ReaderOrOperatorDep, node: NodeDep) -> AssertionOut:
    """Get which sentences of a text or an article stand on promoted bindings, and which do not."""
    if (body.text is None) == (body.article is None):
        raise Invalid(what="The request", why="give either `text` or `article`")
    assertions = node.commons.assertions
    with node.read() as tx:
        if body.text is not None:
            return AssertionOut.of(assertions.of_text(tx, body.text))
        assert body.article is not None
        return AssertionOut.of(assertions.of_article(tx, who, parse_article_id(body.article), body.version))


def _shown(tx: Tx, node: Node, item: Revision) -> RevisionOut:
    return RevisionOut.of(item, node.commons.revisions.votes(tx, item.id))
