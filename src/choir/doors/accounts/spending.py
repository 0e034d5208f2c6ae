"""What agents spent of a person's money, as charts and numbers by delegation.

Guarantee: the numbers are those that caps are charged with, so what came back from a hold is not counted as spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from choir.doors.delegations.pages import DelegationLine, line_of
from choir.doors.http.paging import page as cut
from choir.doors.web.charts import Chart, Point, bars
from choir.doors.web.rendering import day, money
from choir.identity.agents.model import agent_id
from choir.identity.delegations.model import Period, delegation_id
from choir.identity.delegations.rules import Charge, window_begins_us
from choir.node import Node
from choir.storage.database import Tx

_DELEGATIONS_SHOWN = 10
_WINDOWS_SHOWN = 30
_FINEST_FIRST = (Period.DAY, Period.WEEK, Period.MONTH)
_EACH = {Period.DAY: "day", Period.WEEK: "week", Period.MONTH: "month"}


@dataclass(frozen=True, slots=True)
class SpendingLine:
    """A delegation with what was spent under it."""

    line: DelegationLine
    agent: str
    agent_id: str
    charts: list[Chart]


def spending(node: Node, tx: Tx, person: UUID, before: UUID | None) -> tuple[list[SpendingLine], str | None]:
    """A page of a person's delegations, newest first, and where the next begins."""
    found = node.delegations.newest(tx, person, before=before, limit=_DELEGATIONS_SHOWN + 1)
    shown, following = cut(found, _DELEGATIONS_SHOWN, lambda last: delegation_id(last.id))
    names = node.agents.names(tx, {each.agent for each in shown})
    spent = node.delegations.spends(tx, [each.id for each in shown], _WINDOWS_SHOWN)
    now_us = node.clock.now_us()
    lines = [
        SpendingLine(
            line_of(node, tx, each),
            names.get(each.agent, "Unnamed agent"),
            agent_id(each.agent),
            charts([item for item in spent if item.delegation == each.id], now_us),
        )
        for each in shown
    ]
    return lines, following


def charts(spent: list[Charge], now_us: int) -> list[Chart]:
    """One for each asset, by the finest period that has a cap; a cap in total has no course of time."""
    made = []
    for asset in sorted({item.asset for item in spent}):
        periods = {item.period for item in spent if item.asset == asset}
        period = next((each for each in _FINEST_FIRST if each in periods), None)
        if period is not None:
            made.append(_chart(asset, period, [x for x in spent if (x.asset, x.period) == (asset, period)], now_us))
    return made


def _chart(asset: str, period: Period, spent: list[Charge], now_us: int) -> Chart:
    """Every window from the first that is known until now, those with nothing too."""
    amounts = {item.begins_us: item.amount for item in spent}
    begins = window_begins_us(period, now_us)
    points: list[Point] = []
    while begins >= min(amounts) and len(points) < _WINDOWS_SHOWN:
        points.append(Point(day(begins), amounts.get(begins, 0), money(amounts.get(begins, 0), asset)))
        begins = window_begins_us(period, begins - 1)
    return bars(f"{asset} spent by {_EACH[period]}", "Spent", points[::-1])
