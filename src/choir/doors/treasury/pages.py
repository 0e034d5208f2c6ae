"""The page of the treasury, for everybody: the rate of this month and how it came about, the pool, holdings, the price.

Guarantees: it shows what the treasury's own accounts and decisions say, and nothing about a person; looking at it
changes nothing: a rate that is not fixed yet is shown as it will be.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from choir.doors.http.access import NodeDep
from choir.doors.web.charts import Chart, Point, bars, line
from choir.doors.web.rendering import day, money, page
from choir.doors.web.visitors import VisitorDep
from choir.ledger import books, queries
from choir.ledger.model import UnknownAccount
from choir.storage.database import Tx
from choir.treasury import months
from choir.treasury.accounts import CITATION_POOL, HOLDINGS, INSURANCE, OPERATIONS, VERIFIER_FUND
from choir.treasury.oracle.service import Oracle
from choir.treasury.payouts.service import CitationPayouts
from choir.treasury.rates.explanation import sentences
from choir.treasury.rates.model import Rate
from choir.treasury.rates.service import CitationRates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_MONTHS_SHOWN = 24
_MOVEMENTS_SHOWN = 60
_FUNDS = (
    (HOLDINGS, "Holdings", "CHIP that nobody has earned yet. They are what the citation rate is computed from."),
    (INSURANCE, "Insurance", "CHIP that was slashed, kept for losses."),
    (VERIFIER_FUND, "Verifier fund", "CHIP that pays for scrutiny."),
    (CITATION_POOL, "Citation pool", "USDC that pays authors for being cited."),
    (OPERATIONS, "Operations", "USDC that pays for running the node."),
)


@router.get("/treasury")
def treasury_page(request: Request, node: NodeDep, visitor: VisitorDep) -> Response:
    """The treasury."""
    now_us, rates = node.clock.now_us(), node.of(CitationRates)
    month = months.month_of(now_us)
    with node.read() as tx:
        rate = rates.preview(tx, month)
        history = rates.history(tx, before=None, limit=_MONTHS_SHOWN)
        facts = {
            "price": node.of(Oracle).price(tx, now_us),
            "pool": node.of(CitationPayouts).report(tx),
            "funds": [(label, about, _balance(tx, name), name[-4:].strip("/")) for name, label, about in _FUNDS],
            "pool_chart": _pool_chart(tx),
        }
    told = {
        "month": month,
        "rate": rate,
        "is_fixed": bool(history) and history[0].month == month,
        "sentences": sentences(rate) if rate else [],
        "rate_chart": _rate_chart(history),
    }
    return page(request, "treasury.html", {**facts, **told, "history": history, "visitor": visitor})


def _balance(tx: Tx, account: str) -> int:
    try:
        return queries.balance(tx, account).balance
    except UnknownAccount:
        return 0


def _rate_chart(history: list[Rate]) -> Chart:
    points = [Point(each.month, each.micro_usdc, money(each.micro_usdc, "USDC")) for each in reversed(history)]
    return bars("USDC for a citation of full weight, by month", "Rate", points)


def _pool_chart(tx: Tx) -> Chart:
    """The pool after each of its last movements: read by index, however long it exists."""
    found = books.movements(tx, [CITATION_POOL], limit=_MOVEMENTS_SHOWN)
    points = [Point(day(each.at_us), each.balance, money(each.balance, "USDC")) for each in reversed(found)]
    return line("The pool after each of its last movements", "In the pool", points)
