"""What goes into verification and how its findings are gathered.

An `Order` is everything the verifier needs to know of a job, a `Delivery` everything that a provider handed in. No
database, no network: the same order and delivery can be verified again by anyone who has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from choir.bazaar.contracts import HiddenChecks, JobResult, Request
from choir.bazaar.jobs.model import Check, JobType, Level, Verdict, Visibility
from choir.foundation.canonical import ObjectHash, canonical_hash
from choir.foundation.errors import ChoirError
from choir.sandbox.model import Result, Spec


class Runs(Protocol):
    """Whoever runs specs in a sandbox."""

    def run(self, spec: Spec, on_output: None = None, cancelled: Callable[[], bool] = ...) -> Result: ...


@dataclass(frozen=True, slots=True)
class Order:
    """What was ordered."""

    type: JobType
    request: Request
    repository: Path | None = None  # a git bundle on disk that holds the base commit
    diff: bytes | None = None  # what is to be reviewed
    hidden: HiddenChecks | None = None  # as revealed to the node


@dataclass(frozen=True, slots=True)
class Delivery:
    """What was handed in."""

    artifact: bytes
    claimed_hash: ObjectHash
    result: JobResult
    trajectory: bytes | None = None  # checked elsewhere


class Cancelled(ChoirError):
    """Verification was stopped from outside; there is no verdict."""

    code = "bazaar.verification_cancelled"
    sentence = "The verification was stopped before it had a verdict."


class Failed(Exception):
    """A check failed and nothing after it can be looked at. Never leaves this package."""


@dataclass(slots=True)
class Findings:
    """The checks as they are made. The first failed one of the visible kind ends the visible part."""

    tier: str = ""
    units_milli: int = 0
    checks: list[Check] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    level: Level | None = None
    strengths: dict[str, dict[str, int]] = field(default_factory=dict)
    loose: int = 0  # hidden tests that could be held, and tell no values apart with this delivery
    signs: tuple[str, ...] = ()
    lines_added: int = 0
    lines_deleted: int = 0
    mutants: tuple[int, int] | None = None

    def add(
        self,
        name: str,
        reason: str = "",
        details: str = "",
        evidence: dict[str, Any] | None = None,
        visibility: Visibility = Visibility.VISIBLE,
    ) -> bool:
        """Record a check; it passed if there is no reason against it."""
        atom = None if evidence is None else {"check": name, **evidence}
        if atom is not None:
            self.evidence.append(atom)
        hashed = None if atom is None else canonical_hash(atom)
        self.checks.append(Check(name, not reason, reason, details, hashed, visibility))
        return not reason

    def need(self, name: str, reason: str = "", details: str = "", evidence: dict[str, Any] | None = None) -> None:
        """Record a check without which the rest makes no sense."""
        if not self.add(name, reason, details, evidence):
            raise Failed

    def verdict(self) -> Verdict:
        """Units are measured where every visible check passed: a part of the price is due there in any case."""
        passed = bool(self.checks) and all(check.passed for check in self.checks)
        found = Verdict(
            passed,
            tuple(self.checks),
            self.units_milli,
            self.tier or "none",
            tuple(self.evidence),
            level=self.level if passed else None,
            strengths=self.strengths,
            signs=self.signs,
            lines_added=self.lines_added,
            lines_deleted=self.lines_deleted,
            mutants=self.mutants,
        )
        return found if found.visible_passed else replace(found, units_milli=0)
