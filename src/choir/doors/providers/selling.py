"""The page of somebody who sells: earnings, what is at work, prices, standing, and how to begin.

Guarantee: what it shows is its visitor's and nothing else's; of a provider that belongs to one of the visitor's agents
it shows what anybody may see, since only the agent's own credential acts for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.attempts.model import Attempt, AttemptState
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import BazaarPolicy, ProvidersPolicy
from choir.bazaar.providers import rules
from choir.bazaar.providers.model import Book, Provider
from choir.bazaar.settlement import earnings as earning
from choir.bazaar.settlement.earnings import Period
from choir.bazaar.settlement.pricing import Terms
from choir.doors.http.access import NodeDep
from choir.doors.providers import view
from choir.doors.providers.pages import one_provider
from choir.doors.providers.routes import earned, outcome_page
from choir.doors.providers.shapes import Step
from choir.doors.web.listings import all_of
from choir.doors.web.rendering import money, page
from choir.doors.web.visitors import SignedInVisitorDep, Visitor
from choir.identity.agents.model import agent_id
from choir.identity.model import agent_owner
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_QUEUE = 25
_OUTCOMES = 10
_STATES = {
    AttemptState.ASSIGNED: "assigned, not started yet",
    AttemptState.RUNNING: "running",
    AttemptState.DELIVERED: "delivered, waits for its verification",
    AttemptState.VERIFYING: "being verified",
}
_PERIODS = {Period.DAY: "Today", Period.WEEK: "This week", Period.MONTH: "This month", Period.ALL: "In total"}


@dataclass(frozen=True, slots=True)
class QueueLine:
    """A try that is not over."""

    kind: str
    summary: str
    state: str
    attempt: Attempt


@dataclass(frozen=True, slots=True)
class EarnedLine:
    """What a period brought."""

    label: str
    earned: int
    fees: int
    jobs: int
    passed: int


@dataclass(frozen=True, slots=True)
class PriceForm:
    """What the form for new prices of one type shows."""

    type: JobType
    offer: view.OfferLine
    book: Book
    coming: Book | None  # published, and not in force yet
    limit: Terms  # the most that the tier may ask
    share: view.Share  # of a typical job by the book in force


@dataclass(frozen=True, slots=True)
class AgentStall:
    """A provider that belongs to one of the visitor's agents."""

    agent: str
    agent_name: str
    line: view.ProviderLine


@router.get("/selling")
def selling_page(
    request: Request, node: NodeDep, visitor: SignedInVisitorDep, by: Annotated[Step, Query()] = "day"
) -> Response:
    """One's own provider, and those of one's agents."""
    with node.read() as tx:
        own = next(iter(node.bazaar.providers.of_owners(tx, [visitor.person.owner])), None)
        shown = {"provider": None} if own is None else own_provider(node, tx, visitor, own, by)
        stalls = agent_stalls(node, tx, visitor)
    return page(request, "selling.html", {**shown, "stalls": stalls, "by": by, "visitor": visitor})


def own_provider(node: Node, tx: Tx, visitor: Visitor, own: Provider, by: Step) -> dict[str, Any]:
    """All that the owner of a provider sees of it."""
    shown = one_provider(node, tx, own.id)
    steps = earned(tx, node, own.id, by)
    outcomes, _ = outcome_page(tx, node, own.id, "", _OUTCOMES)
    queue = node.bazaar.attempts.queue(tx, own.id)
    policy = node.policy.of(BazaarPolicy)
    return {
        **shown,
        "earned": [_earned(node, tx, own, period) for period in Period],
        "chart": view.earnings_chart(by, steps, [money(step.earned, "SAT") for step in steps]),
        "queue": [_queued(node, tx, visitor, attempt) for attempt in queue[:_QUEUE]],
        "queue_more": max(0, len(queue) - _QUEUE),
        "forms": price_forms(node, tx, own, shown["provider"]),
        "outcomes": view.outcome_lines(outcomes),
        "platform_share": view.percent(policy.platform_bps),
        "platform_least": policy.platform_msat_min,
    }


def price_forms(node: Node, tx: Tx, own: Provider, line: view.ProviderLine) -> list[PriceForm]:
    """A form for each type that has prices. A new type is declared by the machine that can do it."""
    policy, service, now_us = node.policy.of(ProvidersPolicy), node.bazaar.providers, node.clock.now_us()
    found = []
    for offer in line.offers:
        book = line.shown.books[offer.type]
        last = service.books(tx, own.id, offer.type, limit=1)
        coming = next((item for item in last if item.effective_us > now_us), None)
        limit = rules.highest_terms(offer.type, line.market.tier, policy)
        found.append(PriceForm(offer.type, offer, book, coming, limit, view.share_of(node, offer.typical_price)))
    return found


def agent_stalls(node: Node, tx: Tx, visitor: Visitor) -> list[AgentStall]:
    """The providers of a person's agents."""
    agents = all_of(lambda after: node.agents.of_person(tx, visitor.person.id, after=after))
    by_owner = {agent_owner(agent.id): agent for agent in agents}
    found = node.bazaar.providers.of_owners(tx, list(by_owner)) if by_owner else []
    return [
        AgentStall(agent_id(by_owner[line.owner.owner].id), by_owner[line.owner.owner].name or "An agent", line)
        for line in view.provider_lines(node, tx, found)
    ]


def _queued(node: Node, tx: Tx, visitor: Visitor, attempt: Attempt) -> QueueLine:
    seen = node.bazaar.access.job(tx, visitor.principal, attempt.job)
    kind = view.KINDS[seen.job.type][0]
    qualifies = seen.job.qualifies is not None
    return QueueLine(f"{kind}, to qualify" if qualifies else kind, seen.summary or "", _STATES[attempt.state], attempt)


def _earned(node: Node, tx: Tx, own: Provider, period: Period) -> EarnedLine:
    lines = node.bazaar.settlement.earnings(tx, own.id, earning.since_us(period, node.clock.now_us()))
    return EarnedLine(
        _PERIODS[period],
        sum(line.earned for line in lines),
        sum(line.fees for line in lines),
        sum(line.jobs for line in lines),
        sum(line.passed for line in lines),
    )
