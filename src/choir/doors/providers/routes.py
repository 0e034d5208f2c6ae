"""Providers over HTTP: who sells work, and one's own provider under `me`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

from fastapi import Query

from choir.bazaar.jobs.model import UNITS, JobType
from choir.bazaar.policy import BazaarPolicy, ProvidersPolicy
from choir.bazaar.providers import rules
from choir.bazaar.providers.model import (
    Claims,
    Heartbeat,
    Isolation,
    Registration,
    parse_provider_id,
    provider_id,
)
from choir.bazaar.providers.record_store import Outcome
from choir.bazaar.settlement import earnings as earning
from choir.bazaar.settlement import pricing
from choir.bazaar.settlement.earnings import Bucket
from choir.bazaar.settlement.pricing import Terms
from choir.doors.http.access import AccessRoute, AnyoneDep, NodeDep, ReaderOrSellerDep, SellerDep
from choir.doors.http.openapi import problems
from choir.doors.http.paging import IdCursor, Limit, NumberCursor, last_id, last_number, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.jobs.shapes import AttemptOut
from choir.doors.providers.shapes import (
    PRICE,
    BeatIn,
    BeatOut,
    BookIn,
    BookOut,
    BookPage,
    CapabilitiesIn,
    ClaimsIn,
    DrainIn,
    EarningsOut,
    EarningsSeriesOut,
    OutcomeOut,
    OutcomePage,
    Period,
    ProviderIn,
    ProviderOut,
    ProviderPage,
    QuoteOut,
    ResultKeyIn,
    StandingOut,
    Step,
)
from choir.foundation.clock import format_time, parse_time
from choir.identity.model import Principal, Role
from choir.node import Node
from choir.storage.database import Tx

router = RoomRouter(prefix="/providers", tags=["providers"], route_class=AccessRoute)

_BEATS = 3  # signs of life that fit the time after which silence counts
Price = Annotated[str, Query(pattern=PRICE, max_length=18)]
OutcomeCursor = Annotated[
    str, Query(pattern=r"^([0-9]{1,18}-[0-9]{1,6})?$", max_length=25, description="`next` of the previous page.")
]


@router.get("")
def list_providers(_: AnyoneDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> ProviderPage:
    """List providers that are not retired, by id."""
    size, after = page_rows(limit, node.policy.of(ProvidersPolicy)), last_id(cursor, parse_provider_id)
    with node.read() as tx:
        found = node.bazaar.providers.page(tx, after=after, limit=size)
        shown = node.bazaar.providers.show(tx, *found)
    following = provider_id(found[-1].id) if len(found) == size else None
    now_us = node.clock.now_us()
    return ProviderPage(items=[ProviderOut.of(item, now_us) for item in shown], next=following)


@router.post("", status_code=201, responses=problems(409))
def register(body: ProviderIn, who: SellerDep, node: NodeDep) -> ProviderOut:
    """Register as a provider; a retired one returns with its record."""
    asked = Registration(_claims(body), bytes.fromhex(body.result_key), bytes.fromhex(body.proof), body.capacity)
    return _changed(node, who, lambda tx: node.bazaar.providers.register(tx, who, asked))


@router.get("/me", responses=problems(404))
def get_own_provider(who: ReaderOrSellerDep, node: NodeDep) -> ProviderOut:
    """Get your own provider."""
    with node.read() as tx:
        return _own(tx, node, who)


@router.delete("/me", status_code=204, responses=problems(404))
def retire(who: SellerDep, node: NodeDep) -> None:
    """Retire your provider: it takes no more jobs. Running attempts may finish; the record stays."""
    node.write(lambda tx: node.bazaar.providers.retire(tx, who))


@router.put("/me/claims", responses=problems(404, 409))
def change_claims(body: ClaimsIn, who: SellerDep, node: NodeDep) -> ProviderOut:
    """Change your own provider's claims."""
    return _changed(node, who, lambda tx: node.bazaar.providers.change_claims(tx, who, _claims(body)))


@router.put("/me/key", responses=problems(404, 409))
def change_key(body: ResultKeyIn, who: SellerDep, node: NodeDep) -> ProviderOut:
    """Replace the key that signs results."""
    key, proof = bytes.fromhex(body.result_key), bytes.fromhex(body.proof)
    return _changed(node, who, lambda tx: node.bazaar.providers.change_key(tx, who, key, proof))


