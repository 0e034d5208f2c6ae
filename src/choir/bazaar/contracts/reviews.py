"""CodeReview: findings about a diff that point at lines which are really there.

The artifact is a `StructuredReview` in canonical JSON. Line numbers are those of the new side of the diff, counted
from 1; a file that the diff deletes is counted on its old side. A suggested fix is the text that takes the place of the
lines in `line_range`, and needs those lines quoted in `current`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from choir.bazaar.contracts.common import ID_CHARS_MAX, ResultStatus, TokenUsage, read_usage
from choir.bazaar.contracts.fields import Reader, read_bytes, read_value
from choir.bazaar.contracts.patches import read_commit
from choir.bazaar.contracts.terms import Terms
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, canonical_bytes
from choir.foundation.words import count, on_screen

_LINE_MAX = 10_000_000
_PATH_CHARS_MAX = 1_000
_CODE_CHARS_MAX = 20_000
_SAYING_CHARS_MAX = 10_000


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


@dataclass(frozen=True, slots=True)
class CodeReviewRequest:
    """What a buyer orders. The diff itself is an input, named by its hash."""

    diff: ObjectHash
    terms: Terms
    repo_url: str = ""
    base_commit: str = ""
    head_commit: str = ""
    focus: tuple[ReviewFocus, ...] = (ReviewFocus.ALL,)
    depth: ReviewDepth = ReviewDepth.STANDARD
    instructions: str = ""

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> CodeReviewRequest:
        return read_bytes(data, policy.request_bytes_max, "The request", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> CodeReviewRequest:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> CodeReviewRequest:
        focus = [
            Reader({"focus": item}).one_of("focus", ReviewFocus)
            for item in reader.items("focus", len(ReviewFocus), (ReviewFocus.ALL.value,))
        ]
        return cls(
            diff=reader.hash("diff"),
            terms=Terms.read(reader, policy),
            repo_url=reader.text("repo_url", 1_000, 0, ""),
            base_commit=_read_maybe_commit(reader, "base_commit"),
            head_commit=_read_maybe_commit(reader, "head_commit"),
            focus=tuple(dict.fromkeys(focus)) or (ReviewFocus.ALL,),
            depth=reader.one_of("depth", ReviewDepth, ReviewDepth.STANDARD),
            instructions=reader.text("instructions", policy.text_chars_max, 0, ""),
        )

    def to_json(self) -> dict[str, Any]:
        return self.terms.to_json() | {
            "diff": self.diff,
            "repo_url": self.repo_url,
            "base_commit": self.base_commit,
            "head_commit": self.head_commit,
            "focus": [item.value for item in self.focus],
            "depth": self.depth.value,
            "instructions": self.instructions,
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


@dataclass(frozen=True, slots=True)
class ReviewIssue:
    """Something that is wrong in some lines."""

    severity: Severity
    category: ReviewFocus
    file: str
    line_range: tuple[int, int]  # first and last line, both included
    description: str
    current: str = ""  # the lines as they stand; needed for a fix
    suggested_fix: str | None = None  # what takes their place

    @classmethod
    def read(cls, reader: Reader) -> ReviewIssue:
        fix = reader.take("suggested_fix", None)
        return cls(
            severity=reader.one_of("severity", Severity),
            category=reader.one_of("category", ReviewFocus),
            file=reader.exact_text("file", _PATH_CHARS_MAX),
            line_range=_read_range(reader),
            description=reader.text("description", _SAYING_CHARS_MAX, 1),
            current=_read_code(reader, "current"),
            suggested_fix=None
            if fix is None
            else Reader({"suggested_fix": fix}).exact_text("suggested_fix", _CODE_CHARS_MAX),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "severity": self.severity.value,
            "category": self.category.value,
            "file": self.file,
            "line_range": list(self.line_range),
            "description": self.description,
            "current": self.current,
            "suggested_fix": self.suggested_fix,
        }


@dataclass(frozen=True, slots=True)
class ReviewSuggestion:
    """Better code for the code that stands from a line on."""

    file: str
    line: int
    current: str
    suggested: str
    rationale: str

    @classmethod
    def read(cls, reader: Reader) -> ReviewSuggestion:
        return cls(
            file=reader.exact_text("file", _PATH_CHARS_MAX),
            line=reader.whole("line", 1, _LINE_MAX),
            current=reader.exact_text("current", _CODE_CHARS_MAX),
            suggested=reader.exact_text("suggested", _CODE_CHARS_MAX),
            rationale=reader.text("rationale", _SAYING_CHARS_MAX, 1),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "current": self.current,
            "suggested": self.suggested,
            "rationale": self.rationale,
        }


@dataclass(frozen=True, slots=True)
class Statement:
    """What was looked at in a file, said even if nothing was found."""

    file: str
    statement: str

    @classmethod
    def read(cls, reader: Reader) -> Statement:
        return cls(reader.exact_text("file", _PATH_CHARS_MAX), reader.text("statement", _SAYING_CHARS_MAX, 1))

    def to_json(self) -> dict[str, Any]:
        return {"file": self.file, "statement": self.statement}


@dataclass(frozen=True, slots=True)
class StructuredReview:
    """The artifact."""

    summary: str
    approval_status: Approval
    issues: tuple[ReviewIssue, ...] = ()
    suggestions: tuple[ReviewSuggestion, ...] = ()
    highlights: tuple[str, ...] = ()
    examined: tuple[Statement, ...] = ()

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
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> StructuredReview:
        return read_bytes(data, policy.review_bytes_max, "The review", lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> StructuredReview:
        most = policy.review_findings_max
        return cls(
            summary=reader.text("summary", _SAYING_CHARS_MAX),
            approval_status=reader.one_of("approval_status", Approval),
            issues=reader.records("issues", most, ReviewIssue.read, ()),
            suggestions=reader.records("suggestions", most, ReviewSuggestion.read, ()),
            highlights=reader.texts("highlights", most, _SAYING_CHARS_MAX, ()),
            examined=reader.records("examined", policy.patch_files_max, Statement.read, ()),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "summary": self.summary,
            "approval_status": self.approval_status.value,
            "issues": [item.to_json() for item in self.issues],
            "suggestions": [item.to_json() for item in self.suggestions],
            "highlights": list(self.highlights),
            "examined": [item.to_json() for item in self.examined],
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


@dataclass(frozen=True, slots=True)
class CodeReviewResult:
    """What a provider claims about its review."""

    status: ResultStatus = ResultStatus.SUCCESS
    error: str = ""
    trajectory_id: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> CodeReviewResult:
        return read_bytes(data, policy.request_bytes_max, "The result", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> CodeReviewResult:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> CodeReviewResult:
        return cls(
            status=reader.one_of("status", ResultStatus),
            error=reader.text("error", policy.text_chars_max, 0, ""),
            trajectory_id=reader.text("trajectory_id", ID_CHARS_MAX, 0, ""),
            usage=read_usage(reader),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status.value,
            "error": self.error,
            "trajectory_id": self.trajectory_id,
            "usage": self.usage.to_json(),
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


def _read_range(reader: Reader) -> tuple[int, int]:
    value = reader.items("line_range", 2)
    good = len(value) == 2 and all(isinstance(item, int) and not isinstance(item, bool) for item in value)
    if not good or not 1 <= value[0] <= value[1] <= _LINE_MAX:
        raise reader.bad("line_range", "it must be the first and the last line, counted from 1")
    return value[0], value[1]


def _read_code(reader: Reader, name: str) -> str:
    return Reader({name: reader.take(name, "")}).exact_text(name, _CODE_CHARS_MAX)


def _read_maybe_commit(reader: Reader, name: str) -> str:
    value = reader.take(name, "")
    return "" if value == "" else read_commit(Reader({name: value}), name)


def _one_line(text: str) -> str:
    return " ".join(text.split())
