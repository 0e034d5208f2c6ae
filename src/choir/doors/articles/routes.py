"""Articles over HTTP: drafts, quotes, publication, reading, retraction."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Path, Query, Response

from choir.commons.articles import diffs
from choir.commons.articles.model import Article, article_id, parse_article_id
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.model import Publication
from choir.doors.articles.shapes import (
    ArticleIn,
    ArticleOut,
    ArticlePage,
    DiffOut,
    DraftIn,
    DraftList,
    DraftOut,
    PublicationList,
    PublicationOut,
    QuoteIn,
    QuoteOut,
    RenderedOut,
    RetractIn,
)
from choir.doors.http.access import (
    AccessRoute,
    KeyDep,
    NodeDep,
    OptionalKeyDep,
    PublicDep,
    PublisherDep,
    ReaderOrOperatorDep,
    ResearcherDep,
    must_be_somebody,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.identity.model import Principal
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(prefix="/articles", tags=["articles"], route_class=AccessRoute)

Number = Annotated[int, Path(ge=1, le=10**9)]
Version = Annotated[int | None, Query(ge=1, le=10**9, description="Default: the newest version.")]
Side = Annotated[
    str, Query(pattern=r"^[dv][1-9][0-9]{0,8}$", description="Such as d2 for draft 2 or v1 for version 1.")
]


@router.post(
    "",
    status_code=201,
    responses=also(200, ArticleOut, "It had been created with this key before.") | problems(409),
)
def create_article(
    body: ArticleIn, who: ResearcherDep, node: NodeDep, key: OptionalKeyDep, response: Response
) -> ArticleOut:
    """Create an article with its first draft."""
    articles = node.commons.articles
    read = articles.read(body.text, body.title, body.topics)

    def create(tx: Tx) -> tuple[ArticleOut, bool]:
        found, new = articles.create(tx, who, read, key)
        return _shown(tx, node, found), new

    shown, new = node.write(create)
    if not new:
        response.status_code = 200
    return shown


@router.get("")
def list_articles(
    who: PublicDep,
    node: NodeDep,
    mine: Annotated[bool, Query(description="Your own, drafts included; else everybody's promoted ones.")] = False,
    cursor: IdCursor = "",
    limit: Limit = 100,
) -> ArticlePage:
    """List articles, newest first."""
    size, before = page_rows(limit, node.policy.of(CommonsPolicy)), before_id(cursor, parse_article_id)
    articles = node.commons.articles
    with node.read() as tx:
        own = mine and articles.own_page(tx, must_be_somebody(who), before, size)
        found = own if own is not False else articles.public_page(tx, before, size)
        shown = [_shown(tx, node, item) for item in found]
    return ArticlePage(items=shown, next=article_id(found[-1].id) if len(found) == size else None)


@router.get("/{article}", responses=problems(404))
def get_article(article: str, who: PublicDep, node: NodeDep) -> ArticleOut:
    """Get an article: for its authors, and for anyone once a version was published."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        return _shown(tx, node, node.commons.articles.get(tx, who, id_))


@router.put("/{article}/draft", responses=problems(404, 409))
def save_draft(article: str, body: DraftIn, who: ResearcherDep, node: NodeDep) -> ArticleOut:
    """Save a draft. Saving the same text again saves nothing."""
    id_, articles = parse_article_id(article), node.commons.articles
    read = articles.read(body.text, body.title, body.topics)
    return node.write(lambda tx: _shown(tx, node, articles.save(tx, who, id_, read, body.base)))


@router.get("/{article}/drafts", responses=problems(404))
def list_drafts(article: str, who: ReaderOrOperatorDep, node: NodeDep) -> DraftList:
    """List saved drafts, newest first, without their texts. For authors."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        return DraftList(items=[DraftOut.of(item, text=False) for item in node.commons.articles.drafts(tx, who, id_)])


@router.get("/{article}/drafts/{n}", responses=problems(404))
def get_draft(article: str, n: Number, who: ReaderOrOperatorDep, node: NodeDep) -> DraftOut:
    """Get a saved draft. For authors."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        return DraftOut.of(node.commons.articles.draft(tx, who, id_, n), text=True)


