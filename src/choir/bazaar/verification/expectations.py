"""What a full report of exactly the buyer's tests is, and whether a run gave one.

The tests that must be reported come from the buyer's own tree: from collecting them there, or, for a file that cannot
be imported before the patch (it may import what the patch is to write), from reading it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from choir.bazaar.contracts.commands import parse_tests
from choir.bazaar.verification import syntax as parsing
from choir.bazaar.verification.controlled import literals
from choir.bazaar.verification.decision import is_foreign_test
from choir.bazaar.verification.foreign import clean
from choir.bazaar.verification.reports import Outcome, Report
from choir.bazaar.verification.trees import entries_of

Fault = tuple[str, str]
GOOD: Fault = ("", "")
_ANYWHERE = "*"  # the file of a test whose report does not name one
_SCRIPT = re.compile(r"""\b(?:test|it)\s*(?:\.only)?\s*\(\s*(['"`])(.+?)\1""")
_TITLES = dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"), _SCRIPT) | {
    ".go": re.compile(r"^func (Test\w*)\(", re.MULTILINE),
    ".rs": re.compile(r"#\[(?:tokio::)?test\](?:\s*#\[[^\]]*\])*\s*(?:async\s+)?fn\s+(\w+)"),
}
_CHOOSING = ("-k", "-m", "--deselect", "--ignore", "--lf", "--ff", "--last-failed")


@dataclass(frozen=True, slots=True)
class Static:
    """A test read from a file: `Class::name` or `name`."""

    file: str
    name: str
    may_skip: bool


@dataclass(frozen=True, slots=True)
class ExpectedOutcome:
    """The buyer's tests."""

    ids: frozenset[str]
    statics: tuple[Static, ...]
    may_skip: frozenset[str]  # ids that did not run to a verdict in the buyer's own tree either
    codes: Mapping[str, str] = field(default_factory=dict)  # id -> hash of its code in the buyer's own tree
    static_codes: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)  # file, name -> the same
    partial: bool = False  # the command chooses among tests, so that not every static one need be there

    @property
    def is_empty(self) -> bool:
        return not self.ids and not self.statics

    @property
    def files(self) -> frozenset[str]:
        return frozenset(item.file for item in self.statics)


def expected_from(tree: Path, command: str, subdir: str, before: Report) -> ExpectedOutcome:
    """What the buyer's tree says must be reported after the patch."""
    found = parse_tests(command)
    skipped = frozenset(before.with_outcome(Outcome.SKIPPED))
    if found is None or not found.runner.is_python:
        titles = _titles_of(tree, before.not_collected) if before.not_collected or not before.collected else ()
        return ExpectedOutcome(frozenset(before.collected), titles, skipped, partial=not before.collected)
    if before.has_collected:
        files: Iterable[str] = _files_of(tree, subdir, before)
    else:
        files = _test_files(tree, subdir, found.arguments)
    statics = statics_of(tree, files)
    partial = chooses(found.arguments) or not before.has_collected  # which files are chosen is not known then
    return ExpectedOutcome(frozenset(before.collected), statics, skipped, before.codes, partial=partial)


def _titles_of(tree: Path, files: Iterable[str]) -> tuple[Static, ...]:
    """Tests of other languages in files that could not be loaded, by how they are usually written."""
    named = set(files)
    found = []
    for path, (place, _) in entries_of(tree).items():
        pattern = _TITLES.get(PurePosixPath(path).suffix)
        if pattern is not None and (path in named or (not named and is_foreign_test(path))):
            text = _start_of(place).decode(errors="replace")
            found += [Static(_ANYWHERE, clean(match[match.lastindex or 0]), True) for match in pattern.finditer(text)]
    return tuple(found)


def chooses(arguments: Iterable[str]) -> bool:
    """Whether a command runs only some of the tests in its files."""
    return any(word.startswith(_CHOOSING) or "::" in word for word in arguments)


def may_skip_in(source: bytes, name: str) -> bool:
    """Whether a test of a file may be skipped by its own decision."""
    try:
        module = parsing.parse(source)
    except parsing.UNREADABLE:
        return False
    path = name.split("::")
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name in path:
            calls = {literals.called(item) for item in ast.walk(node) if isinstance(item, ast.Call)}
            leaf = not isinstance(node, ast.ClassDef)
            if _may_skip(node) or (leaf and calls & {"skip", "skipTest", "importorskip", "skipif", "xfail"}):
                return True
    return False


def judge(expected: ExpectedOutcome, report: Report) -> Fault:  # noqa: PLR0911 - a list of reasons, each its own line
    """Whether the report is whole, honest and good; the first reason against it."""
    stopped = {
        "timeout": ("tests.timed_out", "The tests exceeded the time limit."),
        "flood": ("tests.output_flood", "The tests exceeded the output limit and were stopped."),
        "memory": ("tests.out_of_memory", "The tests exceeded their memory limit."),
    }
    if report.stopped:
        return stopped[report.stopped]
    if report.stated and (not report.sealed or report.with_outcome(Outcome.FORGED)):
        return "tests.report_forged", "The test report does not match the test run."
    if not report.stated or not report.has_collected or report.end_code is None:
        return "tests.report_incomplete", "The test process ended before it had reported the buyer's tests."
    if report.end_code != report.exit_code:
        return "tests.exit_code_forged", "The process exit code differs from the test runner's."
    if _missing(expected, report):
        return "tests.missing", "Tests of the buyer are missing from the report."
    considered = {node for node in report.collected if _is_expected(node, expected, report)}
    by_outcome = {item: considered & set(report.with_outcome(item)) for item in Outcome}
    if any(report.ran[node] not in _codes_of(node, expected, report) for node in considered & report.ran.keys()):
        return "tests.test_replaced", "A test with the name of a buyer's test is not the buyer's."
    if by_outcome[Outcome.FAILED]:
        return "tests.failed", "Some of the buyer's tests fail."
    if by_outcome[Outcome.NOT_RUN]:
        return "tests.report_incomplete", "Some of the buyer's tests were collected but did not finish."
    if by_outcome[Outcome.SKIPPED] - expected.may_skip - _static_skips(expected, report):
        return "tests.skipped", "Tests of the buyer were skipped that were not skipped before."
    if report.exit_code != 0:
        return "tests.failed", "The test command does not exit with code 0."
    return GOOD


def _missing(expected: ExpectedOutcome, report: Report) -> bool:
    if expected.ids - report.collected.keys():
        return True
    there = {(file, name_of(node)) for node, (_, file) in report.collected.items()}
    names = {part for _, name in there for part in (name, name.rpartition(" > ")[2], name.rpartition("::")[2])}
    lacking = [
        item
        for item in expected.statics
        if (item.file, item.name) not in there and not (item.file == _ANYWHERE and item.name in names)
    ]
    if expected.partial:
        return bool(expected.statics) and len(lacking) == len(expected.statics)
    return bool(lacking)


def _is_expected(node: str, expected: ExpectedOutcome, report: Report) -> bool:
    return node in expected.ids or report.collected[node][1] in expected.files


def _codes_of(node: str, expected: ExpectedOutcome, report: Report) -> frozenset[str]:
    """What the code of a test may be: as collected in the buyer's tree, or as read there, or at least unchanged."""
    if node in expected.codes:
        return frozenset({expected.codes[node]})
    collected = frozenset({report.codes.get(node, "")})
    return expected.static_codes.get((report.collected[node][1], name_of(node)), collected)


def _static_skips(expected: ExpectedOutcome, report: Report) -> set[str]:
    may = {(item.file, item.name) for item in expected.statics if item.may_skip}
    return {node for node, (_, file) in report.collected.items() if (file, name_of(node)) in may}


def name_of(node: str) -> str:
    """`tests/test_a.py::TestX::test_y[1]` -> `TestX::test_y`."""
    return node.partition("::")[2].partition("[")[0]


def _files_of(tree: Path, subdir: str, before: Report) -> list[str]:
    """The files that could not be collected."""
    found = []
    for node in before.not_collected:
        for prefix in (before.root, subdir, ""):
            path = f"{prefix}/{node}".lstrip("/")
            if node.endswith(".py") and (tree / path).is_file():
                found.append(path)
                break
    return sorted(found)


def _test_files(tree: Path, subdir: str, arguments: Iterable[str]) -> list[str]:
    """Test files by their names, below what the command names if it names anything."""
    prefix = f"{subdir}/" if subdir else ""
    words = [word.split("::")[0].removeprefix("./").rstrip("/") for word in arguments if not word.startswith("-")]
    named = [prefix + word for word in words if word and (_is_path(word) or (tree / prefix / word).exists())]
    found = []
    for path in entries_of(tree):
        name = PurePosixPath(path).name
        is_test = name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
        below = any(path == item or path.startswith(f"{item}/") for item in named) if named else True
        if (is_test or path in named) and below and path.startswith(prefix):
            found.append(path)
    return sorted(found)


def _is_path(word: str) -> bool:
    return "/" in word or word.endswith(".py")


def statics_of(tree: Path, files: Iterable[str]) -> tuple[Static, ...]:
    """The tests that can be read from these files."""
    return tuple(item for file in files for item in _statics(tree, file))


def _statics(tree: Path, file: str) -> list[Static]:
    try:
        module = parsing.parse(_start_of(tree / file))
    except (*parsing.UNREADABLE, OSError):
        return []
    found = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            found.append(Static(file, node.name, _may_skip(node)))
        elif isinstance(node, ast.ClassDef) and _is_test_class(node):
            found += [
                Static(file, f"{node.name}::{item.name}", _may_skip(item) or _may_skip(node))
                for item in node.body
                if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef) and item.name.startswith("test")
            ]
    return found


def _start_of(path: Path) -> bytes:
    """The file, or of one that is too large to be read just enough to show that."""
    with path.open("rb") as file:
        return file.read(parsing.BYTES_MAX + 1)


def _is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any("TestCase" in ast.dump(base) for base in node.bases)


def _may_skip(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    return any(word in ast.dump(item).lower() for item in node.decorator_list for word in ("skip", "xfail", "expected"))
