"""Numbers of the market: default prices, tiers, heartbeats, qualification, reputation, selection."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import PAGE_ROWS_MOST, value

_TABLE = "spec: bazaar, jobs"
_MARKET = "spec: bazaar, market"
_DEFAULTS = "spec: policy defaults"
_ENG = "engineering"

_MSAT = "milli-satoshi"
_BPS = "basis points"
_PRICE_MAX = 10**11  # a whole bitcoin
_UNIT_PRICE_MAX = 10**8  # times the most units of an estimate it still fits 64 bits


@dataclass(frozen=True, slots=True)
class ProvidersPolicy:
    """What providers may charge and take on, how they rise, and how one is chosen."""

    patch_gen_base: int = value(3_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a PatchGen job.")
    patch_gen_unit: int = value(100_000, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per file of a patch.")
    patch_gen_cap: int = value(20_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default most for a PatchGen job.")
    code_review_base: int = value(2_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a CodeReview job.")
    code_review_unit: int = value(50_000, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per file reviewed.")
    code_review_cap: int = value(15_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default most for a CodeReview job.")
    sandbox_run_base: int = value(200_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a SandboxRun job.")
    sandbox_run_unit: int = value(500, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per CPU second.")
    sandbox_run_cap: int = value(5_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default most for a SandboxRun job.")
    text_gen_base: int = value(0, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a TextGen job.")
    text_gen_unit: int = value(10_000, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per 1000 output tokens.")
    text_gen_cap: int = value(2_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default most for a TextGen job.")

    tier_1_jobs: int = value(100, "jobs", 1, 10**9, _MARKET, "Verified jobs, weighted by independence, for tier 1.")
    tier_2_jobs: int = value(500, "jobs", 1, 10**9, _MARKET, "Verified jobs, weighted by independence, for tier 2.")
    tier_3_jobs: int = value(1_000, "jobs", 1, 10**9, _MARKET, "Verified jobs, weighted by independence, for tier 3.")
    tier_1_success_bps: int = value(9_000, _BPS, 0, 10_000, _MARKET, "Success rate from which tier 1 is reached.")
    tier_2_success_bps: int = value(9_500, _BPS, 0, 10_000, _MARKET, "Success rate from which tier 2 is reached.")
    tier_3_success_bps: int = value(9_900, _BPS, 0, 10_000, _MARKET, "Success rate from which tier 3 is reached.")
    tier_1_buyers: int = value(10, "buyers", 0, 10**9, _MARKET, "Independent buyers that tier 1 takes.")
    tier_2_buyers: int = value(30, "buyers", 0, 10**9, _MARKET, "Independent buyers that tier 2 takes.")
    tier_3_buyers: int = value(60, "buyers", 0, 10**9, _MARKET, "Independent buyers that tier 3 takes.")
    tier_0_slots: int = value(5, "jobs", 1, 1_000, _MARKET, "Most jobs at once for a provider of tier 0.")
    tier_1_slots: int = value(10, "jobs", 1, 1_000, _MARKET, "Most jobs at once for a provider of tier 1.")
    tier_2_slots: int = value(25, "jobs", 1, 1_000, _MARKET, "Most jobs at once for a provider of tier 2.")
    tier_3_slots: int = value(100, "jobs", 1, 1_000, _MARKET, "Most jobs at once for a provider of tier 3.")
    tier_0_premium_bps: int = value(0, _BPS, 0, 10_000, _MARKET, "How far above the default price tier 0 may charge.")
    tier_1_premium_bps: int = value(0, _BPS, 0, 10_000, _MARKET, "How far above the default price tier 1 may charge.")
    tier_2_premium_bps: int = value(1_000, _BPS, 0, 10_000, _MARKET, "How far above the default tier 2 may charge.")
    tier_3_premium_bps: int = value(2_000, _BPS, 0, 10_000, _MARKET, "How far above the default tier 3 may charge.")

    name_chars_max: int = value(60, "characters", 1, 500, _ENG, "Longest name of a provider.")
    claim_chars_max: int = value(100, "characters", 1, 500, _ENG, "Longest claimed model, and longest version.")
    capacity_max: int = value(1_000, "jobs", 1, 1_000, _ENG, "Most jobs at once that a provider may declare.")
    book_ahead_s_max: int = value(
        90 * 86_400, "seconds", 0, 3_660 * 86_400, _ENG, "How far ahead a price book may be published."
    )
    heartbeat_s: int = value(
        60, "seconds", 1, 86_400, _ENG, "A provider that was not heard from for this long gets no jobs."
    )
    stale_rows_max: int = value(
        1_000, "providers", 1, 100_000, _ENG, "Most silent providers that one round takes off the market."
    )
    page_rows_max: int = value(
        200, "rows", 1, PAGE_ROWS_MOST, _ENG, "Most rows on one page of providers, books or outcomes."
    )

    qualification_required: int = value(
        1, "yes or no", 0, 1, _MARKET, "Whether a provider passes a qualification job before it gets real ones."
    )
    qualification_retry_s: int = value(
        600, "seconds", 0, 30 * 86_400, _ENG, "Wait after a failed qualification; as often as it failed in a row."
    )
    qualification_s_max: int = value(
        3_600, "seconds", 1, 86_400, _ENG, "A qualification without an outcome for this long may be begun again."
    )
    qualification_limit_s: int = value(
        900, "seconds", 10, 86_400, _ENG, "How long a provider has for a qualification job."
    )
    qualifications_at_once: int = value(
        50, "jobs", 1, 10_000, _ENG, "Most qualification jobs that one round gives out."
    )
    planted_missed_max: int = value(
        2, "reviews", 1, 1_000, _ENG, "After so many planted reviews in a row without a finding it qualifies anew."
    )
    failures_in_row_max: int = value(
        5, "jobs", 1, 1_000, _ENG, "After so many failed jobs of a type in a row a provider qualifies anew for it."
    )

    independent_bps_min: int = value(
        5_000, _BPS, 1, 10_000, _ENG, "A buyer counts as independent from this much independence on."
    )
    voice_jobs_max: int = value(
        5, "jobs", 1, 10_000, _ENG, "How many jobs of one buyer count in a reputation, however many there were."
    )
    reputation_doubt_jobs: int = value(
        20, "jobs", 1, 100_000, _ENG, "Jobs that stand against every reputation until others outweigh them."
    )

    weight_price_bps: int = value(2_500, _BPS, 0, 10_000, _MARKET, "Weight of the price in a selection.")
    weight_reputation_bps: int = value(3_500, _BPS, 0, 10_000, _MARKET, "Weight of reputation in a selection.")
    weight_capacity_bps: int = value(1_500, _BPS, 0, 10_000, _MARKET, "Weight of free capacity in a selection.")
    weight_isolation_bps: int = value(1_500, _BPS, 0, 10_000, _MARKET, "Weight of isolation in a selection.")
    weight_geography_bps: int = value(1_000, _BPS, 0, 10_000, _MARKET, "Weight of geography in a selection.")
    isolation_expected: int = value(
        2,
        "tier",
        1,
        5,
        _DEFAULTS,
        "Isolation that is looked for when none is named: 1 local, 2 bubblewrap, 3 container, 4 gvisor, 5 microvm.",
    )
    patch_success_bps_min: int = value(
        0,
        _BPS,
        0,
        10_000,
        "seed: bazaar, which has 9000",
        "Success rate that the SDK asks for in an order of a patch where the buyer names none. Whoever is new has none,"
        " so that anything above 0 keeps newcomers out.",
    )
    same_area_bps: int = value(5_000, _BPS, 0, 10_000, _ENG, "Geography score of another region of the same area.")
    newcomer_share_bps: int = value(1_000, _BPS, 0, 10_000, _DEFAULTS, "Share of routed work that goes to newcomers.")
    newcomer_jobs: int = value(
        100, "jobs", 1, 10**9, _ENG, "A provider with fewer jobs, weighted by independence, is a newcomer."
    )
    newcomers_drawn: int = value(
        64, "providers", 1, 10_000, _ENG, "Newcomers that follow on a random place, of which one is drawn by lot."
    )
    look_at: int = value(
        1_000, "providers", 1, 10**6, _ENG, "Providers that a selection looks at, unless others could still be better."
    )
    candidates_max: int = value(20, "providers", 1, 1_000, _ENG, "Most candidates that one selection returns.")