@router.get("/{article}/diff", responses=problems(404))
def compare(article: str, a: Side, b: Side, who: PublicDep, node: NodeDep) -> DiffOut:
    """Compare two drafts or published versions."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        texts = [_text_of(tx, node, who, id_, side) for side in (a, b)]
    lines = diffs.compare(texts[0], texts[1], node.policy.of(CommonsPolicy))
    return DiffOut(a=a, b=b, lines=diffs.unified(lines).splitlines())


@router.post("/{article}/quote", responses=problems(404, 409))
def quote(article: str, body: QuoteIn, who: ResearcherDep, node: NodeDep) -> QuoteOut:
    """Get what publishing a draft would cost, and everything that would keep it from being promoted."""
    publications = node.commons.publications
    examined = publications.examine(node.read, who, parse_article_id(article), body.draft)
    with node.read() as tx:
        return QuoteOut.of(publications.quote(tx, who, examined))


@router.post(
    "/{article}/publications",
    status_code=201,
    responses=also(200, PublicationOut, "It had been published with this key before.") | problems(404, 409),
)
def publish(
    article: str, body: QuoteIn, who: PublisherDep, node: NodeDep, key: KeyDep, response: Response
) -> PublicationOut:
    """Publish a draft: takes stake and fee, and hands it to the review."""
    publications = node.commons.publications
    examined = publications.examine(node.read, who, parse_article_id(article), body.draft)
    examined = publications.make_ready(node.read, who, examined)

    def submit(tx: Tx) -> tuple[PublicationOut, bool]:
        found, new = publications.publish(tx, who, examined, key)
        return _version(tx, node, found), new

    shown, new = node.write(submit)
    if not new:
        response.status_code = 200
    return shown


@router.get("/{article}/versions", responses=problems(404))
def list_versions(article: str, who: PublicDep, node: NodeDep) -> PublicationList:
    """List published versions, newest first."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        found = node.commons.publications.versions(tx, who, id_)
        return PublicationList(items=[_version(tx, node, item) for item in found])


@router.get("/{article}/rendered", responses=problems(404))
def read_article(article: str, who: PublicDep, node: NodeDep, version: Version = None) -> RenderedOut:
    """Get a published version as safe HTML, with each claim's level and evidence, and as Markdown."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        found = node.commons.reading.rendered(tx, who, id_, version)
    return RenderedOut(article=article, version=found.version, title=found.title, html=found.html, text=found.markdown)


@router.get(
    "/{article}/bundle",
    responses=problems(404, 409)
    | {200: {"description": "A ZIP file.", "content": {"application/zip": {"schema": {"type": "string"}}}}},
    response_class=Response,
)
def export_bundle(article: str, who: PublicDep, node: NodeDep, version: Version = None) -> Response:
    """Export a version with all its evidence as one file that anybody can check offline."""
    id_ = parse_article_id(article)
    with node.read() as tx:
        data = node.commons.bundles.export(tx, who, id_, version)
    headers = {"Content-Disposition": f'attachment; filename="{article}.zip"'}
    return Response(data, media_type="application/zip", headers=headers)


@router.post("/{article}/retraction", responses=problems(404, 409))
def retract(article: str, body: RetractIn, who: PublisherDep, node: NodeDep) -> PublicationOut:
    """Retract the newest version: for its first author, and in its window for who published it."""
    id_, publications = parse_article_id(article), node.commons.publications
    return node.write(lambda tx: _version(tx, node, publications.retract(tx, who, id_, body.reason)))


def _shown(tx: Tx, node: Node, item: Article) -> ArticleOut:
    commons = node.commons
    return ArticleOut.of(item, commons.articles.authors(tx, item.id), commons.revisions.boosted_until(tx, item.id))


def _version(tx: Tx, node: Node, item: Publication) -> PublicationOut:
    return PublicationOut.of(item, node.commons.publications.synthesis_of(tx, item))


def _text_of(tx: Tx, node: Node, who: Principal, id_: UUID, side: str) -> str:
    n = int(side[1:])
    if side.startswith("d"):
        return node.commons.articles.draft(tx, who, id_, n).text
    return node.commons.reading.content(tx, who, id_, n)[1].text
