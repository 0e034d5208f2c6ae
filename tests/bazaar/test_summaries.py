"""What was ordered, in a line."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.jobs.model import JobType
from choir.bazaar.jobs.summaries import CHARS_MAX, one_line, summary_of

PATCH = {"title": "Mend the mean", "test_command": "python3 -m pytest -q", "subdir": "", "repo_url": ""}
REVIEW = {"repo_url": "", "head_commit": "0123456789" * 4, "depth": "quick", "focus": ["logic", "style"]}


@pytest.mark.parametrize(
    ("type_", "request_", "line"),
    [
        (JobType.SANDBOX_RUN, {"argv": ["python3", "-c", "print(6*7)"]}, "python3 -c 'print(6*7)'"),
        (JobType.PATCH_GEN, PATCH, "Mend the mean (python3 -m pytest -q)"),
        (
            JobType.PATCH_GEN,
            PATCH | {"subdir": "tools", "repo_url": "https://x.example/y"},
            "https://x.example/y: Mend the mean (python3 -m pytest -q in tools)",
        ),
        (JobType.CODE_REVIEW, REVIEW, "commit 01234567; quick, logic, style"),
        (
            JobType.CODE_REVIEW,
            REVIEW | {"repo_url": "https://x.example/y", "instructions": "look\nat locks"},
            "https://x.example/y; quick, logic, style; look at locks",
        ),
        (JobType.TEXT_GEN, {"prompt": "Say hello\n\nin five languages"}, "Say hello in five languages"),
    ],
)
def test_a_line_says_what_was_ordered(type_: JobType, request_: dict[str, Any], line: str) -> None:
    assert summary_of(type_, request_) == line


@given(st.text())
def test_whatever_was_written_is_one_short_line_that_steers_nothing(text: str) -> None:
    line = one_line(text)
    assert len(line) <= CHARS_MAX
    assert line.isprintable()
    assert line == line.strip()
