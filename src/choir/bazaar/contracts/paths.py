"""Rules about paths: which files of a repository a patch may touch.

A pattern is a path with / between its parts, relative to the repository's top. In a part, `*` stands for any
characters, `?` for one; nothing else is special. A part `**` stands for any number of folders, also none; at the end
it stands for everything below. A pattern without / fits at the top only: write `**/name` for any folder. A pattern that
names a folder fits all below it. Upper and lower case are different when allowing and the same when disallowing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from choir.foundation.errors import Invalid

EVERYTHING = ("**",)
DISALLOWED = (
    ".env",
    "**/.env",
    "**/*secret*",
    "**/.gitmodules",
    "**/.gitattributes",
    ".github/workflows",
)
_PATTERN_CHARS_MAX = 300


class BadPattern(Invalid):
    """A path pattern that cannot be meant."""

    code = "bazaar.bad_pattern"
    sentence = "The path pattern '{pattern}' is not valid: {why}."


def check_pattern(pattern: str) -> str:
    """A pattern that can be used, or the refusal that says why not."""
    parts = pattern.split("/")
    why = ""
    if not pattern or len(pattern) > _PATTERN_CHARS_MAX:
        why = f"it must have 1 to {_PATTERN_CHARS_MAX} characters"
    elif pattern.startswith("/") or ".." in parts or "." in parts or "" in parts[:-1]:
        why = "it must be relative to the repository, without empty parts, . or .."
    elif any("**" in part and part != "**" for part in parts):
        why = "** must be a part of its own"
    elif "\\" in pattern or not pattern.isprintable():
        why = "use / between parts, and printable characters only"
    if why:
        raise BadPattern(pattern=pattern[:60], why=why)
    return pattern


@lru_cache(maxsize=2_000)
def _compiled(pattern: str, fold: bool) -> re.Pattern[str]:
    parts = [part for part in check_pattern(pattern).split("/") if part]
    text = ""
    for place, part in enumerate(parts):
        last = place == len(parts) - 1
        if part == "**":
            text += ".*" if last else "(?:[^/]+/)*"
        else:
            text += "".join({"*": "[^/]*", "?": "[^/]"}.get(sign, re.escape(sign)) for sign in part)
            text += "(?:/.*)?" if last else "/"
    return re.compile(text + r"\Z", re.DOTALL | (re.IGNORECASE if fold else 0))


def fits(path: str, pattern: str, *, fold: bool = False) -> bool:
    """Whether a path is one that the pattern stands for."""
    return _compiled(pattern, fold).match(path) is not None


def fits_any(path: str, patterns: Iterable[str], *, fold: bool = False) -> bool:
    return any(fits(path, pattern, fold=fold) for pattern in patterns)
