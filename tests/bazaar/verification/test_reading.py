"""What reads strangers' bytes never stumbles: diffs, reports, and what a report means."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.verification.diffs import read_diff
from choir.bazaar.verification.expectations import ExpectedOutcome, judge
from choir.bazaar.verification.reports import Outcome, read_report

LINE = st.sampled_from(
    [
        b"diff --git a/x b/y",
        b'diff --git "a/\\303\\274" "b/\\',
        b"--- a/x",
        b"+++ b/x",
        b"--- /dev/null",
        b"@@ -1,2 +1,3 @@ def f():",
        b"@@ -0,0 +999999999,999999999 @@",
        b" context",
        b"+added",
        b"-gone",
        b"\\ No newline at end of file",
        b"new file mode 160000",
        b'rename to "x',
        b"literal 99999",
        b"",
    ]
)


@given(st.lists(LINE | st.binary(max_size=20), max_size=30))
def test_any_lines_can_be_read_as_a_diff(lines: list[bytes]) -> None:
    found = read_diff(b"\n".join(lines))
    assert all(number > 0 or number == 0 for item in found.files for number in item.new_lines)


def test_a_line_in_a_hunk_is_no_header() -> None:
    diff = b"--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n--- a/../../evil\n+++ b/../../evil\n rename to ../evil\n x\n"
    found = read_diff(diff)
    assert found.headers.paths == {"a/x", "b/x"}
    assert found.files[0].new_lines == {1: "++ b/../../evil", 2: "rename to ../evil", 3: "x"}
    assert found.files[0].added == {1}


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b"copy from a/b", "a/b"),
        (b"copy to a//b", "a/b"),  # git takes several slashes for one
        (b"rename from a\tb", "a\tb"),  # a tab ends the names of --- and +++ alone
        (b'rename to "a\\303\\274"', "a\u00fc"),
        (b"rename old a", "a"),
        (b"rename new a\r", "a"),
    ],
)
def test_both_sides_of_a_copy_or_rename_are_known(line: bytes, path: str) -> None:
    headers = read_diff(b"diff --git a/x b/y\n" + line + b"\n").headers
    assert headers.moved == {path}


def test_lines_are_numbered_on_both_sides() -> None:
    diff = b"--- a/x\n+++ b/x\n@@ -5,3 +7,4 @@\n a\r\n-b\n+c\n+d\n e\n@@ -20 +23 @@\n-y\n+z\n"
    diff += b"\\ No newline at end of file\n"
    (file,) = read_diff(diff).files
    assert file.old_lines == {5: "a", 6: "b", 7: "e", 20: "y"}
    assert file.new_lines == {7: "a", 8: "c", 9: "d", 10: "e", 23: "z"}


def statement(*frames: dict[str, Any], exit_code: int = 0, **more: Any) -> Any:
    body = {"frames": list(frames), "exit_code": exit_code, "stopped": "", "report_whole": True, "stdout_sha256": ""}
    return read_report(body | more)


ITEM: dict[str, Any] = {"k": "collected", "items": [["t", True, "t.py", "c"]]}
BODY: dict[str, Any] = {"k": "body", "id": "t", "raised": False, "code": "c"}
CALL: dict[str, Any] = {"k": "call", "id": "t", "raised": False, "watched": True}
PHASES = [{"k": "report", "id": "t", "when": when, "outcome": "passed", "xfail": False} for when in ("setup", "call")]
DOWN: dict[str, Any] = {"k": "report", "id": "t", "when": "teardown", "outcome": "passed", "xfail": False}
END: dict[str, Any] = {"k": "end", "exit_code": 0}
WHOLE: list[dict[str, Any]] = [ITEM, BODY, CALL, *PHASES, DOWN, END]
EXPECTED = ExpectedOutcome(frozenset({"t"}), (), frozenset(), {"t": "c"})


def test_a_whole_report_is_good() -> None:
    assert judge(EXPECTED, statement(*WHOLE)) == ("", "")


@pytest.mark.parametrize(
    ("frames", "outcome", "reason"),
    [
        ([ITEM, CALL, *PHASES, DOWN, END], Outcome.FORGED, "tests.report_forged"),
        ([ITEM, BODY | {"raised": True}, CALL, *PHASES, DOWN, END], Outcome.FORGED, "tests.report_forged"),
        ([ITEM, BODY, CALL | {"raised": True}, *PHASES, DOWN, END], Outcome.FORGED, "tests.report_forged"),
        ([ITEM, BODY, CALL, *PHASES, END], Outcome.NOT_RUN, "tests.report_incomplete"),
        ([ITEM, BODY, *PHASES, DOWN, END], Outcome.NOT_RUN, "tests.report_incomplete"),
        ([ITEM, END], Outcome.NOT_RUN, "tests.report_incomplete"),
        ([ITEM, BODY, CALL, *PHASES, DOWN], Outcome.PASSED, "tests.report_incomplete"),
        ([BODY, CALL, *PHASES, DOWN, END], None, "tests.report_incomplete"),
        ([ITEM | {"items": []}, BODY, CALL, *PHASES, DOWN, END], None, "tests.missing"),
        ([ITEM, BODY | {"code": "d"}, CALL, *PHASES, DOWN, END], Outcome.PASSED, "tests.test_replaced"),
        ([ITEM, BODY, BODY | {"code": "d"}, CALL, *PHASES, DOWN, END], Outcome.PASSED, "tests.test_replaced"),
        ([*WHOLE[:-1], {"k": "end", "exit_code": 1}], Outcome.PASSED, "tests.exit_code_forged"),
        ([ITEM, BODY, CALL, *PHASES, DOWN | {"outcome": "failed"}, END], Outcome.FAILED, "tests.failed"),
        (
            [ITEM, BODY, CALL, PHASES[0], PHASES[1] | {"outcome": "skipped"}, DOWN, END],
            Outcome.SKIPPED,
            "tests.skipped",
        ),
    ],
)
def test_what_is_missing_or_does_not_agree_is_named(
    frames: list[dict[str, Any]], outcome: Outcome | None, reason: str
) -> None:
    report = statement(*frames)
    assert report.outcomes.get("t") is outcome
    assert judge(EXPECTED, report)[0] == reason


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"stopped": "timeout"}, "tests.timed_out"),
        ({"stopped": "flood"}, "tests.output_flood"),
        ({"stopped": "memory"}, "tests.out_of_memory"),
        ({"report_whole": False}, "tests.report_forged"),
        ({"stated": False}, "tests.report_incomplete"),
        ({"exit_code": 3}, "tests.exit_code_forged"),
    ],
)
def test_the_supervisors_word_counts_more_than_the_frames(more: dict[str, Any], reason: str) -> None:
    assert judge(EXPECTED, statement(*WHOLE, **more))[0] == reason
