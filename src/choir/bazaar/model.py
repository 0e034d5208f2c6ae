"""Jobs: what kinds of work are sold, which states a job has, and what a verdict says.

A buyer orders work with a budget that is held; a provider delivers an artifact; the node verifies it in a
sandbox that the provider never touched; only then money moves. Every transition is an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from choir.foundation.canonical import ObjectHash


class JobType(StrEnum):
    """What can be ordered; the numbers are those of the Nostr kinds (a result's is 1000 higher)."""

    PATCH_GEN = "patch_gen"
    CODE_REVIEW = "code_review"
    SANDBOX_RUN = "sandbox_run"
    TEXT_GEN = "text_gen"

    @property
    def request_kind(self) -> int:
        return _KINDS[self]

    @property
    def result_kind(self) -> int:
        return _KINDS[self] + 1000


_KINDS = {JobType.SANDBOX_RUN: 5930, JobType.PATCH_GEN: 5932, JobType.CODE_REVIEW: 5933, JobType.TEXT_GEN: 5050}


class Unit(StrEnum):
    """What a price counts besides its base. Units are measured by the verifier or fixed at assignment."""

    FILE = "file"
    THOUSAND_TOKENS = "thousand_tokens"
    CPU_SECOND = "cpu_second"


UNITS = {
    JobType.PATCH_GEN: Unit.FILE,
    JobType.CODE_REVIEW: Unit.FILE,
    JobType.SANDBOX_RUN: Unit.CPU_SECOND,
    JobType.TEXT_GEN: Unit.THOUSAND_TOKENS,
}


class Visibility(StrEnum):
    """Who decides by a check: failing a hidden one alone costs the buyer a fee."""

    VISIBLE = "visible"
    HIDDEN = "hidden"


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at. `reason` is a stable code such as "patch.does_not_apply"; empty if passed."""

    name: str
    passed: bool
    reason: str = ""
    details: str = ""  # a sentence for people; never a piece of the artifact or of its output
    evidence: ObjectHash | None = None  # of a JSON atom with what was seen
    visibility: Visibility = Visibility.VISIBLE


@dataclass(frozen=True, slots=True)
class Verdict:
    """What verification found. Anyone who may read the inputs can compute it again."""

    passed: bool
    checks: tuple[Check, ...]
    units_milli: int  # measured by us, in thousandths of the job type's unit
    tier: str  # the sandbox it was checked in
    evidence: tuple[dict[str, Any], ...] = ()  # the atoms behind the checks' hashes

    @property
    def visible_passed(self) -> bool:
        return all(check.passed for check in self.checks if check.visibility is Visibility.VISIBLE)

    @property
    def reason(self) -> str:
        """Why it failed: the first failed check's code."""
        return next((check.reason for check in self.checks if not check.passed), "")
