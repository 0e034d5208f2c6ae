"""Clocks and randomness that are handed in: exact, movable, repeatable where that is wanted."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.clock import (
    MICROSECONDS,
    ManualClock,
    SeededEntropy,
    SystemClock,
    SystemEntropy,
    format_time,
    from_datetime,
    parse_time,
    to_datetime,
)
from choir.foundation.errors import Invalid

times = st.integers(-62_135_596_800 * MICROSECONDS, 253_402_300_799 * MICROSECONDS)


@given(times)
def test_times_are_exact_to_the_microsecond(at_us: int) -> None:
    assert from_datetime(to_datetime(at_us)) == at_us


@given(st.integers(0, 253_402_300_799 * MICROSECONDS))
def test_a_shown_time_reads_back(at_us: int) -> None:
    assert parse_time(format_time(at_us)) == at_us


def test_zones_are_respected_and_a_missing_one_is_utc() -> None:
    noon = from_datetime(datetime(2026, 11, 15, 12, tzinfo=UTC))
    assert parse_time("2026-11-15T12:00:00Z") == parse_time("2026-11-15T12:00:00") == noon
    assert parse_time("2026-11-15T13:00:00+01:00") == noon
    assert from_datetime(datetime(2026, 11, 15, 13, tzinfo=timezone(timedelta(hours=1)))) == noon
    assert format_time(noon) == "2026-11-15T12:00:00.000000Z"


@pytest.mark.parametrize("text", ["", "now", "2026-13-01", "15.11.2026", "2026-11-15T25:00"])
def test_what_is_not_a_time_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_time(text)


def test_a_manual_clock_moves_only_when_told() -> None:
    clock = ManualClock(5)
    assert clock.now_us() == clock.now_us() == 5
    clock.advance(1.5)
    assert clock.now_us() == 1_500_005


def test_the_system_clock_is_the_machines_moved_by_its_offset() -> None:
    before = time.time_ns() // 1000
    assert before <= SystemClock().now_us() <= time.time_ns() // 1000
    assert SystemClock(lambda: 3600 * MICROSECONDS).now_us() >= before + 3600 * MICROSECONDS


def test_seeded_bytes_repeat_and_system_bytes_do_not() -> None:
    one, other = SeededEntropy(1), SeededEntropy(1)
    assert [one.bytes(8), one.bytes(3)] == [other.bytes(8), other.bytes(3)]
    assert SeededEntropy(2).bytes(8) != SeededEntropy(1).bytes(8)
    assert len(SystemEntropy().bytes(32)) == 32
    assert SystemEntropy().bytes(32) != SystemEntropy().bytes(32)
