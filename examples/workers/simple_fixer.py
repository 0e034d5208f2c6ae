"""A worker in one file: it repairs small slips in Python code by trying, without any model.

Called as: simple_fixer.py REQUEST.json REPOSITORY

It reads the order, runs the buyer's test command, and then tries small changes one after another: another operator, a
number that is one off, `and` for `or`, `is` for `==`. Lines that the failing tests mention come first. A change that
lets more tests pass is kept, until all pass or nothing helps. Tests themselves are never touched. It knows nothing
about any particular repository, and it finds only bugs of this kind; that is the point of an example.

What a worker of yours needs to know:
- It runs in a sandbox, started in the repository, with no network unless its profile names hosts.
- It changes files. Choir computes the diff, verifies it, and hands it in; a commit or an exit code means nothing.
- What it prints goes into the trajectory, which the buyer may read.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TRIES_MAX = 300
TEST_S_MAX = 60
QUIET = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # compiled code would hide a change made within a second
OTHERS = {
    "+": ("-",),
    "-": ("+",),
    "*": ("/", "**"),
    "/": ("//", "*"),
    "//": ("/",),
    "%": ("//",),
    "**": ("*",),
    "==": ("!=",),
    "!=": ("==",),
    "<": ("<=", ">"),
    "<=": ("<", ">="),
    ">": (">=", "<"),
    ">=": (">", "<="),
    "+=": ("-=",),
    "-=": ("+=",),
    "is": ("==",),
    "and": ("or",),
    "or": ("and",),
    "True": ("False",),
    "False": ("True",),
    "min": ("max",),
    "max": ("min",),
}


@dataclass(frozen=True)
class Slip:
    """A place where the code may have slipped, and what could stand there instead."""

    path: Path
    line: int
    column: int
    old: str
    new: str

    def mended(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        row = lines[self.line - 1]
        lines[self.line - 1] = row[: self.column] + self.new + row[self.column + len(self.old) :]
        return "".join(lines)


@dataclass(frozen=True)
class Outcome:
    """What the test command said: whether it ended well, and how many tests passed and failed, as far as it tells."""

    ended_well: bool
    passed: int
    failed: int
    text: str

    @property
    def score(self) -> tuple[bool, int, int]:
        return self.ended_well, -self.failed, self.passed


def run_tests(command: str, folder: Path) -> Outcome:
    try:
        done = subprocess.run(  # noqa: S602 - the buyer's command is a shell command, and this is a sandbox
            command, shell=True, cwd=folder, env=QUIET, capture_output=True, timeout=TEST_S_MAX, check=False
        )
    except subprocess.TimeoutExpired:
        return Outcome(False, 0, sys.maxsize, "")
    text = (done.stdout + done.stderr).decode(errors="replace")
    passed, failed = (_count(text, word) for word in ("passed", "failed|errors?"))
    return Outcome(done.returncode == 0, passed, failed, text)


def _count(text: str, words: str) -> int:
    return sum(int(number) for number in re.findall(rf"(\d+) (?:{words})\b", text))


def is_test(path: Path) -> bool:
    name = path.name
    return name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py") or "tests" in path.parts


def sources(folder: Path) -> list[Path]:
    found = [path for path in folder.rglob("*.py") if not path.is_symlink()]
    return sorted(path for path in found if not is_test(path.relative_to(folder)))


def slips(path: Path) -> Iterator[Slip]:
    """Every small change that could be tried in a file."""
    text = path.read_text(encoding="utf-8")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return
    for token in tokens:
        line, column = token.start
        for new in others(token):
            yield Slip(path, line, column, token.string, new)


def others(token: tokenize.TokenInfo) -> tuple[str, ...]:
    if token.type in (tokenize.OP, tokenize.NAME):
        return OTHERS.get(token.string, ())
    if token.type == tokenize.NUMBER and token.string.isdigit():
        number = int(token.string)
        return (str(number + 1), *((str(number - 1),) if number else ()))
    return ()


def suspected(outcome: Outcome, folder: Path) -> set[tuple[str, int]]:
    """Lines that the tests' output names, and those close to them."""
    named = re.findall(r"([\w./-]+\.py):(\d+)", outcome.text)
    near = {(Path(path).name, int(line) + step) for path, line in named for step in range(-3, 4)}
    functions = set(re.findall(r"(\w+)\(", "\n".join(re.findall(r"^[>E].*$", outcome.text, re.MULTILINE))))
    return near | {place for path in sources(folder) for place in bodies(path, functions)}


def bodies(path: Path, functions: set[str]) -> Iterator[tuple[str, int]]:
    """The lines of functions by these names."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            yield from ((path.name, line) for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


def improve(command: str, folder: Path, before: Outcome) -> Outcome | None:
    """Keep the first change that helps; nothing if none does."""
    places = suspected(before, folder)
    candidates = [slip for path in sources(folder) for slip in slips(path)]
    candidates.sort(key=lambda slip: ((slip.path.name, slip.line) not in places, slip.old.isdigit()))
    for slip in candidates[:TRIES_MAX]:
        text = slip.path.read_text(encoding="utf-8")
        slip.path.write_text(slip.mended(text), encoding="utf-8")
        after = run_tests(command, folder)
        if after.score > before.score:
            where = slip.path.relative_to(folder)
            print(
                f"{where}:{slip.line}: {slip.old} -> {slip.new}: {after.passed} pass, {after.failed} fail", flush=True
            )
            return after
        slip.path.write_text(text, encoding="utf-8")
    return None


def main() -> int:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(sys.argv[2]) / request.get("subdir", "")
    command = request["test_command"]
    outcome: Outcome | None = run_tests(command, folder)
    while outcome is not None and not outcome.ended_well:
        print(f"{outcome.passed} tests pass, {outcome.failed} fail; looking for a slip", flush=True)
        outcome = improve(command, folder, outcome)
    print("all tests pass" if outcome else "no small change helps", flush=True)
    return 0 if outcome else 1


if __name__ == "__main__":
    sys.exit(main())
