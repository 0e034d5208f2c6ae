"""Understanding a test command: which test runner is it, with which words and which environment?

Only a plain command counts: no pipes, no substitutions, no second command. Anything else is a shell command of which
nothing is known but how it ends.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)\Z", re.DOTALL)
_PYTHON = re.compile(r"(?:/usr/bin/)?python(?:3(?:\.\d+)?)?\Z")
_MODULES = ("pytest", "unittest")
_SHELL_SIGNS = set("|&;<>()$`\\\n*?[]#~{}!")
_OUR_OWN = ("PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTEST_PLUGINS")


class Runner(StrEnum):
    """Test runners whose report is read test by test."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node"  # node --test
    JEST = "jest"
    VITEST = "vitest"
    GO = "go"  # go test
    CARGO = "cargo"  # cargo test

    @property
    def is_python(self) -> bool:
        return self in (Runner.PYTEST, Runner.UNITTEST)

    @property
    def is_javascript(self) -> bool:
        return self in (Runner.NODE, Runner.JEST, Runner.VITEST)


@dataclass(frozen=True, slots=True)
class TestCommand:
    """A call of a test runner taken apart."""

    __test__ = False  # not a test, whatever its name

    runner: Runner
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    as_module: bool = False  # python -m …, which puts the working folder first on the path
    program: tuple[str, ...] = ()  # how a runner that is not Python's is started


_PROGRAMS: dict[tuple[str, ...], Runner] = {
    ("node", "--test"): Runner.NODE,
    ("npx", "--no-install", "jest"): Runner.JEST,
    ("npx", "jest"): Runner.JEST,
    ("jest",): Runner.JEST,
    ("npx", "--no-install", "vitest", "run"): Runner.VITEST,
    ("npx", "vitest", "run"): Runner.VITEST,
    ("vitest", "run"): Runner.VITEST,
    ("go", "test"): Runner.GO,
    ("cargo", "test"): Runner.CARGO,
}
_STARTED: dict[tuple[str, ...], tuple[str, ...]] = {  # without a network, what npx would fetch must be there already
    program: ("npx", "--no-install", *(program[1:] if program[0] == "npx" else program))
    for program in (("npx", "jest"), ("jest",), ("npx", "vitest", "run"), ("vitest", "run"))
}


def parse_tests(command: str) -> TestCommand | None:
    """The call, or nothing if the command is something else."""
    quoted = re.sub(r"'[^']*'", "", command)
    if _SHELL_SIGNS & set(quoted):
        return None
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    environment = []
    while words and (found := _ASSIGNMENT.match(words[0])):
        environment.append((found[1], found[2]))
        words = words[1:]
    if any(name in _OUR_OWN for name, _ in environment) or not words:
        return None
    if words[0] in ("pytest", "py.test"):
        return TestCommand(Runner.PYTEST, tuple(words[1:]), tuple(environment))
    if len(words) >= 3 and _PYTHON.match(words[0]) and words[1] == "-m" and words[2] in _MODULES:
        return TestCommand(Runner(words[2]), tuple(words[3:]), tuple(environment), as_module=True)
    return _parse_others(words, tuple(environment))


def _parse_others(words: list[str], environment: tuple[tuple[str, str], ...]) -> TestCommand | None:
    for program, runner in _PROGRAMS.items():
        if tuple(words[: len(program)]) == program:
            rest = tuple(words[len(program) :])
            return TestCommand(runner, rest, environment, program=_STARTED.get(program, program))
    return None


def words_of(command: str) -> list[str]:
    """The words of any command, for looking which files it names."""
    try:
        return shlex.split(command, comments=False)
    except ValueError:
        return command.split()
