"""Pages about articles: the feed, an article with its evidence, its history.

Guarantees: a page shows what the services let its visitor read, and a visitor without an account reads as nobody;
every list is bounded; what authors and sources say is shown as text, or as the HTML that the renderer has cleaned.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response
from markupsafe import Markup

from choir.commons.articles import diffs
from choir.commons.articles.model import Article, article_id, parse_article_id
from choir.commons.challenges.model import GROUNDS, Challenge, ChallengeState, challenge_id, parse_challenge_id
from choir.commons.citations.model import Citation, citation_id, parse_citation_id
from choir.commons.novelty.model import NoveltyScore, UnknownScore
from choir.commons.policy import CommonsPolicy
from choir.commons.publication.model import STANDING, Publication
from choir.commons.publication.reading import ShownArticle
from choir.commons.publication.service import REFEREE
from choir.commons.revisions.model import Revision, RevisionState, UnknownRevision, parse_revision_id, revision_id
from choir.doors.articles import words
from choir.doors.http.access import NodeDep
from choir.doors.http.paging import IdCursor, before_id
from choir.doors.web.names import Name, name, names
from choir.doors.web.rendering import page
from choir.doors.web.visitors import Visitor, VisitorDep, reader
from choir.identity.model import Principal
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_ROWS = 20  # of each list on a page
_OWN_ROWS = 50  # own articles that can be chosen to cite in
_DIFF_LINES = 2_000

Id = Annotated[str, Path(max_length=60)]
Version = Annotated[int | None, Query(ge=1, le=10**9)]


@router.get("/articles")
def feed_page(request: Request, node: NodeDep, visitor: VisitorDep, topic: str = "") -> Response:
    """New and much-cited work, with sponsored places beside it."""
    asked = topic.strip().lower()[:100] or None
    with node.read() as tx:
        feed = node.commons.search.feed(tx, topic=asked)
        listed = [*feed.new, *feed.cited]
        shown = {
            "feed": feed,
            "called": names(node, tx, {item.author for item in listed}),
            "challenged": node.commons.challenges.challenged(tx, [item.article for item in listed]),
        }
    topics = sorted({each for item in listed for each in item.topics} | ({asked} if asked else set()))
    context = {**shown, "topic": asked or "", "topics": topics, "article_id": article_id, "visitor": visitor}
    return page(request, "articles.html", context)


# An article


@dataclass(frozen=True, slots=True)
class Edge:
    """A citation as a page tells it: the article at its other end."""

    article: str
    title: str
    independence_ppm: int
    at_us: int
    taken_back: bool


@dataclass(frozen=True, slots=True)
class ChallengeLine:
    item: Challenge
    about: str
    by: Name
    open: bool


@dataclass(frozen=True, slots=True)
class Target:
    """What can be challenged, and on which grounds."""

    atom: str
    words: str


@router.get("/articles/{article}")
def article_page(
    request: Request,
    node: NodeDep,
    visitor: VisitorDep,
    article: Id,
    version: Version = None,
    cited: IdCursor = "",
    challenges: IdCursor = "",
) -> Response:
    """An article with the evidence of each claim, where it stands, and what one can do with it."""
    id_, who = parse_article_id(article), reader(visitor)
    with node.read() as tx:
        found = node.commons.articles.get(tx, who, id_)
        shown = node.commons.reading.shown(tx, who, id_, version)
        context = {
            **_about(node, tx, found, shown),
            **_citations(node, tx, id_, before_id(cited, parse_citation_id)),
            **_challenges(node, tx, who, shown, before_id(challenges, parse_challenge_id)),
            **_acts(node, tx, visitor, found, shown),
        }
    return page(request, "article.html", {**context, "id": article, "words_of": words, "visitor": visitor})


def _about(node: Node, tx: Tx, found: Article, shown: ShownArticle) -> dict[str, Any]:
    commons, publication = node.commons, shown.publication
    atom = commons.atoms.readable(tx, REFEREE, [shown.synthesis])[shown.synthesis]  # whoever reads it was asked before
    authors = commons.articles.authors(tx, found.id)
    called = names(node, tx, authors)
    return {
        "article": found,
        "shown": shown,
        "text": Markup(shown.html),  # noqa: S704 - the renderer has cleaned it
        "authors": [called[owner] for owner in authors],
        "publication": publication,
        "standing": words.standing(publication, commons.challenges.challenged(tx, [found.id])),
        "unsettled": commons.atoms.unsettled_by(tx, atom),
        "newer": found.versions if found.versions > publication.version else None,
        "novelty": _novelty(node, tx, publication),
        "article_id": article_id,
    }


def _novelty(node: Node, tx: Tx, publication: Publication) -> NoveltyScore | None:
    try:
        return node.commons.novelty.score(tx, publication)[0]
    except UnknownScore:  # it was published before scores were kept
        return None


def _citations(node: Node, tx: Tx, id_: UUID, before: UUID | None) -> dict[str, Any]:
    citations = node.commons.citations
    by, cites = citations.of_article(tx, id_, before, _ROWS), citations.from_article(tx, id_, None, _OWN_ROWS)
    ends = {item.citing_article for item in by} | {item.cited_article for item in cites}
    titles = node.commons.articles.titles(tx, ends)
    return {
        "cited_by": [_edge(item, item.citing_article, titles) for item in by],
        "cited_more": citation_id(by[-1].id) if len(by) == _ROWS else None,
        "cites": [_edge(item, item.cited_article, titles) for item in cites],
    }


def _edge(item: Citation, other: UUID, titles: dict[UUID, str]) -> Edge:
    back = item.state.value == "taken_back"
    return Edge(article_id(other), titles.get(other, "an article"), item.independence_ppm, item.at_us, back)


def _challenges(node: Node, tx: Tx, who: Principal, shown: ShownArticle, before: UUID | None) -> dict[str, Any]:
    service = node.commons.challenges
    article = shown.publication.article
    found = service.page(tx, who, article=article, mine=False, to_rule=False, before=before, limit=_ROWS)
    called = names(node, tx, {item.challenger for item in found})
    about = {str(target.atom): target.words for target in _targets(shown)}
    lines = [
        ChallengeLine(
            item,
            about.get(service.target(tx, item)[0].hash, "a part of another version"),
            called[item.challenger],
            item.state in (ChallengeState.OPEN, ChallengeState.UNDER_REVIEW),
        )
        for item in found
    ]
    return {"challenges": lines, "challenges_more": challenge_id(found[-1].id) if len(found) == _ROWS else None}


def _targets(shown: ShownArticle) -> list[Target]:
    """The version as a whole, and each line of its evidence."""
    lines = [
        Target(binding.name, f"{claim.label}: “{claim.text}”, {binding.line.relation} “{binding.title}”")
        for claim in shown.claims
        for binding in claim.bindings
    ]
    return [Target(shown.synthesis, "the article as a whole"), *{item.atom: item for item in lines}.values()]


def _acts(node: Node, tx: Tx, visitor: Visitor | None, found: Article, shown: ShownArticle) -> dict[str, Any]:
    """What the visitor can do: cite in an own draft, challenge."""
    policy = node.policy.of(CommonsPolicy)
    own: Sequence[Article] = ()
    author = False
    if visitor is not None:
        author = node.commons.articles.is_author(tx, visitor.principal, found.id)
        own = node.commons.articles.own_page(tx, visitor.principal, None, _OWN_ROWS)
    return {
        "own": [item for item in own if item.id != found.id],
        "is_author": author,
        "challengeable": shown.publication.state in STANDING,
        "targets": _targets(shown),
        "grounds": words.GROUNDS_SAID,
        "grounds_with_evidence": [ground for ground, rule in GROUNDS.items() if rule.pointers_min],
        "stake": policy.publish_stake,
        "lost_bps": policy.lost_challenge_bps,
    }


# History


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    changed: bool


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a difference; a place of changes begins with one that only says where it is."""

    kind: str  # plus, minus, same, file
    sign: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class RevisionLine:
    id: str
    item: Revision
    by: Name
    votes: list[tuple[Name, bool]]
    open: bool
    may_vote: bool


