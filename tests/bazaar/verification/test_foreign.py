"""Tests of other languages: their reports are read outside, and JavaScript's are controlled like Python's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from choir.bazaar.contracts import HiddenCheck, HiddenChecks, HiddenFile
from choir.bazaar.contracts.commands import Runner, parse_tests
from choir.bazaar.jobs.model import Level, Verdict
from choir.bazaar.verification import foreign
from choir.bazaar.verification.reports import Outcome
from choir.bazaar.verification.service import Verifier
from tests.bazaar.verification.making import SALT
from tests.bazaar.verification.scene import Repository

needs_node = pytest.mark.skipif(not Path("/usr/bin/node").exists(), reason="needs /usr/bin/node")
needs_go = pytest.mark.skipif(not Path("/usr/bin/go").exists(), reason="needs /usr/bin/go")

HEAD = "const test = require('node:test');\nconst assert = require('node:assert');\n"
HEAD += "const { add, point } = require('../sum.js');\n\n"
JS = {
    "sum.js": "exports.add = (a, b) => a - b;\nexports.point = (x, y) => ({ x, y });\n",
    "test/sum.test.js": HEAD + "test('adds', () => {\n  assert.strictEqual(add(2, 3), 5);\n});\n\n"
    "test.describe('points', () => {\n  test.it('has sides', () => {\n"
    "    assert.deepStrictEqual(point(3, 4), { x: 3, y: 4 });\n  });\n});\n\n"
    "test('is a number', () => {\n  assert.ok(Number.isFinite(add(1, 1)));\n});\n",
    "package.json": '{"name": "sum", "scripts": {"test": "node --test"}}\n',
}
HIDDEN_TEXT = (
    HEAD + "test('adds more', () => {\n  assert.strictEqual(add(20, 31), 51);\n  assert.equal(add(7, 7), 14);\n});\n"
)
HIDDEN = HiddenChecks(
    SALT, (HiddenCheck("node --test test/hidden.test.js"),), (HiddenFile("test/hidden.test.js", HIDDEN_TEXT.encode()),)
)
FIXED = JS["sum.js"].replace("a - b", "a + b")
TABLE = JS["sum.js"].replace("a - b", "({ '2 3': 5, '1 1': 2 })[`${a} ${b}`] ?? 0")
LIAR = "class Yes { valueOf() { return 5; } toString() { return '5'; } }\n" + JS["sum.js"].replace("a - b", "new Yes()")
FORGER = (
    "const assert = require('node:assert');\nfor (const name of Object.keys(assert)) assert[name] = () => {};\n" + TABLE
)
READER = (
    "const fs = require('node:fs');\nconst found = () => { const text = fs.readFileSync(process.argv[1], 'utf8');\n"
    "  return Number(/add\\(20, 31\\), (\\d+)/.exec(text)?.[1] ?? 5); };\n" + JS["sum.js"].replace("a - b", "found()")
)
EXITS = "process.on('exit', () => { process.exitCode = 0; });\n" + JS["sum.js"]


def verdict_of(
    verifier: Verifier, folder: Path, files: dict[str, str], edits: dict[str, str], **request: object
) -> Verdict:
    repository = Repository.make(folder / "made", files)
    (folder / "scratch").mkdir()
    hidden = request.pop("hidden", None)
    assert hidden is None or isinstance(hidden, HiddenChecks)
    order = repository.order(hidden, **request)
    return verifier.verify(order, repository.delivery(repository.diff(edits, folder / "scratch")))


@needs_node
def test_an_honest_fix_in_javascript_is_verified_by_hidden_tests(verifier: Verifier, tmp_path: Path) -> None:
    found = verdict_of(verifier, tmp_path, JS, {"sum.js": FIXED}, hidden=HIDDEN, test_command="node --test test/")
    assert (found.passed, found.reason, found.level) == (True, "", Level.V3)
    assert found.strengths["visible"] == {"outside": 2, "blind": 0, "contradiction": 1, "none": 0}
    assert found.strengths["hidden"]["outside"] == 1


@needs_node
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("wrong", JS["sum.js"] + "// nothing\n", "tests.failed"),
        ("a table of the visible tests", TABLE, "hidden.failed"),
        ("assertions that do nothing", FORGER, "hidden.failed"),
        ("reads the test", READER, "hidden.failed"),
        ("an object that looks like a number", LIAR, "tests.failed"),
        ("forces the exit code", EXITS, "tests.failed"),
    ],
)
def test_a_cheat_in_javascript_is_refused(
    verifier: Verifier, tmp_path: Path, name: str, text: str, reason: str
) -> None:
    found = verdict_of(verifier, tmp_path, JS, {"sum.js": text}, hidden=HIDDEN, test_command="node --test test/")
    assert (found.passed, found.reason) == (False, reason), name


@needs_node
@pytest.mark.parametrize(
    ("path", "text", "reason"),
    [
        ("test/sum.test.js", "// nothing\n", "patch.deciding_test_changed"),
        ("package.json", '{"name": "sum", "scripts": {"test": "true"}}\n', "patch.test_configuration_changed"),
    ],
)
def test_what_decides_in_javascript_stays_the_buyers(
    verifier: Verifier, tmp_path: Path, path: str, text: str, reason: str
) -> None:
    found = verdict_of(verifier, tmp_path, JS, {"sum.js": FIXED, path: text}, test_command="node --test test/")
    assert found.reason == reason


def test_any_command_that_writes_a_report_in_junits_form_is_read(verifier: Verifier, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom calc import add\ngood = add(1, 2) == 3\nwrong = '' if good else '<failure/>'\n"
        "case = f'<testcase name=\"adds\">{wrong}</testcase>'\n"
        "text = f'<testsuites><testsuite>{case}</testsuite></testsuites>'\n"
        "open('report.xml', 'w').write(text)\nsys.exit(0 if good else 1)\n"
    )
    files = {"calc.py": "def add(a, b):\n    return a - b\n", "check.py": script}
    asked = {"test_command": "python3 check.py", "junit_report": "report.xml"}
    found = verdict_of(verifier, tmp_path / "a", files, {"calc.py": "def add(a, b):\n    return a + b\n"}, **asked)
    assert (found.passed, found.level, found.strengths["visible"]) == (True, Level.V2, {"none": 1})
    empty = "import sys\n\n\ndef add(a, b):\n    sys.exit(0)\n"
    found = verdict_of(verifier, tmp_path / "b", files, {"calc.py": empty}, **asked)
    assert found.reason == "tests.report_incomplete"


GO = {
    "go.mod": "module example.org/sum\n\ngo 1.19\n",
    "sum.go": "package sum\n\nfunc Add(a, b int) int { return a - b }\n",
    "sum_test.go": 'package sum\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n'
    '\t\tt.Fatal("wrong")\n\t}\n}\n',
}


@needs_go
@pytest.mark.deep
def test_go_tests_are_reported_one_by_one(verifier: Verifier, tmp_path: Path) -> None:
    good = {"sum.go": GO["sum.go"].replace("a - b", "a + b")}
    assert verdict_of(verifier, tmp_path / "a", GO, good, test_command="go test ./...").level == Level.V2
    leaves = GO["sum.go"].replace("package sum\n", 'package sum\n\nimport "os"\n')
    exits = {"sum.go": leaves.replace("return a - b", "os.Exit(0); return 0")}
    assert verdict_of(verifier, tmp_path / "b", GO, exits, test_command="go test ./...").reason.startswith("tests.")


# --- reading ---


def read(runner: Runner | str, text: str) -> dict[str, Outcome]:
    return {test.node: test.outcome for test in foreign.read(runner, text, "/work/tree")}


def test_reports_are_read_for_what_each_test_did() -> None:
    jest = {
        "testResults": [
            {
                "name": "/work/tree/a.test.js",
                "status": "failed",
                "assertionResults": [
                    {"ancestorTitles": ["group"], "title": "adds [1]", "status": "passed"},
                    {"ancestorTitles": [], "title": "takes", "status": "failed"},
                    {"ancestorTitles": [], "title": "later", "status": "todo"},
                ],
            },
            {"name": "/work/tree/b.test.js", "status": "failed", "assertionResults": []},
        ]
    }
    assert read(Runner.JEST, json.dumps(jest)) == {
        "a.test.js::group > adds (1)": Outcome.PASSED,
        "a.test.js::takes": Outcome.FAILED,
        "a.test.js::later": Outcome.SKIPPED,
        "b.test.js::(loading)": Outcome.FAILED,
    }
    go = [
        {"Action": "run", "Package": "p", "Test": "TestA"},
        {"Action": "pass", "Package": "p", "Test": "TestA"},
        {"Action": "fail", "Package": "p", "Test": "TestB/case"},
        {"Action": "fail", "Package": "p"},
    ]
    lines = "building\n" + "\n".join(json.dumps(item) for item in go)
    assert read(Runner.GO, lines) == {"p::TestA": Outcome.PASSED, "p::TestB/case": Outcome.FAILED}
    cargo = (
        "     Running unittests src/lib.rs (target/debug/deps/x)\ntest tests::adds ... ok\n"
        "test tests::takes ... FAILED\n"
        "   Doc-tests x\ntest src/lib.rs - add (line 3) ... ignored\n"
    )
    assert read(Runner.CARGO, cargo) == {
        "src/lib.rs::tests:adds": Outcome.PASSED,
        "src/lib.rs::tests:takes": Outcome.FAILED,
        "doc x::src/lib.rs - add (line 3)": Outcome.SKIPPED,
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not a report",
        "{}",
        '{"testResults": [{}]}',
        '{"testResults": 3}',
        "[" * 100_000,
        '<!DOCTYPE x [<!ENTITY a "b">]><testsuites>&a;</testsuites>',
        "<testsuites>" + "<testsuite>" * 500 + "</testsuite>" * 500 + "</testsuites>",
        "<testsuites>",
    ],
)
@pytest.mark.parametrize("runner", [*[item for item in Runner if not item.is_python], foreign.JUNIT])
def test_a_report_that_cannot_be_read_has_no_tests(runner: Runner | str, text: str) -> None:
    assert foreign.read(runner, text, "/work/tree") == []


def test_the_worse_of_two_outcomes_counts() -> None:
    text = "\n".join(json.dumps({"Action": action, "Package": "p", "Test": "T"}) for action in ("fail", "pass"))
    assert read(Runner.GO, text) == {"p::T": Outcome.FAILED}


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("node --test test/", Runner.NODE),
        ("npx jest --coverage", Runner.JEST),
        ("npx vitest run", Runner.VITEST),
        ("GOFLAGS=-mod=vendor go test ./...", Runner.GO),
        ("cargo test --all", Runner.CARGO),
    ],
)
def test_commands_of_other_runners_are_known(command: str, runner: Runner) -> None:
    found = parse_tests(command)
    assert found is not None
    assert found.runner is runner
    assert foreign.REPORT in foreign.command_of(found)
