"""Understanding a test command: is it pytest, with which words and which environment?

Only a plain command counts as pytest: no pipes, no substitutions, no second command. Anything else is a shell command
of which nothing is known but how it ends.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)\Z", re.DOTALL)
_PYTHON = re.compile(r"(?:/usr/bin/)?python(?:3(?:\.\d+)?)?\Z")
_SHELL_SIGNS = set("|&;<>()$`\\\n*?[]#~{}!")
_OUR_OWN = ("PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONHOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTEST_PLUGINS")


@dataclass(frozen=True, slots=True)
class PytestCommand:
    """A pytest call taken apart."""

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    as_module: bool = False  # python -m pytest, which puts the working folder first on the path


def parse_pytest(command: str) -> PytestCommand | None:
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
        return PytestCommand(tuple(words[1:]), tuple(environment))
    if len(words) >= 3 and _PYTHON.match(words[0]) and words[1:3] == ["-m", "pytest"]:
        return PytestCommand(tuple(words[3:]), tuple(environment), as_module=True)
    return None


def words_of(command: str) -> list[str]:
    """The words of any command, for looking which files it names."""
    try:
        return shlex.split(command, comments=False)
    except ValueError:
        return command.split()
