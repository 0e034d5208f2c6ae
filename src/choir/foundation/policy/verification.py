"""Limits and measures of verification: what an order may ask for, what a delivery may be, how it is looked at."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy.values import value

_ENG = "engineering"


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
