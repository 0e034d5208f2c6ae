"""How much of a grant has vested, and how its schedule changes. Pure.

Vesting is linear in whole days since the start, rounded down; on the last day all of the rest has vested. A schedule is
a line from a point (day, vested) to its end, so that taking back or shortening bends it from that day on and changes
nothing before.
"""

from __future__ import annotations

from dataclasses import replace

from choir.foundation.clock import MICROSECONDS
from choir.treasury.vesting.model import Grant

DAY_US = 86_400 * MICROSECONDS


def day_of(grant: Grant, now_us: int) -> int:
    """How many whole days of the schedule are over."""
    return max(grant.from_day, min(grant.days, (now_us - grant.starts_us) // DAY_US))


def scheduled(grant: Grant, now_us: int) -> int:
    """What has vested by the schedule alone."""
    day = day_of(grant, now_us)
    if day >= grant.days:
        return grant.last
    rest, over = grant.last - grant.from_vested, day - grant.from_day
    return grant.from_vested + rest * over // (grant.days - grant.from_day)


def due(grant: Grant, now_us: int) -> int:
    """What can be released now."""
    if grant.not_before_us is not None and now_us < grant.not_before_us:
        return 0
    return max(0, scheduled(grant, now_us) - grant.vested)


def next_us(grant: Grant, now_us: int) -> int | None:
    """When there is something to do: at the next day's end, or at once; None when all of it has gone."""
    if grant.returned < grant.clawed:
        return now_us
    if grant.vested == grant.last:
        return None
    if due(grant, now_us):
        return now_us
    following = grant.starts_us + (max(grant.from_day, (now_us - grant.starts_us) // DAY_US) + 1) * DAY_US
    return max(following, grant.starts_us, grant.not_before_us or 0)


def released(grant: Grant, amount: int, now_us: int) -> Grant:
    assert 0 <= amount <= grant.unvested, "never more than was granted"
    return _with_next(replace(grant, vested=grant.vested + amount), now_us)


def clawed_back(grant: Grant, amount: int, now_us: int) -> Grant:
    """Take from the end: what has vested by the schedule stays so as far as something is left."""
    assert 0 <= amount <= grant.unvested, "what was released is not taken back"
    day, reached = day_of(grant, now_us), scheduled(grant, now_us)
    clawed = grant.clawed + amount
    left = grant.amount - clawed
    return _with_next(replace(grant, clawed=clawed, from_day=day, from_vested=min(reached, left)), now_us)


def shortened(grant: Grant, days: int, now_us: int) -> Grant:
    """End it sooner: what is left vests evenly over the days that are left then."""
    if days >= grant.days:
        return grant
    day, reached = day_of(grant, now_us), scheduled(grant, now_us)
    return _with_next(replace(grant, days=days, from_day=min(day, days), from_vested=reached), now_us)


def _with_next(grant: Grant, now_us: int) -> Grant:
    return replace(grant, next_us=next_us(grant, now_us))
