"""Numbers of the ledger: sizes, windows and limits, and how money is issued."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import PAGE_ROWS_MOST, value

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class LedgerPolicy:
    """What an entry, a batch and a hold may be; how often checkpoints are signed."""

    batch_entries_max: int = value(10_000, "entries", 1, 100_000, "spec: node limits", "Maximum entries in one batch.")
    entry_legs_max: int = value(100, "legs", 1, 1_000, "engineering", "Maximum legs in one entry.")
    entry_refs_max: int = value(32, "references", 20, 1_000, "engineering", "Maximum references on one entry.")
    text_chars_max: int = value(
        200, "characters", 100, 300, "engineering", "Maximum length of a reason, source, key or reference on an entry."
    )
    memo_chars_max: int = value(2_000, "characters", 0, 20_000, "engineering", "Maximum length of an entry's memo.")
    hold_s_max: int = value(
        366 * 86_400, "seconds", 60, 10 * 366 * 86_400, "engineering", "Maximum lifetime of a hold."
    )
    checkpoint_s: int = value(
        60, "seconds", 1, 86_400, "engineering", "Interval of signed checkpoints when there are new entries."
    )
    liabilities_every_s: int = value(
        86_400,
        "seconds",
        0,
        366 * 86_400,
        "engineering",
        "Interval of signed liabilities when there are new entries; 0: only when an operator requests them.",
    )
    liabilities_wait_s: int = value(
        5,
        "seconds",
        0,
        60,
        "engineering",
        "How long a request for liabilities waits before the caller is told to retry.",
    )
    liabilities_kept: int = value(12, "snapshots", 1, 1_000, "engineering", "Snapshots of liabilities kept for proofs.")
    aidollar_lines_max: int = value(
        20_000,
        "lines",
        1,
        1_000_000,
        "engineering",
        "Maximum lines of an ai$ file per import; all other entries wait meanwhile.",
    )
    aidollar_bytes_max: int = value(
        20_000_000,
        "bytes",
        1,
        1_000_000_000,
        "engineering",
        "Maximum size of an ai$ file; it is kept in memory.",
    )
    page_rows_max: int = value(1_000, "rows", 1, PAGE_ROWS_MOST, "engineering", "Maximum rows per page.")
    supply_rows_max: int = value(
        2_000, "rows", 1, 100_000, "engineering", "Maximum open holds, and accounts of the node, that a page adds up."
    )
    search_rows_max: int = value(
        2_000, "rows", 1, 100_000, "engineering", "Maximum movements that one page of a search in a statement looks at."
    )
    download_rows_max: int = value(
        50_000, "rows", 1, 1_000_000, "engineering", "Maximum movements in a statement that is downloaded."
    )
    shown_rows: int = value(50, "rows", 1, PAGE_ROWS_MOST, "engineering", "Rows that a page of a listing shows people.")
    remembered_accounts_max: int = value(
        200_000, "accounts", 0, 5_000_000, "engineering", "Balances that a process caches between commits; 0: none."
    )
    submit_batch_entries_max: int = value(
        1_000, "entries", 1, 10_000, "engineering", "Maximum waiting single entries that share one commit."
    )
    expire_every_s: int = value(1, "seconds", 1, 3_600, "engineering", "Interval of checks for expired holds.")


def _operators(default: int, doc: str) -> int:
    number: int = value(
        default, "operators", 0, 5, "spec: who may issue is policy", f"{doc} 0: nobody may; from 1 on, at least two."
    )
    return number


@dataclass(frozen=True, slots=True)
class IssuingPolicy:
    """How many operators must agree to issue an asset, or to bring it in from outside without a rail."""

    credit_operators: int = _operators(2, "Operators that must approve issuing CREDIT.")
    aid_operators: int = _operators(2, "Operators that must approve issuing AID.")
    chip_operators: int = _operators(
        0,
        "Operators that must approve issuing CHIP, which otherwise comes only from its genesis and the emission"
        " budget.",
    )
    usdc_operators: int = _operators(2, "Operators that must approve USDC that no payment rail has confirmed.")
    sat_operators: int = _operators(2, "Operators that must approve SAT that no payment rail has confirmed.")
    usd_operators: int = _operators(2, "Operators that must approve USD that no payment rail has confirmed.")
    proposal_s: int = value(
        7 * _DAY_S, "seconds", 60, 90 * _DAY_S, "engineering", "Time for an issuance to be approved."
    )
    open_max: int = value(100, "issuances", 1, 1_000, "engineering", "Maximum issuances that await approval.")


SECTIONS = {"ledger": LedgerPolicy, "issuing": IssuingPolicy}
