"""Which files decide whether work is accepted. They are the buyer's, whatever the patch does to them.

Three kinds: tests and what lies beside them; what configures the run (conftest, ini sections, plugins, files the
command names); and what every Python process loads by itself (sitecustomize, .pth, modules that stand before the
runner's or the standard library's). A patch that changes one of them is refused, each with its own reason; before
every run they are put back as well, so that a rule that was too narrow still proves nothing for the provider.
"""

from __future__ import annotations

import configparser
import json
import re
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from choir.bazaar.contracts.commands import words_of
from choir.bazaar.contracts.patches import PatchGenRequest
from choir.bazaar.contracts.paths import fits_any
from choir.bazaar.verification.trees import Change, Entry, Kind, put

_HAS_TESTS = re.compile(rb"^\s*(async\s+)?def test|^class \w*Test|TestCase", re.MULTILINE)
_TEST_FOLDERS = {"test", "tests", "__tests__", "__snapshots__"}
_FOREIGN_TEST = re.compile(r"\.(test|spec)\.[cm]?[jt]sx?$|_test\.go$")
_RUST_TESTS = re.compile(rb"#\[cfg\(test\)\]")
_RUNNER = {
    "pytest",
    "_pytest",
    "pluggy",
    "iniconfig",
    "packaging",
    "pygments",
    "py",
    "xdist",
    "exceptiongroup",
    "tomli",
}
_STARTUP = {"sitecustomize", "usercustomize"}
_SCRIPT_CONFIG = re.compile(r"(jest|vitest|vite|babel|tsconfig|\.mocharc)[\w.-]*\.([cm]?[jt]s|json|ya?ml)$|\.babelrc")
_INI = {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "noxfile.py", ".coveragerc"}
_SHARED_INI = {"pyproject.toml", "setup.cfg", "tox.ini", "package.json"}
_BY_PROGRAM = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "tox": ("tox.ini",),
    "nox": ("noxfile.py",),
}


@dataclass(frozen=True, slots=True)
class Deciders:
    """What was found out about the buyer's own tests by running them on the buyer's own tree."""

    test_files: frozenset[str] = frozenset()  # that tests were collected from
    plugins: frozenset[str] = frozenset()  # modules of the tree that pytest loaded as plugins
    path: frozenset[str] = frozenset({""})  # folders of the tree that modules are imported from


def is_test(path: str) -> bool:
    """Whether a path is a test or lies among tests, by its name."""
    place = PurePosixPath(path)
    name = place.name
    by_name = name.endswith(".py") and (name.startswith("test_") or name.endswith("_test.py"))
    return by_name or name == "conftest.py" or any(part.lower() in _TEST_FOLDERS for part in place.parts[:-1])


def is_foreign_test(path: str) -> bool:
    """Whether a path is a test of JavaScript, Go or Rust, by its name."""
    place = PurePosixPath(path)
    by_name = _FOREIGN_TEST.search(place.name) is not None
    below = any(part in ("test", "tests", "__tests__") for part in place.parts[:-1])
    return by_name or (below and place.suffix in (".js", ".mjs", ".cjs", ".ts", ".mts", ".tsx", ".jsx", ".rs", ".go"))


def is_test_change(change: Change) -> bool:
    """Whether a patch changes a test. A name alone does not make one: `ab_test.py` may be about something else."""
    parts = PurePosixPath(change.path).parts
    if parts[-1] == "conftest.py" or any(part.lower() in _TEST_FOLDERS for part in parts[:-1]):
        return True
    if is_foreign_test(change.path):
        return True
    entry = change.before or change.after
    return is_test(change.path) and entry is not None and _HAS_TESTS.search(entry.content) is not None


def fault(changes: Iterable[Change], deciders: Deciders, request: PatchGenRequest) -> tuple[str, str]:
    """Why the patch may not change what it changes, or nothing."""
    for change in changes:
        found = (
            _startup_fault(change, deciders)
            or _configuration_fault(change, request)
            or _test_fault(change, deciders, request)
        )
        if found:
            return found
    return "", ""


def _startup_fault(change: Change, deciders: Deciders) -> tuple[str, str] | None:
    place = PurePosixPath(change.path)
    names = {part.split(".")[0] for part in place.parts}
    metadata = any(part.lower().endswith((".egg-info", ".dist-info")) for part in place.parts[:-1])
    if names & _STARTUP or place.suffix == ".pth":
        return "patch.startup_hook", "The patch changes code that Python loads at startup."
    plugin = change.path in deciders.plugins and place.name != "conftest.py"
    if metadata or plugin or place.name == "entry_points.txt":
        return "patch.test_plugin_changed", "The patch changes a plugin of the test runner."
    if change.kind is Kind.ADDED and _shadows(place, deciders):
        return "patch.shadows_module", "The patch adds a module that shadows one of the test runner or Python."
    return None


