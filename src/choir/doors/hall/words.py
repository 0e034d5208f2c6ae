"""What jobs, and the times they take, are called on the pages."""

from __future__ import annotations

from choir.bazaar.attempts.model import AttemptState
from choir.bazaar.disputes.model import Trigger
from choir.bazaar.jobs.model import JobState, JobType
from choir.foundation.clock import MICROSECONDS

TYPES: dict[JobType, str] = {
    JobType.SANDBOX_RUN: "Run",
    JobType.CODE_REVIEW: "Review",
    JobType.PATCH_GEN: "Patch",
    JobType.REPO_INDEX: "Index",
    JobType.TEXT_GEN: "Text",
}

# A state in a word, and the kind of its badge.
STATES: dict[JobState, tuple[str, str]] = {
    JobState.OPEN: ("Waiting", ""),
    JobState.ASSIGNED: ("Assigned", ""),
    JobState.RUNNING: ("At work", ""),
    JobState.DELIVERED: ("Delivered", ""),
    JobState.VERIFYING: ("Being checked", ""),
    JobState.PAID: ("Paid", "badge-good"),
    JobState.CLOSED: ("Failed", "badge-bad"),
    JobState.EXPIRED: ("Expired", "badge-mind"),
    JobState.CANCELLED: ("Cancelled", "badge-mind"),
    JobState.DISPUTED: ("Disputed", "badge-mind"),
    JobState.RESOLVED: ("Dispute decided", ""),
}

ATTEMPTS: dict[AttemptState, tuple[str, str]] = {
    AttemptState.ASSIGNED: ("Assigned", ""),
    AttemptState.RUNNING: ("At work", ""),
    AttemptState.DELIVERED: ("Delivered", ""),
    AttemptState.VERIFYING: ("Being checked", ""),
    AttemptState.PASSED: ("Passed", "badge-good"),
    AttemptState.LOST: ("Passed, not first", ""),
    AttemptState.FAILED: ("Failed", "badge-bad"),
    AttemptState.TIMED_OUT: ("Timed out", "badge-mind"),
    AttemptState.CANCELLED: ("Ended", "badge-mind"),
    AttemptState.WITHDRAWN: ("Withdrawn", "badge-mind"),
    AttemptState.GONE: ("Stopped answering", "badge-mind"),
}

TRIGGERS: dict[Trigger, str] = {
    Trigger.FAILS_TO_APPLY: "The patch does not apply",
    Trigger.TESTS_FAIL: "The tests fail with the patch",
    Trigger.HASH_MISMATCH: "The artifact does not match its hash",
    Trigger.TRAJECTORY_INVALID: "The trajectory is not valid",
    Trigger.TIMEOUT: "It was not done in time",
    Trigger.IRRELEVANT: "It does not answer the order",
    Trigger.SECURITY: "It has a security issue",
}

FIELDS: dict[str, str] = {
    "argv": "Command",
    "stdin": "Standard input",
    "environment": "Environment",
    "cpu_s_max": "CPU seconds, at most",
    "exit_code": "Exit code",
    "title": "Title",
    "body": "Description",
    "test_command": "Tests",
    "subdir": "Folder",
    "base_commit": "Base commit",
    "allowed_paths": "Allowed paths",
    "disallowed_paths": "Disallowed paths",
    "files_max": "Files, at most",
    "focus": "Focus",
    "depth": "Depth",
    "instructions": "Instructions",
    "languages": "Languages",
    "embeddings": "With embeddings",
    "previous": "Builds on the index",
    "prompt": "Prompt",
    "max_tokens": "Tokens, at most",
    "time_limit_s": "Seconds per attempt",
    "fail_before": "The tests fail before",
    "whole_suite": "The whole suite must pass",
    "suite_command": "Whole suite",
    "level": "Level, at least",
    "checks": "Outside checks",
    "verification_commands": "Commands that must succeed",
    "writable_paths": "Folders that tests may write to",
    "mutation": "Mutation",
    "mutation_floor_bps": "Mutants to be noticed, at least",
    "deterministic": "The output is always the same",
    "memory_bytes_max": "Bytes of memory, at most",
    "schema": "JSON schema",
    "system": "System prompt",
}


def took(since_us: int, until_us: int | None) -> str:
    """How long something took; nothing while it goes on."""
    if until_us is None:
        return ""
    minutes, seconds = divmod(max(0, until_us - since_us) // MICROSECONDS, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    if minutes:
        return f"{minutes} min {seconds} s"
    return f"{seconds} s" if seconds else "under 1 s"
