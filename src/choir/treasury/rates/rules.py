"""How a month's citation rate follows from its inputs. Pure; whole numbers, every division rounded down.

Capacity = holdings × price × 30 %; budget = 1 % of capacity less debt; rate = budget less what is owed, divided by the
citations to expect: the larger of last month's and the average, at least the floor; at most the cap.
"""

from __future__ import annotations

from choir.foundation.money import Asset
from choir.treasury.rates.model import RateFigures, RateInputs

PPM = 1_000_000
_BPS = 10_000
_CHIP = 10**Asset.CHIP.decimals


def figures_of(inputs: RateInputs) -> RateFigures:
    """Every step, down to the rate."""
    price = price_used(inputs)
    capacity = inputs.holdings_chip * price * inputs.capacity_bps // (_CHIP * _BPS)
    lendable = max(0, capacity - inputs.debt)
    budget = lendable * inputs.citation_budget_bps // _BPS
    free = max(0, budget - inputs.owed)
    average = average_ppm(inputs.months_ppm, inputs.months)
    expected = max(inputs.citations_floor * PPM, inputs.last_month_ppm, average)
    uncapped = free * PPM // expected
    return RateFigures(
        price_used=price,
        capacity=capacity,
        budget=budget,
        impact=lendable * inputs.impact_budget_bps // _BPS,
        free=free,
        average_ppm=average,
        expected_ppm=expected,
        uncapped=uncapped,
        rate=min(uncapped, inputs.rate_cap),
    )


def price_used(inputs: RateInputs) -> int:
    """A stale price counts less; without any price the treasury counts as worth nothing."""
    if inputs.price is None:
        return 0
    return inputs.price * inputs.stale_price_bps // _BPS if inputs.price_stale else inputs.price


def average_ppm(total_ppm: int, months: int) -> int:
    """Of as many months as there are; rounded up, so that the rate is not."""
    return -(-total_ppm // months) if months else 0
