"""Strangers' texts on pages: nothing in them acts, and no size of them is too much."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.hall.model import Figure, Place
from choir.bazaar.hall.rules import SAME_MOMENT_MAX, next_place
from choir.bazaar.hall.service import Hall
from choir.bazaar.jobs.model import JobState, JobType
from choir.doors.hall import texts, words
from choir.foundation.clock import ManualClock

_DIFF = b"""diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,3 +1,2 @@
 kept
--- a/fake.py
-diff --git a/x b/x
+++ b/fake.py
diff --git a/b.py b/b.py
--- a/b.py
+++ b/b.py
@@ -0,0 +1 @@
+new
"""


@given(st.text())
def test_nothing_that_acts_is_shown(text: str) -> None:
    for shown in (texts.visible(text), texts.paragraph(text).replace("\n", "")):
        assert shown.replace("\t", "").isprintable()


@given(st.binary(max_size=2_000))
def test_whatever_a_diff_is_it_is_shown_within_bounds(data: bytes) -> None:
    found = texts.diff_view(data, 20)
    rows = [row for file in found.files for row in file.rows]
    assert len(rows) <= 20
    assert found.more == (len(data.removesuffix(b"\n").split(b"\n")) > 20)
    for row in rows:
        assert row.text.replace("\t", "").isprintable()
        assert len(row.text) <= texts.LINE_CHARS_MAX * 10
    listed = texts.listing(data, 20)
    assert len(listed.rows) <= 20


def test_a_line_inside_a_hunk_is_no_header() -> None:
    found = texts.diff_view(_DIFF, 100)
    assert [(file.path, file.added, file.removed) for file in found.files] == [("a.py", 1, 2), ("b.py", 1, 0)]
    assert [row.kind for row in found.files[0].rows[4:]] == ["", "minus", "minus", "plus"]


def test_long_lines_are_cut() -> None:
    found = texts.listing(b"x" * 10_000_000, 5)
    assert len(found.rows) == 1
    assert found.rows[0].text.endswith("…")
    assert found.more


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.integers(1, 5))
def test_pages_of_figures_have_no_gap_where_moments_are_equal(times: list[int], size: int) -> None:
    every = [Figure(JobType.SANDBOX_RUN, JobState.PAID, n, at, None) for n, at in enumerate(times)]
    every.sort(key=lambda item: (item.created_us, item.price), reverse=True)
    seen: list[Figure] = []
    place = Place(10)
    while page := [item for item in every if item.created_us <= place.at_us][place.skipped :][:size]:
        seen += page
        place = next_place(page, place)
    assert seen == every


def test_a_made_up_place_far_behind_costs_nothing() -> None:
    untouched = cast("Any", None)  # there is no database that could be asked
    found = Hall(untouched, ManualClock(1)).figures(untouched, Place(1, SAME_MOMENT_MAX + 1), 10)
    assert found == ([], None)


def test_times_in_words() -> None:
    second = 1_000_000
    assert [words.took(0, us) for us in (None, 0, second, 61 * second, 7260 * second)] == [
        "", "under 1 s", "1 s", "1 min 1 s", "2 h 1 min",
    ]  # fmt: skip
