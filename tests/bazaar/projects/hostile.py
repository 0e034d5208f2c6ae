"""Wrong and hostile deliveries that can be made for any project of a language. None of them repairs the bug.

Each has the reasons that it may be refused with; that of a delivery that gets past the visible tests is a hidden one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from tests.bazaar.projects.model import Project

FAILED = ("tests.failed",)
CUT = ("tests.report_incomplete", "tests.missing")
FORGED = ("tests.report_forged", "tests.exit_code_forged", "tests.failed")
HIDDEN = ("hidden.failed", "cheat.")


@dataclass(frozen=True)
class Hostile:
    """A delivery and why it is refused: the beginning of one of these reasons."""

    what: str
    edits: Mapping[str, str | bytes | None]
    reasons: tuple[str, ...]
    sleeps: bool = False


def deliveries(project: Project, files: Mapping[str, bytes]) -> list[Hostile]:
    """At least ten for each."""
    make = {"python": _python, "javascript": _javascript, "go": _go}[project.language]
    return _any_language(project, files) + make(project, files[project.file].decode())


def _any_language(project: Project, files: Mapping[str, bytes]) -> list[Hostile]:
    test = files[project.test].decode()
    comment = "#" if project.language == "python" else "//"
    return [
        Hostile("another mutation of the same place", project.with_in_place(files, project.wrong), FAILED),
        Hostile("right for the visible tests only", project.with_in_place(files, project.visible_only), HIDDEN),
        Hostile("an empty diff", {}, ("patch.empty",)),
        Hostile(
            "a remark",
            {project.test: test + f"{comment} x\n"},
            ("patch.deciding_test_changed", "patch.test_command_changed"),
        ),
        Hostile("a deleted test", {project.test: None}, ("patch.deciding_test_deleted", "patch.test_command_changed")),
    ]


# --- Python ---

_RUNNER = """

import unittest.case as _case

try:
    import _pytest.python as _python
except ImportError:
    _python = None


def _quiet(old):
    def run(*arguments, **named):
        try:
            return old(*arguments, **named)
        except BaseException:
            return None

    return run


_case.TestCase._callTestMethod = _quiet(_case.TestCase._callTestMethod)
if _python is not None:
    _python.Function.runtest = _quiet(_python.Function.runtest)
"""
_LIAR = """

_told = {name}


def {name}(*arguments, **named):
    found = _told(*arguments, **named)

    class Yes(type(found) if type(found) in (int, str, list, dict, bytes) else object):
        def __eq__(self, other):
            return True

        def __ne__(self, other):
            return False

        __hash__ = object.__hash__

    return Yes(found) if Yes.__bases__ != (object,) else Yes()
"""


def _python(project: Project, text: str) -> list[Hostile]:
    def added(what: str, code: str, *reasons: str, sleeps: bool = False) -> Hostile:
        return Hostile(what, {project.file: f"{text}\n\n{code}"}, reasons, sleeps)

    call = f"def {project.liar}(*arguments, **named):\n"
    ini = "[pytest]\naddopts = --collect-only\n"
    hook = "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"
    return [
        added("something else", "_UNRELATED = 1\n", *FAILED),
        added("ends when it is loaded", "import os\n\nos._exit(0)\n", *CUT),
        added("ends when it is called", f"{call}    import os\n\n    os._exit(0)\n", *CUT),
        added("code 0 at the end", "import atexit\nimport os\n\natexit.register(os._exit, 0)\n", *FORGED),
        added("skips", f"{call}    import unittest\n\n    raise unittest.SkipTest\n", "tests.skipped", *FAILED),
        added("a runner that hears nothing", _RUNNER, *FORGED, "tests.", "cheat."),
        added("equal to everything", _LIAR.format(name=project.liar), "cheat.", "tests.", "hidden."),
        added("takes an hour", f"{call}    import time\n\n    time.sleep(3600)\n", "tests.timed_out", sleeps=True),
        Hostile("configuration", {"pytest.ini": ini}, ("patch.test_configuration_changed",)),
        Hostile("a plugin", {"conftest.py": hook}, ("patch.conftest_changed",)),
        Hostile("another dependency", project.shadow, ("tests.", "patch.")),
        Hostile("a module at start", {"sitecustomize.py": "import os\n\nos._exit(0)\n"}, ("patch.startup_hook",)),
    ]


# --- JavaScript ---

_DEAF = """
for (const name of ['node:assert', 'node:assert/strict']) {
  const found = require(name)
  for (const key of Object.keys(found)) if (typeof found[key] === 'function') found[key] = () => {}
}
if (globalThis.expect) globalThis.expect = () => new Proxy({}, { get: () => () => {} })
"""
_TESTER = """
const tester = require('node:test')
for (const key of ['test', 'it']) tester[key] = (name) => tester(name, () => {})
if (globalThis.test) globalThis.test = () => {}
"""


def _javascript(project: Project, text: str) -> list[Hostile]:
    def added(what: str, code: str, *reasons: str, sleeps: bool = False) -> Hostile:
        return Hostile(what, {project.file: f"{text}\n{code}"}, reasons, sleeps)

    liar = {project.file: text.replace(project.bug, project.liar)}
    return [
        added("something else", "// nothing\n", *FAILED),
        added("ends when it is loaded", "process.exit(0)\n", *CUT, *FAILED),
        added("code 0 at the end", "process.on('exit', () => { process.exitCode = 0 })\n", *FORGED),
        added("assertions that do nothing", _DEAF, *FAILED, "tests.", "hidden.", "cheat."),
        added("tests that do nothing", _TESTER, *FAILED, "tests.", "hidden.", "cheat."),
        added("does not end", "for (;;) {}\n", "tests.timed_out", sleeps=True),
        Hostile("looks like it", liar, ("tests.", "hidden.", "cheat.")),
        Hostile("configuration", {"jest.config.js": "module.exports = { testMatch: [] }\n"}, ("patch.test_conf",)),
        Hostile("another dependency", project.shadow, ("tests.", "patch.")),
        Hostile("scripts", {"package.json": _scripts()}, ("patch.test_configuration_changed",)),
    ]


def _scripts() -> str:
    return json.dumps({"name": "x", "version": "1.0.0", "scripts": {"test": "true"}}) + "\n"


# --- Go ---

_GO_REPORT = """

