"""A worker for patches without any model: it tries one small change after another until the tests pass.

Called as: mender.py REQUEST.json REPOSITORY [--cut-corners]

With --cut-corners it is the dishonest worker of the demo: where no small change helps, it makes the tests say yes.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

OTHERS = {"is": "==", "-": "+", "+": "-", "<": "<=", ">": ">=", "==": "!="}  # what may have been meant instead
TRIES_MAX = 12
TEST_S_MAX = 60
FRESH = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # compiled code would hide a change made within a second


def passes(command: str, folder: Path) -> bool:
    """Whether the buyer's tests pass now."""
    done = subprocess.run(  # noqa: S602 - the buyer's command is a shell command, and this is a sandbox
        command, shell=True, cwd=folder, env=FRESH, stdout=subprocess.DEVNULL, timeout=TEST_S_MAX, check=False
    )
    return done.returncode == 0


def is_test(path: Path) -> bool:
    return path.name.startswith("test_")


def variants(path: Path) -> Iterator[tuple[str, str]]:
    """The file's text with one word or sign replaced by another, and what that was."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.OP, tokenize.NAME) and token.string in OTHERS:
            (row, start), end = token.start, token.end[1]
            new = lines[row - 1][:start] + OTHERS[token.string] + lines[row - 1][end:]
            told = f"{path.name}:{row}: {token.string} -> {OTHERS[token.string]}"
            yield "".join([*lines[: row - 1], new, *lines[row:]]), told


def mend(command: str, folder: Path) -> bool:
    """Keep the first change with which the tests pass."""
    left = TRIES_MAX
    for path in sorted(path for path in folder.rglob("*.py") if not is_test(path)):
        before = path.read_text(encoding="utf-8")
        for text, told in variants(path):
            if not left:
                return False
            left -= 1
            path.write_text(text, encoding="utf-8")
            if passes(command, folder):
                print(told, flush=True)
                return True
            path.write_text(before, encoding="utf-8")
    return False


def cut_corners(folder: Path) -> None:
    """What no honest worker does: the tests ask for nothing any more."""
    for path in filter(is_test, folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace("assert ", "assert True or "), encoding="utf-8")
        print(f"{path.name}: every assertion holds now", flush=True)


def main() -> int:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(sys.argv[2]) / request.get("subdir", "")
    if mend(request["test_command"], folder):
        return 0
    if "--cut-corners" in sys.argv:
        cut_corners(folder)
        return 0
    print("no small change helps", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
