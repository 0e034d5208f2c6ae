"""A budget for somebody who names none: what the node's price table asks, with room for the best providers.

Guarantees: pure and exact; a whole number of satoshi, never below what the node takes at least.
"""

from __future__ import annotations

from collections.abc import Mapping

from choir.bazaar.jobs.model import JobType

_BPS = 10_000
_MILLI = 1_000
_SAT = 1_000  # milli-satoshi


def default_budget(
    type_: JobType, units_milli: int, values: Mapping[str, int], *, racing: int = 1, extras: int = 0
) -> int:
    """Milli-satoshi for so many thousandths of a unit and for extras, by the values of a node's policy."""
    base, unit, cap = (values[f"providers.{type_.value}_{name}"] for name in ("base", "unit", "cap"))
    price = min(base + unit * units_milli // _MILLI, cap)
    price = price * (_BPS + values["providers.tier_3_premium_bps"]) // _BPS
    if racing > 1:  # each who loses a race, or fails hidden checks alone, may get a part of it
        part = max(values["bazaar.lost_race_bps"], values["bazaar.hidden_fee_bps"])
        price = price * (_BPS + (racing - 1) * part) // _BPS + 1
    least = values["bazaar.budget_msat_min"]
    return -(-(max(price, least) + extras) // _SAT) * _SAT
