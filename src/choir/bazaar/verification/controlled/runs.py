"""Controlled runs of the buyer's tests over a delivery: drawn, run side by side, judged.

Guarantees: every run has a fresh sandbox and a tree of its own that holds one form of each test, neither the original
nor the other; which form it is was drawn for this run and is known here alone. What calibration finds out comes from
the buyer's own tree, before any delivery is in sight.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from choir.bazaar.contracts.commands import Runner
from choir.bazaar.jobs.model import Strength
from choir.bazaar.verification.controlled import javascript, judging
from choir.bazaar.verification.controlled.draws import Draw, Known, draw, draw_pair, unrelated
from choir.bazaar.verification.controlled.judging import GOOD, Fault, Found, RunForm, TestName
from choir.bazaar.verification.controlled.others import Chance
from choir.bazaar.verification.controlled.reading import read_suite
from choir.bazaar.verification.controlled.rewriting import rewrite
from choir.bazaar.verification.controlled.sites import Site, Suite
from choir.bazaar.verification.controlled.tallies import Tally, is_held
from choir.bazaar.verification.reports import Outcome, Report
from choir.bazaar.verification.test_runs import Bench, Control
from choir.bazaar.verification.trees import Entry, lay_out, put

_WORD = re.compile(r"[^\W\d]\w*")
_SITES_MAX = 1_000_000  # of one file; numbers of the next begin there


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests to be controlled."""

    __test__ = False

    command: str
    subdir: str
    suites: Mapping[str, Suite]
    expected: Mapping[TestName, int] = field(default_factory=dict)
    may_skip: frozenset[TestName] = frozenset()
    idle: frozenset[TestName] = frozenset()  # skipped without any delivery, too

    @classmethod
    def of(cls, bench: Bench, command: str, subdir: str, tree: Path, files: Iterable[str], report: Report) -> Tests:
        """The tests of a tree as a run of them was reported."""
        suites = read_suites(bench, tree, files, command)
        names = {node: judging.test_of(node, file) for node, (_, file) in report.collected.items()}
        passed = [names[node] for node in report.with_outcome(Outcome.PASSED)]
        skipped = frozenset(names[node] for node in report.with_outcome(Outcome.SKIPPED))
        return cls(command, subdir, suites, Counter(passed), skipped).left_as_reported(report)

    def left_as_reported(self, report: Report) -> Tests:
        """The same, in which tests that are expected to fail stay as they are: what they say means something else."""
        left = {judging.test_of(node, report.collected[node][1]) for node in report.expected_failures}
        suites = {
            path: suite.without(name for file, name in left if file == path) for path, suite in self.suites.items()
        }
        return replace(self, suites=suites)


@dataclass(frozen=True, slots=True)
class Controlled:
    """What control came to."""

    fault: Fault = GOOD
    strengths: Mapping[TestName, Strength] = field(default_factory=dict)
    loose: frozenset[TestName] = frozenset()  # could be held, and were not: nothing made them tell values apart

    def counts(self) -> dict[str, int]:
        """How many tests are held how."""
        return {kind.value: list(self.strengths.values()).count(kind) for kind in Strength}


def can_control(kind: Runner | str | None) -> bool:
    """Whether tests of this runner can be rewritten."""
    return isinstance(kind, Runner) and (kind.is_python or kind.is_javascript)


def read_suites(bench: Bench, tree: Path, files: Iterable[str], command: str = "") -> dict[str, Suite]:
    """The test files of a tree, read. A command that chooses rows of tables by their names finds them there."""
    wanted = list(files)
    there = [path for path in wanted if path.endswith(".py") and (tree / path).is_file()]
    by_row = "[" in command or " -k" in command
    found = {
        path: read_suite((tree / path).read_bytes(), tables=not by_row, shared=_names_beside(tree, path))
        for path in there
    }
    return found | javascript.read_suites(bench, tree, wanted)


def _names_beside(tree: Path, path: str) -> frozenset[str]:
    """Names in files beside a test file that speak of it: they may import its constants."""
    place, found = tree / path, set()
    for other in sorted(place.parent.glob("*.py")):
        if other != place and other.is_file() and not other.is_symlink():
            text = other.read_bytes()
            found |= set(_WORD.findall(text.decode(errors="replace"))) if place.stem.encode() in text else set()
    return frozenset(found)


