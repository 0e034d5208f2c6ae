"""Challenges over HTTP: open one, follow it, rule on it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import Query, Response

from choir.commons.articles.model import parse_article_id
from choir.commons.challenges.model import Challenge, challenge_id, parse_challenge_id
from choir.commons.policy import CommonsPolicy
from choir.doors.challenges.shapes import ChallengeIn, ChallengeOut, ChallengePage, ChallengeRulingIn, ground_of
from choir.doors.http.access import (
    AccessRoute,
    ChallengerDep,
    NodeDep,
    OperatorDep,
    OptionalKeyDep,
    PublicDep,
    must_be_somebody,
)
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.foundation.canonical import parse_object_hash
from choir.identity.model import Principal, told_source
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(prefix="/challenges", tags=["challenges"], route_class=AccessRoute)


@router.post(
    "",
    status_code=201,
    responses=also(200, ChallengeOut, "It had been opened with this key before.") | problems(404, 409),
)
def open_challenge(
    body: ChallengeIn, who: ChallengerDep, node: NodeDep, key: OptionalKeyDep, response: Response
) -> ChallengeOut:
    """Challenge an atom that is pending or promoted; takes a stake as high as the article's."""
    name = parse_object_hash(body.atom)

    def challenge(tx: Tx) -> tuple[ChallengeOut, bool]:
        ground = ground_of(body.ground)
        found, new = node.commons.challenges.open(tx, who, name, ground, body.statement, body.evidence, key)
        return _shown(tx, node, who, found), new

    shown, new = node.write(challenge)
    if not new:
        response.status_code = 200
    return shown


@router.get("")
def list_challenges(
    who: PublicDep,
    node: NodeDep,
    article: Annotated[str | None, Query(max_length=60, description="Only of this article.")] = None,
    mine: Annotated[bool, Query(description="Only your own.")] = False,
    to_rule: Annotated[bool, Query(description="Only those that await a ruling.")] = False,
    cursor: IdCursor = "",
    limit: Limit = 100,
) -> ChallengePage:
    """List challenges, newest first."""
    size, before = page_rows(limit, node.policy.of(CommonsPolicy)), before_id(cursor, parse_challenge_id)
    about = None if article is None else parse_article_id(article)
    if mine:
        must_be_somebody(who)
    with node.read() as tx:
        found = node.commons.challenges.page(
            tx, who, article=about, mine=mine, to_rule=to_rule, before=before, limit=size
        )
        shown = [_shown(tx, node, who, item) for item in found]
    return ChallengePage(items=shown, next=challenge_id(found[-1].id) if len(found) == size else None)


@router.get("/{challenge}", responses=problems(404))
def get_challenge(challenge: str, who: PublicDep, node: NodeDep) -> ChallengeOut:
    """Get a challenge, what the verifiers said, and its rulings."""
    id_ = parse_challenge_id(challenge)
    with node.read() as tx:
        return _shown(tx, node, who, node.commons.challenges.get(tx, id_))


@router.post("/{challenge}/rulings", responses=problems(404, 409))
def rule_on_challenge(challenge: str, body: ChallengeRulingIn, who: OperatorDep, node: NodeDep) -> ChallengeOut:
    """Rule on a challenge that the referee cannot decide. An operator's first ruling stands."""
    id_, challenges = parse_challenge_id(challenge), node.commons.challenges

    def rule(tx: Tx) -> ChallengeOut:
        return _shown(tx, node, who, challenges.rule(tx, who, id_, upheld=body.upheld, reasoning=body.reasoning))

    return node.write(rule)


def _shown(tx: Tx, node: Node, who: Principal, item: Challenge) -> ChallengeOut:
    challenges = node.commons.challenges
    atom, article = challenges.target(tx, item)
    rulings = [replace(each, operator=told_source(who, each.operator)) for each in challenges.rulings(tx, item.id)]
    return ChallengeOut.of(item, atom, article, rulings)
