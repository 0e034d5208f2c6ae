"""A rate in sentences, with the arithmetic that anyone can repeat."""

from __future__ import annotations

from choir.foundation.clock import format_time
from choir.foundation.money import Asset
from choir.treasury.rates.model import Rate, RateFigures, RateInputs
from choir.treasury.rates.rules import PPM


def sentences(rate: Rate) -> list[str]:
    """How the rate of a month came about."""
    inputs, figures = rate.inputs, rate.figures
    return [
        f"A citation of full weight pays {_usdc(rate.micro_usdc)} USDC in {rate.month}; this was fixed at"
        f" {format_time(rate.fixed_us)} and does not change.",
        f"The inputs are those of {format_time(inputs.as_of_us)}.",
        _price(inputs, figures),
        f"Capacity: {Asset.CHIP.format(inputs.holdings_chip)} CHIP × {_usdc(figures.price_used)} USDC ×"
        f" {_percent(inputs.capacity_bps)} = {_usdc(figures.capacity)} USDC.",
        f"Budget: {_percent(inputs.citation_budget_bps)} of (capacity − {_usdc(inputs.debt)} USDC debt) ="
        f" {_usdc(figures.budget)} USDC, and beside it an impact pool of {_usdc(figures.impact)} USDC.",
        f"Of the budget, {_usdc(inputs.owed)} USDC were owed already, which leaves {_usdc(figures.free)} USDC.",
        f"Citations to expect: the largest of the floor {inputs.citations_floor}, last month's"
        f" {_weight(inputs.last_month_ppm)} and the average {_weight(figures.average_ppm)} of {inputs.months}"
        f" months = {_weight(figures.expected_ppm)}.",
        f"Rate: {_usdc(figures.free)} ÷ {_weight(figures.expected_ppm)} = {_usdc(figures.uncapped)} USDC, at most"
        f" {_usdc(inputs.rate_cap)} USDC.",
        f"The policy in force was {rate.policy}.",
    ]


def _price(inputs: RateInputs, figures: RateFigures) -> str:
    if inputs.price is None or inputs.price_at_us is None:
        return "There was no price of CHIP, so the budget is 0."
    said = f"{inputs.price_source}, {format_time(inputs.price_at_us)}"
    told = f"The price of one CHIP was {_usdc(inputs.price)} USDC ({said})"
    if not inputs.price_stale:
        return f"{told}."
    return f"{told}; it was stale, so {_percent(inputs.stale_price_bps)} of it count: {_usdc(figures.price_used)} USDC."


def _usdc(units: int) -> str:
    return Asset.USDC.format(units)


def _percent(bps: int) -> str:
    return f"{bps / 100:g} %"


def _weight(ppm: int) -> str:
    whole, rest = divmod(ppm, PPM)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".")