def control(
    bench: Bench, tree: Path, tests: Tests, known: Mapping[str, Known], more: int = 0, least: int = 1
) -> Controlled:
    """Run the tests in control runs until what they show is clear.

    A site that is held by changes must tell them apart in `least` pairs of runs, one after the other, and `more`.
    """
    runner = _Runner(bench, tree, tests, dict(known))
    tally = Tally(tests.suites, tests.expected, tests.idle, runner.known, least + more)
    strengths = dict.fromkeys(tests.expected, Strength.NONE)
    tries = 0
    while True:
        tries += 1
        runs = runner.pair()
        for found in runs:
            if found.fault[0]:
                return Controlled(found.fault)
            for test, kind in found.strengths.items():
                if test in strengths:
                    strengths[test] = _best(strengths[test], kind)
        tally.add(runs)
        runner.note(opaque=set().union(*(found.opaque for found in runs)), dull=tally.unclear)
        sure = Strength.OUTSIDE in strengths.values() or tally.bits >= bench.policy.control_bits_min or not tally.bits
        if (sure and not tally.unclear and not tally.open() and tries > more) or (
            tries >= bench.policy.control_pairs_max + more + tally.claims
        ):
            break
    unheld = tally.open()
    if tally.unclear and runner.is_flattered(tally.unclear):
        return Controlled(judging.FLATTERED)
    loose = frozenset((file, tests.suites[file].sites[number].test) for file, number in unheld)
    return Controlled(GOOD, strengths, loose)


def calibrate(bench: Bench, tree: Path, tests: Tests, plain: Report) -> dict[str, Known]:
    """What is known of the sites from the buyer's own tree: of the tests that pass there, whatever is odd is ours."""
    passing = _passing(plain)
    runner = _Runner(bench, tree, replace(tests, expected={}, may_skip=frozenset()), {})
    found = runner.pair()
    notes: dict[str, dict[str, set[int]]] = {path: {} for path in tests.suites}

    def note(kind: str, places: Iterable[tuple[str, int]]) -> None:
        for file, number in places:
            if (file, tests.suites[file].sites[number].test) in passing:
                notes[file].setdefault(kind, set()).add(number)

    for one in found:
        note("opaque", one.opaque)
        note("broken", one.wrong)
        note("weak", one.unclear)
        note("elusive", one.unseen)
    broken = {
        test for form, one in zip(runner.last, found, strict=True) for test in passing if _breaks(test, form, one)
    }
    note("broken", ((file, site.number) for file, name in broken for site in _sites_of(tests, file, name)))
    return {
        path: Known(**{kind: frozenset(numbers) for kind, numbers in kinds.items()}) for path, kinds in notes.items()
    }


def _sites_of(tests: Tests, file: str, name: str) -> Iterable[Site]:
    return tests.suites[file].sites_of(name) if file in tests.suites else ()


def _breaks(test: TestName, form: RunForm, found: Found) -> bool:
    """Whether a test that passes as it is does not when it is rewritten."""
    return test not in form.failing and Outcome.FAILED in found.outcomes.get(test, set())


def _passing(report: Report) -> set[TestName]:
    by_test: dict[TestName, set[Outcome]] = {}
    for node, (_, file) in report.collected.items():
        by_test.setdefault(judging.test_of(node, file), set()).add(report.outcomes[node])
    return {test for test, outcomes in by_test.items() if outcomes <= {Outcome.PASSED, Outcome.SKIPPED}}


def _best(one: Strength, other: Strength) -> Strength:
    order = list(Strength)
    return min(one, other, key=order.index)


