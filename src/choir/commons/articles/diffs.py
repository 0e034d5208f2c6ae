"""What differs between two versions of a text: line by line, and word by word inside of replaced lines.

Guarantees: what is not removed of the old text, with what is added, is the new text; the work is bounded by the policy,
however hostile the texts are: when it is spent, what is left is shown as replaced whole, which is right but longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import takewhile

from choir.commons.policy import CommonsPolicy

_WORD = re.compile(r"\w+|\s+|[^\w\s]")


class Change(StrEnum):
    """What became of a line."""

    SAME = " "
    REMOVED = "-"
    ADDED = "+"


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of either version, without its line feed; numbers count from 1."""

    change: Change
    text: str
    old: int  # its number in the old version; of an added line: of the line before it
    new: int
    spans: tuple[tuple[int, int], ...] = ()  # the parts of a replaced line that differ


@dataclass(frozen=True, slots=True)
class _Gap:
    """What differs between two lists: a part of each, either may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class _Budget:
    """How many steps are left."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self, steps: int) -> bool:
        self._left -= steps
        return self._left >= 0


def compare(old: str, new: str, policy: CommonsPolicy) -> list[DiffLine]:
    """All lines of both versions in order, removed ones before those that replace them."""
    before, after = old.split("\n"), new.split("\n")
    budget = _Budget(policy.diff_steps_max)
    found: list[DiffLine] = []
    at = shift = 0
    for gap in [*_gaps(before, after, budget), _Gap(len(before), len(before), len(after), len(after))]:
        same = range(at, gap.old_start)
        found += [DiffLine(Change.SAME, before[line], line + 1, line + 1 + shift) for line in same]
        found += _replaced(before, after, gap, budget)
        at, shift = gap.old_end, gap.new_end - gap.old_end
    return found


def unified(lines: Sequence[DiffLine], context: int = 3) -> str:
    """The lines that changed with some around them, as `diff -u` prints them; empty if nothing changed."""
    return "".join(_header(hunk) + "".join(map(_shown, hunk)) for hunk in hunks(lines, context))


def hunks(lines: Sequence[DiffLine], context: int = 3) -> Iterator[Sequence[DiffLine]]:
    """The same in parts, one for each place of changes."""
    start = end = 0
    for at, line in enumerate(lines):
        if line.change is Change.SAME:
            continue
        if end and at - context > end:
            yield lines[start:end]
            end = 0
        start = start if end else max(at - context, 0)
        end = min(at + context + 1, len(lines))
    if end:
        yield lines[start:end]


def _header(hunk: Sequence[DiffLine]) -> str:
    old = [line.old for line in hunk if line.change is not Change.ADDED] or [hunk[0].old]
    new = [line.new for line in hunk if line.change is not Change.REMOVED] or [hunk[0].new]
    count = [sum(line.change is not other for line in hunk) for other in (Change.ADDED, Change.REMOVED)]
    return f"@@ -{old[0]},{count[0]} +{new[0]},{count[1]} @@\n"


def _shown(line: DiffLine) -> str:
    return f"{line.change}{line.text}\n"


def _replaced(before: Sequence[str], after: Sequence[str], gap: _Gap, budget: _Budget) -> list[DiffLine]:
    """The lines of a gap; the first removed one is compared with the first added one, and so on."""
    removed = [DiffLine(Change.REMOVED, before[at], at + 1, gap.new_start) for at in range(gap.old_start, gap.old_end)]
    added = [DiffLine(Change.ADDED, after[at], gap.old_end, at + 1) for at in range(gap.new_start, gap.new_end)]
    for at, (old, new) in enumerate(zip(removed, added, strict=False)):
        old_words, new_words = _WORD.findall(old.text), _WORD.findall(new.text)
        gaps = _gaps(old_words, new_words, budget)
        removed[at] = replace(old, spans=_spans(old_words, [(gap.old_start, gap.old_end) for gap in gaps]))
        added[at] = replace(new, spans=_spans(new_words, [(gap.new_start, gap.new_end) for gap in gaps]))
    return [*removed, *added]


def _spans(words: Sequence[str], parts: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Parts of a list of words as spans of the text that they are."""
    ends = [0]
    for word in words:
        ends.append(ends[-1] + len(word))
    return tuple((ends[start], ends[end]) for start, end in parts if start < end)


# The shortest way from one list to another


def _gaps(old: Sequence[str], new: Sequence[str], budget: _Budget) -> list[_Gap]:
    """What differs, in order; one gap for all where the budget does not reach."""
    head = _alike(zip(old, new, strict=False))
    tail = _alike(zip(reversed(old[head:]), reversed(new[head:]), strict=False))
    old_end, new_end = len(old) - tail, len(new) - tail
    pairs = _pairs(old[head:old_end], new[head:new_end], budget)
    found: list[_Gap] = []
    at = (head, head)
    for old_at, new_at in [*((head + x, head + y) for x, y in pairs), (old_end, new_end)]:
        if (old_at, new_at) != at:
            found.append(_Gap(at[0], old_at, at[1], new_at))
        at = (old_at + 1, new_at + 1)
    return found


def _alike(pairs: Iterable[tuple[str, str]]) -> int:
    """How many pairs at the start are of the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _pairs(old: Sequence[str], new: Sequence[str], budget: _Budget) -> list[tuple[int, int]]:
    """Which places hold the same on the shortest way (Myers, 1986); none if the budget does not reach."""
    reach = {1: 0}  # how far each diagonal reaches
    trace: list[dict[int, int]] = []
    for steps in range(len(old) + len(new) + 1):
        trace.append(dict(reach))
        for diagonal in range(-steps, steps + 1, 2):
            x = begun = _from(reach, diagonal, steps)
            while x < len(old) and 0 <= x - diagonal < len(new) and old[x] == new[x - diagonal]:
                x += 1
            reach[diagonal] = x
            if not budget.spend(2 + x - begun):
                return []
            if x >= len(old) and x - diagonal >= len(new):
                return _way_back(trace, len(old), len(new))
    return []


def _is_down(reach: dict[int, int], diagonal: int, steps: int) -> bool:
    """Whether the furthest way to a diagonal adds something of the new list, rather than dropping one of the old."""
    return diagonal == -steps or (diagonal != steps and reach[diagonal - 1] < reach[diagonal + 1])


def _from(reach: dict[int, int], diagonal: int, steps: int) -> int:
    return reach[diagonal + 1] if _is_down(reach, diagonal, steps) else reach[diagonal - 1] + 1


def _way_back(trace: list[dict[int, int]], x: int, y: int) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    for steps in range(len(trace) - 1, -1, -1):
        diagonal = x - y
        begun = _from(trace[steps], diagonal, steps) if steps else 0
        while x > begun:
            x, y = x - 1, y - 1
            pairs.append((x, y))
        if steps:
            x, y = (x, y - 1) if _is_down(trace[steps], diagonal, steps) else (x - 1, y)
    return pairs[::-1]
