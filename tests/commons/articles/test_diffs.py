"""Differences between versions: always right, short where that can be had within bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.commons.articles.diffs import Change, compare, hunks, unified
from tests.commons.articles.pages import POLICY

texts = st.lists(st.sampled_from(["a", "b", "c", "a b", "a c", ""]), max_size=12).map("\n".join)


def length_of_shortest(old: list[str], new: list[str]) -> int:
    """How many lines must be removed and added at least, by trying everything."""
    row = list(range(len(new) + 1))
    for at, line in enumerate(old, 1):
        before, row = row, [at]
        for other, candidate in enumerate(new, 1):
            row.append(before[other - 1] if line == candidate else 1 + min(before[other], row[-1]))
    return row[-1]


@given(texts, texts, st.sampled_from([1_000, 1_000_000]))
@settings(deadline=None, max_examples=300)
def test_both_versions_can_be_read_off(old: str, new: str, steps: int) -> None:
    lines = compare(old, new, replace(POLICY, diff_steps_max=steps))
    before = [line for line in lines if line.change is not Change.ADDED]
    after = [line for line in lines if line.change is not Change.REMOVED]
    assert "\n".join(line.text for line in before) == old
    assert "\n".join(line.text for line in after) == new
    assert [line.old for line in before] == list(range(1, len(before) + 1))
    assert [line.new for line in after] == list(range(1, len(after) + 1))


@given(texts, texts)
@settings(deadline=None, max_examples=300)
def test_the_difference_is_the_shortest(old: str, new: str) -> None:
    changed = [line for line in compare(old, new, POLICY) if line.change is not Change.SAME]
    assert len(changed) == length_of_shortest(old.split("\n"), new.split("\n"))


@given(texts, texts, st.integers(0, 3))
@settings(deadline=None)
def test_hunks_hold_every_change(old: str, new: str, context: int) -> None:
    lines = compare(old, new, POLICY)
    parts = [line for part in hunks(lines, context) for line in part]
    assert [line for line in parts if line.change is not Change.SAME] == [
        line for line in lines if line.change is not Change.SAME
    ]
    assert len(parts) == len({(line.change, line.old, line.new) for line in parts})


def test_words_that_differ_are_marked() -> None:
    removed, added = compare("Tea is very hot.", "Tea is not hot, yet.", POLICY)
    assert [removed.text[start:end] for start, end in removed.spans] == ["very"]
    assert [added.text[start:end] for start, end in added.spans] == ["not", ", yet"]


def test_unified_reads_like_diff() -> None:
    old = "\n".join("abcdefghij")
    new = "\n".join(["a", "B", *"cdefghi", "j", "k"])
    assert unified(compare(old, new, POLICY), 1) == "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n@@ -10,1 +10,2 @@\n j\n+k\n"
    assert unified(compare(old, old, POLICY)) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a\n" * 20_000, "b\n" * 20_000),
        ("a\nb\n" * 10_000, "b\na\nc\n" * 8_000),
        ("a b " * 20_000, "b c a " * 20_000),
        ("\n".join(["a b c d"] * 5_000), "\n".join(["b d e a"] * 5_000)),
    ],
)
def test_hostile_versions_are_compared_within_bounds(old: str, new: str) -> None:
    lines = compare(old, new, replace(POLICY, diff_steps_max=10_000))
    assert "\n".join(line.text for line in lines if line.change is not Change.REMOVED) == new
