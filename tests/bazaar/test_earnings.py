"""Earnings over time: days are put into weeks and months of the calendar, and nothing is lost or counted twice."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.settlement import earnings
from choir.bazaar.settlement.earnings import DAY_US, Bucket, Step
from choir.foundation.clock import MICROSECONDS

NOW = st.integers(0, 4_000_000_000).map(lambda seconds: seconds * MICROSECONDS)


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * MICROSECONDS


def test_steps_follow_the_calendar() -> None:
    now_us = at("2026-03-01T23:59:59")  # a Sunday
    assert earnings.steps(Step.DAY, 3, now_us) == [at("2026-02-27"), at("2026-02-28"), at("2026-03-01")]
    assert earnings.steps(Step.WEEK, 2, now_us) == [at("2026-02-16"), at("2026-02-23")]
    assert earnings.steps(Step.MONTH, 4, now_us) == [
        at("2025-12-01"), at("2026-01-01"), at("2026-02-01"), at("2026-03-01"),
    ]  # fmt: skip


@given(NOW, st.sampled_from(Step), st.integers(1, 60))
def test_steps_are_as_many_as_asked_for_and_end_now(now_us: int, step: Step, count: int) -> None:
    begins = earnings.steps(step, count, now_us)
    assert len(begins) == count
    assert begins == sorted(set(begins))
    assert all(each % DAY_US == 0 for each in begins)
    assert begins[-1] <= now_us < begins[-1] + 31 * DAY_US


@given(NOW, st.sampled_from(Step), st.integers(1, 30), st.data())
def test_nothing_is_lost_or_counted_twice(now_us: int, step: Step, count: int, data: st.DataObject) -> None:
    begins = earnings.steps(step, count, now_us)
    last = now_us // DAY_US
    numbers = data.draw(st.lists(st.integers(begins[0] // DAY_US, last), unique=True, max_size=40))
    days = [Bucket(n * DAY_US, 1, 1, data.draw(st.integers(-(10**6), 10**6)), 1) for n in sorted(numbers)]
    found = earnings.series(begins, days)
    assert [bucket.begins_us for bucket in found] == begins
    assert sum(bucket.earned for bucket in found) == sum(day.earned for day in days)
    assert sum(bucket.jobs for bucket in found) == len(days)
    for bucket, following in zip(found, [*begins[1:], 2**62], strict=True):
        assert bucket.jobs == sum(bucket.begins_us <= day.begins_us < following for day in days)
