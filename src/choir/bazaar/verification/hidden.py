"""Hidden checks: run after every visible check has passed, several times each; one pass is enough.

Their files lie over the patched tree, in which all that decides is the buyer's again. Their commands, files and output
never go into a check's sentence or evidence, only hashes do.
"""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, PatchGenRequest
from choir.bazaar.contracts.commands import parse_tests
from choir.bazaar.jobs.model import Visibility
from choir.bazaar.verification.expectations import ExpectedOutcome, judge, statics_of
from choir.bazaar.verification.model import Findings
from choir.bazaar.verification.reports import Report
from choir.bazaar.verification.test_runs import Bench
from choir.bazaar.verification.trees import Entry, put
from choir.foundation.canonical import bytes_hash


def run(hidden: HiddenChecks, tree: Path, request: PatchGenRequest, bench: Bench, findings: Findings) -> None:
    """All hidden checks. The tree is the caller's last use of it: hidden files stay in it."""
    for item in hidden.files:
        put(tree, item.path, Entry(item.content))
    for place, check in enumerate(hidden.checks):
        named = [item.path for item in hidden.files if PurePosixPath(item.path).name in check.command]
        statics, codes = statics_of(tree, named), bench.codes(tree, named)
        faults, last = [], None
        for _ in range(bench.policy.hidden_runs):
            last = bench.run(tree, check.command, request.subdir)
            faults.append(
                _fault(check, ExpectedOutcome(frozenset(last.collected), statics, frozenset(), {}, codes), last)
            )
            if not faults[-1][0]:
                break
        reason, sentence = faults[-1]
        assert last is not None
        evidence = {"command": bytes_hash((hidden.salt + check.command).encode()), "runs": len(faults)}
        findings.add(f"hidden check {place + 1}", reason, sentence, evidence | last.summary(), Visibility.HIDDEN)


def _fault(check: HiddenCheck, expected: ExpectedOutcome, report: Report) -> tuple[str, str]:
    if parse_tests(check.command) is not None:
        good = bool(report.collected) and not judge(expected, report)[0]
    else:
        good = report.ended_well
    if good and check.output_sha256:
        good = report.stdout_sha256 == check.output_sha256
    return ("", "") if good else ("hidden.failed", "A hidden check failed in every one of its runs.")
