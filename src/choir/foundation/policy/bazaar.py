"""Numbers of the bazaar: prices, shares, fees, windows and limits of a job."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import PAGE_ROWS_MOST, value

_SPEC = "spec: bazaar"
_DAY_S = 86_400
_MSAT = "milli-satoshi"
_AMOUNT_MAX = 10**15


@dataclass(frozen=True, slots=True)
class BazaarPolicy:
    """What a job costs, how it is shared, and how long each step may take."""

    platform_bps: int = value(1_000, "basis points", 0, 10_000, _SPEC, "The platform's share of a price.")
    skill_bps: int = value(1_500, "basis points", 0, 10_000, _SPEC, "A skill creator's share, where a skill was used.")
    referrer_bps: int = value(500, "basis points", 0, 10_000, _SPEC, "A referrer's share, where the buyer has one.")
    platform_msat_min: int = value(10_000, _MSAT, 0, 10**9, _SPEC, "What every job pays to the platform at least.")
    hidden_fee_bps: int = value(
        2_000, "basis points", 0, 10_000, _SPEC, "Of the price, what a buyer pays when only hidden checks failed."
    )
    lost_race_bps: int = value(
        1_000,
        "basis points",
        0,
        10_000,
        _SPEC,
        "Of the price, what a provider gets whose result passed the visible checks but was raced or cancelled.",
    )
    budget_msat_min: int = value(
        10_000, _MSAT, 1, 10**9, _SPEC, "The smallest budget: what the platform gets at least."
    )
    budget_msat_max: int = value(10**11, _MSAT, 1, _AMOUNT_MAX, "engineering", "The largest budget of one job.")
    attempts_max: int = value(3, "attempts", 1, 20, _SPEC, "How many providers may try a job, one after another.")
    race_max: int = value(5, "providers", 1, 20, "engineering", "Most providers that may race for one job.")
    backoff_s: int = value(1, "seconds", 0, 3_600, _SPEC, "The pause before a job is offered to the next provider.")
    offer_s_max: int = value(
        30, "seconds", 1, 3_600, "engineering", "The longest pause between offers of a job that nobody took."
    )
    time_limit_s: int = value(
        900, "seconds", 1, 7 * _DAY_S, "seed: bazaar", "How long a provider has, if nothing is said."
    )
    time_limit_s_max: int = value(_DAY_S, "seconds", 1, 30 * _DAY_S, "engineering", "The longest time limit of a job.")
    open_s: int = value(
        3_600, "seconds", 10, 30 * _DAY_S, "engineering", "How long a job waits for providers before it expires."
    )
    examine_s_max: int = value(
        300,
        "seconds",
        0,
        3_600,
        "engineering",
        "An order is examined before it is offered: whether its tests fail now, whether its diff can be read. If that"
        " takes longer, it is offered nevertheless.",
    )
    verify_s_max: int = value(
        3_600, "seconds", 10, _DAY_S, "engineering", "How long verification may take in all before it is tried again."
    )
    verify_tries_max: int = value(
        3, "tries", 1, 20, "engineering", "How often verification is tried when the node itself fails at it."
    )
    verify_at_once: int = value(
        2, "verifications", 1, 64, "engineering", "How many attempts one server process verifies at once."
    )
    away_grace_s: int = value(
        15,
        "seconds",
        0,
        3_600,
        "engineering",
        "An attempt whose time ends while the node is away, or so soon after, counts against nobody.",
    )
    away_s_max: int = value(
        7 * _DAY_S,
        "seconds",
        0,
        90 * _DAY_S,
        "engineering",
        "A job waits while the node is away, for so long at most: its budget is held that much longer than it needs.",
    )
    verify_turn_s: int = value(
        600,
        "seconds",
        0,
        _DAY_S,
        "engineering",
        "Where many wait to be verified: how much later each further delivery of one buyer or provider has its turn.",
    )
    planted_one_in: int = value(
        20,
        "reviews",
        0,
        1_000_000,
        "spec: defaults",
        "One in so many reviews that were paid for is followed by one with planted defects, which the platform pays;"
        " 0: none. With fees of a tenth, less than ten would let somebody gain by ordering from themselves.",
    )
    planted_after_s_max: int = value(
        3_600, "seconds", 0, 30 * _DAY_S, "engineering", "How much later such a review comes at most; it is random."
    )
    captures_max: int = value(64, "captures", 2, 1_000, "engineering", "How many payments one job's hold can make.")
    open_jobs_per_buyer_max: int = value(1_000, "jobs", 1, 100_000, "engineering", "Most open jobs of one buyer.")
    dispute_s: int = value(
        _DAY_S, "seconds", 60, 90 * _DAY_S, _SPEC, "How long after its verdict a job can be disputed."
    )
    security_dispute_s: int = value(
        7 * _DAY_S, "seconds", 60, 365 * _DAY_S, _SPEC, "The same for a security issue, against the provider's bond."
    )
    response_s: int = value(_DAY_S, "seconds", 60, 30 * _DAY_S, _SPEC, "How long the other side has to respond.")
    ruling_s: int = value(
        14 * _DAY_S, "seconds", 60, 365 * _DAY_S, "engineering", "How long a deposit waits for a ruling after that."
    )
    statement_chars_max: int = value(
        4_000, "characters", 1, 100_000, "engineering", "The longest statement of a side, or reasoning of a ruling."
    )
    deposit_bps: int = value(1_000, "basis points", 0, 10_000, _SPEC, "A dispute's deposit, of the price.")
    deposit_msat_min: int = value(
        3_000_000, _MSAT, 0, 10**12, "spec: defaults", "A dispute's deposit at least: the fees of three jurors."
    )
    artifact_bytes_max: int = value(
        16_000_000, "bytes", 1_000, 10**9, "engineering", "The largest artifact that can be delivered."
    )
    trajectory_bytes_max: int = value(16_000_000, "bytes", 1_000, 10**9, "engineering", "The largest trajectory.")
    inputs_bytes_max: int = value(
        512_000_000, "bytes", 1_000, 10**9, "engineering", "The largest input of a job, such as a bundled repository."
    )
    waiting_tries_max: int = value(
        100, "jobs", 1, 10_000, "engineering", "How many waiting jobs are tried at once when providers become free."
    )
    part_bytes: int = value(
        4_000_000, "bytes", 1_000, 16_000_000, "engineering", "How much of a blob one request sends or fetches."
    )
    upload_s: int = value(
        3_600, "seconds", 60, 7 * _DAY_S, "engineering", "How long an upload may take, from its start."
    )
    uploads_per_owner_max: int = value(16, "uploads", 1, 1_000, "engineering", "Most unfinished uploads of one owner.")
    upload_bytes_per_owner_max: int = value(
        2_000_000_000, "bytes", 1_000, 10**12, "engineering", "Most bytes announced in one owner's unfinished uploads."
    )
    page_rows_max: int = value(200, "rows", 1, PAGE_ROWS_MOST, "engineering", "Most rows on one page of a listing.")
    look_every_s: int = value(
        1, "seconds", 1, 3_600, "engineering", "How often jobs are looked at that wait or of which a time is over."
    )
    rounds_every_s: int = value(
        5, "seconds", 1, 3_600, "engineering", "How often providers that are silent, new or judged anew are looked at."
    )
    forget_uploads_every_s: int = value(
        60, "seconds", 1, 86_400, "engineering", "How often uploads are looked for that were not finished in time."
    )
    rulings_production: int = value(
        2, "operators", 1, 10, "spec: two operators on a production node", "How many operators decide a dispute."
    )
    rulings_development: int = value(
        1, "operators", 1, 10, "engineering", "How many operators decide a dispute on a development node."
    )
