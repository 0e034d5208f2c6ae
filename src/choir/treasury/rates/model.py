"""A month's citation rate and all that it follows from. Amounts are units of USDC unless a name says otherwise."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.errors import NotFound, Refusal


@dataclass(frozen=True, slots=True)
class RateInputs:
    """What a rate was computed from; all of it is published with the rate."""

    as_of_us: int  # balances, price and debts are those of this moment
    holdings_chip: int  # units of CHIP
    price: int | None  # of one CHIP; None: there was none
    price_at_us: int | None
    price_source: str
    price_stale: bool
    debt: int
    owed: int
    last_month_ppm: int  # paid-weight citations, in millionths
    months_ppm: int  # of the last months together
    months: int  # how many there are, at most as many as policy says
    # The policy of that time
    capacity_bps: int
    citation_budget_bps: int
    impact_budget_bps: int
    stale_price_bps: int
    citations_floor: int
    rate_cap: int


@dataclass(frozen=True, slots=True)
class RateFigures:
    """The steps from the inputs to the rate."""

    price_used: int
    capacity: int
    budget: int
    impact: int
    free: int  # the budget less what is owed
    average_ppm: int
    expected_ppm: int  # what the budget is divided by
    uncapped: int
    rate: int  # for one citation of full weight


@dataclass(frozen=True, slots=True)
class Rate:
    """What a citation of full weight pays in one month."""

    month: str
    micro_usdc: int
    inputs: RateInputs
    figures: RateFigures
    policy: str
    fixed_us: int


class RateNotYet(Refusal):
    code = "treasury.rate.not_yet"
    sentence = "The rate of {month} is not fixed yet: it is {now}."


class NoRate(NotFound):
    code = "treasury.rate.none"
    sentence = "There is no rate of {month}: the treasury began in {first}."
