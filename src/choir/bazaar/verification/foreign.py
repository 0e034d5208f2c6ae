"""Reports of test runners other than Python's: node's own, jest, vitest, go test, cargo test, and JUnit XML in general.

Each is made to write a report into a file, which is read here, outside of the tested process. Pure: text in, an outcome
for each test out. The report is written by the tested process all the same, and code that is loaded there can forge it:
that is why what it proves is no more than V2, and why hidden checks with an expected output are worth so much here.

Guarantees: a report that cannot be read has no tests; reading takes time in proportion to its size.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from choir.bazaar.contracts.commands import Runner, TestCommand
from choir.bazaar.verification.reports import Outcome, Report

REPORT = "/work/report/tests"
JUNIT = "junit"  # any command that writes such a file
_CARGO_LINE = re.compile(r"^test (\S.*?) \.\.\. (ok|FAILED|ignored)", re.MULTILINE)
_CARGO_BINARY = re.compile(r"^\s+Running (?:unittests )?(\S+)|^\s+Doc-tests (\S+)", re.MULTILINE)
_DEPTH_MAX = 100
LOADING = "(loading)"  # stands for the tests of a file that could not be loaded
_SOURCES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx", ".jsx")


_OUTCOMES = {
    "passed": Outcome.PASSED,
    "pass": Outcome.PASSED,
    "ok": Outcome.PASSED,
    "failed": Outcome.FAILED,
    "fail": Outcome.FAILED,
    "FAILED": Outcome.FAILED,
    "pending": Outcome.SKIPPED,
    "skip": Outcome.SKIPPED,
    "skipped": Outcome.SKIPPED,
    "todo": Outcome.SKIPPED,
    "disabled": Outcome.SKIPPED,
    "ignored": Outcome.SKIPPED,
}


@dataclass(frozen=True, slots=True)
class ForeignTest:
    """A test that a report names."""

    file: str
    name: str
    outcome: Outcome

    @property
    def node(self) -> str:
        """Its id, in the form that all ids have here."""
        return f"{self.file}::{self.name}"


def command_of(found: TestCommand) -> str:
    """The command that writes the report as well."""
    words = [*found.program, *_MORE[found.runner], *found.arguments]
    settings = [f"{name}={shlex.quote(value)}" for name, value in found.environment]
    text = " ".join([*settings, shlex.join(words)])
    return f"{text} >{REPORT} 2>&1" if found.runner in (Runner.GO, Runner.CARGO) else text


_MORE: dict[Runner, tuple[str, ...]] = {
    Runner.NODE: ("--test-reporter=/opt/choir/node_reporter.mjs", f"--test-reporter-destination={REPORT}"),
    Runner.JEST: ("--ci", "--json", f"--outputFile={REPORT}"),
    Runner.VITEST: ("--reporter=json", f"--outputFile={REPORT}"),
    Runner.GO: ("-json",),
    Runner.CARGO: (),
}


def read(runner: Runner | str, text: str, tree: str) -> list[ForeignTest]:
    """The tests that a report names, each once; of one that is named twice the worse outcome counts."""
    found: dict[str, ForeignTest] = {}
    try:
        for test in _READ[runner](text, tree):
            known = found.get(test.node)
            if known is None or known.outcome is not Outcome.FAILED:
                found[test.node] = test
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ElementTree.ParseError):
        return []
    return list(found.values())


def report_of(body: Mapping[str, Any], tests: Sequence[ForeignTest]) -> Report:
    """From the supervisor's statement and a report that another runner wrote."""
    loaded = [test for test in tests if test.name != LOADING]
    return Report(
        exit_code=body["exit_code"],
        stopped=body["stopped"],
        stated=bool(body.get("stated", True)),
        sealed=True,
        stdout_sha256=body["stdout_sha256"],
        collected={test.node: (False, test.file) for test in loaded},
        not_collected=frozenset(test.file for test in tests if test.name == LOADING),
        outcomes={test.node: test.outcome for test in loaded},
        has_collected=bool(tests),
        end_code=body["exit_code"],
        sites=tuple(_sites(str(body.get("sites_text", "")))),
    )