@dataclass(slots=True)
class _Runner:
    bench: Bench
    tree: Path
    tests: Tests
    known: dict[str, Known]
    last: list[RunForm] = field(default_factory=list)
    turn: int | None = None

    def pair(self) -> list[Found]:
        """Two runs that belong together, side by side; one where nothing can be drawn."""
        chance = random.Random(self.bench.entropy.bytes(16))  # noqa: S311 - seeded by what nobody can guess
        self.turn = chance.randrange(2) if self.turn is None else self.turn + 1
        pairs = {
            path: draw_pair(suite, self._known(path), chance, self.turn) for path, suite in self.tests.suites.items()
        }
        plain = sorted(self._without_hold())
        chance.shuffle(plain)
        half = (len(plain) + 1) // 2
        forms = [
            self._form({path: pair[0] for path, pair in pairs.items()}, plain[:half]),
            self._form({path: pair[1] for path, pair in pairs.items()}, plain[half:]),
        ]
        if not plain and not any(drawn.changed for form in forms for drawn in form.draws.values()):
            forms = forms[:1]  # nothing was drawn, so both are the same
        reports = self.bench.run_all([partial(self._run, form) for form in forms])
        self.last = forms
        return [judging.judge(form, report) for form, report in zip(forms, reports, strict=True)]

    def note(self, opaque: Iterable[tuple[str, int]], dull: Iterable[tuple[str, int]]) -> None:
        """Sites that must be held another way from now on."""
        for file, number in opaque:
            self.known[file] = replace(self._known(file), opaque=self._known(file).opaque | {number})
        for file, number in dull:
            self.known[file] = replace(self._known(file), dull=self._known(file).dull | {number})

    def is_flattered(self, places: Iterable[tuple[str, int]]) -> bool:
        """Whether a site that no change impressed holds even for what nothing honest is equal to."""
        wanted = set(places)
        draws = {}
        for path, suite in self.tests.suites.items():
            plain = draw(suite, self._known(path), (), Chance(random.Random(0)))  # noqa: S311 - nothing is drawn
            values = dict(plain.forms.values)
            sites = [site for site in suite.sites if (path, site.number) in wanted]
            for site in sites:
                values |= unrelated(site)
            forms = replace(plain.forms, values=values)
            draws[path] = replace(plain, forms=forms, changed=frozenset(site.number for site in sites))
        found = judging.judge(form := self._form(draws, ()), self._run(form))
        return found.fault == judging.FLATTERED or bool(found.unclear & wanted)

    def _known(self, path: str) -> Known:
        return self.known.get(path, Known())

    def _without_hold(self) -> Iterable[TestName]:
        """Tests of which only a contradiction can show anything."""
        for path, suite in self.tests.suites.items():
            known = self._known(path)
            for test in suite.tests:
                held = any(is_held(site, known) for site in suite.sites_of(test.name))
                if test.is_touched and not held:
                    yield path, test.name

    def _form(self, draws: Mapping[str, Draw], failing: Iterable[TestName]) -> RunForm:
        offsets = {path: place * _SITES_MAX for place, path in enumerate(draws)}
        return RunForm(draws, offsets, self.known, frozenset(failing), self.tests.expected, self.tests.may_skip)

    def _run(self, form: RunForm) -> Report:
        with tempfile.TemporaryDirectory(prefix="control-", dir=self.tree.parent) as folder:
            tree = lay_out(self.tree, Path(folder) / "tree")
            for path, drawn in form.draws.items():
                put(tree, path, Entry(self._written(path, drawn, form)))
            names = (f"{file}::{name}" for file, name in form.failing)
            report = self.bench.run(tree, self.tests.command, self.tests.subdir, Control.of(names, self.bench.entropy))
        return replace(report, sites=tuple(_placed(site, form) for site in report.sites))

    def _written(self, path: str, drawn: Draw, form: RunForm) -> bytes:
        first = form.offsets[path]
        if drawn.suite.language != javascript.LANGUAGE:
            return rewrite(drawn.suite, drawn.forms, first)
        failing = frozenset(name for file, name in form.failing if file == path)
        in_jest = self.bench.kind_of(self.tests.command) is Runner.JEST
        return javascript.rewrite(drawn.suite, drawn.forms, first, failing, in_jest=in_jest)


def _placed(said: tuple[str, int, Any], form: RunForm) -> tuple[str, int, Any]:
    """What an assertion said, in which test: where the report does not tell, the assertion itself does."""
    node, number, value = said
    place = form.site(number)
    if node or place is None:
        return said
    return f"{place[0]}::{place[2].test}", number, value
