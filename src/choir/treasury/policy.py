"""Numbers of the treasury: its genesis, the price of CHIP, the rate of citations, vesting."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import PAGE_ROWS_MOST, value

_SPEC = "spec: treasury"
_DEFAULTS = "spec: policy defaults"
_ENGINEERING = "engineering"
_DAY_S = 86_400
_USDC = 1_000_000


@dataclass(frozen=True, slots=True)
class TreasuryPolicy:
    """What the treasury begins with, how its price may move, and how the month's rate follows from both."""

    genesis_chip: int = value(
        5_000_000_000_000,
        "units of CHIP",
        0,
        10**15,
        "spec: overview",
        "What the treasury begins with (5 million CHIP).",
    )

    price_start: int = value(
        500_000, "units of USDC", 1, 10**12, _SPEC, "Governed price of one CHIP at genesis ($0.50)."
    )
    price_move_bps: int = value(
        1_000,
        "basis points",
        0,
        5_000,
        _SPEC,
        "How far the governed price may be from its highest and its lowest within the window.",
    )
    price_window_s: int = value(
        30 * _DAY_S, "seconds", _DAY_S, 366 * _DAY_S, _SPEC, "The window in which the price may move so far."
    )
    price_stale_s: int = value(
        92 * _DAY_S,
        "seconds",
        3_600,
        3_660 * _DAY_S,
        _ENGINEERING,
        "A price that nobody changed or confirmed for so long is stale.",
    )
    price_jump_bps: int = value(
        2_500,
        "basis points",
        1,
        10_000,
        _ENGINEERING,
        "A source whose price is further from the last valid one is not believed within the window.",
    )
    price_proposal_s: int = value(
        7 * _DAY_S, "seconds", 60, 90 * _DAY_S, _ENGINEERING, "Time for a proposed price to be approved."
    )
    price_reason_chars_max: int = value(
        200, "characters", 10, 2_000, _ENGINEERING, "Maximum length of the reason for a price."
    )

    capacity_bps: int = value(
        3_000, "basis points", 0, 10_000, _SPEC, "Of the holdings' value, what may be borrowed against."
    )
    citation_budget_bps: int = value(
        100, "basis points", 0, 10_000, _SPEC, "Of capacity less debt, the month's citation budget."
    )
    impact_budget_bps: int = value(20, "basis points", 0, 10_000, _SPEC, "Of the same, the month's impact pool.")
    citations_floor: int = value(
        1_500, "citations", 1, 10**9, _DEFAULTS, "The budget is divided by at least so many citations."
    )
    rate_cap: int = value(20 * _USDC, "units of USDC", 0, 10**12, _DEFAULTS, "Maximum rate of one citation ($20).")
    volume_months: int = value(3, "months", 1, 24, _SPEC, "Months of the average that the budget may be divided by.")
    stale_price_bps: int = value(8_000, "basis points", 0, 10_000, _SPEC, "What a stale price counts for.")
    citation_vesting_days: int = value(30, "days", 1, 3_650, _DEFAULTS, "Days over which a citation payment vests.")

    look_every_s: int = value(
        5, "seconds", 1, 3_600, _ENGINEERING, "Interval of looks for grants that vest and payments that are owed."
    )
    rate_every_s: int = value(
        60, "seconds", 1, 86_400, _ENGINEERING, "Interval of looks whether the month's rate has to be fixed."
    )
    page_rows_max: int = value(
        500, "rows", 1, PAGE_ROWS_MOST, _ENGINEERING, "Maximum rows in one page of a listing of the treasury."
    )


SECTIONS = {"treasury": TreasuryPolicy}
