"""The operator's pages: the node's parts, what waits for a ruling, money, people.

Guarantees: without an operator's session in this browser a page shows how to enter and nothing else; every act is a
request to the same `/v1` route that the command line uses; listings are bounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.disputes.model import Dispute, Ruling, dispute_id, parse_dispute_id
from choir.bazaar.jobs.model import job_id
from choir.commons.articles.model import article_id
from choir.commons.challenges.model import Challenge, ChallengeRuling, challenge_id, parse_challenge_id
from choir.commons.takedowns import rules as takedown_rules
from choir.commons.takedowns.model import Takedown, parse_takedown_id, takedown_id
from choir.doors.accounts.pages import balances
from choir.doors.http.access import NodeDep
from choir.doors.http.cookies import operator_session_token
from choir.doors.http.credentials import node_of
from choir.doors.http.paging import IdCursor, before_id, last_id
from choir.doors.web.errors import wants_page
from choir.doors.web.names import name, names
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep
from choir.foundation.errors import ChoirError, Refusal, Unauthenticated
from choir.foundation.findings import Finding
from choir.foundation.money import Asset
from choir.identity.credentials.operator_sessions import SESSION, OperatorSessions
from choir.identity.credentials.operator_store import OperatorSession
from choir.identity.model import Principal, Role
from choir.ledger.issuances.model import Issuance, issuance_id
from choir.ledger.issuances.rules import agreed
from choir.ledger.liabilities.service import note_of
from choir.node import Node
from choir.operations.home import check_disk, free_bytes
from choir.storage.database import Tx
from choir.storage.policy import NodePolicy
from choir.treasury.oracle.governed import GovernedPrice
from choir.treasury.oracle.model import GovernedPriceChange, price_id
from choir.treasury.oracle.service import Oracle
from choir.treasury.payouts.service import CitationPayouts

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, prefix="/operator")

_ROWS = 20  # of a listing on one page
_HANDLE_CHARS = 60


def current_operator(request: Request) -> OperatorSession | None:
    """The operator in this browser, if there is one now."""
    node = node_of(request)
    token = operator_session_token(request, node)
    if token is None:
        return None
    with node.read() as tx:
        return node.of(OperatorSessions).find(tx, token, request.app.state.operators.mark)


InBrowser = Annotated[OperatorSession | None, Depends(current_operator)]
Handle = Annotated[str, Query(max_length=_HANDLE_CHARS)]


@router.get("/enter")
def enter(request: Request, visitor: VisitorDep) -> Response:
    """Where a one-time code becomes a session; the code is in the fragment, which is never sent."""
    return page(request, "operator_enter.html", {"visitor": visitor})


@router.get("")
def parts(request: Request, node: NodeDep, operator: InBrowser, visitor: VisitorDep) -> Response:
    """The node's parts as its doctor sees them, and what it counts."""
    if operator is None:
        return outside(request, visitor)
    with node.read() as tx:
        gauges = [(one.help, one.read(node, tx)) for feature in node.features for one in feature.gauges]
        found = list(_findings(node, tx))
    return shown(request, "operator.html", operator, visitor, findings=found, gauges=gauges)


@router.get("/rulings")
def rulings(
    request: Request,
    node: NodeDep,
    operator: InBrowser,
    visitor: VisitorDep,
    disputes: IdCursor = "",
    challenges: IdCursor = "",
) -> Response:
    """Disputes and challenges that wait for an operator."""
    if operator is None:
        return outside(request, visitor)
    who = Principal(Role.OPERATOR, operator.source, credential=SESSION)
    with node.read() as tx:
        cases = _disputes(node, tx, who, disputes)
        objections = _challenges(node, tx, who, challenges)
    more = {
        "more_disputes": f"?disputes={cases[-1].id}" if len(cases) == _ROWS else "",
        "more_challenges": f"?challenges={objections[-1].id}" if len(objections) == _ROWS else "",
    }
    return shown(request, "operator_rulings.html", operator, visitor, disputes=cases, challenges=objections, **more)


@router.get("/money")
def money(request: Request, node: NodeDep, operator: InBrowser, visitor: VisitorDep) -> Response:
    """Liabilities, issuances, the price of CHIP and the citation pool."""
    if operator is None:
        return outside(request, visitor)
    since = request.app.state.operators.since
    with node.read() as tx:
        context = {
            "owed": _owed(node, tx),
            "issuances": [_issuance(node, item, since) for item in node.issuances.newest(tx, before=None, limit=_ROWS)],
            "price": node.of(Oracle).price(tx, node.clock.now_us()),
            "prices": [_price(node, item) for item in node.of(GovernedPrice).history(tx, before=None, limit=_ROWS)],
            "pool": node.of(CitationPayouts).report(tx),
        }
    return shown(request, "operator_money.html", operator, visitor, assets=list(Asset), **context)


@router.get("/takedowns")
def takedowns(
    request: Request, node: NodeDep, operator: InBrowser, visitor: VisitorDep, cursor: IdCursor = ""
) -> Response:
    """What was taken out of public view, and the form for more."""
    if operator is None:
        return outside(request, visitor)
    with node.read() as tx:
        found = node.commons.takedowns.page(tx, before=before_id(cursor, parse_takedown_id), limit=_ROWS)
    lines = [TakedownLine(takedown_id(item.id), item, _subject(item)) for item in found]
    more = f"?cursor={lines[-1].id}" if len(lines) == _ROWS else ""
    categories = takedown_rules.WORDS
    return shown(request, "operator_takedowns.html", operator, visitor, lines=lines, more=more, categories=categories)