@router.put("/me/capabilities", responses=problems(404, 409))
def declare(body: CapabilitiesIn, who: SellerDep, node: NodeDep) -> ProviderOut:
    """Set the job types sold and the capacity. A type without prices starts with the default table."""
    return _changed(node, who, lambda tx: node.bazaar.providers.declare(tx, who, body.types, body.capacity))


@router.put("/me/draining", responses=problems(404, 409))
def drain(body: DrainIn, who: SellerDep, node: NodeDep) -> ProviderOut:
    """Drain: finish running attempts and take no new ones; or resume."""
    return _changed(node, who, lambda tx: node.bazaar.providers.drain(tx, who, body.draining))


@router.post("/me/books", status_code=201, responses=problems(404, 409))
def publish(body: BookIn, who: SellerDep, node: NodeDep) -> BookOut:
    """Set new prices for a type, in milli-satoshi."""
    terms = Terms(int(body.base), int(body.per_unit), int(body.cap))
    effective_us = None if body.effective_at is None else parse_time(body.effective_at)
    service = node.bazaar.providers
    return BookOut.of(node.write(lambda tx: service.publish(tx, who, body.type, terms, effective_us=effective_us)))


@router.get("/me/quote", responses=problems(404, 409))
def quote(
    type: JobType,  # noqa: A002 - as it is called in the query
    base: Price,
    per_unit: Price,
    cap: Price,
    who: ReaderOrSellerDep,
    node: NodeDep,
) -> QuoteOut:
    """Get what a typical job would cost by these prices, in milli-satoshi; refused as publishing them would be."""
    terms, policy = Terms(int(base), int(per_unit), int(cap)), node.policy.of(ProvidersPolicy)
    with node.read() as tx:
        price = node.bazaar.providers.typical_price(tx, who, type, terms)
    shares = pricing.shares(price, node.policy.of(BazaarPolicy))
    return QuoteOut(
        units=rules.typical_units_milli(type, policy) // 1_000,
        unit=UNITS[type].value,
        price=str(price),
        earned=str(shares.provider),
        fee=str(shares.platform),
    )