@router.get("/articles/{article}/history")
def history_page(
    request: Request,
    node: NodeDep,
    visitor: VisitorDep,
    article: Id,
    a: Version = None,
    b: Version = None,
    revision: IdCursor = "",
    before: Version = None,
) -> Response:
    """Versions with their dates, what differs between two, and proposed revisions for those who may see them."""
    id_, who = parse_article_id(article), reader(visitor)
    with node.read() as tx:
        found = node.commons.articles.get(tx, who, id_)
        versions = node.commons.publications.versions(tx, who, id_, before, _ROWS)
        sides = _sides(node, tx, who, found, a, b, revision)
        revisions = [] if visitor is None else _revisions(node, tx, visitor.principal, id_)
    compared = _compared(node, sides)
    context = {
        "id": article,
        "article": found,
        "versions": [(item, words.STATES[item.state]) for item in versions],
        "more": versions[-1].version if len(versions) == _ROWS else None,
        "a": sides[0][0],
        "b": sides[1][0],
        "lines": compared[:_DIFF_LINES],
        "cut": len(compared) > _DIFF_LINES,
        "revisions": revisions,
        "revision_words": words.REVISIONS,
        "compares_revision": bool(revision),
        "visitor": visitor,
    }
    return page(request, "history.html", context)


def _sides(
    node: Node, tx: Tx, who: Principal, article: Article, a: int | None, b: int | None, revision: str
) -> list[tuple[str, str]]:
    """The two texts that are compared, each with what it is called; the newest two versions if nothing else is said."""
    newest = max(article.versions, 1)
    if revision:
        proposed = node.commons.revisions.get(tx, who, parse_revision_id(revision))
        if proposed.article != article.id:
            raise UnknownRevision(revision=revision)
        return [_version_side(node, tx, who, article, newest), ("the proposal", proposed.text)]
    last = b or newest
    return [_version_side(node, tx, who, article, n) for n in (a or max(last - 1, 1), last)]