@router.get("/people")
def people(request: Request, node: NodeDep, operator: InBrowser, visitor: VisitorDep, handle: Handle = "") -> Response:
    """A person by their handle, and what an operator can do."""
    if operator is None:
        return outside(request, visitor)
    wanted = handle.strip().removeprefix("@")
    context: dict[str, Any] = {"handle": wanted, "person": None, "why": ""}
    if wanted:
        with node.read() as tx:
            context |= _person(node, tx, wanted)
    return shown(request, "operator_people.html", operator, visitor, **context)


def outside(request: Request, visitor: object) -> Response:
    if not wants_page(request):
        raise Unauthenticated
    return page(request, "operator_outside.html", {"visitor": visitor}, status=401)


def shown(request: Request, template: str, operator: OperatorSession, visitor: object, **context: Any) -> Response:
    return page(request, template, {"operator": operator, "visitor": visitor, **context})


@dataclass(frozen=True, slots=True)
class TakedownLine:
    id: str
    item: Takedown
    subject: str


def _subject(item: Takedown) -> str:
    return str(item.source) if item.article is None else article_id(item.article)


# What the doctor checks, of a node that runs


def _findings(node: Node, tx: Tx) -> Iterator[Finding]:
    yield _disk(node)
    for feature in node.features:
        try:
            if feature.check_machine is not None:
                yield from feature.check_machine(node.settings, node.policy)
            if feature.check_database is not None:
                yield from feature.check_database(node.settings, tx)
        except ChoirError as error:
            yield Finding(feature.name, "wrong", str(error), error.advice)


def _disk(node: Node) -> Finding:
    try:
        check_disk(node.settings.home, node.policy.of(NodePolicy).disk_free_bytes_min)
    except ChoirError as error:
        return Finding("disk", "wrong", str(error), error.advice)
    return Finding("disk", "ok", f"{free_bytes(node.settings.home) // 1_000_000} MB free")


# Rulings


@dataclass(frozen=True, slots=True)
class DisputeCase:
    """A dispute with what is needed to decide it."""

    id: str
    job: str
    dispute: Dispute
    opener: str
    provider: str
    rulings: list[Ruling]


@dataclass(frozen=True, slots=True)
class ChallengeCase:
    """A challenge with what is needed to decide it."""

    id: str
    challenge: Challenge
    challenger: str
    article: str
    title: str
    atom: str
    rulings: list[ChallengeRuling]


def _disputes(node: Node, tx: Tx, who: Principal, cursor: str) -> list[DisputeCase]:
    service = node.bazaar.disputes
    found = service.under_review(tx, who, after=last_id(cursor, parse_dispute_id), limit=_ROWS)
    called = names(node, tx, [item.opener for item in found])
    cases = []
    for item in found:
        _, attempt = service.case(tx, item.id)
        provider = node.bazaar.providers.get(tx, attempt.provider)
        told = name(node, tx, provider.owner).text
        opener = called[item.opener].text
        cases.append(DisputeCase(dispute_id(item.id), job_id(item.job), item, opener, told, service.rulings(tx, item)))
    return cases


def _challenges(node: Node, tx: Tx, who: Principal, cursor: str) -> list[ChallengeCase]:
    service = node.commons.challenges
    before = before_id(cursor, parse_challenge_id)
    found = service.page(tx, who, article=None, mine=False, to_rule=True, before=before, limit=_ROWS)
    called = names(node, tx, [item.challenger for item in found])
    cases = []
    for item in found:
        atom, article = service.target(tx, item)
        title = node.commons.articles.get(tx, who, article).title
        cases.append(
            ChallengeCase(
                challenge_id(item.id), item, called[item.challenger].text, article_id(article), title, str(atom.hash),
                service.rulings(tx, item.id),
            )
        )  # fmt: skip
    return cases


# Money


@dataclass(frozen=True, slots=True)
class IssuanceLine:
    id: str
    issuance: Issuance
    state: str
    needed: int
    agreed: int


@dataclass(frozen=True, slots=True)
class PriceLine:
    id: str
    price: GovernedPriceChange
    state: str


def _owed(node: Node, tx: Tx) -> dict[str, Any] | None:
    """The last signed liabilities; None: nothing was signed yet."""
    try:
        found = node.liabilities.latest(tx)
    except Refusal:
        return None
    return {"at_us": found.at_us, "size": found.size, "totals": note_of(found).totals}


def _issuance(node: Node, item: Issuance, since: Any) -> IssuanceLine:
    state, needed = node.issuances.state(item).value, node.issuances.operators_needed(item)
    return IssuanceLine(issuance_id(item.id), item, state, needed, len(agreed(item, since)))


def _price(node: Node, item: GovernedPriceChange) -> PriceLine:
    return PriceLine(price_id(item.id), item, node.of(GovernedPrice).state(item).value)


# People


def _person(node: Node, tx: Tx, handle: str) -> dict[str, Any]:
    try:
        found = node.people.by_handle(tx, handle)
    except Refusal as error:
        return {"why": str(error)}
    cluster = node.clusters.cluster_of(tx, found.owner)
    others = [owner for owner in cluster.members if owner != found.owner][:_ROWS]
    return {
        "person": found,
        "vouches": len(node.people.vouchers(tx, found.id)),
        "balances": balances(node, tx, found.owner),
        "others": [each.text for each in names(node, tx, others).values()],
    }