@router.post("/me/heartbeat", responses=problems(404))
def beat(body: BeatIn, who: SellerDep, node: NodeDep) -> BeatOut:
    """Send a heartbeat; returns the waiting work."""
    told = Heartbeat(body.healthy, body.free_slots, body.version, body.running)

    def heard(tx: Tx) -> BeatOut:
        row = node.bazaar.providers.heartbeat(tx, who, told)
        waiting = node.bazaar.attempts.waiting(tx, row.provider)
        return BeatOut(
            provider=_own(tx, node, who),
            attempts=[AttemptOut.of(item) for item in waiting],
            next_s=max(1, node.policy.of(ProvidersPolicy).heartbeat_s // _BEATS),
            now=format_time(node.clock.now_us()),
        )

    return node.write(heard)


@router.get("/me/earnings", responses=problems(404))
def get_earnings(who: ReaderOrSellerDep, node: NodeDep, period: Period = "week") -> EarningsOut:
    """Get earnings in the current day, week (from Monday) or month (UTC), or in total."""
    since_us = earning.since_us(earning.Period(period), node.clock.now_us())
    with node.read() as tx:
        lines = node.bazaar.settlement.earnings(tx, node.bazaar.providers.of(tx, who).id, since_us)
    return EarningsOut.of(period, since_us, lines)


@router.get("/me/earnings/series", responses=problems(404))
def get_earnings_series(who: ReaderOrSellerDep, node: NodeDep, by: Step = "day") -> EarningsSeriesOut:
    """Get earnings day by day, week by week (from Monday) or month by month (UTC), up to now."""
    with node.read() as tx:
        return EarningsSeriesOut.of(by, earned(tx, node, node.bazaar.providers.of(tx, who).id, by))


@router.get("/{provider}", responses=problems(404))
def get_provider(provider: str, _: AnyoneDep, node: NodeDep) -> ProviderOut:
    """Get a provider's public profile."""
    id_ = parse_provider_id(provider)
    with node.read() as tx:
        (shown,) = node.bazaar.providers.show(tx, node.bazaar.providers.get(tx, id_))
    return ProviderOut.of(shown, node.clock.now_us())


@router.get("/{provider}/standing", responses=problems(404))
def get_standing(provider: str, _: AnyoneDep, node: NodeDep) -> StandingOut:
    """Get what a provider's record comes to: its tier, what the next one requires, its typical time, its last days."""
    id_, providers = parse_provider_id(provider), node.bazaar.providers
    with node.read() as tx:
        view = providers.view(tx, id_)
        days = earned(tx, node, id_, "day")
        typical_us = providers.typical_us(tx, [id_]).get(id_)
        needs = providers.next_tier(tx, view)
    return StandingOut.of(view.market.tier, needs, typical_us, days)


@router.get("/{provider}/books", responses=problems(404))
def list_books(
    provider: str,
    type: JobType,  # noqa: A002 - as it is called in the query
    _: AnyoneDep,
    node: NodeDep,
    cursor: NumberCursor = "",
    limit: Limit = 100,
) -> BookPage:
    """List every version of a provider's prices for a type, newest first."""
    id_, before, size = (
        parse_provider_id(provider),
        last_number(cursor),
        page_rows(limit, node.policy.of(ProvidersPolicy)),
    )
    with node.read() as tx:
        node.bazaar.providers.get(tx, id_)
        found = node.bazaar.providers.books(tx, id_, type, before=2**31 - 1 if before is None else before, limit=size)
    following = str(found[-1].version) if len(found) == size else None
    return BookPage(items=[BookOut.of(item) for item in found], next=following)


@router.get("/{provider}/outcomes", responses=problems(404))
def list_outcomes(
    provider: str, who: AnyoneDep, node: NodeDep, cursor: OutcomeCursor = "", limit: Limit = 100
) -> OutcomePage:
    """List outcomes of a provider's attempts, newest first. Only its owner and operators see the jobs."""
    id_, size = parse_provider_id(provider), page_rows(limit, node.policy.of(ProvidersPolicy))
    with node.read() as tx:
        owner = node.bazaar.providers.get(tx, id_).owner
        found, following = outcome_page(tx, node, id_, cursor, size)
    named = who is not None and (who.role is Role.OPERATOR or owner in who.owners)
    return OutcomePage(items=[OutcomeOut.of(item, named=named) for item in found], next=following)


def earned(tx: Tx, node: Node, provider: UUID, by: Step) -> list[Bucket]:
    """A provider's last days, weeks or months."""
    policy = node.policy.of(BazaarPolicy)
    steps = {"day": policy.series_days, "week": policy.series_weeks, "month": policy.series_months}[by]
    begins = earning.steps(earning.Step(by), steps, node.clock.now_us())
    return node.bazaar.settlement.earnings_series(tx, provider, begins)


def outcome_page(tx: Tx, node: Node, provider: UUID, cursor: str, size: int) -> tuple[list[Outcome], str | None]:
    """A page of a provider's outcomes, newest first, and where the next begins."""
    until_us, skip = (int(part) for part in cursor.split("-")) if cursor else (2**62, 0)
    found = node.bazaar.providers.outcomes(tx, provider, until_us=until_us, skip=skip, limit=size)
    return found, _behind(found, until_us, skip) if len(found) == size else None


def _behind(found: list[Outcome], until_us: int, skip: int) -> str:
    """Where the next page begins: a time, and how many of that time were shown. It names no job."""
    last_us = found[-1].at_us
    shown = sum(item.at_us == last_us for item in found)
    return f"{last_us}-{shown + (skip if last_us == until_us else 0)}"


def _claims(body: ClaimsIn) -> Claims:
    return Claims(body.name, body.region, body.model, Isolation.parse(body.isolation))


def _changed(node: Node, who: Principal, change: Callable[[Tx], object]) -> ProviderOut:
    """One's own provider after a change."""

    def do(tx: Tx) -> ProviderOut:
        change(tx)
        return _own(tx, node, who)

    return node.write(do)


def _own(tx: Tx, node: Node, who: Principal) -> ProviderOut:
    (shown,) = node.bazaar.providers.show(tx, node.bazaar.providers.of(tx, who))
    return ProviderOut.of(shown, node.clock.now_us())
