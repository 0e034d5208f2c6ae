"""What providers earned, by type, and the periods that it is summed over: pure.

Guarantees: days, weeks (from Monday) and months are UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from choir.bazaar.jobs.model import JobType
from choir.foundation.clock import MICROSECONDS

DAY_US = 86_400 * MICROSECONDS


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
    return (begins[period] - date(1970, 1, 1)).days * DAY_US
