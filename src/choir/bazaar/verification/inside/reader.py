"""Reads test files without running them: which tests they hold, and the hash of each one's code.

Nothing of the tree is imported, so no tested code runs here. A test is compiled twice, as pytest rewrites it and plain,
because a command may switch rewriting off.
"""

from __future__ import annotations

import ast
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOOLS = "/opt/choir"
TREE = "/work/tree"


def functions(code: types.CodeType, prefix: str = "") -> Iterator[tuple[str, types.CodeType]]:
    """Every function of a module and of its classes, by its name as pytest writes it."""
    for item in code.co_consts:
        if isinstance(item, types.CodeType) and not item.co_name.startswith("<"):
            yield prefix + item.co_name, item
            yield from functions(item, f"{prefix}{item.co_name}::")


def codes_of(path: str, rewrite: Any, digest_of_code: Any) -> dict[str, list[str]]:
    source = Path(path).read_bytes()
    found: dict[str, list[str]] = {}
    for rewritten in (True, False):
        tree = ast.parse(source, filename=path)
        if rewritten:
            rewrite(tree, source, path)
        for name, code in functions(compile(tree, path, "exec", dont_inherit=True)):
            found.setdefault(name, []).append(digest_of_code(code))
    return found


def main() -> None:
    sys.path[:0] = [f"{TOOLS}/site", TOOLS]
    from _pytest.assertion.rewrite import rewrite_asserts
    from digests import digest_of_code  # type: ignore[import-not-found]

    found = {}
    for name in json.loads(sys.stdin.buffer.read()):
        try:
            found[name] = codes_of(f"{TREE}/{name}", rewrite_asserts, digest_of_code)
        except (OSError, SyntaxError, ValueError, RecursionError):
            continue
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
