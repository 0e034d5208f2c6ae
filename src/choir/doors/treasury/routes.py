"""The treasury over HTTP: rates, prices and the citation pool."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response

from choir.commons.people import owner_of
from choir.doors.http.access import AccessRoute, AnyoneDep, BuyerDep, KeyDep, NodeDep, OperatorDep, ReaderOrOperatorDep
from choir.doors.http.openapi import also, problems
from choir.doors.http.paging import IdCursor, Limit, before_id, page, page_rows
from choir.doors.http.rooms import RoomRouter
from choir.doors.issuances.routes import OperatorsDep
from choir.doors.issuances.shapes import IssuanceOut
from choir.doors.ledger.shapes import PostedOut
from choir.doors.treasury.shapes import (
    GovernedPriceOut,
    GovernedPricePage,
    PoolFundIn,
    PoolFundOut,
    PoolOut,
    PriceIn,
    PriceOut,
    RateOut,
    RatePage,
    TreasuryPaymentIn,
)
from choir.foundation.money import parse_units
from choir.ledger.issuances.rules import agreed
from choir.node import Node
from choir.treasury import months
from choir.treasury.accounts import Treasury
from choir.treasury.oracle.governed import GovernedPrice
from choir.treasury.oracle.model import GovernedPriceChange, NoPrice, parse_price_id, price_id
from choir.treasury.oracle.service import Oracle
from choir.treasury.payments import TreasuryPayments
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.policy import TreasuryPolicy
from choir.treasury.rates.service import CitationRates

router = RoomRouter(prefix="/treasury", tags=["treasury"], route_class=AccessRoute)

_AGAIN = "This key had been accepted before."
Month = Annotated[str | None, Query(max_length=40, description="Such as 2026-11; without it, this month.")]
MonthCursor = Annotated[
    str, Query(max_length=7, pattern=r"^([0-9]{4}-[0-9]{2})?$", description="`next` of the previous page.")
]


@router.get("/rate", responses=problems(404, 409))
def get_rate(_: AnyoneDep, node: NodeDep, month: Month = None) -> RateOut:
    """Get the citation rate of a month, with its inputs. A month that has begun is fixed by whoever asks first."""
    wanted = months.month_of(node.clock.now_us()) if month is None else months.parse_month(month)
    rates = node.of(CitationRates)
    with node.read() as tx:
        found = rates.fixed(tx, wanted)
    return RateOut.of(found or node.write(lambda tx: rates.of_month(tx, wanted)))


@router.get("/rates")
def list_rates(_: AnyoneDep, node: NodeDep, cursor: MonthCursor = "", limit: Limit = 100) -> RatePage:
    """List the citation rates of all months that were fixed, newest first."""
    size = page_rows(limit, node.policy.of(TreasuryPolicy))
    with node.read() as tx:
        found = node.of(CitationRates).history(tx, before=cursor or None, limit=size + 1)
    shown, following = page(found, size, lambda last: last.month)
    return RatePage(items=[RateOut.of(item) for item in shown], next=following)


@router.get("/price", responses=problems(404))
def get_price(_: AnyoneDep, node: NodeDep) -> PriceOut:
    """Get the price of one CHIP, as the oracle has it now."""
    with node.read() as tx:
        found = node.of(Oracle).price(tx, node.clock.now_us())
    if found is None:
        raise NoPrice
    return PriceOut.of(found)


@router.get("/prices")
def list_prices(_: ReaderOrOperatorDep, node: NodeDep, cursor: IdCursor = "", limit: Limit = 100) -> GovernedPricePage:
    """List governed prices, set and proposed, newest first."""
    size = page_rows(limit, node.policy.of(TreasuryPolicy))
    with node.read() as tx:
        found = node.of(GovernedPrice).history(tx, before=before_id(cursor, parse_price_id), limit=size + 1)
    shown, following = page(found, size, lambda last: price_id(last.id))
    return GovernedPricePage(items=[_price(node, item) for item in shown], next=following)


@router.post("/prices", status_code=201, responses=also(200, GovernedPriceOut, _AGAIN) | problems(409))
def set_price(body: PriceIn, who: OperatorDep, key: KeyDep, node: NodeDep, response: Response) -> GovernedPriceOut:
    """Set the governed price, or confirm it. On a production node another operator must approve."""
    price, governed = parse_units(body.price), node.of(GovernedPrice)
    item, new = node.write(lambda tx: governed.change(tx, who.source, price, reason=body.reason, key=key))
    if not new:
        response.status_code = 200
    return _price(node, item)


@router.post("/prices/{price}/approve", responses=problems(404, 409))
def approve_price(price: str, who: OperatorDep, node: NodeDep, operators: OperatorsDep) -> GovernedPriceOut:
    """Approve a price that another operator proposed; it is in force then."""
    id_, governed = parse_price_id(price), node.of(GovernedPrice)
    return _price(node, node.write(lambda tx: governed.approve(tx, who.source, id_, operators.since)))


@router.get("/pool")
def get_pool(_: AnyoneDep, node: NodeDep) -> PoolOut:
    """Get the citation pool: its balance, what is owed, and what was spent this month."""
    with node.read() as tx:
        return PoolOut.of(node.of(CitationPayouts).report(tx))


@router.post("/funds", status_code=201, responses=also(200, PoolFundOut, _AGAIN) | problems(409))
def fund_pool(
    body: PoolFundIn, who: OperatorDep, key: KeyDep, node: NodeDep, operators: OperatorsDep, response: Response
) -> PoolFundOut:
    """Fund the citation pool. On a production node this proposes an issuance, which another operator approves."""
    amount, treasury = parse_units(body.amount), node.of(Treasury)
    node.write(treasury.open)  # by itself, because it locks the ledger's head, and an issuance does so last
    done = node.write(lambda tx: treasury.fund(tx, who.source, amount, reason=body.reason, key=key))
    if not done.new:
        response.status_code = 200
    issuance = None
    if done.issuance is not None:
        issuance = IssuanceOut.of(
            done.issuance,
            node.issuances.state(done.issuance),
            needed=node.issuances.operators_needed(done.issuance),
            agreed=len(agreed(done.issuance, operators.since)),
        )
    return PoolFundOut(posted=None if done.posted is None else PostedOut.of(done.posted), issuance=issuance)


@router.post("/payments", status_code=201, responses=also(200, PostedOut, _AGAIN) | problems(409))
def pay_treasury(body: TreasuryPaymentIn, who: BuyerDep, node: NodeDep, key: KeyDep, response: Response) -> PostedOut:
    """Pay the treasury for good. Half of it raises what your citations may pay others in the same month."""
    amount, owner = parse_units(body.amount), owner_of(who)
    posted = node.write(lambda tx: node.of(TreasuryPayments).pay(tx, who, owner, amount, key=key))
    if posted.again:
        response.status_code = 200
    return PostedOut.of(posted)


def _price(node: Node, item: GovernedPriceChange) -> GovernedPriceOut:
    return GovernedPriceOut.of(item, node.of(GovernedPrice).state(item))
