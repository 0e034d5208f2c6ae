"""The part of `requirements.lock` that ships: `python tools/runtime_lock.py > runtime.txt`.

The lock says behind each package what needs it. What the project's own dependencies lead to ships; what only the extra
`dev` leads to does not. Needs nothing but Python, so that an image can be built with it.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def blocks() -> dict[str, str]:
    """Each package of the lock with its version, hashes and comments."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    parts = re.split(r"\n(?=[a-z0-9])", text.rstrip("\n"))
    return {part[: part.index("==")].partition("[")[0]: part for part in parts}


def runtime() -> dict[str, str]:
    """The blocks of what ships."""
    known = blocks()
    needed_by = {
        name: set(re.findall(r"^ *#(?: via)? +([a-z0-9._-]+)", text, re.MULTILINE)) for name, text in known.items()
    }
    found = {name for name in _declared() if name in known}
    while more := {name for name, by in needed_by.items() if by & found} - found:
        found |= more
    return {name: known[name] for name in sorted(found)}


def _declared() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [_NAME.match(text) for text in project["dependencies"]]
    return {match[0].lower().replace("_", "-") for match in names if match}


if __name__ == "__main__":
    sys.stdout.write("\n".join(runtime().values()) + "\n")