def _shadows(place: PurePosixPath, deciders: Deciders) -> bool:
    """Whether a new file becomes a module of that name in a folder that modules are imported from."""
    if place.suffix not in (".py", ".pyc", ".so", ".zip"):
        return False
    is_package = place.name.startswith("__init__.")
    home, name = (place.parent.parent, place.parent.name) if is_package else (place.parent, place.name)
    folder = "" if str(home) == "." else str(home)
    known = (_RUNNER | set(sys.stdlib_module_names)) - _TEST_FOLDERS
    return name.split(".")[0] in known and folder in deciders.path | {"", "src", "lib"}


def _configuration_fault(change: Change, request: PatchGenRequest) -> tuple[str, str] | None:
    name = PurePosixPath(change.path).name
    if name == "conftest.py":
        return "patch.conftest_changed", "The patch changes or adds a conftest.py."
    shared = name in _SHARED_INI and _sections(name, change.before) != _sections(name, change.after)
    if shared or name in _INI or _SCRIPT_CONFIG.match(name):
        return "patch.test_configuration_changed", "The patch changes how the tests are configured."
    if change.path in named_by(request):
        return "patch.test_command_changed", "The patch changes a file that the test command runs."
    return None


def _test_fault(change: Change, deciders: Deciders, request: PatchGenRequest) -> tuple[str, str] | None:
    if _rust_tests(change.before) != _rust_tests(change.after) and change.kind is Kind.CHANGED:
        return "patch.deciding_test_changed", "The patch changes tests that stand in a source file."
    decides = change.path in deciders.test_files or fits_any(change.path, request.deciding_paths)
    if change.kind is Kind.ADDED:
        if fits_any(change.path, request.deciding_paths):
            return "patch.deciding_test_added", "The patch adds a file that affects the verdict."
        return None  # other new tests never count and are taken away before the run
    if decides or is_test_change(change):
        if change.kind is Kind.DELETED:
            return "patch.deciding_test_deleted", "The patch deletes a test or a file among the tests."
        return "patch.deciding_test_changed", "The patch changes a test or a file among the tests."
    return None


def _rust_tests(entry: Entry | None) -> bytes:
    """The tests of a Rust file, which usually stand at its end, or nothing."""
    found = _RUST_TESTS.search(entry.content) if entry is not None else None
    return b"" if found is None or entry is None else b"".join(entry.content[found.start() :].split())


def named_by(request: PatchGenRequest) -> set[str]:
    """Files of the tree that the buyer's commands run: the program itself, a script, what make and its like read."""
    prefix = f"{request.subdir}/" if request.subdir else ""
    found = set()
    for command in (request.test_command, *request.verification_commands):
        words = [word for word in words_of(command) if not word.startswith("-") and "=" not in word]
        for place, word in enumerate(words):
            name = PurePosixPath(word).name
            if place == 0 or _is_interpreter(PurePosixPath(words[place - 1]).name):
                found |= {prefix + word.removeprefix("./"), f"{prefix}{word.replace('.', '/')}.py"}
            found |= {prefix + item for item in _BY_PROGRAM.get(name, ())}
    return found


def _is_interpreter(name: str) -> bool:
    return name.startswith("python") or name in ("sh", "bash", "node", "ruby", "perl", "env", "&&", "||", ";")


def _sections(name: str, entry: Entry | None) -> Any:
    """What a shared configuration file says about tests, or a mark that it cannot be read."""
    if entry is None or entry.link is not None:
        return {} if name in ("pyproject.toml", "package.json") else {"marks": []}
    try:
        text = entry.content.decode("utf-8-sig")
        if name == "package.json":
            package = json.loads(text)
            return {key: package[key] for key in ("scripts", "jest", "vitest", "mocha", "type") if key in package}
        if name == "pyproject.toml":
            tools = tomllib.loads(text).get("tool", {})
            return {key: tools[key] for key in ("pytest", "coverage", "tox", "nox") if key in tools}
        parser = configparser.RawConfigParser(strict=False)
        parser.read_string(text)
        found = {key: dict(parser[key]) for key in parser.sections() if "pytest" in key or key.startswith("testenv")}
        marks = [line.strip() for line in text.split("\n") if "pytest" in line]  # pytest's parser is another one
        return found | {"marks": marks}
    except (ValueError, configparser.Error, AttributeError, TypeError, RecursionError):
        return {"unreadable": entry.content}


def restore(tree: Path, changes: Iterable[Change], deciders: Deciders, request: PatchGenRequest) -> int:
    """Put everything that decides back to what it was in the buyer's tree; returns how many files that were."""
    count = 0
    for change in changes:
        if is_test_change(change) or fault([change], deciders, request)[0]:
            put(tree, change.path, change.before)
            count += 1
    return count
