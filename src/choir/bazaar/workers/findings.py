"""What the analysers said, as findings about lines. Pure: their output in, findings out.

Their output tells of a stranger's files, so nothing in it is taken for granted: what does not have the expected shape
is left out.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from choir.bazaar.contracts import ReviewDepth, ReviewFocus, Severity
from choir.bazaar.verification.decision import is_test

_LOGIC, _STYLE, _SECURITY = ReviewFocus.LOGIC, ReviewFocus.STYLE, ReviewFocus.SECURITY
_PREFIX = "repository/"
_VULTURE = re.compile(r"(.+?):(\d+): (.+) \((\d+)% confidence\)\Z")
_MESSAGE_CHARS_MAX = 1_000

# The first prefix that fits a ruff rule says what kind of finding it is.
_RULES: tuple[tuple[str, ReviewFocus, Severity], ...] = (
    ("E9", _LOGIC, Severity.HIGH),
    ("F821", _LOGIC, Severity.HIGH),
    ("F822", _LOGIC, Severity.HIGH),
    ("F401", _STYLE, Severity.LOW),
    ("F541", _STYLE, Severity.LOW),
    ("F841", _STYLE, Severity.LOW),
    ("F", _LOGIC, Severity.MEDIUM),
    ("PLE", _LOGIC, Severity.HIGH),
    ("PLW", _LOGIC, Severity.MEDIUM),
    ("B", _LOGIC, Severity.MEDIUM),
    ("ASYNC", _LOGIC, Severity.MEDIUM),
    ("E722", _LOGIC, Severity.MEDIUM),
    ("E711", _LOGIC, Severity.LOW),
    ("DTZ", _LOGIC, Severity.LOW),
    ("PERF", ReviewFocus.PERFORMANCE, Severity.LOW),
    ("C4", ReviewFocus.PERFORMANCE, Severity.INFO),
    ("PT", ReviewFocus.TESTING, Severity.INFO),
    ("D1", ReviewFocus.DOCUMENTATION, Severity.INFO),
    ("C90", _STYLE, Severity.LOW),
)
_QUICK = "E9,F,PLE,B"
_STANDARD = f"{_QUICK},E7,PLW,ASYNC,DTZ,PERF,C4"
RULES = {
    ReviewDepth.QUICK: _QUICK,
    ReviewDepth.STANDARD: _STANDARD,
    ReviewDepth.THOROUGH: f"{_STANDARD},C90,SIM,RET,PT,D1,ARG,TRY",
}
_BANDIT = {"HIGH": Severity.HIGH, "MEDIUM": Severity.MEDIUM, "LOW": Severity.LOW}


@dataclass(frozen=True, slots=True)
class Fix:
    """Lines to take the place of others. An empty `new` cannot be said in a review, so there is always a line."""

    first: int
    last: int
    new: tuple[str, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an analyser found."""

    tool: str
    rule: str
    path: str
    first: int
    last: int
    message: str
    severity: Severity
    category: ReviewFocus
    fix: Fix | None = None


