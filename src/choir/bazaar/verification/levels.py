"""How sure a verdict is: V1 an exit code, V2 a report, V3 hidden checks that are held, V4 outside checks twice. Pure.

Whoever knows every test can answer exactly them, so nothing is above V2 without hidden checks. Nor is it where hidden
tests expect values and hold whatever these are: that they pass shows nothing.
"""

from __future__ import annotations

import re

from choir.bazaar.contracts import Evidence, HiddenChecks, PatchGenRequest
from choir.bazaar.contracts.commands import parse_tests
from choir.bazaar.jobs.model import Level, Strength
from choir.bazaar.verification.controlled.reading import read_suite
from choir.bazaar.verification.model import Findings

HIDDEN = "hidden"
SCRIPTS = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_SCRIPT_ASSERTION = re.compile(rb"\b(strictEqual|deepStrictEqual|equal|deepEqual|toBe|toEqual|toStrictEqual)\s*\(")
LACKING = {
    Level.V2: "for V2, the test command must be pytest or unittest",
    Level.V3: "for V3, hidden tests need values that they expect, or a hidden check needs an expected output",
    Level.V4: "for V4, a hidden check needs an expected output",
}


def level_of(request: PatchGenRequest, hidden: HiddenChecks | None, findings: Findings) -> Level:
    """What the checks of a passed delivery showed."""
    visible = Level.V1 if request.evidence is Evidence.EXIT_CODE else Level.V2
    if hidden is None or findings.loose:
        return visible
    outside = has_outside_check(hidden)
    if outside and request.level is Level.V4:
        return Level.V4
    counts = findings.strengths.get(HIDDEN, {})
    held = counts.get(Strength.OUTSIDE.value, 0) + counts.get(Strength.BLIND.value, 0)
    return Level.V3 if outside or held else visible


def best_level(request: PatchGenRequest, hidden: HiddenChecks | None) -> Level:
    """The most that an order's own checks can show, whatever is delivered."""
    if hidden is None:
        return Level.V1 if request.evidence is Evidence.EXIT_CODE else Level.V2
    if has_outside_check(hidden):
        return Level.V4
    held = any(_can_be_held(file.path, file.content) for file in hidden.files)
    tests = any(parse_tests(check.command) is not None for check in hidden.checks)
    return Level.V3 if held and tests else Level.V2


def _can_be_held(path: str, content: bytes) -> bool:
    """Whether a test file has an assertion that can be held; of JavaScript, by the look of it."""
    if path.endswith(SCRIPTS):
        return _SCRIPT_ASSERTION.search(content) is not None
    sites = read_suite(content).sites if path.endswith(".py") else ()
    return any(site.changes or (site.observation is not None and site.observation.counts) for site in sites)


def has_outside_check(hidden: HiddenChecks) -> bool:
    """Whether a hidden command's output is compared outside of all tested code."""
    return any(check.output_sha256 and parse_tests(check.command) is None for check in hidden.checks)
