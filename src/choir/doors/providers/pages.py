"""Pages about the market: who sells work, in which order they would be asked and why, and one provider's record.

Guarantees: anybody may read them; they show what `/v1/providers` and `/v1/selections` tell, and nothing of buyers. The
order is the selection's own; nothing is ranked here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import rules, selection_rules
from choir.bazaar.providers.model import parse_provider_id, provider_id
from choir.bazaar.providers.selection import Selected
from choir.bazaar.providers.selection_rules import Criteria, Scored
from choir.doors.http.access import NodeDep
from choir.doors.http.paging import IdCursor, NumberCursor, last_id, last_number
from choir.doors.providers import view
from choir.doors.providers.routes import OutcomeCursor, earned, outcome_page
from choir.doors.web.names import Name, names
from choir.doors.web.rendering import page
from choir.doors.web.visitors import VisitorDep
from choir.foundation.errors import Invalid
from choir.node import Node
from choir.storage.database import Tx

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_ROWS = 25
_BOOKS = 10
_OUTCOMES = 20
_TERMS = {
    "price": "Price",
    "reputation": "Reputation",
    "capacity": "Free slots",
    "isolation": "Sandbox",
    "geography": "Region",
}
_KEPT_AWAY = {
    "not_qualified": "not qualified",
    "not_taking": "draining or unhealthy",
    "silent": "offline",
    "full": "full",
}

TypeFilter = Annotated[str, Query(max_length=20)]
UnitsFilter = Annotated[str, Query(max_length=20)]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A place in the order, with what explains it."""

    provider: str
    name: str
    owner: Name
    scored: Scored


@dataclass(frozen=True, slots=True)
class Ranking:
    """In which order providers would be asked for such a job now."""

    type: JobType
    kind: str
    units: int
    wrong_units: str  # what was typed, if it is no number of units
    size: str
    ranked: list[Ranked]
    nobody: list[str]  # where nobody was found: what keeps them away
    known: int


@router.get("/providers")
def providers_page(
    request: Request,
    node: NodeDep,
    visitor: VisitorDep,
    type: TypeFilter = "run",  # noqa: A002 - as it is called in the address
    units: UnitsFilter = "",
    cursor: IdCursor = "",
) -> Response:
    """Who sells work here, and in which order they would be asked for a job."""
    kind, after = _type(type), last_id(cursor, parse_provider_id)
    with node.read() as tx:
        found = node.bazaar.providers.page(tx, after=after, limit=_ROWS + 1)
        shown = {
            "ranking": ranking(node, tx, kind, units),
            "providers": view.provider_lines(node, tx, found[:_ROWS]),
        }
    policy = node.policy.of(ProvidersPolicy)
    following = f"/providers?type={kind.word}&cursor={provider_id(found[_ROWS - 1].id)}" if len(found) > _ROWS else ""
    frame = {
        "kinds": [(each.word, view.KINDS[each][1]) for each in view.KINDS],
        "terms": _TERMS,
        "newcomer_share": view.percent(policy.newcomer_share_bps),
        "first_page": cursor == "",
        "next": following,
        "visitor": visitor,
    }
    return page(request, "providers.html", {**shown, **frame})


@router.get("/providers/{id_}")
def provider_page(
    id_: str,
    request: Request,
    node: NodeDep,
    visitor: VisitorDep,
    type: TypeFilter = "",  # noqa: A002 - as it is called in the address
    before: NumberCursor = "",
    cursor: OutcomeCursor = "",
) -> Response:
    """One provider: what it sells, at which prices, and what came of its work."""
    provider = parse_provider_id(id_)
    with node.read() as tx:
        shown = one_provider(node, tx, provider)
        line: view.ProviderLine = shown["provider"]
        kind = _type(type) if type else next((offer.type for offer in line.offers), JobType.SANDBOX_RUN)
        outcomes, older = outcome_page(tx, node, provider, cursor, _OUTCOMES)
        books = node.bazaar.providers.books(
            tx, provider, kind, before=2**31 - 1 if not before else last_number(before) or 0, limit=_BOOKS
        )
    here = f"/providers/{line.id}"
    frame = {
        "outcomes": view.outcome_lines(outcomes),
        "older_outcomes": f"{here}?cursor={older}#outcomes" if older else "",
        "books": books,
        "books_type": kind,
        "books_unit": view.unit_of(kind),
        "older_books": f"{here}?type={kind.word}&before={books[-1].version}#books" if len(books) == _BOOKS else "",
        "own": visitor is not None and line.owner.owner == visitor.person.owner,
        "visitor": visitor,
    }
    return page(request, "provider.html", {**shown, **frame})


def one_provider(node: Node, tx: Tx, provider: UUID) -> dict[str, Any]:
    """A provider's record, tier and days."""
    service = node.bazaar.providers
    (line,) = view.provider_lines(node, tx, [service.get(tx, provider)])
    return {
        "provider": line,
        "needs": view.need_lines(service.next_tier(tx, line.shown.view)),
        "slots_by_tier": rules.tier_slots(line.market.tier, node.policy.of(ProvidersPolicy)),
        "jobs": view.jobs_chart(earned(tx, node, provider, "day")),
    }


def ranking(node: Node, tx: Tx, type_: JobType, asked: str) -> Ranking:
    """The order of the selection for a job of that size, whatever the budget, when it is no newcomer's turn."""
    policy = node.policy.of(ProvidersPolicy)
    typical = rules.typical_units_milli(type_, policy) // 1_000
    right = asked.isascii() and asked.isdecimal() and 1 <= int(asked) * 1_000 <= selection_rules.UNITS_MILLI_MAX
    units = int(asked) if right else typical
    criteria = Criteria(type_, 0, units * 1_000)
    criteria = replace(criteria, max_price=selection_rules.top_price(criteria, policy))
    seed = selection_rules.plain_seed(policy)
    found = node.bazaar.providers.selection.select(tx, criteria, node.clock.now_us(), seed)
    return Ranking(
        type_,
        view.KINDS[type_][0],
        units,
        "" if right or not asked else asked,
        view.units_in_words(type_, units),
        _ranked(node, tx, found),
        [f"{number} {_KEPT_AWAY[why]}" for why, number in (found.tally or {}).items() if number and why in _KEPT_AWAY],
        (found.tally or {}).get("known", 0),
    )


def _ranked(node: Node, tx: Tx, found: Selected) -> list[Ranked]:
    providers = node.bazaar.providers.named(tx, [each.candidate.provider for each in found.ranked])
    owners = names(node, tx, [each.candidate.owner for each in found.ranked])
    return [
        Ranked(
            provider_id(each.candidate.provider),
            view.name_of(providers[each.candidate.provider]),
            owners[each.candidate.owner],
            each,
        )
        for each in found.ranked
    ]


def _type(text: str) -> JobType:
    """A type as people or programs call it; any other word is the address of nothing."""
    found = JobType.named(text)
    if found is None:
        raise Invalid(what="The type", why="there are " + ", ".join(kind.word for kind in JobType))
    return found
