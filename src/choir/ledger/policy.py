"""Numbers of the ledger: sizes, windows and limits, and how money is issued."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import PAGE_ROWS_MOST, value

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class LedgerPolicy:
    """What an entry, a batch and a hold may be; how often checkpoints are signed."""

    batch_entries_max: int = value(10_000, "entries", 1, 100_000, "spec: node limits", "Most entries in one batch.")
    entry_legs_max: int = value(100, "legs", 1, 1_000, "engineering", "Most legs in one entry.")
    entry_refs_max: int = value(32, "references", 20, 1_000, "engineering", "Most references on one entry.")
    text_chars_max: int = value(
        200, "characters", 100, 300, "engineering", "Longest reason, source, key or reference on an entry."
    )
    memo_chars_max: int = value(2_000, "characters", 0, 20_000, "engineering", "Longest memo beside an entry.")
    hold_s_max: int = value(
        366 * 86_400, "seconds", 60, 10 * 366 * 86_400, "engineering", "Longest time a hold may be open."
    )
    checkpoint_s: int = value(
        60, "seconds", 1, 86_400, "engineering", "How often a checkpoint is signed when there is something new."
    )
    liabilities_every_s: int = value(
        86_400,
        "seconds",
        0,
        366 * 86_400,
        "engineering",
        "How often what is owed is counted and signed when there are new entries; 0: only when an operator asks.",
    )
    liabilities_wait_s: int = value(
        5, "seconds", 0, 60, "engineering", "How long whoever asks what is owed waits before being told to come back."
    )
    liabilities_kept: int = value(
        12, "snapshots", 1, 1_000, "engineering", "Snapshots of what is owed from which proofs can still be made."
    )
    aidollar_lines_max: int = value(
        20_000,
        "lines",
        1,
        1_000_000,
        "engineering",
        "Most lines of an ai$ file that come in at once; all other entries wait while they are posted.",
    )
    aidollar_bytes_max: int = value(
        20_000_000,
        "bytes",
        1,
        1_000_000_000,
        "engineering",
        "Largest ai$ file; it is kept in memory.",
    )
    page_rows_max: int = value(1_000, "rows", 1, PAGE_ROWS_MOST, "engineering", "Most rows on one page of a listing.")
    remembered_accounts_max: int = value(
        200_000, "accounts", 0, 5_000_000, "engineering", "Balances that a process remembers between commits; 0: none."
    )
    submit_batch_entries_max: int = value(
        1_000, "entries", 1, 10_000, "engineering", "Most waiting single entries that share one commit."
    )
    expire_every_s: int = value(
        1, "seconds", 1, 3_600, "engineering", "How often holds are looked for whose time is over."
    )


def _operators(default: int, doc: str) -> int:
    number: int = value(
        default, "operators", 0, 5, "spec: who may issue is policy", f"{doc} 0: nobody; from 1 on never fewer than two."
    )
    return number


@dataclass(frozen=True, slots=True)
class IssuingPolicy:
    """How many operators must agree to issue an asset, or to bring it in from outside without a rail."""

    credit_operators: int = _operators(2, "Operators that must agree to issue CREDIT.")
    aid_operators: int = _operators(2, "Operators that must agree to issue AID.")
    chip_operators: int = _operators(
        0, "Operators that must agree to issue CHIP, which else comes from its genesis and the emission budget alone."
    )
    usdc_operators: int = _operators(2, "Operators that must agree to bring in USDC that no rail has seen.")
    sat_operators: int = _operators(2, "Operators that must agree to bring in SAT that no rail has seen.")
    usd_operators: int = _operators(2, "Operators that must agree to bring in USD that no rail has seen.")
    proposal_s: int = value(
        7 * _DAY_S, "seconds", 60, 90 * _DAY_S, "engineering", "How long a proposal can be approved."
    )
    open_max: int = value(100, "issuances", 1, 1_000, "engineering", "Most proposals that wait for approval at once.")


SECTIONS = {"ledger": LedgerPolicy, "issuing": IssuingPolicy}