def read_all(said: Mapping[str, Any], texts: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Every finding that can be read. `texts` are the lines of the files, for fixes."""
    found: list[Finding] = []
    readers: dict[str, Callable[[Any], Finding | None]] = {
        "ruff": lambda item: _ruff(item, texts),
        "bandit": _bandit,
        "vulture": _vulture,
        "detect-secrets": _secret,
        "shapes": _shape,
    }
    for tool, read in readers.items():
        items = said.get(tool)
        for item in items if isinstance(items, list) else ():
            try:
                finding = read(item)
            except (KeyError, TypeError, ValueError, IndexError):
                continue
            if finding is not None and finding.path in texts and 1 <= finding.first <= finding.last:
                found.append(finding)
    return list(_without_echoes(found))


def _without_echoes(found: list[Finding]) -> Iterator[Finding]:
    """Two analysers that see the same: the one with the fix speaks. Nothing is said twice."""
    unused = {(item.path, item.first) for item in found if item.tool == "ruff" and item.rule in ("F401", "F841")}
    seen = set()
    for item in found:
        key = (item.path, item.first, item.last, item.message.casefold())
        echo = item.tool == "vulture" and (item.path, item.first) in unused
        if key not in seen and not echo:
            seen.add(key)
            yield item


def plain(text: str) -> str:
    """Words that a review may hold."""
    return "".join(sign if sign.isprintable() else " " for sign in str(text))[:_MESSAGE_CHARS_MAX].strip()


def _path(text: str) -> str:
    return str(text).removeprefix("/work/").removeprefix("./").removeprefix(_PREFIX)


def _ruff(item: Mapping[str, Any], texts: Mapping[str, Sequence[str]]) -> Finding:
    rule = str(item["code"] or "invalid-syntax")
    path = _path(item["filename"])
    first, last = int(item["location"]["row"]), int(item["end_location"]["row"])
    if int(item["end_location"]["column"]) == 1 and last > first:
        last -= 1
    category, severity = kind_of(rule)
    fix = _ruff_fix(item.get("fix"), list(texts.get(path, ())), path)
    message = f"{plain(item['message'])} (ruff {rule})"
    return Finding("ruff", rule, path, first, last, message, severity, category, fix)


def kind_of(rule: str) -> tuple[ReviewFocus, Severity]:
    """What a ruff rule is about, and how grave."""
    if rule == "invalid-syntax":
        return _LOGIC, Severity.HIGH
    found = (item for item in _RULES if re.match(rf"{item[0]}(?![A-Z])", rule))
    return next(((category, severity) for _, category, severity in found), (_STYLE, Severity.INFO))


def _ruff_fix(fix: Any, lines: list[str], path: str) -> Fix | None:
    """Ruff's edits as lines that take the place of lines."""
    if not isinstance(fix, dict) or not fix.get("edits"):
        return None
    text = "\n".join(lines)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    edits = [
        (_offset(edit["location"], starts), _offset(edit["end_location"], starts), str(edit["content"]))
        for edit in fix["edits"]
    ]
    fixed = text
    for begin, end, content in sorted(edits, reverse=True):
        fixed = fixed[:begin] + content.replace("\r", "") + fixed[end:]
    if path.endswith(".py") and _parses(text) and not _parses(fixed):
        return None
    return as_lines(lines, fixed.split("\n"), fix.get("applicability") == "safe")


def _offset(place: Mapping[str, Any], starts: list[int]) -> int:
    return min(starts[int(place["row"]) - 1] + int(place["column"]) - 1, starts[-1] - 1)


def as_lines(old: list[str], new: list[str], safe: bool) -> Fix | None:
    """The smallest run of lines that differs. Lines that only go, or only come, take a neighbour along."""
    if old == new:
        return None
    first = 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    tail = 0
    while tail < min(len(old), len(new)) - first and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    last_old, last_new = len(old) - tail, len(new) - tail
    if first in (last_old, last_new):
        if tail:
            last_old, last_new = last_old + 1, last_new + 1
        elif first:
            first -= 1
        else:
            return None
    return Fix(first + 1, last_old, tuple(new[first:last_new]), safe)


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _bandit(item: Mapping[str, Any]) -> Finding | None:
    rule, path = str(item["test_id"]), _path(item["filename"])
    if rule == "B101" and is_test(path):  # an assertion is what a test is made of
        return None
    lines = [int(number) for number in item["line_range"]] or [int(item["line_number"])]
    severity = _BANDIT[item["issue_severity"]]
    if item["issue_confidence"] == "LOW":
        severity = Severity.LOW
    message = f"{plain(item['issue_text'])} (bandit {rule})"
    return Finding("bandit", rule, path, min(lines), max(lines), message, severity, _SECURITY)


def _vulture(item: str) -> Finding | None:
    found = _VULTURE.match(item)
    if not found:
        return None
    line = int(found[2])
    message = f"{plain(found[3])}, with {found[4]} % confidence (vulture)"
    return Finding("vulture", "unused", _path(found[1]), line, line, message, Severity.LOW, _STYLE)


def _secret(item: Mapping[str, Any]) -> Finding:
    """The secret itself is not repeated."""
    line = int(item["line_number"])
    message = f"This looks like a secret: {plain(item['type'])} (detect-secrets). Take it out and change it."
    return Finding("detect-secrets", "secret", _path(item["filename"]), line, line, message, Severity.HIGH, _SECURITY)


def _shape(item: Mapping[str, Any]) -> Finding:
    line = int(item["line"])
    why = plain(item["why"])
    message = f"{why[:1].upper()}{why[1:]}."
    return Finding("shapes", "shape", _path(item["path"]), line, line, message, Severity.HIGH, _LOGIC)