def _version_side(node: Node, tx: Tx, who: Principal, article: Article, n: int) -> tuple[str, str]:
    return f"version {n}", node.commons.reading.content(tx, who, article.id, n)[1].text


def _compared(node: Node, sides: Sequence[tuple[str, str]]) -> list[ShownLine]:
    lines = diffs.compare(sides[0][1], sides[1][1], node.policy.of(CommonsPolicy))
    found: list[ShownLine] = []
    for hunk in diffs.hunks(lines):
        found.append(ShownLine("file", "", (Piece(f"line {hunk[0].new}", changed=False),)))
        found += [ShownLine(_KINDS[line.change], line.change.value, tuple(_pieces(line))) for line in hunk]
    return found


_KINDS = {diffs.Change.SAME: "same", diffs.Change.REMOVED: "minus", diffs.Change.ADDED: "plus"}


def _pieces(line: diffs.DiffLine) -> Iterable[Piece]:
    """A line in parts, of which those that differ from the line that replaces it are marked."""
    at = 0
    for start, end in line.spans:
        yield Piece(line.text[at:start], changed=False)
        yield Piece(line.text[start:end], changed=True)
        at = end
    yield Piece(line.text[at:], changed=False)


def _revisions(node: Node, tx: Tx, who: Principal, id_: UUID) -> list[RevisionLine]:
    service = node.commons.revisions
    found = service.page(tx, who, id_, None, _ROWS)
    author = node.commons.articles.is_author(tx, who, id_)
    lines = []
    for item in found:
        votes = service.votes(tx, item.id)
        called = names(node, tx, votes)
        opened = item.state is RevisionState.OPEN
        may = opened and author and not set(votes) & set(who.owners)
        told = [(called[owner], accepts) for owner, accepts in sorted(votes.items())]
        lines.append(RevisionLine(revision_id(item.id), item, name(node, tx, item.proposer), told, opened, may))
    return lines
