"""What a second review is paid from, what in it blocks, and what that makes of a verdict: pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from choir.bazaar.contracts.reviews import Severity, StructuredReview
from choir.bazaar.contracts.terms import SecondReview
from choir.bazaar.jobs.model import Check, Job, Level, Verdict, Visibility, job_id
from choir.bazaar.policy import MarketPolicy
from choir.bazaar.seconds.model import BLOCKING, CHECK, MISSING, SecondOutcome
from choir.foundation.words import count
from choir.ledger import holds
from choir.ledger.model import Draft

_CAPTURES = 64
_RANKS = {severity: rank for rank, severity in enumerate(Severity, 1)}  # the most severe is the first


@dataclass(frozen=True, slots=True)
class SecondHold:
    """Money that is set aside for one second review."""

    id: UUID
    draft: Draft


def hold(source: str, job: Job, n: int, amount: int) -> SecondHold:
    """The hold for the second review of a job's n-th try, which ends with the job's own."""
    assert job.held_until_us is not None
    key = f"job-second:{job.key}:{n}"
    draft = holds.place(
        f"{job.buyer}/available/SAT",
        amount,
        expires_us=job.held_until_us,
        captures=_CAPTURES,
        reason="the second review of a job",
        source=source,
        key=key,
        refs=(job_id(job.id),),
    )
    return SecondHold(holds.placed_id(source, key), draft)


def blocking(review: StructuredReview, policy: MarketPolicy) -> int:
    """How many findings are severe enough and quote what they are about; that the quotes stand there was verified."""
    return sum(
        _RANKS[issue.severity] <= policy.second_review_severity and bool(issue.current.strip())
        for issue in review.issues
    )


def check(outcome: SecondOutcome, findings: int, blocking_: int, choice: SecondReview) -> Check:
    """The second review as a check of the verdict. It says how much was found and nothing of the work."""
    if outcome is SecondOutcome.NONE:
        good = choice is not SecondReview.REQUIRED
        return Check(CHECK, good, "" if good else MISSING, "No second reviewer was found in time.")
    if outcome is SecondOutcome.BLOCKING:
        said = f"{count(blocking_, 'finding')} of {findings} are severe enough to refuse the work."
        return Check(CHECK, passed=False, reason=BLOCKING, details=said)
    return Check(CHECK, passed=True, details=f"A second reviewer reported {count(findings, 'finding')}; none blocks.")


def with_check(atom: dict[str, Any], added: Check, shown: dict[str, Any]) -> dict[str, Any]:
    """A verdict with one more check; `shown` is that check as the verdict has it."""
    return {**atom, "passed": bool(atom["passed"]) and added.passed, "checks": [*atom["checks"], shown]}


def verdict_of(atom: dict[str, Any]) -> Verdict:
    """What is decided by, of a verdict that was kept."""
    checks = tuple(
        Check(
            one["name"],
            one["passed"],
            one.get("reason", ""),
            one.get("details", ""),
            one.get("evidence"),
            Visibility.HIDDEN if one.get("hidden") else Visibility.VISIBLE,
        )
        for one in atom["checks"]
    )
    lines, mutants = atom.get("lines", {}), atom.get("mutants")
    return Verdict(
        bool(atom["passed"]),
        checks,
        int(atom["units_milli"]),
        atom["sandbox"],
        level=Level(atom["level"]) if "level" in atom else None,
        strengths=atom.get("strengths", {}),
        signs=tuple(atom.get("signs", ())),
        lines_added=int(lines.get("added", 0)),
        lines_deleted=int(lines.get("deleted", 0)),
        mutants=None if mutants is None else (int(mutants["noticed"]), int(mutants["made"])),
    )