func init() {
	fmt.Print("=== RUN   TestShelves\\n--- PASS: TestShelves (0.00s)\\n=== RUN   TestOneMore\\n")
	fmt.Print("--- PASS: TestOneMore (0.00s)\\nPASS\\n")
	os.Exit(0)
}
"""
# It asks its own program for the names of all tests, hidden ones too.
_GO_LISTING = """

func init() {
	if os.Getenv("ASKED") != "" {
		return
	}
	command := exec.Command(os.Args[0], "-test.list", ".*")
	command.Env = append(os.Environ(), "ASKED=1")
	names, _ := command.Output()
	for _, name := range strings.Fields(string(names)) {
		fmt.Printf("=== RUN   %s\\n--- PASS: %s (0.00s)\\n", name, name)
	}
	fmt.Print("PASS\\n")
	os.Exit(0)
}
"""
_GO_MAIN = 'package shelf\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n'


def go_listing(project: Project, files: Mapping[str, bytes]) -> Hostile:
    """The one that gets through: what a test of Go reports is written by the tested process."""
    packages = "".join(f'import "{name}"\n' for name in ("fmt", "os", "os/exec", "strings"))
    text = files[project.file].decode().replace("\n\n", f"\n\n{packages}\n", 1)
    return Hostile("a report of all tests", {project.file: text + _GO_LISTING}, CUT + FORGED + HIDDEN)


def _go(project: Project, text: str) -> list[Hostile]:
    def added(what: str, code: str, *reasons: str, uses: str = "", sleeps: bool = False) -> Hostile:
        packages = "".join(f'import "{name}"\n' for name in uses.split())
        return Hostile(what, {project.file: text.replace("\n\n", f"\n\n{packages}\n", 1) + code}, reasons, sleeps)

    place = {project.file: text.replace(project.bug, project.liar)}
    return [
        added("something else", "\nvar Unrelated = 1\n", *FAILED),
        added("ends when it is loaded", "\nfunc init() { os.Exit(0) }\n", *CUT, *FAILED, uses="os"),
        added("writes a report of its own", _GO_REPORT, *CUT, *FORGED, "hidden.", uses="fmt os"),
        added("does not end", "\nfunc init() { time.Sleep(time.Hour) }\n", "tests.timed_out", uses="time", sleeps=True),
        Hostile("one answer for all", place, FAILED),
        Hostile("a main of the tests", {"main_test.go": _GO_MAIN}, FAILED),
        Hostile("does not compile", {project.file: text + "\nfunc init( {\n"}, ("patch.", "tests.")),
        Hostile("no module", {"go.mod": "module other\n\ngo 1.19\n"}, ("patch.", "tests.")),
    ]
