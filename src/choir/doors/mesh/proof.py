"""What a verdict rests on, said in a sentence: whether a run was run again, what proof a patch's tests gave.

Guarantees: pure; nothing is called verified that only is as its provider says; the level is the verdict's own, or for
verdicts from before levels the one that its checks show, whatever was hoped for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from choir.bazaar.jobs.model import JobType, Level, Strength
from choir.doors.mesh.model import Check
from choir.foundation.words import count

NOT_RUN_AGAIN = "Not run again"  # how the verifier's sentence about a run begins that it took as it came
_BY_EXIT_CODE = "tests by exit code"
SIGNS = "Signs to look at, no reason to refuse"
_SIDES = ("visible", "hidden")
MEANS = {
    Level.V1: "only that the test command exits with code 0, which the patched code can force",
    Level.V2: "a report of exactly your tests; a provider can tailor its patch to them",
    Level.V3: "hidden checks that no provider saw, held from outside the tested process",
    Level.V4: "checks outside of the tested process that only the verifier knew, in more than one setting",
}
HELD = {
    Strength.OUTSIDE: "with values that never entered the tested process",
    Strength.BLIND: "that noticed changed values",
    Strength.CONTRADICTION: "that only showed that failures are reported",
    Strength.NONE: "not controlled",
}
_DETERMINISTIC = "If the output is reproducible, order with --deterministic: then verifiers may re-run it."


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked at, whether that proves the work, and how to have more of it next time."""

    word: str  # "Verified", or "Accepted" where what counts is the provider's word
    checked: str
    more: str = ""
    signs: tuple[str, ...] = ()  # what a reader of the patch may want to look at; no reason to refuse it


@dataclass(frozen=True, slots=True)
class Sureness:
    """What a verdict on a patch says about itself; nothing where it is from before verdicts did."""

    level: str = ""
    strengths: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    signs: tuple[str, ...] = ()
    lines: tuple[int, int] | None = None  # added, deleted
    mutants: tuple[int, int] | None = None  # noticed, made

    @classmethod
    def of(cls, verdict: Mapping[str, Any] | None) -> Sureness:
        """Read from a verdict object, whatever its node has written there."""
        found = verdict or {}
        signs = found.get("signs")
        return cls(
            level=found["level"] if found.get("level") in list(Level) else "",
            strengths={side: _counts(found.get("strengths"), side) for side in _SIDES},
            signs=tuple(map(str, signs)) if isinstance(signs, list) else (),
            lines=_pair(found.get("lines"), "added", "deleted"),
            mutants=_pair(found.get("mutants"), "noticed", "made"),
        )

    def told(self) -> list[tuple[str, str]]:
        """Each of these with its name, in words."""
        shown = [("level", f"{self.level}: {MEANS[Level(self.level)]}")] if self.level else []
        shown += [(f"{side} tests", counted) for side in _SIDES if (counted := self.tests(side))]
        if self.mutants is not None:
            shown.append(("mutants", f"the tests noticed {self.mutants[0]} of {self.mutants[1]}"))
        if self.lines is not None:
            shown.append(("lines", f"{self.lines[0]} added, {self.lines[1]} deleted"))
        return shown + ([(SIGNS, "; ".join(self.signs))] if self.signs else [])

    def tests(self, side: str) -> str:
        """How the tests of one side were held: "12 hidden tests, 9 of them with …"."""
        counts = self.strengths.get(side, {})
        held = [(counts[strength], HELD[strength]) for strength in Strength if counts.get(strength)]
        if not held:
            return ""
        named = count(sum(number for number, _ in held), f"{side} test")
        if len(held) == 1:
            return f"{named}, {'' if held[0][0] == 1 else 'all '}{held[0][1]}"
        first, *others = [f"{number} {how}" for number, how in held]
        return f"{named}, {first.replace(' ', ' of them ', 1)}, {', '.join(others)}"


def _counts(value: Any, side: str) -> dict[str, int]:
    counts = value.get(side) if isinstance(value, Mapping) else None
    if not isinstance(counts, Mapping):
        return {}
    return {name: counts[name] for name in Strength if type(counts.get(name)) is int and counts[name] > 0}


def _pair(value: Any, one: str, other: str) -> tuple[int, int] | None:
    found = (value.get(one), value.get(other)) if isinstance(value, Mapping) else (None, None)
    return (found[0], found[1]) if type(found[0]) is int and type(found[1]) is int else None


def proof_of(type_: JobType, checks: Sequence[Check], verdict: Mapping[str, Any] | None = None) -> Proof:
    """What these checks of a passed verdict amount to; with the verdict itself, at the level that it says."""
    if type_ is JobType.SANDBOX_RUN:
        return _of_run(checks)
    if type_ is JobType.PATCH_GEN:
        sure = Sureness.of(verdict)
        return _at_level(sure) if sure.level else _of_patch(checks)
    if type_ is JobType.CODE_REVIEW:
        return Proof("Accepted", "the review's shape and its references; not whether it is right")
    if type_ is JobType.REPO_INDEX:
        again = next((check for check in checks if check.name == "indexed again"), None)
        return Proof("Verified", f"its files, and samples of its symbols and references{_sampled(again)}")
    return Proof("Accepted", "the text's length and shape, not its content")


def _sampled(again: Check | None) -> str:
    return f"; {again.details[:1].lower()}{again.details[1:].rstrip('.')}" if again and again.details else ""


def is_left_out(check: Check) -> bool:
    """Whether nothing was done: a run that is not deterministic, or was not drawn, is not run again."""
    return check.passed and check.details.startswith(NOT_RUN_AGAIN)


def _of_run(checks: Sequence[Check]) -> Proof:
    again = next((check for check in checks if check.name == "re-run"), None)
    if again is not None and not is_left_out(again):
        return Proof("Verified", "the node re-ran it and got the same output and exit code")
    claimed = "exit code and output hash are as claimed by the provider; not re-run"
    drawn = again is not None and "not drawn" in again.details
    why, more = ("only a random sample is", "") if drawn else ("it was not ordered as deterministic", _DETERMINISTIC)
    return Proof("Accepted", f"{claimed} ({why})", more)


def _at_level(sure: Sureness) -> Proof:
    """A patch whose verdict says how sure it is."""
    level = Level(sure.level)
    tests = [counted for side in ("hidden", "visible") if (counted := sure.tests(side))]
    noticed = [f"{sure.mutants[0]} of {count(sure.mutants[1], 'mutant')} noticed"] if sure.mutants else []
    checked = "; ".join([f"{level}: {MEANS[level]}", *tests, *noticed])
    word = "Accepted" if level is Level.V1 else "Verified"
    return Proof(word, checked, MORE_PROOF if level is Level.V1 else "", sure.signs)


def _of_patch(checks: Sequence[Check]) -> Proof:
    """Of verdicts from before they named a level: what the names of their checks show."""
    hidden = any(check.hidden for check in checks)
    if any(check.name == _BY_EXIT_CODE for check in checks):
        proof = "only that the test command exits with code 0, which the patched code can force"
        if hidden:
            return Proof("Verified", f"{proof}, and hidden checks (V3)")
        return Proof("Accepted", f"{proof}: a weak verdict (V1)", MORE_PROOF)
    if hidden:
        return Proof("Verified", "a report of each of your tests, and hidden checks (V3)")
    return Proof("Verified", "a report of each of your tests (V2); a provider can tailor its patch to them")


MORE_PROOF = (
    "For more: a pytest or unittest command gives a report of each test (V2); --hidden adds tests that no provider"
    " sees (V3); --hidden-check with --expect compares what your program prints outside of it (V4)."
)
