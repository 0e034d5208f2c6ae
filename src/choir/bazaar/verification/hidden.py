"""Hidden checks: run after every visible check has passed, several times where they fail; one pass is enough.

Their files lie over the patched tree, in which all that decides is the buyer's again. Hidden tests are controlled: the
originals never enter a sandbox with a delivery, and what they expect stays outside where it can. Their commands, files
and output never go into a check's sentence or evidence, only hashes do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, PatchGenRequest
from choir.bazaar.contracts.commands import TestCommand, parse_tests
from choir.bazaar.jobs.model import Strength, Visibility
from choir.bazaar.verification.bases import BaseTree
from choir.bazaar.verification.controlled.draws import Known
from choir.bazaar.verification.controlled.judging import TestName, test_of
from choir.bazaar.verification.controlled.runs import Controlled, Tests, can_control, control, read_suites
from choir.bazaar.verification.expectations import chooses, expected_from, judge, may_skip_in
from choir.bazaar.verification.levels import HIDDEN
from choir.bazaar.verification.model import Findings
from choir.bazaar.verification.outside import run_check
from choir.bazaar.verification.reports import Outcome, Report
from choir.bazaar.verification.test_runs import Bench
from choir.bazaar.verification.trees import Entry, lay_out, put
from choir.foundation.canonical import bytes_hash

Fault = tuple[str, str]
_FAILED: Fault = ("hidden.failed", "A hidden check failed in every one of its runs.")


def run(
    hidden: HiddenChecks, tree: Path, base: BaseTree, request: PatchGenRequest, bench: Bench, findings: Findings
) -> None:
    """All hidden checks."""
    counts: Counter[str] = Counter()
    place = lay_out(tree, tree.with_name("hidden"))
    for item in hidden.files:
        put(place, item.path, Entry(item.content))
    work = _Work(hidden, place, base, request, bench)
    for number, check in enumerate(hidden.checks):
        parsed = parse_tests(check.command)
        if parsed is None:
            found = work.outside(check)
        elif can_control(parsed.runner):
            found = work.tests(check, parsed, more=bool(findings.signs))
        else:
            found = work.plain_tests(check)
        counts.update(found.strengths)
        findings.loose += found.loose
        name = bytes_hash((hidden.salt + check.command).encode())
        evidence = {"command": name, "strengths": dict(found.strengths)} | dict(found.facts)
        findings.add(f"hidden check {number + 1}", *found.fault, evidence, Visibility.HIDDEN)
    findings.strengths[HIDDEN] = {kind.value: counts[kind.value] for kind in Strength}


@dataclass(frozen=True, slots=True)
class _Found:
    fault: Fault
    strengths: Mapping[str, int]
    facts: Mapping[str, object]
    loose: int = 0


@dataclass(frozen=True, slots=True)
class _Work:
    hidden: HiddenChecks
    tree: Path
    base: BaseTree
    request: PatchGenRequest
    bench: Bench

    def outside(self, check: HiddenCheck) -> _Found:
        """A command: what it writes, or, where nothing is said of that, that it ends with code 0."""
        for _ in range(self.bench.policy.hidden_runs):
            if check.output_sha256:
                found = run_check(self.bench, self.tree, check.command, check.output_sha256, self.request)
                good, facts = not found.fault[0], found.evidence(check.command, self.hidden.salt)
            else:
                report = self.bench.run(self.tree, check.command, self.request.subdir)
                good, facts = report.ended_well, report.summary()
            if good:
                break
        return _Found(("", "") if good else _FAILED, {}, facts)

    def tests(self, check: HiddenCheck, parsed: TestCommand, *, more: bool) -> _Found:
        """Tests, in control runs only. A failure may be flaky and is tried again; a cheat is not."""
        tests = self._expected(check, parsed)
        report, known = self._known(tests)
        tests = _with_counts(tests, report)
        for again in range(self.bench.policy.hidden_runs):  # whoever tries again to guess has more to guess
            found = control(self.bench, self.tree, tests, known, more + again, self.bench.policy.control_pairs_min)
            if not found.fault[0] or found.fault[0].startswith("cheat."):
                break
        return _Found(_told(found), found.counts(), {}, len(found.loose))

    def plain_tests(self, check: HiddenCheck) -> _Found:
        """Tests of a runner whose tests cannot be rewritten: all that they report must have passed."""
        base = self.base.hidden_report(self.bench, check.command, self.request.subdir, self._files())
        expected = expected_from(self.tree, check.command, self.request.subdir, base)
        for _ in range(self.bench.policy.hidden_runs):
            report = self.bench.run(self.tree, check.command, self.request.subdir)
            good = bool(report.collected) and not judge(expected, report)[0]
            if good:
                break
        count = len(report.with_outcome(Outcome.PASSED))
        return _Found(("", "") if good else _FAILED, {Strength.NONE.value: count}, report.summary())

    def _files(self) -> dict[str, bytes]:
        return {item.path: item.content for item in self.hidden.files}

    def _expected(self, check: HiddenCheck, parsed: TestCommand) -> Tests:
        """The tests that must be reported: those that can be read in the hidden files that the command names.

        The other hidden files are rewritten with them: no run holds an original.
        """
        names = [item.path for item in self.hidden.files]
        named = [path for path in names if PurePosixPath(path).name in check.command] or names
        suites = read_suites(self.bench, self.tree, names, check.command)
        expected = {(path, test.name): 1 for path in named if path in suites for test in suites[path].tests}
        skips = frozenset(name for name in expected if may_skip_in(suites[name[0]].source, name[1]))
        chosen = _chosen(expected, parsed.arguments) if chooses(parsed.arguments) else expected
        return Tests(check.command, self.request.subdir, suites, chosen, skips)

    def _known(self, tests: Tests) -> tuple[Report, Mapping[str, Known]]:
        return self.base.known_hidden(self.bench, tests, self._files())


def _chosen(expected: Mapping[TestName, int], arguments: Sequence[str]) -> dict[TestName, int]:
    """Those that a command chooses by their names; none where it chooses in another way."""
    names = [word.partition("[")[0].partition("::") for word in arguments if "::" in word and not word.startswith("-")]
    if len(names) < sum(chooses([word]) for word in arguments):
        return {}
    return {
        (file, test): least
        for (file, test), least in expected.items()
        if any(file.endswith(path) and f"{test}::".startswith(f"{name}::") for path, _, name in names)
    }


def _with_counts(tests: Tests, report: Report) -> Tests:
    """How often each test runs, and which are skipped, as far as that is known from the buyer's own tree."""
    names = {node: test_of(node, file) for node, (_, file) in report.collected.items()}
    counts = Counter(names.values())
    expected = {name: count for name, count in counts.items() if name[0] in tests.suites}  # inherited ones too
    expected |= {name: max(least, counts[name]) for name, least in tests.expected.items()}
    skipped = {names[node] for node in report.with_outcome(Outcome.SKIPPED)}
    ran = set(names.values()) - skipped
    found = replace(tests, expected=expected, may_skip=tests.may_skip - ran, idle=frozenset(skipped))
    return found.left_as_reported(report)


def _told(found: Controlled) -> Fault:
    """A reason that names cheating is told; what else failed is nobody's to know."""
    reason, sentence = found.fault
    if not reason or reason.startswith("cheat."):
        return reason, sentence
    return _FAILED
