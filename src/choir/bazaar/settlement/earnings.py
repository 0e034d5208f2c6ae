"""What providers earned, by type and day: kept as the money moves, so that a period is a sum over a few rows.

Guarantees: a payment and what is noted here commit together, with the very shares that were posted, so the sums are
exact whatever policy was in force; what a dispute takes back or adds is noted whole on the day it was decided, also
where some of it is owed until later; what is then taken from later pay is not noted again. Days, weeks (from Monday)
and months are UTC. Locks: a row here comes before the ledger's head.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from choir.bazaar.jobs.model import JobType
from choir.foundation.clock import MICROSECONDS
from choir.storage.database import Tx

_DAY_US = 86_400 * MICROSECONDS


class Period(StrEnum):
    """The current day, week or month, or all time."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Line:
    """What one type of job brought. Amounts are milli-satoshi."""

    type: JobType
    jobs: int  # judged
    passed: int
    earned: int
    fees: int


def note(
    tx: Tx,
    provider: UUID,
    type_: JobType,
    at_us: int,
    *,
    jobs: int = 0,
    passed: int = 0,
    earned: int = 0,
    fees: int = 0,
) -> None:
    """Add to a day."""
    tx.run(
        "insert into provider_earnings as e (provider, type, day, jobs, passed, earned, fees)"
        " values (%s, %s, %s, %s, %s, %s, %s) on conflict (provider, day, type) do update set"
        " jobs = e.jobs + excluded.jobs, passed = e.passed + excluded.passed,"
        " earned = e.earned + excluded.earned, fees = e.fees + excluded.fees",
        provider, type_, at_us // _DAY_US, jobs, passed, earned, fees,
    )  # fmt: skip


def since_us(period: Period, now_us: int) -> int | None:
    """When a period began; None: it always was."""
    today = datetime.fromtimestamp(now_us / MICROSECONDS, UTC).date()
    begins: dict[Period, date] = {
        Period.DAY: today,
        Period.WEEK: today - timedelta(days=today.weekday()),
        Period.MONTH: today.replace(day=1),
    }
    if period not in begins:
        return None
    return (begins[period] - date(1970, 1, 1)).days * _DAY_US


def lines(tx: Tx, provider: UUID, since: int | None) -> list[Line]:
    """The sums since a day's beginning, by type."""
    rows = tx.rows(
        "select type, sum(jobs), sum(passed), sum(earned), sum(fees) from provider_earnings"
        " where provider = %s and day >= %s group by type order by type",
        provider, 0 if since is None else since // _DAY_US,
    )  # fmt: skip
    return [Line(JobType(row[0]), *(int(each) for each in row[1:])) for row in rows]
