"""The review worker: known defects in a diff are found where they are, with fixes that apply; nothing else is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from choir.bazaar.contracts import (
    Approval,
    CodeReviewRequest,
    CodeReviewResult,
    ReviewDepth,
    ReviewFocus,
    ReviewIssue,
    Severity,
    StructuredReview,
)
from choir.bazaar.jobs.model import JobType
from choir.bazaar.verification.model import Delivery, Order
from choir.bazaar.workers.findings import as_lines, kind_of, read_all
from choir.bazaar.workers.model import WorkOrder
from choir.bazaar.workers.review_worker import ReviewWorker
from choir.bazaar.workers.shop import Workshop
from choir.foundation.canonical import bytes_hash
from tests.bazaar.verification.scene import TERMS, Repository, git, write
from tests.bazaar.workers.scene import JOB, done_by

BEFORE = {
    "app.py": "import subprocess\nimport sys\n\n\ndef old(path):\n    eval(path)\n    return None\n",
    "data.json": '{"a": 1}\n',
    "gone.txt": "to be deleted\n",
    "yaml.py": "raise SystemExit('a module of the repository was imported')\n",
    "pyproject.toml": '[tool.ruff]\nexclude = ["*"]\n[tool.vulture]\nexclude = ["*"]\n',
    ".bandit": "[bandit]\nexclude: /\n",
}
AFTER = {
    "app.py": "import os\nimport subprocess\nimport sys\n\n\ndef old(path):\n    eval(path)\n    return None\n\n\n"
    "def new(path, items=[]):\n    if path == None:\n        return missing_name\n"
    '    subprocess.call("ls " + path, shell=True)\n    return items\n',
    "data.json": '{"a": 1,}\n',
    "gone.txt": None,
    "settings.env": "AWS_KEY=AKIAIOSFODNN7EXAMPLA\n",
    "yaml.py": "raise SystemExit('a module of the repository was imported')\n# touched\n",
    "picture.svg": "<svg/>\n",
}


@pytest.fixture(scope="module")
def change(tmp_path_factory: pytest.TempPathFactory) -> tuple[Repository, bytes, str]:
    """A repository, a diff with known defects, and the commit after it."""
    folder = tmp_path_factory.mktemp("review")
    buyer = Repository.make(folder, BEFORE)
    write(buyer.folder, AFTER)
    git(buyer.folder, "add", "-A", "-f")
    diff = git(buyer.folder, "diff", "--cached", "HEAD")
    git(buyer.folder, "commit", "-q", "-m", "change")
    git(buyer.folder, "bundle", "create", "-q", str(folder / "bundle"), "HEAD")
    return buyer, diff, git(buyer.folder, "rev-parse", "HEAD").decode().strip()


def reviewed(shop: Workshop, request: CodeReviewRequest, diff: bytes, bundle: Path | None) -> StructuredReview:
    """The review, which the verifier must accept."""
    outcome = done_by(ReviewWorker(shop), WorkOrder(JOB, JobType.CODE_REVIEW, request, bundle, diff))
    assert outcome.error is None, outcome.error
    assert outcome.claimed is not None
    delivery = Delivery(outcome.artifact, outcome.claimed, CodeReviewResult())
    verdict = shop.verifier.verify(Order(JobType.CODE_REVIEW, request, diff=diff), delivery)
    assert verdict.passed, verdict.reason
    return StructuredReview.from_bytes(outcome.artifact, shop.verification)


def found(review: StructuredReview, word: str) -> ReviewIssue:
    return next(issue for issue in review.issues if word in issue.description)


def test_known_defects_are_found_on_the_lines_that_the_diff_adds(
    shop: Workshop, change: tuple[Repository, bytes, str]
) -> None:
    buyer, diff, head = change
    request = CodeReviewRequest(bytes_hash(diff), TERMS, base_commit=buyer.commit, head_commit=head)
    review = reviewed(shop, request, diff, buyer.bundle)
    assert review.approval_status is Approval.REQUEST_CHANGES
    unused = found(review, "F401")
    assert (unused.file, unused.severity, unused.category) == ("app.py", Severity.LOW, ReviewFocus.STYLE)
    assert unused.current == "import os\nimport subprocess"
    assert unused.suggested_fix == "import subprocess"
    assert found(review, "B006").line_range[0] == 11
    assert found(review, "E711").suggested_fix == "    if path is None:"
    assert found(review, "F821").severity is Severity.HIGH
    assert found(review, "bandit B602").category is ReviewFocus.SECURITY
    assert found(review, "secret").file == "settings.env"
    assert "AKIA" not in found(review, "secret").description
    assert found(review, "JSON").file == "data.json"
    assert not [issue for issue in review.issues if issue.line_range[0] in range(5, 9) and issue.file == "app.py"]
    assert {item.file for item in review.examined} == set(AFTER)
    assert "deleted" in next(item.statement for item in review.examined if item.file == "gone.txt")


def test_focus_and_depth_are_heeded_and_the_base_is_enough(
    shop: Workshop, change: tuple[Repository, bytes, str]
) -> None:
    buyer, diff, _ = change
    request = CodeReviewRequest(
        bytes_hash(diff),
        TERMS,
        base_commit=buyer.commit,
        focus=(ReviewFocus.SECURITY,),
        depth=ReviewDepth.QUICK,
    )
    review = reviewed(shop, request, diff, buyer.bundle)
    assert review.issues
    assert {issue.category for issue in review.issues} == {ReviewFocus.SECURITY}


def test_without_a_repository_only_new_files_are_looked_at(
    shop: Workshop, change: tuple[Repository, bytes, str]
) -> None:
    _, diff, _ = change
    review = reviewed(shop, CodeReviewRequest(bytes_hash(diff), TERMS), diff, None)
    assert {issue.file for issue in review.issues} == {"settings.env"}
    assert "incomplete or too large" in next(item.statement for item in review.examined if item.file == "app.py")


def test_a_clean_change_is_approved_with_a_word_about_each_file(shop: Workshop) -> None:
    diff = b"--- /dev/null\n+++ b/good.py\n@@ -0,0 +1,2 @@\n+def double(number: int) -> int:\n+    return 2 * number\n"
    review = reviewed(shop, CodeReviewRequest(bytes_hash(diff), TERMS), diff, None)
    assert review.approval_status is Approval.APPROVE
    assert review.issues == ()
    assert [item.file for item in review.examined] == ["good.py"]


def test_a_diff_that_does_not_fit_is_not_reviewed(shop: Workshop, change: tuple[Repository, bytes, str]) -> None:
    buyer, diff, _ = change
    wrong = diff.replace(b"-import subprocess", b"-import nothing").replace(b" import subprocess", b" import nothing")
    request = CodeReviewRequest(bytes_hash(wrong), TERMS, base_commit=buyer.commit)
    outcome = done_by(ReviewWorker(shop), WorkOrder(JOB, JobType.CODE_REVIEW, request, buyer.bundle, wrong))
    assert "does not apply" in str(outcome.error)
    unnamed = replace(request, diff=bytes_hash(b"another"))
    outcome = done_by(ReviewWorker(shop), WorkOrder(JOB, JobType.CODE_REVIEW, unnamed, buyer.bundle, wrong))
    assert "does not match the hash in the request" in str(outcome.error)


@pytest.mark.parametrize(
    ("old", "new", "first", "last", "instead"),
    [
        (["a", "b", "c"], ["a", "x", "c"], 2, 2, ("x",)),
        (["a", "b", "c"], ["b", "c"], 1, 2, ("b",)),
        (["a", "b"], ["a"], 1, 2, ("a",)),
        (["a", "b"], ["a", "n", "b"], 2, 2, ("n", "b")),
        (["a"], ["a", "n"], 1, 1, ("a", "n")),
        (["a", "a", "b"], ["a", "b"], 2, 3, ("b",)),
    ],
)
def test_a_fix_is_the_smallest_run_of_lines(
    old: list[str], new: list[str], first: int, last: int, instead: tuple[str, ...]
) -> None:
    fix = as_lines(old, new, safe=True)
    assert fix is not None
    assert (fix.first, fix.last, fix.new) == (first, last, instead)
    assert [*old[: fix.first - 1], *fix.new, *old[fix.last :]] == new


def test_output_of_odd_shape_is_left_out() -> None:
    said = {
        "ruff": [{}, {"code": "F401", "filename": "x.py", "location": {"row": "?"}}, None, 7],
        "bandit": [{"test_id": "B1", "filename": "x.py", "line_range": [], "issue_severity": "NONE"}, []],
        "vulture": ["nonsense", 3, "x.py:0: unused import 'a' (90% confidence)"],
        "detect-secrets": [{"line_number": 1, "filename": "../../etc/passwd", "type": "k"}],
        "shapes": json.loads('[{"path": "x.py", "line": 2, "why": "odd \\u001b[2J words"}]'),
    }
    findings = read_all(said, {"x.py": ["a", "b"]})
    assert [item.message for item in findings] == ["Odd  [2J words."]


def test_rules_have_kinds() -> None:
    assert kind_of("F401") == (ReviewFocus.STYLE, Severity.LOW)
    assert kind_of("F811")[1] is Severity.MEDIUM
    assert kind_of("BLE001") == (ReviewFocus.STYLE, Severity.INFO)
    assert kind_of("invalid-syntax")[1] is Severity.HIGH
