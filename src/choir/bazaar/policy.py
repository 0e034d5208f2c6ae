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
    platform_msat_min: int = value(10_000, _MSAT, 0, 10**9, _SPEC, "Minimum platform fee per job.")
    hidden_fee_bps: int = value(
        2_000, "basis points", 0, 10_000, _SPEC, "Share of the price that a buyer pays when only hidden checks failed."
    )
    extra_suite_msat: int = value(
        200_000, _MSAT, 0, 10**9, _ENG, "Price of the whole suite as an extra, on top of a patch's price; once per job."
    )
    extra_mutation_msat: int = value(
        500_000, _MSAT, 0, 10**9, _ENG, "Price of mutation as an extra, on top of a patch's price; once per job."
    )
    level_v3_msat: int = value(
        200_000,
        _MSAT,
        0,
        10**9,
        _ENG,
        "Price of ordering a verdict of level V3, on top of a patch's price; once per job.",
    )
    level_v4_msat: int = value(
        500_000, _MSAT, 0, 10**9, _ENG, "The same for level V4, instead of it. V1 and V2 cost nothing more."
    )
    lost_race_bps: int = value(
        1_000,
        "basis points",
        0,
        10_000,
        _SPEC,
        "Share of the price for a result that passed the visible checks but was raced or cancelled.",
    )
    budget_msat_min: int = value(10_000, _MSAT, 1, 10**9, _SPEC, "Minimum budget: the minimum platform fee.")
    budget_msat_max: int = value(10**11, _MSAT, 1, _AMOUNT_MAX, "engineering", "Maximum budget of one job.")
    attempts_max: int = value(3, "attempts", 1, 20, _SPEC, "Maximum consecutive attempts at a job.")
    race_max: int = value(5, "providers", 1, 20, "engineering", "Maximum providers that may race for one job.")
    backoff_s: int = value(1, "seconds", 0, 3_600, _SPEC, "Pause before a job is offered to the next provider.")
    offer_s_max: int = value(30, "seconds", 1, 3_600, "engineering", "Maximum pause between offers of an untaken job.")
    time_limit_s: int = value(900, "seconds", 1, 7 * _DAY_S, "seed: bazaar", "Default time limit of an attempt.")
    time_limit_s_max: int = value(_DAY_S, "seconds", 1, 30 * _DAY_S, "engineering", "Maximum time limit of a job.")
    open_s: int = value(
        3_600, "seconds", 10, 30 * _DAY_S, "engineering", "How long a job waits for providers before it expires."
    )
    examine_s_max: int = value(
        300,
        "seconds",
        0,
        3_600,
        "engineering",
        "Time for examining an order before it is offered: whether its tests fail now, whether its diff can be"
        " read. If it takes longer, the order is offered anyway.",
    )
    examine_setup_s_max: int = value(
        1_200, "seconds", 0, 7_200, "engineering", "More such time for an order with an environment to set up."
    )
    verify_s_max: int = value(
        3_600, "seconds", 10, _DAY_S, "engineering", "Time limit of a verification before it is retried."
    )
    verify_tries_max: int = value(
        3, "tries", 1, 20, "engineering", "Maximum verification attempts when the node itself fails."
    )
    verify_at_once: int = value(
        2, "verifications", 1, 64, "engineering", "Maximum concurrent verifications in one server process."
    )
    away_grace_s: int = value(
        15,
        "seconds",
        0,
        3_600,
        "engineering",
        "An attempt whose deadline falls while the node is down, or within this time after, counts against nobody.",
    )
    away_s_max: int = value(
        7 * _DAY_S,
        "seconds",
        0,
        90 * _DAY_S,
        "engineering",
        "Maximum time that a job waits while the node is down; its budget is held that much longer.",
    )
    verify_turn_s: int = value(
        600,
        "seconds",
        0,
        _DAY_S,
        "engineering",
        "In the verification queue: the delay added for each further delivery of the same buyer or provider.",
    )
    planted_one_in: int = value(
        20,
        "reviews",
        0,
        1_000_000,
        "spec: defaults",
        "One in this many paid reviews is followed by one with planted defects, paid by the platform; 0: none."
        " With 10 % fees, less than ten would make self-ordering profitable.",
    )
    planted_after_s_max: int = value(
        3_600, "seconds", 0, 30 * _DAY_S, "engineering", "Maximum random delay of such a review."
    )
    captures_max: int = value(64, "captures", 2, 1_000, "engineering", "Maximum captures from one job's hold.")
    open_jobs_per_buyer_max: int = value(1_000, "jobs", 1, 100_000, "engineering", "Maximum open jobs of one buyer.")
    dispute_s: int = value(_DAY_S, "seconds", 60, 90 * _DAY_S, _SPEC, "Dispute window after the verdict.")
    security_dispute_s: int = value(
        7 * _DAY_S,
        "seconds",
        60,
        365 * _DAY_S,
        _SPEC,
        "Dispute window for a security issue, against the provider's bond.",
    )
    response_s: int = value(_DAY_S, "seconds", 60, 30 * _DAY_S, _SPEC, "Time for the other side to answer a dispute.")
    ruling_s: int = value(
        14 * _DAY_S, "seconds", 60, 365 * _DAY_S, "engineering", "Time that a deposit is then held for a ruling."
    )
    statement_chars_max: int = value(
        4_000, "characters", 1, 100_000, "engineering", "Maximum length of a statement or a ruling's reasoning."
    )
    deposit_bps: int = value(1_000, "basis points", 0, 10_000, _SPEC, "A dispute's deposit as a share of the price.")
    deposit_msat_min: int = value(
        3_000_000, _MSAT, 0, 10**12, "spec: defaults", "Minimum deposit of a dispute: the fees of three jurors."
    )
    artifact_bytes_max: int = value(16_000_000, "bytes", 1_000, 10**9, "engineering", "Maximum size of an artifact.")
    trajectory_bytes_max: int = value(16_000_000, "bytes", 1_000, 10**9, "engineering", "Maximum size of a trajectory.")
    archive_bytes_max: int = value(
        20_000_000,
        "bytes",
        1_000,
        10**9,
        "engineering",
        "Maximum size of the files in an archive that becomes a repository; larger ones are sent as a git bundle.",
    )
    days_every_s: int = value(600, "seconds", 1, _DAY_S, "engineering", "How often days that are over are summed.")
    inputs_bytes_max: int = value(
        512_000_000, "bytes", 1_000, 10**9, "engineering", "Maximum size of a job's input, such as a repository bundle."
    )
    waiting_tries_max: int = value(
        100, "jobs", 1, 10_000, "engineering", "Maximum waiting jobs offered at once when providers become free."
    )
    part_bytes: int = value(
        4_000_000, "bytes", 1_000, 16_000_000, "engineering", "Size of a part when a blob is uploaded or downloaded."
    )
    upload_s: int = value(3_600, "seconds", 60, 7 * _DAY_S, "engineering", "Time limit of an upload.")
    uploads_per_owner_max: int = value(
        16, "uploads", 1, 1_000, "engineering", "Maximum unfinished uploads of one owner."
    )
    upload_bytes_per_owner_max: int = value(
        2_000_000_000, "bytes", 1_000, 10**12, "engineering", "Maximum total size of one owner's unfinished uploads."
    )
    page_rows_max: int = value(200, "rows", 1, PAGE_ROWS_MOST, "engineering", "Maximum rows per page.")
    look_every_s: int = value(1, "seconds", 1, 3_600, "engineering", "Interval of checks for waiting and overdue jobs.")
    rounds_every_s: int = value(
        5, "seconds", 1, 3_600, "engineering", "Interval of checks for silent, new and requalifying providers."
    )
    forget_uploads_every_s: int = value(
        60, "seconds", 1, 86_400, "engineering", "Interval of checks for expired uploads."
    )
    series_days: int = value(30, "days", 1, 366, "engineering", "Days in a provider's charts and daily series.")
    series_weeks: int = value(26, "weeks", 1, 104, "engineering", "Weeks in a provider's weekly series.")
    series_months: int = value(12, "months", 1, 60, "engineering", "Months in a provider's monthly series.")
    rulings_production: int = value(
        2, "operators", 1, 10, "spec: two operators on a production node", "Operators needed to decide a dispute."
    )
    rulings_development: int = value(
        1, "operators", 1, 10, "engineering", "Operators needed to decide a dispute on a development node."
    )


