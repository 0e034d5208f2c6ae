"""Numbers of citations: allowances, discounts and bonuses."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_SPEC = "spec: commons"
_DEFAULTS = "spec: policy defaults"
_ENGINEERING = "engineering"
_USDC = 1_000_000


@dataclass(frozen=True, slots=True)
class CitationsPolicy:
    """What citations may trigger, and what is taken off them."""

    allowance: int = value(
        2 * _USDC,
        "units of USDC",
        0,
        10**12,
        _SPEC,
        "What one person's articles may trigger in a month, once the identity is paid or vouched for ($2).",
    )
    identity_paid: int = value(
        5 * _USDC,
        "units of USDC",
        1,
        10**12,
        _ENGINEERING,
        "An identity is paid for in a month in which it paid the treasury so much for good ($5).",
    )
    spend_share_bps: int = value(
        5_000, "basis points", 0, 5_000, _SPEC, "Share of a person's spend of the month that adds to the allowance."
    )
    income_share_bps: int = value(
        5_000, "basis points", 0, 5_000, _SPEC, "Share of the month's vested citation income that adds to it."
    )
    tie_free_ppm: int = value(
        200_000, "millionths", 0, 1_000_000, _DEFAULTS, "A tie between two authors below this discounts nothing."
    )
    tie_prior: int = value(
        5,
        "citations",
        0,
        1_000,
        _ENGINEERING,
        "So many citations of others are assumed of each author, so that a few are no pattern.",
    )
    cycle_authors_max: int = value(
        50, "authors", 0, 1_000, _ENGINEERING, "Of so many authors it is asked whether they close a cycle of three."
    )
    bonus_every: int = value(
        10 * _USDC, "units of USDC", 1, 10**12, _SPEC, "Vested citation income that adds CREDIT once ($10)."
    )
    bonus_credit: int = value(10_000, "units of CREDIT", 0, 10**9, _SPEC, "CREDIT that it adds (100).")
    lines_max: int = value(500, "lines", 1, 10_000, _ENGINEERING, "Maximum lines in one page of a statement.")
