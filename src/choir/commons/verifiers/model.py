"""What a verifier says: one finding for each check, in words and in data, and what a binding's findings come to.

Levels are shown apart, as each proves something else: L0, the source is the very bytes that its name says and its
text is reproducible from them; L1, the extract is a span of that text; L2, numbers, dates, units, names, negation
and the rest of the wording agree; L3, a named judge model finds that the extract entails the claim.

Guarantee: what a check cannot decide is `UNDECIDED`, and `UNDECIDED` never counts as verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """What is proved by a check that passes."""

    L0 = "L0"
    L1 = "L1"
    L2 = "L2"
    L3 = "L3"


class Outcome(StrEnum):
    """What a check came to."""

    PASS = "pass"
    FAIL = "fail"
    UNDECIDED = "undecided"
    NOT_JUDGED = "not_judged"  # nobody was asked: there is no judge


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """What one check saw."""

    level: Level
    check: str  # such as "numbers", "negation", "coverage"
    outcome: Outcome
    words: str  # for people: one sentence that names what was compared
    data: dict[str, Any] = field(default_factory=dict)  # for machines: JSON, without floats


@dataclass(frozen=True, slots=True)
class Verification:
    """All findings about one binding, by one version of the verifiers."""

    version: str
    findings: tuple[CheckFinding, ...]

    def at(self, level: Level) -> Outcome:
        """What a level came to: the worst of its checks."""
        return worst([item.outcome for item in self.findings if item.level is level])

    @property
    def verified(self) -> Level | None:
        """The highest level that passed, all below it having passed too; None: not even L0."""
        reached: Level | None = None
        for level in Level:
            if self.at(level) is not Outcome.PASS:
                return reached
            reached = level
        return reached

    @property
    def failed(self) -> bool:
        return any(item.outcome is Outcome.FAIL for item in self.findings)


_WORST_FIRST = (Outcome.FAIL, Outcome.UNDECIDED, Outcome.NOT_JUDGED, Outcome.PASS)


def worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The worst of several; of none: not judged."""
    return next((item for item in _WORST_FIRST if item in outcomes), Outcome.NOT_JUDGED)
