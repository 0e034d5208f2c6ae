"""Months in UTC, as `2026-11`. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from choir.foundation.clock import from_datetime, to_datetime
from choir.foundation.errors import Invalid

_MONTH = re.compile(r"(?!0000)[0-9]{4}-(0[1-9]|1[0-2])", re.ASCII)


def parse_month(text: str) -> str:
    """A month as somebody typed it, or a refusal."""
    if _MONTH.fullmatch(text) is None:
        raise Invalid(what=f"month '{text[:40]}'", why="write it like 2026-11")
    return text


def month_of(at_us: int) -> str:
    """The month that a moment is in; its first moment is part of it, that of the next is not."""
    return to_datetime(at_us).strftime("%Y-%m")


def start_us(month: str) -> int:
    """The first moment of a month."""
    year, number = _parts(month)
    return from_datetime(datetime(year, number, 1, tzinfo=UTC))


def before(month: str, months: int = 1) -> str:
    """The month that was so many months earlier; later, if the number is negative."""
    year, number = _parts(month)
    return "{:04d}-{:02d}".format(*_of(year * 12 + number - 1 - months))


def between(first: str, last: str) -> int:
    """How many months the second is after the first."""
    (year, number), (later_year, later_number) = _parts(first), _parts(last)
    return (later_year - year) * 12 + later_number - number


def _of(count: int) -> tuple[int, int]:
    return count // 12, count % 12 + 1


def _parts(month: str) -> tuple[int, int]:
    year, _, number = month.partition("-")
    return int(year), int(number)
