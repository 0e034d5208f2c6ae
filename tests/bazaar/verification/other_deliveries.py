"""Reviews, runs and texts: hostile ones, and honest ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from choir.bazaar.contracts import (
    Approval,
    CodeReviewRequest,
    CodeReviewResult,
    ReviewFocus,
    ReviewIssue,
    ReviewSuggestion,
    RunOutput,
    SandboxRunRequest,
    SandboxRunResult,
    Severity,
    Statement,
    StructuredReview,
    TextGenRequest,
    TextGenResult,
)
from choir.bazaar.jobs.model import JobType
from choir.bazaar.verification.model import Delivery, Order
from choir.foundation.canonical import bytes_hash
from tests.bazaar.verification.scene import TERMS, Repository
from tests.bazaar.verification.table import Build, Case

DIFF = (
    b"diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -10,4 +10,5 @@ def load(name):\n"
    b"     path = folder / name\n-    return path.read_text()\n+    data = eval(path.read_text())\n+    return data\n"
    b" \n \n"
    b"diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1,3 @@\n"
    b"+import os\n+\n+print(os.name)\n"
    b"diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1,2 +0,0 @@\n"
    b"-x = 1\n-y = 2\n"
)
ISSUE = ReviewIssue(
    Severity.CRITICAL, ReviewFocus.SECURITY, "app.py", (11, 11), "Runs whatever the file says.",
    "    data = eval(path.read_text())", "    data = json.loads(path.read_text())",
)  # fmt: skip
SUGGESTION = ReviewSuggestion("new.py", 3, "print(os.name)", "print(os.uname())", "Says more about the system.")
REVIEW = StructuredReview(
    "Loads data in a dangerous way; the rest is sound.", Approval.REQUEST_CHANGES, (ISSUE,), (SUGGESTION,)
)
STATEMENTS = tuple(
    Statement(name, "Read line by line; nothing to object to.") for name in ("app.py", "new.py", "gone.py")
)


def review(content: StructuredReview | bytes) -> Build:
    def build(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        order = Order(JobType.CODE_REVIEW, CodeReviewRequest(bytes_hash(DIFF), TERMS), diff=DIFF)
        artifact = content if isinstance(content, bytes) else content.to_bytes()
        return order, Delivery(artifact, bytes_hash(artifact), CodeReviewResult())

    return build


def issue(**changes: object) -> Build:
    return review(replace(REVIEW, issues=(replace(ISSUE, **changes),)))  # type: ignore[arg-type]


RUN = SandboxRunRequest(("python3", "-c", "print(6 * 7)"), TERMS, cpu_s_max=10, deterministic=True)


def run(
    output: RunOutput | bytes, claimed: int = 0, request: SandboxRunRequest = RUN, cpu_milli: int = 5_000_000
) -> Build:
    def build(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        artifact = output if isinstance(output, bytes) else output.to_bytes()
        result = SandboxRunResult(claimed, cpu_milli)
        return Order(JobType.SANDBOX_RUN, request), Delivery(artifact, bytes_hash(artifact), result)

    return build


SCHEMA = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "maxLength": 20},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title"],
    "additionalProperties": False,
}
TEXT = TextGenRequest("Write a poem.", TERMS, max_tokens=20, min_chars=5)


def text(artifact: bytes, request: TextGenRequest = TEXT) -> Build:
    def build(repository: Repository, folder: Path) -> tuple[Order, Delivery]:
        return Order(JobType.TEXT_GEN, request), Delivery(artifact, bytes_hash(artifact), TextGenResult())

    return build


_NOTHING = StructuredReview("I have looked at this and it is fine.", Approval.APPROVE)
_SHAPED = replace(TEXT, schema=SCHEMA)

REVIEWS = [
    Case(
        "review of an absent file",
        "an issue in a file that the diff does not touch",
        "review.file_absent",
        issue(file="lib/other.py"),
    ),
    Case(
        "review of absent lines",
        "an issue on lines that the diff does not show",
        "review.lines_absent",
        issue(line_range=(40, 41), current="", suggested_fix=None),
    ),
    Case(
        "review of endless lines",
        "an issue on ten million lines",
        "review.lines_absent",
        issue(line_range=(1, 10_000_000), current="", suggested_fix=None),
    ),
    Case(
        "review of absent code",
        "quoted code that does not stand there",
        "review.code_absent",
        issue(current="    data = pickle.loads(path.read_bytes())"),
    ),
    Case(
        "suggestion for absent code",
        "the same in a suggestion",
        "review.code_absent",
        review(replace(REVIEW, suggestions=(replace(SUGGESTION, current="print(os.sep)"),))),
    ),
    Case(
        "statement on an absent file",
        "a file examined that is not in the diff",
        "review.file_absent",
        review(replace(_NOTHING, examined=(*STATEMENTS, Statement("ghost.py", "Looked at it in depth.")))),
    ),
    Case("fix without a place", "a fix that quotes nothing", "review.fix_does_not_apply", issue(current="")),
    Case(
        "fix that changes nothing",
        "a fix that is the code itself",
        "review.fix_does_not_apply",
        issue(suggested_fix=ISSUE.current),
    ),
    Case(
        "fix that breaks the file",
        "a fix after which Python cannot read the file",
        "review.fix_breaks_code",
        review(replace(REVIEW, suggestions=(replace(SUGGESTION, suggested="print(os.name"),))),
    ),
    Case(
        "review with nothing",
        "approval without a finding or a word about each file",
        "review.nothing_said",
        review(_NOTHING),
    ),
    Case(
        "review without a summary",
        "findings and an empty summary",
        "review.no_summary",
        review(replace(REVIEW, summary="ok")),
    ),
    Case(
        "review that repeats", "the same issue twice", "review.repeated", review(replace(REVIEW, issues=(ISSUE, ISSUE)))
    ),
    Case(
        "review of no shape",
        "JSON with a field that nobody knows",
        "review.malformed",
        review(REVIEW.to_bytes().replace(b'"summary"', b'"summery"')),
    ),
]
RUNS = [
    Case(
        "forged output",
        "another output than the command gives",
        "run.output_differs",
        run(RunOutput(0, b"43\n")),
        rerun=True,
    ),
    Case(
        "forged exit code",
        "another code than the command gives",
        "run.output_differs",
        run(RunOutput(3, b"42\n"), claimed=3),
        rerun=True,
    ),
    Case(
        "two exit codes",
        "a result and an output that name different codes",
        "run.exit_code_differs",
        run(RunOutput(0, b"42\n"), claimed=1),
    ),
    Case(
        "wrong exit code",
        "another code than was ordered",
        "run.exit_code",
        run(RunOutput(1, b""), claimed=1, request=replace(RUN, exit_code=0)),
    ),
    Case("output of no shape", "bytes that are no output", "run.malformed", run(b"42\n")),
]
TEXTS = [
    Case("text too long", "more tokens than were ordered", "text.too_long", text(b"word " * 30)),
    Case("text too short", "fewer characters than were ordered", "text.too_short", text(b"    no   ")),
    Case("no text", "bytes that are not UTF-8", "text.not_utf8", text(b"\xff\xfe\xfd\xfc\xfb\xfa")),
    Case("no JSON", "prose where JSON was ordered", "text.not_json", text(b"Here is your JSON.", _SHAPED)),
    Case("wrong JSON", "a name that the schema does not allow", "text.schema", text(b'{"title":"a","x":1}', _SHAPED)),
]
HONEST_OTHERS = [
    Case("a review", "an issue with a fix and a suggestion", "", review(REVIEW), units=3),
    Case(
        "a review of a deleted file",
        "an issue on the old side",
        "",
        issue(file="gone.py", line_range=(1, 2), current="x = 1\ny = 2\n", suggested_fix=None),
        units=3,
    ),
    Case(
        "a review without findings",
        "a statement about each file",
        "",
        review(replace(_NOTHING, examined=STATEMENTS)),
        units=3,
    ),
    Case("a run", "what the command really gives, run again", "", run(RunOutput(0, b"42\n")), rerun=True),
    Case(
        "a run that is not drawn",
        "not run again, paid at most to its limit",
        "",
        run(RunOutput(0, b"other\n"), request=replace(RUN, deterministic=False)),
        units=10,
    ),
    Case("a text", "within its bounds", "", text("Ein Gedicht über nichts.".encode())),
    Case("a JSON text", "of the ordered shape", "", text(b'{"title": "a", "tags": ["b"]}', _SHAPED)),
]
