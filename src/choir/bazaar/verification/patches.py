"""PatchGen: the heart of verification.

The diff is applied to the exact commit in a clean sandbox; what really changed is looked at; the buyer's own tests run
over it, from the buyer's own files. Each step is a check with its own reason, and the first visible failure ends it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

from choir.bazaar.contracts import Evidence, PatchGenRequest, PatchGenResult
from choir.bazaar.environments import builds
from choir.bazaar.jobs.model import Strength, Visibility
from choir.bazaar.verification import changes as rules
from choir.bazaar.verification import decision, hidden, mutation, trees
from choir.bazaar.verification.bases import BaseTree
from choir.bazaar.verification.controlled.runs import Tests, can_control, control
from choir.bazaar.verification.diffs import read_diff
from choir.bazaar.verification.expectations import judge
from choir.bazaar.verification.levels import level_of
from choir.bazaar.verification.model import Delivery, Findings, Order
from choir.bazaar.verification.outside import run_check
from choir.bazaar.verification.reports import Outcome, Report
from choir.bazaar.verification.signs import signs
from choir.bazaar.verification.test_runs import Bench
from choir.bazaar.verification.trees import Change, DoesNotApply
from choir.foundation.canonical import bytes_hash, canonical_hash

_BEFORE_TIMES = 10  # a patch may delete or cut down what is so much larger than what it may add
_APPLY_FAULTS = {
    "too_large": ("patch.too_large", "The diff exceeds the size limit when applied."),
    "unsafe_entry": ("patch.unsafe_entry", "The patched tree contains something that is not a regular file."),
    "does_not_apply": ("patch.does_not_apply", "The diff does not apply to the base commit."),
}


class PatchCheck:
    """One delivery of a patch, checked step by step."""

    def __init__(self, order: Order, delivery: Delivery, base: BaseTree, bench: Bench, findings: Findings) -> None:
        assert isinstance(order.request, PatchGenRequest)
        assert isinstance(delivery.result, PatchGenResult)
        self.order = order
        self.request = order.request
        self.result = delivery.result
        self.diff = delivery.artifact
        self.base = base
        self.bench = bench
        self.findings = findings

    def run(self) -> None:
        """All checks. Hidden ones only after every visible one has passed."""
        with tempfile.TemporaryDirectory(prefix="patch-", dir=self.base.folder.parent) as name:
            folder = Path(name)
            changed = self._changes(folder)
            self._look_at(changed, read_diff(self.diff).headers.moved)
            tree = self._lay_out(folder, changed)
            self._build(tree)
            self._tests(tree)
            self._commands(tree)
            if self.request.whole_suite:
                self._suite(tree)
            self._units(changed)
            if self.request.mutation:
                self._mutation(tree, changed)
            if self.order.hidden is not None:
                hidden.run(self.order.hidden, tree, self.base, self.request, self.bench, self.findings)
            self._level()

    def _units(self, changed: list[Change]) -> None:
        files = min(len(rules.counted(changed)), self.request.files_max)
        added, deleted = rules.lines(changed)
        self.findings.add("units", evidence={"files": files, "lines_added": added, "lines_deleted": deleted})
        self.findings.units_milli = 1000 * files
        self.findings.lines_added, self.findings.lines_deleted = added, deleted

    def _level(self) -> None:
        """How sure the verdict is; an order may ask for more than what could be shown."""
        reached = level_of(self.request, self.order.hidden, self.findings)
        self.findings.level = reached
        short = reached < self.request.level
        text = f"The verdict reaches {reached.value}, and {self.request.level.value} was ordered."
        seen = Visibility.HIDDEN if short else Visibility.VISIBLE
        self.findings.add("level", *_fault(short, "hidden.level_missed", text), visibility=seen)

    def _mutation(self, tree: Path, changed: list[Change]) -> None:
        """How much of a change to the patched lines the tests notice."""
        found = mutation.run(self.bench, tree, changed, self.request, self.order.hidden)
        self.findings.mutants = (found.noticed, found.tried)
        why = "The tests fail after a change that means nothing, so the code depends on its own text."
        self.findings.need("neutral change", *_fault(found.watched, "cheat.mutants_watched", why))
        short = found.is_below(self.request.mutation_floor_bps, self.bench.policy)
        text = "The tests notice fewer mutants of the changed lines than the order's floor."
        facts = {"tried": found.tried, "noticed": found.noticed}
        self.findings.need("mutation", *_fault(short, "tests.mutation_floor", text), evidence=facts)

    # --- the diff ---

    def _changes(self, folder: Path) -> list[Change]:
        """Apply the diff and see what it did."""
        add, policy = self.findings.need, self.bench.policy
        wrong = self.result.base_commit != self.request.base_commit
        add("base commit", *_fault(wrong, "patch.wrong_base", "The diff was made against another commit."))
        large = len(self.diff) > policy.patch_bytes_max
        add("diff size", *_fault(large, "patch.too_large", f"The diff has more than {policy.patch_bytes_max} bytes."))
        add("diff content", *_fault(not self.diff.strip(), "patch.empty", "The diff is empty."))
        headers = read_diff(self.diff).headers
        add("diff headers", *rules.header_fault(headers, policy))
        try:
            patched, result = trees.apply(
                self.bench.runs, self.base.tree, self.diff, folder / "patched", policy, self.bench.cancelled
            )
            changed = trees.compare(self.base.tree, patched, _BEFORE_TIMES * policy.patch_grown_bytes_max)
        except DoesNotApply as outcome:
            is_link = outcome.why == "unsafe_entry" and rules.LINK in headers.modes
            add("applies", *(rules.LINK_ESCAPES if is_link else _APPLY_FAULTS[outcome.why]))
            raise AssertionError("unreachable") from None
        self.bench.seen.append(result)
        add("applies", evidence={"diff": bytes_hash(self.diff), "changes": canonical_hash(trees.manifest(changed))})
        return changed

    def _look_at(self, changed: list[Change], moved: Collection[str]) -> None:
        """What the change itself forbids."""
        add, policy = self.findings.need, self.bench.policy
        add("change size", *rules.size_fault(changed, policy))
        add("links", *rules.link_fault(changed))
        add("paths", *rules.path_fault(changed, trees.entries_of(self.base.tree).keys(), self.request, moved))
        add("substance", *rules.substance_fault(changed))
        add("deciding files", *decision.fault(changed, self._deciders(), self.request))
        add("compiled code", *rules.compiled_fault(changed))
        add("syntax", *rules.syntax_fault(changed))
        self.findings.signs = signs(changed)
        padded = rules.padding(changed) > policy.uncounted_files_max
        most = policy.uncounted_files_max
        add("padding", *_fault(padded, "patch.padded", f"More than {most} changed files add nothing to the patch."))

    def _deciders(self) -> decision.Deciders:
        if self.request.evidence is not Evidence.REPORT:
            return decision.Deciders()
        return self.base.before(self.bench, self.request.test_command, self.request.subdir).deciders

    def _lay_out(self, folder: Path, changed: list[Change]) -> Path:
        """The patched tree with everything that decides put back."""
        tree = trees.lay_out(folder / "patched" / "tree", folder / "run")
        decision.restore(tree, changed, self._deciders(), self.request)
        return tree

    def _build(self, tree: Path) -> None:
        """The order's build command, on the patched tree, with everything that decides put back."""
        layer = self.bench.layer
        if layer is None or not layer.build:
            return
        done = builds.build_on(self.bench, tree, self.request.subdir)
        self.bench.seen.append(done.result)
        self.findings.need("build", *done.fault, evidence={"exit_code": done.result.exit_code, "added": done.added})

    # --- the tests ---

    def _tests(self, tree: Path) -> None:
        if self.request.evidence is Evidence.REPORT:
            self._reported_tests(tree)
        else:
            self._plain_tests(tree)

    def _reported_tests(self, tree: Path) -> None:
        request, bench, findings = self.request, self.bench, self.findings
        before = self.base.before(bench, request.test_command, request.subdir)
        facts = before.report.summary()
        empty = before.expected.is_empty
        findings.need(
            "buyer's tests", *_fault(empty, "order.no_tests", "The test command finds no test in the buyer's tree.")
        )
        if request.fail_before:
            passed = not judge(before.expected, before.report)[0]
            text = "The tests pass without the patch, so they prove nothing."
            findings.need("fails before", *_fault(passed, "order.tests_passed_before", text), evidence=facts)
        after = bench.run(tree, request.test_command, request.subdir)
        findings.need("tests", *judge(before.expected, after), evidence=after.summary())
        if not can_control(bench.kind_of(request.test_command)):
            findings.strengths["visible"] = {Strength.NONE.value: len(after.with_outcome(Outcome.PASSED))}
            return
        tests = self._controlled(tree, after)
        known = self.base.known_sites(bench, tests, before.report)
        found = control(bench, tree, tests, known, more=bool(findings.signs))
        findings.need("controlled tests", *found.fault, evidence={"strengths": found.counts()})
        findings.strengths["visible"] = found.counts()

    def _controlled(self, tree: Path, after: Report) -> Tests:
        """The buyer's tests as they ran: each must be there in control runs too, as often."""
        files = sorted({file for _, file in after.collected.values() if file})
        return Tests.of(self.bench, self.request.test_command, self.request.subdir, tree, files, after)

    def _plain_tests(self, tree: Path) -> None:
        request, bench, findings = self.request, self.bench, self.findings
        if request.fail_before:
            before = self.base.plain(bench, request.test_command, request.subdir)
            text = "The test command exits with code 0 without the patch, so it proves nothing."
            findings.need("fails before", *_fault(before.ended_well, "order.tests_passed_before", text))
        after = bench.run(tree, request.test_command, request.subdir)
        findings.need("tests by exit code", *_ended(after, "tests.failed"), evidence=after.summary())

    def _commands(self, tree: Path) -> None:
        for place, check in enumerate(self.request.checks):
            found = run_check(self.bench, tree, check.command, check.output_sha256, self.request)
            self.findings.need(f"outside check {place + 1}", *found.fault, evidence=found.evidence(check.command))
        for command in self.request.verification_commands:
            report = self.bench.run(tree, command, self.request.subdir)
            evidence = {"command": bytes_hash(command.encode())} | report.summary()
            self.findings.need("verification command", *_ended(report, "commands.failed"), evidence=evidence)

    def _suite(self, tree: Path) -> None:
        """What passed before must pass after. What failed before is no concern here."""
        command = self.request.suite_command
        before = self.base.before(self.bench, command, "").report
        after = self.bench.run(tree, command, "")
        broken = [node for node in before.with_outcome(Outcome.PASSED) if after.outcomes.get(node) != Outcome.PASSED]
        whole = after.stated and after.sealed and after.end_code == after.exit_code
        fault = _fault(not whole, "tests.suite_incomplete", "The whole suite did not finish.")
        text = "Tests that passed before now fail or are missing."
        self.findings.need("whole suite", *(fault if fault[0] else _fault(bool(broken), "tests.others_broken", text)))


def _fault(found: bool, reason: str, sentence: str) -> tuple[str, str]:
    return (reason, sentence) if found else ("", "")


def _ended(report: Report, reason: str) -> tuple[str, str]:
    if report.stopped:
        return judge_stopped(report)
    return _fault(not report.ended_well, reason, "The command does not exit with code 0.")


def judge_stopped(report: Report) -> tuple[str, str]:
    reasons = {"timeout": "tests.timed_out", "flood": "tests.output_flood", "memory": "tests.out_of_memory"}
    return reasons[report.stopped], "The command was stopped at a limit."
