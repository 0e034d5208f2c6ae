"""The negative control: can tests still fail in the patched tree, and do they pass where the runner hides?

Every deciding test is run twice more. Once it is made to fail after its body; a report that it passed means that the
tested code has the runner in its hands. Once it is run disguised, without the runner's names in sight; a test that
passes only in front of the runner means that the code asks who is looking. Which half is which is drawn at random.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from choir.bazaar.verification.reports import Outcome, Report
from choir.bazaar.verification.test_runs import Bench, Control

Fault = tuple[str, str]
_SUBVERTED: Fault = ("tests.runner_subverted", "A test that was made to fail is not reported as failed.")
_BOUND: Fault = ("tests.depends_on_runner", "Tests pass only where the code can detect that it is being tested.")


def fault(bench: Bench, tree: Path, command: str, subdir: str, passed: Sequence[str]) -> Fault:
    """The reason that the control gives against a run in which these tests passed."""
    first, second = _halves(bench, passed)
    for chosen, others in ((first, second), (second, first)):
        found = _one(bench, tree, command, subdir, chosen, others)
        if found[0]:
            return found
    return "", ""


def _one(bench: Bench, tree: Path, command: str, subdir: str, chosen: set[str], others: set[str]) -> Fault:
    """A half that must fail beside a half that must pass. Only the second is tried again: it may be flaky."""
    suspects = set(others)
    for _ in range(bench.policy.control_runs_max):
        salt = bench.entropy.bytes(16)
        fail = frozenset(hashlib.sha256(salt + node.encode()).hexdigest() for node in chosen)
        report = bench.run(tree, command, subdir, control=Control(salt, fail, disguised=True))
        if not _all_failed(report, chosen):
            return _SUBVERTED
        suspects -= set(report.with_outcome(Outcome.PASSED))
        if not suspects:
            return "", ""
    return _BOUND


def _all_failed(report: Report, chosen: set[str]) -> bool:
    """Each chosen test is reported as failed by a run that came to its end, and the code says so too."""
    whole = report.stated and report.sealed and report.end_code == report.exit_code
    failed = set(report.with_outcome(Outcome.FAILED))
    return whole and chosen <= failed and (not chosen or report.exit_code == 1)


def _halves(bench: Bench, passed: Sequence[str]) -> tuple[set[str], set[str]]:
    salt = bench.entropy.bytes(16)
    drawn = sorted(passed, key=lambda node: hashlib.sha256(salt + node.encode()).digest())
    middle = (len(drawn) + 1) // 2
    return set(drawn[:middle]), set(drawn[middle:])