@dataclass(frozen=True, slots=True)
class ProvidersPolicy:
    """What providers may charge and take on, how they rise, and how one is chosen."""

    patch_gen_base: int = value(3_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a PatchGen job.")
    patch_gen_unit: int = value(100_000, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per file of a patch.")
    patch_gen_cap: int = value(20_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default maximum price of a  PatchGen job.")
    code_review_base: int = value(2_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a CodeReview job.")
    code_review_unit: int = value(50_000, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per file reviewed.")
    code_review_cap: int = value(
        15_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default maximum price of a  CodeReview job."
    )
    sandbox_run_base: int = value(200_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a SandboxRun job.")
    sandbox_run_unit: int = value(500, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per CPU second.")
    sandbox_run_cap: int = value(5_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default maximum price of a  SandboxRun job.")
    repo_index_base: int = value(500_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a RepoIndex job.")
    repo_index_unit: int = value(
        8_000, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per 1000 tokens of the files indexed."
    )
    repo_index_cap: int = value(10_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default maximum price of a RepoIndex job.")
    text_gen_base: int = value(0, _MSAT, 0, _PRICE_MAX, _TABLE, "Default base price of a TextGen job.")
    text_gen_unit: int = value(10_000, _MSAT, 0, _UNIT_PRICE_MAX, _TABLE, "Default price per 1000 output tokens.")
    text_gen_cap: int = value(2_000_000, _MSAT, 0, _PRICE_MAX, _TABLE, "Default maximum price of a  TextGen job.")

    patch_gen_typical: int = value(3, "files", 1, 1_000, _ENG, "Size of the patch that pages show a price for.")
    code_review_typical: int = value(5, "files", 1, 1_000, _ENG, "Size of the review that pages show a price for.")
    sandbox_run_typical: int = value(
        60, "CPU seconds", 1, 100_000, _ENG, "Length of the run that pages show a price for."
    )
    repo_index_typical: int = value(
        100, "thousand tokens", 1, 100_000, _ENG, "Size of the repository whose index pages show a price for."
    )
    text_gen_typical: int = value(
        2, "thousand tokens", 1, 1_000, _ENG, "Length of the text that pages show a price for."
    )
    typical_outcomes: int = value(
        50, "outcomes", 1, 1_000, _ENG, "A provider's last outcomes whose median time is called typical."
    )

    tier_1_jobs: int = value(100, "jobs", 1, 10**9, _MARKET, "Verified jobs, weighted by independence, for tier 1.")
    tier_2_jobs: int = value(500, "jobs", 1, 10**9, _MARKET, "Verified jobs, weighted by independence, for tier 2.")
    tier_3_jobs: int = value(1_000, "jobs", 1, 10**9, _MARKET, "Verified jobs, weighted by independence, for tier 3.")
    tier_1_success_bps: int = value(9_000, _BPS, 0, 10_000, _MARKET, "Minimum success rate for tier 1.")
    tier_2_success_bps: int = value(9_500, _BPS, 0, 10_000, _MARKET, "Minimum success rate for tier 2.")
    tier_3_success_bps: int = value(9_900, _BPS, 0, 10_000, _MARKET, "Minimum success rate for tier 3.")
    tier_1_buyers: int = value(10, "buyers", 0, 10**9, _MARKET, "Minimum independent buyers for tier 1.")
    tier_2_buyers: int = value(30, "buyers", 0, 10**9, _MARKET, "Minimum independent buyers for tier 2.")
    tier_3_buyers: int = value(60, "buyers", 0, 10**9, _MARKET, "Minimum independent buyers for tier 3.")
    tier_0_slots: int = value(5, "jobs", 1, 1_000, _MARKET, "Maximum concurrent jobs of a provider of tier 0.")
    tier_1_slots: int = value(10, "jobs", 1, 1_000, _MARKET, "Maximum concurrent jobs of a provider of tier 1.")
    tier_2_slots: int = value(25, "jobs", 1, 1_000, _MARKET, "Maximum concurrent jobs of a provider of tier 2.")
    tier_3_slots: int = value(100, "jobs", 1, 1_000, _MARKET, "Maximum concurrent jobs of a provider of tier 3.")
    tier_0_premium_bps: int = value(0, _BPS, 0, 10_000, _MARKET, "Maximum premium over the default price at tier 0.")
    tier_1_premium_bps: int = value(0, _BPS, 0, 10_000, _MARKET, "Maximum premium over the default price at tier 1.")
    tier_2_premium_bps: int = value(
        1_000, _BPS, 0, 10_000, _MARKET, "Maximum premium over the default price at tier 2."
    )
    tier_3_premium_bps: int = value(
        2_000, _BPS, 0, 10_000, _MARKET, "Maximum premium over the default price at tier 3."
    )

    name_chars_max: int = value(60, "characters", 1, 500, _ENG, "Maximum length of a provider's name.")
    claim_chars_max: int = value(100, "characters", 1, 500, _ENG, "Maximum length of a claimed model or version.")
    capacity_max: int = value(1_000, "jobs", 1, 1_000, _ENG, "Maximum capacity that a provider may declare.")
    book_ahead_s_max: int = value(90 * 86_400, "seconds", 0, 3_660 * 86_400, _ENG, "Maximum lead time of a price book.")
    heartbeat_s: int = value(
        60, "seconds", 1, 86_400, _ENG, "A provider without a heartbeat for this long gets no jobs."
    )
    stale_rows_max: int = value(
        1_000, "providers", 1, 100_000, _ENG, "Maximum silent providers taken offline per round."
    )
    page_rows_max: int = value(
        200, "rows", 1, PAGE_ROWS_MOST, _ENG, "Maximum rows per page of providers, price books or outcomes."
    )

    qualification_required: int = value(
        1, "yes or no", 0, 1, _MARKET, "Whether a provider must pass a qualification job before it gets real ones."
    )
    qualification_retry_s: int = value(
        600,
        "seconds",
        0,
        30 * 86_400,
        _ENG,
        "Wait after a failed qualification, times the number of failures in a row.",
    )
    qualification_s_max: int = value(
        3_600, "seconds", 1, 86_400, _ENG, "A qualification without an outcome for this long may be restarted."
    )
    qualification_limit_s: int = value(900, "seconds", 10, 86_400, _ENG, "Time limit of a qualification job.")
    qualifications_at_once: int = value(50, "jobs", 1, 10_000, _ENG, "Maximum qualification jobs started per round.")
    planted_missed_max: int = value(
        2, "reviews", 1, 1_000, _ENG, "Missed planted reviews in a row after which a provider must requalify."
    )
    failures_in_row_max: int = value(
        5, "jobs", 1, 1_000, _ENG, "Failed jobs of a type in a row after which a provider must requalify for it."
    )

    bid_bps_max: int = value(9_000, _BPS, 0, 10_000, _ENG, "Maximum discount of a bid below the price book.")
    bid_s_max: int = value(30 * _DAY_S, "seconds", 60, 366 * _DAY_S, _ENG, "Maximum time that a bid stands.")
    bond_msat: int = value(10_000_000, _MSAT, 0, 10**12, _DEFAULTS, "The bond that every tier above 0 needs; 0: none.")
    independent_bps_min: int = value(
        5_000, _BPS, 1, 10_000, _ENG, "Minimum independence for a buyer to count as independent."
    )
    voice_jobs_max: int = value(5, "jobs", 1, 10_000, _ENG, "Maximum jobs of one buyer that count in a reputation.")
    reputation_doubt_jobs: int = value(
        20, "jobs", 1, 100_000, _ENG, "Prior failed jobs in every reputation (Bayesian smoothing)."
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
        "Preferred isolation when none is given: 1 local, 2 bubblewrap, 3 container, 4 gvisor, 5 microvm.",
    )
    patch_success_bps_min: int = value(
        0,
        _BPS,
        0,
        10_000,
        "seed: bazaar, which has 9000",
        "Default minimum success rate in the SDK's patch orders. "
        "New providers have none, so anything above 0 excludes them.",
    )
    same_area_bps: int = value(5_000, _BPS, 0, 10_000, _ENG, "Geography score of another region of the same area.")
    newcomer_share_bps: int = value(1_000, _BPS, 0, 10_000, _DEFAULTS, "Share of routed jobs that go to new providers.")
    newcomer_jobs: int = value(
        100, "jobs", 1, 10**9, _ENG, "A provider with fewer jobs, weighted by independence, counts as new."
    )
    newcomers_drawn: int = value(
        64, "providers", 1, 10_000, _ENG, "New providers, from a random position, among which one is drawn."
    )
    look_at: int = value(
        1_000,
        "providers",
        1,
        10**6,
        _ENG,
        "Providers that a selection examines, unless others could still score higher.",
    )
    candidates_max: int = value(20, "providers", 1, 1_000, _ENG, "Maximum candidates returned by a selection.")


@dataclass(frozen=True, slots=True)
class VerificationPolicy:
    """Sizes of orders and deliveries, limits of the runs that check them, and what counts as a unit."""

    request_bytes_max: int = value(262_144, "bytes", 1_000, 1_000_000, _ENG, "Maximum size of a request in JSON.")
    text_chars_max: int = value(50_000, "characters", 100, 500_000, _ENG, "Maximum length of free text in a request.")
    list_items_max: int = value(200, "items", 1, 10_000, _ENG, "Maximum length of a list in a request.")
    command_chars_max: int = value(4_000, "characters", 10, 50_000, _ENG, "Maximum length of a command in a request.")
    time_limit_s: int = value(900, "seconds", 1, 86_400, "seeds: 15 minutes", "Default time limit of a job.")
    time_limit_s_max: int = value(86_400, "seconds", 60, 7 * 86_400, _ENG, "Maximum time limit of a job.")

    patch_bytes_max: int = value(2_000_000, "bytes", 1_000, 100_000_000, _ENG, "Maximum size of a diff.")
    patch_grown_bytes_max: int = value(
        20_000_000,
        "bytes",
        1_000,
        10**9,
        _ENG,
        "Maximum total size of all changed files; a diff that expands further is a bomb.",
    )
    patch_files_max: int = value(500, "files", 1, 10_000, _ENG, "Maximum files that a patch may change.")
    units_files: int = value(10, "files", 1, 500, _ENG, "Default maximum of files that a patch is paid for.")
    uncounted_files_max: int = value(
        10, "files", 0, 10_000, _ENG, "Maximum changed files that add nothing; a patch with more is refused as padded."
    )

    test_wall_s: int = value(300, "seconds", 1, 3_600, _ENG, "Time limit of a test command or hidden check.")
    test_memory_bytes: int = value(1_000_000_000, "bytes", 50_000_000, 10**11, _ENG, "Memory of such a run.")
    test_disk_bytes: int = value(512_000_000, "bytes", 1_000_000, 10**11, _ENG, "Workspace of such a run.")
    test_processes: int = value(128, "processes", 4, 10_000, _ENG, "Processes of such a run.")
    test_output_bytes_max: int = value(
        16_000_000, "bytes", 1_000, 10**9, _ENG, "Output limit of a test run; beyond it, the run is stopped."
    )
    tests_max: int = value(20_000, "tests", 1, 10**6, _ENG, "Maximum tests in one report.")
    hidden_runs: int = value(3, "runs", 1, 20, "spec: three times each", "Runs of a hidden check; one pass is enough.")
    control_pairs_min: int = value(
        2,
        "pairs",
        1,
        20,
        _ENG,
        "Pairs of control runs in which a hidden assertion must tell changed values apart, one after the other.",
    )
    control_pairs_max: int = value(
        4, "pairs", 1, 20, _ENG, "Maximum pairs of control runs, where few assertions can be held or some stay unclear."
    )
    control_bits_min: int = value(
        12,
        "bits",
        1,
        64,
        _ENG,
        "Guesses that a delivery which forges its report must get right by chance; more control runs are made for it.",
    )
    runs_at_once: int = value(2, "runs", 1, 16, _ENG, "Maximum runs of one verification side by side.")
    mutants_max: int = value(20, "mutants", 1, 500, _ENG, "Maximum mutants of the changed lines that are tried.")
    mutants_min: int = value(
        4, "mutants", 1, 500, _ENG, "A floor for mutants applies from this number on; fewer say little."
    )
    bases_kept: int = value(4, "trees", 1, 100, _ENG, "Base trees and their test results kept in the cache.")

    review_bytes_max: int = value(1_000_000, "bytes", 1_000, 10**8, _ENG, "Maximum size of a review.")
    review_diff_bytes_max: int = value(5_000_000, "bytes", 1_000, 10**8, _ENG, "Maximum size of a diff to review.")
    review_findings_max: int = value(500, "findings", 1, 10_000, _ENG, "Maximum issues and suggestions in one review.")
    review_parsed_chars_max: int = value(
        100_000,
        "characters",
        1_000,
        10**6,
        _ENG,
        "Maximum size of a Python file that is re-parsed with each suggested fix.",
    )
    review_summary_chars_min: int = value(20, "characters", 1, 1_000, _ENG, "Minimum length of a summary.")
    review_statement_chars_min: int = value(
        20, "characters", 1, 1_000, _ENG, "Minimum length of a statement about a file without findings."
    )

    run_output_bytes_max: int = value(8_000_000, "bytes", 1_000, 10**8, _ENG, "Maximum output of a run.")
    run_cpu_s_max: int = value(3_600, "seconds", 1, 86_400, _ENG, "Maximum CPU time of a run.")
    run_rerun_bps: int = value(
        1_000, "basis points", 0, 10_000, "spec: re-run by sampling", "Share of deterministic runs that are re-run."
    )

    index_bytes_max: int = value(
        16_000_000, "bytes", 1_000, 10**9, _ENG, "Maximum size of an index; artifacts have a limit of their own."
    )
    index_files_max: int = value(20_000, "files", 1, 10**6, _ENG, "Maximum files of a repository that is indexed.")
    index_source_bytes_max: int = value(
        64_000_000, "bytes", 1_000, 10**10, _ENG, "Maximum total size of the files that are parsed for an index."
    )
    index_wall_s: int = value(300, "seconds", 1, 3_600, _ENG, "Time limit of the indexer.")
    index_memory_bytes: int = value(2_000_000_000, "bytes", 50_000_000, 10**12, _ENG, "Memory of the indexer.")
    index_files_sampled: int = value(
        20, "files", 1, 100_000, "spec: spot-checks", "Files of an index that the verifier indexes again."
    )
    index_symbols_sampled: int = value(
        200, "symbols", 1, 10**6, "spec: spot-checks", "Symbols whose names and lines the verifier looks up."
    )
    index_references_sampled: int = value(
        200, "places", 1, 10**6, "spec: spot-checks", "Places of references that the verifier looks up."
    )
    index_agreement_bps: int = value(
        9_500,
        "basis points",
        0,
        10_000,
        _ENG,
        "Minimum share of equal symbols in sampled files, where the index was made by other versions of the tools.",
    )

    text_bytes_max: int = value(1_000_000, "bytes", 100, 10**8, _ENG, "Maximum size of a generated text.")
    text_tokens_max: int = value(100_000, "tokens", 1, 10**7, _ENG, "Maximum tokens of a text.")
    schema_depth_max: int = value(16, "levels", 1, 64, _ENG, "Maximum nesting of a JSON schema in a request.")
    schema_items_max: int = value(
        1_000,
        "items",
        1,
        100_000,
        _ENG,
        "Maximum values of an enumeration, and names of an object, in such a schema.",
    )


@dataclass(frozen=True, slots=True)
class WorkersPolicy:
    """The worker pool, agents as commands, analysers and fixers, and trajectories."""

    capacity: int = value(3, "jobs", 1, 1_000, "seeds: bazaar 1.4", "Default capacity of a provider.")
    failures_in_a_row_max: int = value(3, "jobs", 1, 1_000, _ENG, "Crashes in a row after which a worker is paused.")
    rest_s: int = value(60, "seconds", 1, 86_400, _ENG, "Pause of such a worker before it is retried.")
    stuck_s: int = value(
        30,
        "seconds",
        1,
        3_600,
        _ENG,
        "Time for a worker to stop before its job is abandoned and its slot lost.",
    )
    drain_s: int = value(300, "seconds", 0, 86_400, _ENG, "Time that running jobs may continue when a provider stops.")
    hand_in_s: int = value(
        10, "seconds", 0, 600, _ENG, "Reserved from a job's time for computing the diff and delivering."
    )

    command_memory_bytes: int = value(2_000_000_000, "bytes", 50_000_000, 10**12, _ENG, "Memory of an agent's command.")
    command_disk_bytes: int = value(1_000_000_000, "bytes", 1_000_000, 10**12, _ENG, "Workspace of an agent's command.")
    command_processes: int = value(256, "processes", 4, 100_000, _ENG, "Processes and threads of an agent's command.")
    command_cpu_s: int = value(3_600, "seconds", 1, 10**6, _ENG, "CPU time of an agent's command.")
    command_output_bytes: int = value(8_000_000, "bytes", 1_000, 10**9, _ENG, "Maximum agent output in the trajectory.")

    model_tokens_day_max: int = value(
        0, "tokens", 0, 10**12, _ENG, "Tokens that a provider's workers may use per UTC day; 0: no limit."
    )
    model_tokens_job_max: int = value(
        0, "tokens", 0, 10**12, _ENG, "Tokens that a provider's workers may use for one job; 0: no limit."
    )
    model_cost_day_max: int = value(
        0, "micro-dollars", 0, 10**12, _ENG, "Cost of models per UTC day, by the two prices below; 0: no limit."
    )
    model_cost_job_max: int = value(0, "micro-dollars", 0, 10**12, _ENG, "The same for one job; 0: no limit.")
    model_price_in: int = value(
        0, "micro-dollars per 1000 tokens", 0, 10**9, _ENG, "What the provider's model costs for tokens it reads."
    )
    model_price_out: int = value(
        0, "micro-dollars per 1000 tokens", 0, 10**9, _ENG, "What the provider's model costs for tokens it writes."
    )
    model_answer_bytes_max: int = value(
        4_000_000, "bytes", 1_000, 10**9, _ENG, "Maximum size of a model's answer to the text worker."
    )
    model_wait_s_max: int = value(300, "seconds", 1, 3_600, _ENG, "Time limit for one answer to the text worker.")
    model_pause_s_max: int = value(
        20, "seconds", 0, 600, _ENG, "Longest pause before a model that refused for now (429, 5xx) is asked again."
    )
    model_tries_max: int = value(4, "requests", 1, 100, _ENG, "How often such a model is asked for one answer.")
    text_asks_max: int = value(
        3, "requests", 1, 20, _ENG, "How often a text is asked for until it has the ordered length and shape."
    )

    analysis_wall_s: int = value(120, "seconds", 1, 3_600, _ENG, "Time limit of analysers or fixers.")
    analysis_memory_bytes: int = value(1_000_000_000, "bytes", 50_000_000, 10**12, _ENG, "Memory of such a run.")
    analysis_files_max: int = value(2_000, "files", 1, 100_000, _ENG, "Maximum files for analysers or fixers.")

    trajectory_lines_max: int = value(100_000, "lines", 10, 10**7, _ENG, "Maximum lines of a trajectory.")
    trajectory_line_bytes_max: int = value(65_536, "bytes", 1_000, 10**7, _ENG, "Maximum length of a trajectory line.")
    trajectory_text_chars: int = value(
        4_000,
        "characters",
        100,
        100_000,
        _ENG,
        "Maximum text that the built-in workers write into one trajectory line.",
    )
    trajectory_skew_s: int = value(
        120,
        "seconds",
        0,
        86_400,
        _ENG,
        "Clock tolerance when a trajectory's times are checked.",
    )


@dataclass(frozen=True, slots=True)
class EnvironmentsPolicy:
    """What a set-up may take, and how much of what set-ups left is kept."""

    setup_wall_s: int = value(900, "seconds", 1, 3_600, _ENG, "Time limit of a set-up.")
    setup_cpu_s: int = value(1_800, "seconds", 1, 14_400, _ENG, "CPU time of a set-up, over all its processes.")
    setup_memory_bytes: int = value(
        1_000_000_000, "bytes", 50_000_000, 10**11, _ENG, "Memory of a set-up, besides what it writes."
    )
    setup_cores_milli: int = value(2_000, "thousandths of a core", 10, 1_000_000, _ENG, "CPU cores of a set-up.")
    setup_processes: int = value(512, "processes", 4, 10_000, _ENG, "Processes and threads of a set-up.")
    setup_download_bytes_max: int = value(
        2_000_000_000, "bytes", 0, 10**11, _ENG, "Maximum bytes that one set-up may download."
    )
    setup_requests_max: int = value(1_000, "requests", 1, 1_000_000, _ENG, "Maximum connections of one set-up.")
    layer_bytes_max: int = value(1_000_000_000, "bytes", 1_000, 10**11, _ENG, "Maximum size of a layer.")
    layer_files_max: int = value(150_000, "files", 10, 10**7, _ENG, "Maximum files and folders of a layer.")
    layers_bytes_max: int = value(
        20_000_000_000, "bytes", 0, 10**14, _ENG, "Maximum size of all layers; those unused for longest go first."
    )
    layers_max: int = value(500, "layers", 0, 10**6, _ENG, "Maximum number of layers kept.")
    collect_every_s: int = value(300, "seconds", 1, _DAY_S, _ENG, "How often layers are collected.")
    build_wall_s: int = value(300, "seconds", 1, 3_600, _ENG, "Time limit of a build command.")
    built_bytes_max: int = value(
        300_000_000, "bytes", 1_000, 10**10, _ENG, "Maximum size of what a build command adds to a tree."
    )
    built_files_max: int = value(9_000, "files", 1, 10**6, _ENG, "Maximum files that a build command adds.")


@dataclass(frozen=True, slots=True)
class MarketPolicy:
    """Skills, bids, bonds, second reviews, and how long the bytes of closed jobs are kept."""

    skill_bytes_max: int = value(2_000_000, "bytes", 1_000, 20_000_000, _ENG, "Maximum size of a skill's files.")
    skill_files_max: int = value(200, "files", 1, 10_000, _ENG, "Maximum files of a skill.")
    skill_name_chars_max: int = value(60, "characters", 1, 200, _ENG, "Maximum length of a skill's name or version.")
    skill_description_chars_max: int = value(500, "characters", 1, 5_000, _ENG, "Maximum length of its description.")
    skills_per_creator_max: int = value(1_000, "skills", 1, 100_000, _ENG, "Maximum skills of one creator.")

    hidden_window: int = value(
        20, "deliveries", 1, 1_000, _SPEC, "A provider's last verified deliveries whose hidden failures are counted."
    )
    hidden_failures_bps: int = value(
        2_000, _BPS, 0, 10_000, _SPEC,
        "While hidden failures are at most this share of the window, their fee goes to the provider, else to the"
        " verifier fund.",
    )  # fmt: skip

    bond_rounds_every_s: int = value(60, "seconds", 1, _DAY_S, _ENG, "Interval of checks for bonds to give back.")

    second_review_s: int = value(
        1_800, "seconds", 60, _DAY_S, _ENG, "Time for finding a second reviewer and for its review, together."
    )
    second_review_severity: int = value(
        2, "rank", 1, 5, _ENG,
        "A finding blocks if it is at least as severe: 1 critical, 2 high, 3 medium, 4 low, 5 info.",
    )  # fmt: skip
    second_review_tries: int = value(2, "attempts", 1, 20, _ENG, "Maximum reviewers that are asked one after another.")

    retention_s: int = value(
        90 * _DAY_S, "seconds", 8 * _DAY_S, 3_660 * _DAY_S, _ENG,
        "Time after which inputs, artifacts and trajectories of a closed job are removed; hashes, verdicts and"
        " receipts stay.",
    )  # fmt: skip
    retention_every_s: int = value(300, "seconds", 1, _DAY_S, _ENG, "Interval of checks for jobs to remove.")
    retention_jobs_max: int = value(100, "jobs", 1, 10_000, _ENG, "Maximum jobs whose bytes are removed in a round.")
    keep_msat_mb_month: int = value(
        1_000, _MSAT, 0, 10**9, _ENG, "Price of keeping a megabyte of a closed job for 30 days longer."
    )
    keep_msat_min: int = value(1_000, _MSAT, 1, 10**9, _ENG, "Minimum price of keeping a job longer.")
    keep_days_max: int = value(3_650, "days", 1, 36_500, _ENG, "Maximum days that a job is kept longer at a time.")


SECTIONS = {
    "bazaar": BazaarPolicy,
    "environments": EnvironmentsPolicy,
    "providers": ProvidersPolicy,
    "verification": VerificationPolicy,
    "workers": WorkersPolicy,
    "market": MarketPolicy,
}
