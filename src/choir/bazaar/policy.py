"""Numbers of the bazaar: jobs, providers, verification, and the workers on a provider's machine."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import PAGE_ROWS_MOST, value

_SPEC = "spec: bazaar"
_DAY_S = 86_400
_MSAT = "milli-satoshi"
_AMOUNT_MAX = 10**15
_TABLE = "spec: bazaar, jobs"
_MARKET = "spec: bazaar, market"
_DEFAULTS = "spec: policy defaults"
_ENG = "engineering"
_BPS = "basis points"
_PRICE_MAX = 10**11  # a whole bitcoin
_UNIT_PRICE_MAX = 10**8  # times the most units of an estimate it still fits 64 bits


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


@dataclass(frozen=True, slots=True)
class VerificationPolicy:
    """Sizes of orders and deliveries, limits of the runs that check them, and what counts as a unit."""

    request_bytes_max: int = value(262_144, "bytes", 1_000, 1_000_000, _ENG, "Largest request in JSON.")
    text_chars_max: int = value(50_000, "characters", 100, 500_000, _ENG, "Longest free text in a request.")
    list_items_max: int = value(200, "items", 1, 10_000, _ENG, "Longest list in a request.")
    command_chars_max: int = value(4_000, "characters", 10, 50_000, _ENG, "Longest command in a request.")
    time_limit_s: int = value(900, "seconds", 1, 86_400, "seeds: 15 minutes", "Time for a job that names none.")
    time_limit_s_max: int = value(86_400, "seconds", 60, 7 * 86_400, _ENG, "Longest time that a job may name.")

    patch_bytes_max: int = value(2_000_000, "bytes", 1_000, 100_000_000, _ENG, "Largest diff that is looked at.")
    patch_grown_bytes_max: int = value(
        20_000_000, "bytes", 1_000, 10**9, _ENG, "Most bytes in all changed files; more out of a diff is a bomb."
    )
    patch_files_max: int = value(500, "files", 1, 10_000, _ENG, "Most files that a patch may change.")
    units_files: int = value(10, "files", 1, 500, _ENG, "Most files a patch is paid for if its request names none.")
    uncounted_files_max: int = value(
        10, "files", 0, 10_000, _ENG, "Changed files that add nothing; a patch with more is refused as padded."
    )

    test_wall_s: int = value(300, "seconds", 1, 3_600, _ENG, "Longest run of a test command or hidden check.")
    test_memory_bytes: int = value(1_000_000_000, "bytes", 50_000_000, 10**11, _ENG, "Memory of such a run.")
    test_disk_bytes: int = value(512_000_000, "bytes", 1_000_000, 10**11, _ENG, "Workspace of such a run.")
    test_processes: int = value(128, "processes", 4, 10_000, _ENG, "Processes of such a run.")
    test_output_bytes_max: int = value(
        16_000_000, "bytes", 1_000, 10**9, _ENG, "A test run that writes more than this is stopped as a flood."
    )
    tests_max: int = value(20_000, "tests", 1, 10**6, _ENG, "Most tests in one report.")
    hidden_runs: int = value(3, "runs", 1, 20, "spec: three times each", "Runs of a hidden check; one pass is enough.")
    control_runs_max: int = value(
        3, "runs", 1, 20, _ENG, "How often the negative control is run before a test counts as bound to the runner."
    )
    bases_kept: int = value(4, "trees", 1, 100, _ENG, "Base trees and their test results kept for the next delivery.")

    review_bytes_max: int = value(1_000_000, "bytes", 1_000, 10**8, _ENG, "Largest review.")
    review_diff_bytes_max: int = value(5_000_000, "bytes", 1_000, 10**8, _ENG, "Largest diff to review.")
    review_findings_max: int = value(500, "findings", 1, 10_000, _ENG, "Most issues and suggestions in one review.")
    review_parsed_chars_max: int = value(
        100_000, "characters", 1_000, 10**6, _ENG, "Largest Python file that is parsed again with each suggested fix."
    )
    review_summary_chars_min: int = value(20, "characters", 1, 1_000, _ENG, "Shortest summary that says something.")
    review_statement_chars_min: int = value(
        20, "characters", 1, 1_000, _ENG, "Shortest statement about a file without findings."
    )

    run_output_bytes_max: int = value(8_000_000, "bytes", 1_000, 10**8, _ENG, "Largest output of a run.")
    run_cpu_s_max: int = value(3_600, "seconds", 1, 86_400, _ENG, "Most CPU time that a run may be ordered with.")
    run_rerun_bps: int = value(
        1_000, "basis points", 0, 10_000, "spec: re-run by sampling", "Share of deterministic runs that are re-run."
    )

    text_bytes_max: int = value(1_000_000, "bytes", 100, 10**8, _ENG, "Largest generated text.")
    text_tokens_max: int = value(100_000, "tokens", 1, 10**7, _ENG, "Most tokens that a text may be ordered with.")
    schema_depth_max: int = value(16, "levels", 1, 64, _ENG, "Deepest nesting of a JSON schema in a request.")
    schema_items_max: int = value(
        1_000,
        "items",
        1,
        100_000,
        _ENG,
        "Most values of an enumeration, and most names of an object, in such a schema.",
    )


@dataclass(frozen=True, slots=True)
class WorkersPolicy:
    """The worker pool, agents as commands, analysers and fixers, and trajectories."""

    capacity: int = value(3, "jobs", 1, 1_000, "seeds: bazaar 1.4", "Jobs that a provider works on at once.")
    failures_in_a_row_max: int = value(
        3, "jobs", 1, 1_000, _ENG, "A worker that broke down this often in a row gets no job for a while."
    )
    rest_s: int = value(60, "seconds", 1, 86_400, _ENG, "How long such a worker rests before it is tried again.")
    stuck_s: int = value(
        30,
        "seconds",
        1,
        3_600,
        _ENG,
        "How long a worker has for stopping before its job is given up and its place lost.",
    )
    drain_s: int = value(300, "seconds", 0, 86_400, _ENG, "How long running jobs may go on when a provider stops.")
    hand_in_s: int = value(
        10, "seconds", 0, 600, _ENG, "Kept back from a job's time, for computing the diff and handing in."
    )

    command_memory_bytes: int = value(2_000_000_000, "bytes", 50_000_000, 10**12, _ENG, "Memory of an agent's command.")
    command_disk_bytes: int = value(1_000_000_000, "bytes", 1_000_000, 10**12, _ENG, "Workspace of an agent's command.")
    command_processes: int = value(256, "processes", 4, 100_000, _ENG, "Processes and threads of an agent's command.")
    command_cpu_s: int = value(3_600, "seconds", 1, 10**6, _ENG, "CPU time of an agent's command.")
    command_output_bytes: int = value(
        8_000_000, "bytes", 1_000, 10**9, _ENG, "How much of an agent's output goes into the trajectory."
    )

    analysis_wall_s: int = value(120, "seconds", 1, 3_600, _ENG, "Longest run of analysers or fixers.")
    analysis_memory_bytes: int = value(1_000_000_000, "bytes", 50_000_000, 10**12, _ENG, "Memory of such a run.")
    analysis_files_max: int = value(2_000, "files", 1, 100_000, _ENG, "Most files that analysers or fixers look at.")

    trajectory_lines_max: int = value(100_000, "lines", 10, 10**7, _ENG, "Most lines of a trajectory.")
    trajectory_line_bytes_max: int = value(65_536, "bytes", 1_000, 10**7, _ENG, "Longest line of a trajectory.")
    trajectory_text_chars: int = value(
        4_000, "characters", 100, 100_000, _ENG, "How much of one text our own workers write into a trajectory's line."
    )
    trajectory_skew_s: int = value(
        120,
        "seconds",
        0,
        86_400,
        _ENG,
        "How far a provider's clock may be off when a trajectory's times are checked.",
    )


SECTIONS = {
    "bazaar": BazaarPolicy,
    "providers": ProvidersPolicy,
    "verification": VerificationPolicy,
    "workers": WorkersPolicy,
}
