"""Typed requests, results and artifacts of the job types.

Each record reads itself strictly from untrusted JSON (`from_bytes`, `from_json`) and writes itself in canonical form
(`to_json`, `to_bytes`); reading what was written gives the same record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from choir.bazaar.contracts.base import BadField
from choir.bazaar.contracts.environments import Environment
from choir.bazaar.contracts.index_format import IndexLanguage, RepoIndex
from choir.bazaar.contracts.indexes import RepoIndexRequest, RepoIndexResult
from choir.bazaar.contracts.patches import (
    Evidence,
    HiddenCheck,
    HiddenChecks,
    HiddenFile,
    OutsideCheck,
    PatchGenRequest,
    PatchGenResult,
)
from choir.bazaar.contracts.reviews import (
    Approval,
    CodeReviewRequest,
    CodeReviewResult,
    ReviewDepth,
    ReviewFocus,
    ReviewIssue,
    ReviewSuggestion,
    Severity,
    Statement,
    StructuredReview,
)
from choir.bazaar.contracts.runs import RunOutput, SandboxRunRequest, SandboxRunResult
from choir.bazaar.contracts.skills import SkillFile, SkillFolder
from choir.bazaar.contracts.terms import AgentTool, ResultStatus, SecondReview, Terms, TokenUsage
from choir.bazaar.contracts.texts import TextGenRequest, TextGenResult
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import VerificationPolicy

Request = PatchGenRequest | CodeReviewRequest | SandboxRunRequest | TextGenRequest | RepoIndexRequest
JobResult = PatchGenResult | CodeReviewResult | SandboxRunResult | TextGenResult | RepoIndexResult

REQUESTS: dict[JobType, type[Request]] = {
    JobType.PATCH_GEN: PatchGenRequest,
    JobType.CODE_REVIEW: CodeReviewRequest,
    JobType.SANDBOX_RUN: SandboxRunRequest,
    JobType.TEXT_GEN: TextGenRequest,
    JobType.REPO_INDEX: RepoIndexRequest,
}
RESULTS: dict[JobType, type[JobResult]] = {
    JobType.PATCH_GEN: PatchGenResult,
    JobType.CODE_REVIEW: CodeReviewResult,
    JobType.SANDBOX_RUN: SandboxRunResult,
    JobType.TEXT_GEN: TextGenResult,
    JobType.REPO_INDEX: RepoIndexResult,
}


def read_request(kind: JobType, value: Mapping[str, Any], policy: VerificationPolicy) -> Request:
    """A request of this type from untrusted JSON."""
    return REQUESTS[kind].from_json(value, policy)


def read_result(kind: JobType, value: Mapping[str, Any], policy: VerificationPolicy) -> JobResult:
    """A result of this type from untrusted JSON."""
    return RESULTS[kind].from_json(value, policy)


__all__ = [
    "REQUESTS",
    "RESULTS",
    "AgentTool",
    "Approval",
    "BadField",
    "CodeReviewRequest",
    "CodeReviewResult",
    "Environment",
    "Evidence",
    "HiddenCheck",
    "HiddenChecks",
    "HiddenFile",
    "IndexLanguage",
    "JobResult",
    "OutsideCheck",
    "PatchGenRequest",
    "PatchGenResult",
    "RepoIndex",
    "RepoIndexRequest",
    "RepoIndexResult",
    "Request",
    "ResultStatus",
    "ReviewDepth",
    "ReviewFocus",
    "ReviewIssue",
    "ReviewSuggestion",
    "RunOutput",
    "SandboxRunRequest",
    "SandboxRunResult",
    "SecondReview",
    "Severity",
    "SkillFile",
    "SkillFolder",
    "Statement",
    "StructuredReview",
    "Terms",
    "TextGenRequest",
    "TextGenResult",
    "TokenUsage",
    "read_request",
    "read_result",
]
