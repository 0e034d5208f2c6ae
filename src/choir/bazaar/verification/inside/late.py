"""Where the packages of an environment are found: after everything of Python's own, and never at its start.

A layer is a stranger's. Its folders come onto the path when the runner and all that reports are loaded, so that nothing
in there stands before them; of its `.pth` files only paths are taken, code in them is not run.
"""

from __future__ import annotations

import os


def paths_of(sites: list[str], tree: str) -> list[str]:
    """The folders of an environment, then those that its editable installs name, then the tree's own."""
    if not sites:
        return []
    found = [site for site in sites if os.path.isdir(site)]  # noqa: PTH112 - kept to what is loaded anyway
    for site in list(found):
        for name in sorted(os.listdir(site)):  # noqa: PTH208
            if name.endswith(".pth"):
                found += [path for path in _lines(f"{site}/{name}") if os.path.isdir(path)]  # noqa: PTH112
    return [*found, tree, f"{tree}/src"]


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            text = file.read(100_000)
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.startswith("/")]
