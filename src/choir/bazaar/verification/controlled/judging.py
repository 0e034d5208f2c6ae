"""What the report of one control run amounts to.

Pure: a report and what was drawn in, what was found out. Every assertion that reported must have said what only right
code makes it say; every assertion that nobody can avoid must have reported; every test that was made to fail must have
failed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from choir.bazaar.jobs.model import Strength
from choir.bazaar.verification.controlled.draws import Draw, Known, is_blind
from choir.bazaar.verification.controlled.sites import Form, Site
from choir.bazaar.verification.controlled.values import Opaque
from choir.bazaar.verification.reports import Outcome, Report

TestName = tuple[str, str]  # file, "TestClass::test_name"
Fault = tuple[str, str]
GOOD: Fault = ("", "")

FAILED: Fault = ("tests.failed", "Some of the buyer's tests fail.")
MISSING: Fault = ("tests.missing", "Tests of the buyer are missing from the report.")
INCOMPLETE: Fault = ("tests.report_incomplete", "The test process ended before it had reported the buyer's tests.")
STOPPED = {
    "timeout": ("tests.timed_out", "The tests exceeded the time limit."),
    "flood": ("tests.output_flood", "The tests exceeded the output limit and were stopped."),
    "memory": ("tests.out_of_memory", "The tests exceeded their memory limit."),
}
BYPASSED: Fault = ("cheat.test_bypassed", "A test is reported as passed, but its assertions were not evaluated.")
FLATTERED: Fault = ("cheat.flattered", "Results compare as equal to values that they cannot be equal to.")
SUBVERTED: Fault = ("cheat.runner_subverted", "A test that was made to fail is not reported as failed.")
_YES, _NO = ["y"], ["x"]
_ROW = re.compile(r"(?<![A-Za-z0-9])t([0-9]{1,9})r([0-9]{1,9})(?![0-9])")


@dataclass(frozen=True, slots=True)
class RunForm:
    """What was drawn for a whole run."""

    draws: Mapping[str, Draw]  # file ->
    offsets: Mapping[str, int]  # file -> the number of its first site
    known: Mapping[str, Known]
    failing: frozenset[TestName]  # tests that were made to fail after their body
    expected: Mapping[TestName, int]  # tests that must be reported, and how often at least
    may_skip: frozenset[TestName] = frozenset()

    def site(self, number: int) -> tuple[str, Draw, Site] | None:
        """The site that reported by this number."""
        for file, draw in self.draws.items():
            place = number - self.offsets[file]
            if 0 <= place < len(draw.suite.sites):
                return file, draw, draw.suite.sites[place]
        return None

    def known_of(self, file: str) -> Known:
        return self.known.get(file, Known())


@dataclass(slots=True)
class Found:
    """What a run showed."""

    fault: Fault = GOOD
    opaque: set[tuple[str, int]] = field(default_factory=set)
    unclear: set[tuple[str, int]] = field(default_factory=set)  # changed, and yet it held
    wrong: set[tuple[str, int]] = field(default_factory=set)  # did not hold as it should
    unseen: set[tuple[str, int]] = field(default_factory=set)  # required, and did not report
    strengths: dict[TestName, Strength] = field(default_factory=dict)
    good: set[tuple[str, int]] = field(default_factory=set)  # reported a value that is right
    told: set[tuple[str, int]] = field(default_factory=set)  # changed, and did not hold
    outcomes: dict[TestName, set[Outcome]] = field(default_factory=dict)

    def stronger(self, test: TestName, strength: Strength) -> None:
        order = list(Strength)
        now = self.strengths.get(test, Strength.NONE)
        self.strengths[test] = min(now, strength, key=order.index)


def judge(form: RunForm, report: Report) -> Found:
    """Everything that one run shows. The fault is the first reason against it."""
    found = Found()
    if report.stopped or not report.is_whole:
        found.fault = STOPPED.get(report.stopped, INCOMPLETE)
        return found
    nodes = {node: test_of(node, file) for node, (_, file) in report.collected.items()}
    seen = _look_at_sites(form, report, nodes, found)
    for node, test in nodes.items():
        outcome = report.outcomes[node]
        stopped = outcome is Outcome.FAILED and test not in form.failing and _stops(form, node, test, seen, found)
        found.outcomes.setdefault(test, set()).add(Outcome.PASSED if stopped else outcome)
    _look_for_unseen(form, report, nodes, seen, found)
    _strengthen(form, found)
    found.fault = _fault(form, nodes, found)
    return found


def _fault(form: RunForm, nodes: Mapping[str, TestName], found: Found) -> Fault:
    counts = {test: list(nodes.values()).count(test) for test in form.expected}
    if any(counts[test] < least for test, least in form.expected.items()) or _lacks_rows(form, nodes):
        return MISSING
    faults = [fault for test in form.expected if (fault := _fault_of(test, form, found)) != GOOD]
    if faults or found.wrong:
        return next(iter(faults), FAILED)
    if found.unseen:
        return BYPASSED
    certain = [(file, number) for file, number in found.unclear if _is_certain(form, file, number)]
    return FLATTERED if certain else GOOD


def _fault_of(test: TestName, form: RunForm, found: Found) -> Fault:
    """Whether a test came out as it must; one that is skipped where it may be did."""
    outcomes = found.outcomes[test] - ({Outcome.SKIPPED} if test in form.may_skip else set())
    if test not in form.failing or Outcome.SKIPPED in outcomes:
        return GOOD if outcomes <= {Outcome.PASSED} else FAILED
    return GOOD if outcomes <= {Outcome.FAILED} else SUBVERTED


def _stops(form: RunForm, node: str, test: TestName, seen: set[tuple[str, str, int]], found: Found) -> bool:
    """Whether a test failed at a site that was changed, before it could say so: the other value cannot even be made.

    Whatever it must come by before that has reported: a test that fails anywhere else has failed.
    """
    file, name = test
    draw = form.draws.get(file)
    for site in draw.suite.sites_of(name) if draw is not None else ():
        if (node, file, site.number) in seen:
            continue
        if site.number in form.draws[file].changed and not _must_hold(form.draws[file], site, _rows(node)):
            found.told.add((file, site.number))
            found.stronger(test, Strength.BLIND)
            return True
        if _must_report(form, file, site):
            return False
    return False


def _must_report(form: RunForm, file: str, site: Site) -> bool:
    """Whether everybody who runs a test comes by this site."""
    ours = site.required and site.number in form.draws[file].forms.forms
    return ours and site.number not in form.known_of(file).elusive


def _lacks_rows(form: RunForm, nodes: Mapping[str, TestName]) -> bool:
    """Whether a row of a table is not run: code that knows which rows it fails could leave them out."""
    ran = {(*test, table, row) for node, test in nodes.items() for table, row in _rows(node).items()}
    for file, draw in form.draws.items():
        for table in draw.suite.tables:
            if table.number in draw.forms.kept_tables:
                continue
            wanted = range(len(table.rows)) if (file, table.test) in form.expected else ()
            if any((file, table.test, table.number, row) not in ran for row in wanted):
                return True
    return False


def _is_certain(form: RunForm, file: str, number: int) -> bool:
    """A text that compares in a way of its own may honestly be equal to both, and is looked at once more."""
    opaque = number in form.known_of(file).opaque
    changes = form.draws[file].suite.sites[number].changes
    values = [(change, change.value if change.column is None else change.column.values) for change in changes]
    return any(change.is_certain and not (opaque and _has_text(value)) for change, value in values)


def _has_text(value: Any) -> bool:
    if isinstance(value, list | tuple | dict):
        return any(_has_text(item) for item in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, str)


def test_of(node: str, file: str) -> TestName:
    """The test of a reported id."""
    return file, node.partition("::")[2].partition("[")[0]


def _look_at_sites(
    form: RunForm, report: Report, nodes: Mapping[str, TestName], found: Found
) -> set[tuple[str, str, int]]:
    """What each site said; gives which said anything, by test run."""
    seen = set()
    for node, number, value in report.sites:
        place = form.site(number)
        if place is None or node not in nodes:
            continue
        file, draw, site = place
        seen.add((node, file, site.number))
        _look_at(nodes[node], file, draw, site, _rows(node), value, form, found)
    return seen


def _look_at(
    test: TestName, file: str, draw: Draw, site: Site, rows: Mapping[int, int], value: Any, form: RunForm, found: Found
) -> None:
    """What it shows counts for the test that ran, which may have inherited the site."""
    key = (file, site.number)
    if draw.forms.forms.get(site.number) is Form.SEE:
        _look_at_value(key, test, site, rows, value, found)
        return
    if value not in (_YES, _NO):
        found.wrong.add(key)
        return
    must_hold = _must_hold(draw, site, rows)
    if must_hold and value == _NO:
        found.wrong.add(key)
    elif not must_hold and value == _YES:
        found.unclear.add(key)
    elif not must_hold and is_blind(site, form.known_of(file)):
        found.told.add(key)
        found.stronger(test, Strength.BLIND)


def _look_at_value(
    key: tuple[str, int], test: TestName, site: Site, rows: Mapping[int, int], value: Any, found: Found
) -> None:
    assert site.observation is not None
    column = site.observation.column
    expected = site.observation.expected(None if column is None else rows.get(column.table))
    try:
        good = expected is not None and expected.holds(value)
    except Opaque:
        found.opaque.add(key)
        return
    if not good:
        found.wrong.add(key)
        return
    found.good.add(key)
    if site.observation.counts:
        found.stronger(test, Strength.OUTSIDE)


def _must_hold(draw: Draw, site: Site, rows: Mapping[int, int]) -> bool:
    if site.number not in draw.changed:
        return True
    column = site.changes[0].column
    if column is None:
        return False
    row = rows.get(column.table, -1)
    drawn = draw.forms.columns.get(column.key, column.values)
    return not 0 <= row < len(drawn) or drawn[row] == column.values[row]


def _rows(node: str) -> dict[int, int]:
    """The rows of tables that a test runs with, by the names that we gave them."""
    return {int(found[1]): int(found[2]) for found in _ROW.finditer(node)}


def _look_for_unseen(
    form: RunForm, report: Report, nodes: Mapping[str, TestName], seen: set[tuple[str, str, int]], found: Found
) -> None:
    """Sites that every run of a test comes by, and which said nothing though the test is said to have passed."""
    for node, (file, name) in nodes.items():
        if report.outcomes[node] is Outcome.SKIPPED or file not in form.draws:
            continue
        for site in form.draws[file].suite.sites_of(name):
            silent = (node, file, site.number) not in seen and report.outcomes[node] is not Outcome.FAILED
            if silent and _must_report(form, file, site):
                found.unseen.add((file, site.number))


def _strengthen(form: RunForm, found: Found) -> None:
    for test in form.failing:
        if found.outcomes.get(test) == {Outcome.FAILED}:
            found.stronger(test, Strength.CONTRADICTION)
