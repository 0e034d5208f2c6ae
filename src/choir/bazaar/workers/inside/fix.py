"""Runs the fixers on the files of /work/paths.json below /work/repository.

Called as: python3 -I -c SOURCE RUFF step…, where a step is "lint" or "format". Ruff looks for the project's own
configuration; one that it cannot read is put aside.
"""

from __future__ import annotations

import json
import subprocess
import sys

CHUNK = 200
FAULT = 2  # ruff's code for a configuration or a command line that it does not understand
COMMANDS = {
    "lint": ["check", "--fix", "--exit-zero", "--no-cache", "--quiet"],
    "format": ["format", "--no-cache", "--quiet"],
}


def run(ruff: str, step: str, paths: list[str], *more: str) -> int:
    command = [ruff, *COMMANDS[step], *more, "--", *paths]
    return subprocess.run(command, cwd="/work/repository", check=False).returncode


def main() -> None:
    ruff, steps = sys.argv[1], sys.argv[2:]
    with open("/work/paths.json", encoding="utf-8") as file:  # noqa: PTH123
        paths = json.load(file)
    for step in steps:
        for start in range(0, len(paths), CHUNK):
            chunk = paths[start : start + CHUNK]
            if run(ruff, step, chunk) == FAULT:
                run(ruff, step, chunk, "--isolated")
        sys.stdout.write(f"{step} done for {len(paths)} files\n")


if __name__ == "__main__":
    main()
