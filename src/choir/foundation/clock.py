"""Time and randomness, given to whoever needs them by argument.

Guarantees: business time and ids come only from a `Clock` and an `Entropy` that were passed in, so
tests and the simulator can move them. Times inside are integer microseconds since 1970, UTC.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECONDS = 1_000_000


class Clock(Protocol):
    """Where time comes from."""

    def now_us(self) -> int:
        """Microseconds since 1970, UTC."""
        ...


class Entropy(Protocol):
    """Where randomness comes from."""

    def bytes(self, count: int) -> bytes:
        """That many unpredictable bytes."""
        ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock, moved by an offset that development nodes may set."""

    offset_us: Callable[[], int] = lambda: 0

    def now_us(self) -> int:
        return time.time_ns() // 1000 + self.offset_us()


@dataclass(slots=True)
class ManualClock:
    """A clock that moves when it is told to."""

    at_us: int = 1_800_000_000 * MICROSECONDS

    def now_us(self) -> int:
        return self.at_us

    def advance(self, seconds: float) -> None:
        self.at_us += int(seconds * MICROSECONDS)


@dataclass(frozen=True, slots=True)
class SystemEntropy:
    """The kernel's randomness."""

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)


class SeededEntropy:
    """Repeatable bytes for tests and the simulator; never for keys."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - repeatable on purpose

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


def to_datetime(at_us: int) -> datetime:
    """The UTC datetime of a time in microseconds."""
    return _EPOCH + timedelta(microseconds=at_us)


def from_datetime(at: datetime) -> int:
    """Microseconds of an aware datetime."""
    return (at - _EPOCH) // timedelta(microseconds=1)


def format_time(at_us: int) -> str:
    """ISO 8601 in UTC with microseconds: what JSON and people see."""
    return to_datetime(at_us).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> int:
    """Microseconds from ISO 8601 text; text without a zone is UTC."""
    from choir.foundation.errors import Invalid

    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise Invalid(what=f"time '{text[:40]}'", why="write it like 2026-11-15T22:00:00Z") from None
    return from_datetime(at if at.tzinfo else at.replace(tzinfo=UTC))
