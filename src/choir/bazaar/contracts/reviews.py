"""CodeReview: findings about a diff that point at lines which are really there.

The artifact is a `StructuredReview` in canonical JSON. Line numbers are those of the new side of the diff, counted
from 1; a file that the diff deletes is counted on its old side. A suggested fix is the text that takes the place of the
lines in `line_range`, and needs those lines quoted in `current`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from choir.bazaar.contracts.base import (
    Document,
    ExactText,
    Hash,
    OneOf,
    Record,
    Records,
    Rule,
    Text,
    Texts,
    Whole,
    Wrong,
    items,
)
from choir.bazaar.contracts.patches import Commit
from choir.bazaar.contracts.terms import (
    FREE_TEXT,
    ID,
    STATUS,
    RequestRecord,
    ResultRecord,
    ResultStatus,
    Terms,
    TokenUsage,
)
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash
from choir.foundation.words import count, on_screen

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_LINE_MAX = 10_000_000
_CODE_CHARS_MAX = 20_000
_SAYING_CHARS_MAX = 10_000
_URL = Text(1_000)
_PATH = ExactText(1_000)
_LINE = Whole(1, _LINE_MAX)
_CODE = ExactText(_CODE_CHARS_MAX)
_SUMMARY = Text(_SAYING_CHARS_MAX)
_SAYING = Text(_SAYING_CHARS_MAX, 1)
_SAYINGS = Texts(lambda policy: policy.review_findings_max, _SAYING_CHARS_MAX)
_FINDINGS = Records(lambda policy: policy.review_findings_max)
_STATEMENTS = Records(lambda policy: policy.patch_files_max)
_COMMIT = Commit()


class ReviewFocus(StrEnum):
    SECURITY = "security"
    PERFORMANCE = "performance"
    LOGIC = "logic"
    STYLE = "style"
    TESTING = "testing"
    DOCUMENTATION = "documentation"
    ALL = "all"


class ReviewDepth(StrEnum):
    QUICK = "quick"
    STANDARD = "standard"
    THOROUGH = "thorough"


class Approval(StrEnum):
    APPROVE = "approve"
    REQUEST_CHANGES = "request_changes"
    COMMENT = "comment"


class Severity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"


_FOCUS = OneOf(ReviewFocus)


class Focus(Rule):
    """What to look for, each said once; nothing said means all."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[ReviewFocus, ...]:
        found = [ReviewFocus(_FOCUS.read(item, info)) for item in items(value, len(ReviewFocus))]
        return tuple(dict.fromkeys(found)) or (ReviewFocus.ALL,)


class CommitIfAny(Rule):
    """A whole commit id, or nothing."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        return "" if value == "" else _COMMIT.read(value, info)


class LineRange(Rule):
    """The first and the last line, both included."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[int, int]:  # noqa: ARG002
        lines = items(value, 2)
        good = len(lines) == 2 and all(isinstance(item, int) and not isinstance(item, bool) for item in lines)
        if not good or not 1 <= lines[0] <= lines[1] <= _LINE_MAX:
            raise Wrong("it must be the first and the last line, counted from 1")
        return lines[0], lines[1]


@dataclass(frozen=True, slots=True)
class CodeReviewRequest(RequestRecord):
    """What a buyer orders. The diff itself is an input, named by its hash."""

    diff: Annotated[ObjectHash, Hash()]
    terms: Terms
    repo_url: Annotated[str, _URL] = ""
    base_commit: Annotated[str, CommitIfAny()] = ""
    head_commit: Annotated[str, CommitIfAny()] = ""
    focus: Annotated[tuple[ReviewFocus, ...], Focus()] = (ReviewFocus.ALL,)
    depth: Annotated[ReviewDepth, OneOf(ReviewDepth)] = ReviewDepth.STANDARD
    instructions: Annotated[str, FREE_TEXT] = ""


@dataclass(frozen=True, slots=True)
class ReviewIssue(Record):
    """Something that is wrong in some lines."""

    severity: Annotated[Severity, OneOf(Severity)]
    category: Annotated[ReviewFocus, _FOCUS]
    file: Annotated[str, _PATH]
    line_range: Annotated[tuple[int, int], LineRange()]
    description: Annotated[str, _SAYING]
    current: Annotated[str, _CODE] = ""  # the lines as they stand; needed for a fix
    suggested_fix: Annotated[str, _CODE] | None = None  # what takes their place


@dataclass(frozen=True, slots=True)
class ReviewSuggestion(Record):
    """Better code for the code that stands from a line on."""

    file: Annotated[str, _PATH]
    line: Annotated[int, _LINE]
    current: Annotated[str, _CODE]
    suggested: Annotated[str, _CODE]
    rationale: Annotated[str, _SAYING]


@dataclass(frozen=True, slots=True)
class Statement(Record):
    """What was looked at in a file, said even if nothing was found."""

    file: Annotated[str, _PATH]
    statement: Annotated[str, _SAYING]


@dataclass(frozen=True, slots=True)
class StructuredReview(Document):
    """The artifact."""

    what: ClassVar[str] = "The review"

    summary: Annotated[str, _SUMMARY]
    approval_status: Annotated[Approval, OneOf(Approval)]
    issues: Annotated[tuple[ReviewIssue, ...], _FINDINGS] = ()
    suggestions: Annotated[tuple[ReviewSuggestion, ...], _FINDINGS] = ()
    highlights: Annotated[tuple[str, ...], _SAYINGS] = ()
    examined: Annotated[tuple[Statement, ...], _STATEMENTS] = ()

    def __str__(self) -> str:
        return on_screen("\n".join(self.lines()))

    def __repr__(self) -> str:
        return f"<StructuredReview: {self.approval_status.value}, {count(len(self.issues), 'issue')}>"

    def lines(self) -> list[str]:
        """Findings as editors and compilers write them: file:line: what."""
        lines = [self.summary]
        for item in self.issues:
            kind = f"{item.severity.value} ({item.category.value})"
            lines.append(f"{item.file}:{item.line_range[0]}: {kind}: {_one_line(item.description)}")
            if item.suggested_fix is not None:
                lines += [f"    {row}" for row in item.suggested_fix.splitlines()]
        lines += [f"{item.file}:{item.line}: suggestion: {_one_line(item.rationale)}" for item in self.suggestions]
        lines += [f"{item.file}: {_one_line(item.statement)}" for item in self.examined]
        return [*lines, f"Verdict of the review: {self.approval_status.value.replace('_', ' ')}."]

    @classmethod
    def bytes_max(cls, policy: VerificationPolicy) -> int:
        return policy.review_bytes_max


@dataclass(frozen=True, slots=True)
class CodeReviewResult(ResultRecord):
    """What a provider claims about its review."""

    status: Annotated[ResultStatus, STATUS] = ResultStatus.SUCCESS
    error: Annotated[str, FREE_TEXT] = ""
    trajectory_id: Annotated[str, ID] = ""
    usage: TokenUsage = field(default_factory=TokenUsage)


def _one_line(text: str) -> str:
    return " ".join(text.split())