def _sites(text: str) -> Iterator[tuple[str, int, Any]]:
    """What rewritten assertions told; which test it was follows from the assertion."""
    for line in text.splitlines():
        try:
            said = json.loads(line)
            yield "", int(said["n"]), said["v"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue


def clean(name: str) -> str:
    """A title as part of an id, in which some signs mean something."""
    return " ".join(name.replace("::", ":").replace("[", "(").replace("]", ")").split())


def _file(path: str, tree: str) -> str:
    return path.removeprefix("file://").removeprefix(f"{tree}/")


def _jest(text: str, tree: str) -> Iterator[ForeignTest]:
    for suite in json.loads(text)["testResults"]:
        file = _file(str(suite["name"]), tree)
        for test in suite["assertionResults"]:
            name = " > ".join([*map(str, test["ancestorTitles"]), str(test["title"])])
            yield ForeignTest(file, clean(name), _OUTCOMES.get(str(test["status"]), Outcome.NOT_RUN))
        if suite.get("status") == "failed" and not suite["assertionResults"]:
            yield ForeignTest(file, LOADING, Outcome.FAILED)


def _node(text: str, tree: str) -> Iterator[ForeignTest]:
    """What our own reporter told; a file that does not load is told as a test with the file's name."""
    for line in text.splitlines():
        test = json.loads(line)
        file, names = _file(str(test["file"]), tree), [str(name) for name in test["names"]]
        outcome = _OUTCOMES[test["outcome"]]
        if len(names) == 1 and names[0].endswith(_SOURCES) and "/" in names[0]:
            if outcome is Outcome.FAILED:
                yield ForeignTest(_file(names[0], tree), LOADING, outcome)
        elif test["kind"] != "suite":
            yield ForeignTest(file, clean(" > ".join(names)), outcome)


def _go(text: str, tree: str) -> Iterator[ForeignTest]:  # noqa: ARG001
    for line in text.splitlines():
        if not line.startswith("{"):
            continue
        event = json.loads(line)
        if event.get("Test") and event.get("Action") in ("pass", "fail", "skip"):
            yield ForeignTest(str(event.get("Package", "")), clean(str(event["Test"])), _OUTCOMES[event["Action"]])


def _cargo(text: str, tree: str) -> Iterator[ForeignTest]:  # noqa: ARG001
    binary, marks = "", list(_CARGO_BINARY.finditer(text))
    places = [(mark.start(), mark[1] or f"doc {mark[2]}") for mark in marks]
    for line in _CARGO_LINE.finditer(text):
        while places and places[0][0] < line.start():
            binary = places.pop(0)[1]
        yield ForeignTest(binary, clean(line[1]), _OUTCOMES[line[2]])


def _junit(text: str, tree: str) -> Iterator[ForeignTest]:
    """Nested suites are groups of tests; a document that declares anything is refused before it is parsed."""
    if "<!" in text.replace("<!--", "").replace("<![CDATA[", ""):
        raise ValueError("declarations")
    yield from _suites(ElementTree.fromstring(text), (), "", tree)  # noqa: S314 - see above


def _suites(node: ElementTree.Element, names: tuple[str, ...], file: str, tree: str) -> Iterator[ForeignTest]:
    if len(names) > _DEPTH_MAX:
        raise ValueError("nested too deep")
    file = node.get("file") or file
    for child in node:
        if child.tag == "testsuite":
            name = child.get("name", "")
            own = child.get("file") or (name if name.endswith((*_SOURCES, ".py")) else "")
            yield from _suites(child, (*names, name) if not own else names, own or file, tree)
        elif child.tag == "testcase":
            where = child.get("file") or file or child.get("classname") or ""
            name = child.get("name") or ""
            yield ForeignTest(_file(where, tree), clean(" > ".join([*names, name])), _of_case(child))


def _of_case(case: ElementTree.Element) -> Outcome:
    tags = {child.tag for child in case}
    if tags & {"failure", "error"}:
        return Outcome.FAILED
    return Outcome.SKIPPED if "skipped" in tags else Outcome.PASSED


_READ: dict[Runner | str, Callable[[str, str], Iterator[ForeignTest]]] = {
    JUNIT: _junit,
    Runner.NODE: _node,
    Runner.JEST: _jest,
    Runner.VITEST: _jest,
    Runner.GO: _go,
    Runner.CARGO: _cargo,
}
