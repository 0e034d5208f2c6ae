"""What providers earned, by type and over time, and the periods that it is summed over: pure.

Guarantees: days, weeks (from Monday) and months are UTC.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
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


class Step(StrEnum):
    """How much time one value of a series covers."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Bucket:
    """What one day brought, or one week or month. Amounts are milli-satoshi; `earned` may be below zero."""

    begins_us: int
    jobs: int = 0
    passed: int = 0
    earned: int = 0
    fees: int = 0

    def plus(self, other: Bucket) -> Bucket:
        return Bucket(
            self.begins_us,
            self.jobs + other.jobs,
            self.passed + other.passed,
            self.earned + other.earned,
            self.fees + other.fees,
        )


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
    return None if period is Period.ALL else _begin_us(Step(period.value), now_us)


def _begin_us(step: Step, at_us: int) -> int:
    """When the day, week or month of a time began."""
    today = datetime.fromtimestamp(at_us / MICROSECONDS, UTC).date()
    begins: dict[Step, date] = {
        Step.DAY: today,
        Step.WEEK: today - timedelta(days=today.weekday()),
        Step.MONTH: today.replace(day=1),
    }
    return (begins[step] - date(1970, 1, 1)).days * DAY_US


def steps(step: Step, count: int, now_us: int) -> list[int]:
    """When the last so many days, weeks or months began, oldest first; the last is the current one."""
    found = [_begin_us(step, now_us)]
    while len(found) < count:
        found.append(_begin_us(step, found[-1] - DAY_US))
    return found[::-1]


def series(begins: Sequence[int], days: Iterable[Bucket]) -> list[Bucket]:
    """The sums between these beginnings, of days that are not before the first; a step without any is empty."""
    found = [Bucket(each) for each in begins]
    for day in days:
        place = bisect_right(begins, day.begins_us) - 1
        assert place >= 0
        found[place] = found[place].plus(day)
    return found
