"""PatchGen: a change to a repository that makes the buyer's own tests pass.

The artifact is a unified diff against one commit. The result carries what the provider claims; all of it is measured
again, and nothing of it sets the price.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from choir.bazaar.contracts import paths
from choir.bazaar.contracts.commands import parse_pytest
from choir.bazaar.contracts.common import ID_CHARS_MAX, ResultStatus, TokenUsage, read_usage
from choir.bazaar.contracts.fields import BadField, Reader, read_bytes, read_value
from choir.bazaar.contracts.terms import Terms
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, canonical_bytes
from choir.foundation.errors import Invalid
from choir.sandbox.files import safe_path

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_TITLE_CHARS_MAX = 300
_URL_CHARS_MAX = 1_000
_NO_REPORT = (
    "it is not a plain pytest command, and only that gives a report of each test. Use one (it runs unittest tests"
    " too), such as `python3 -m pytest -q`. To keep any other command, such as `npm test`, add `--exit-code`"
    " (in a request: `evidence` is `exit_code`): then only its exit code is checked, a weak proof (V1)"
    " that the patched code can forge; hidden checks make it stronger"
)
SUITE = "python3 -m pytest -q"


class Evidence(StrEnum):
    """What the buyer takes as proof that the tests passed."""

    REPORT = "report"  # a full report of exactly the buyer's tests; only pytest commands have one
    EXIT_CODE = "exit_code"  # code 0 alone, which the tested code can forge; the buyer must ask for it by name


@dataclass(frozen=True, slots=True)
class PatchGenRequest:
    """What a buyer orders."""

    title: str
    body: str
    base_commit: str  # the exact commit that the diff applies to
    test_command: str  # run from the buyer's tree
    terms: Terms
    repo_url: str = ""  # for people; nothing is fetched from it
    subdir: str = ""  # where the commands run
    allowed_paths: tuple[str, ...] = paths.EVERYTHING
    disallowed_paths: tuple[str, ...] = paths.DISALLOWED
    deciding_paths: tuple[str, ...] = ()  # more files that decide, beside those found by looking
    verification_commands: tuple[str, ...] = ()  # must end with code 0 after the patch
    evidence: Evidence = Evidence.REPORT
    fail_before: bool = True  # the tests must fail without the patch
    whole_suite: bool = False  # an extra: nothing that passed before may fail after
    suite_command: str = SUITE
    allow_introspection: bool = False  # whether the patch may look into the interpreter or name the test runner
    files_max: int = 10  # most files it is paid for
    hidden: ObjectHash | None = None  # commitment to the hidden checks

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> PatchGenRequest:
        return read_bytes(data, policy.request_bytes_max, "The request", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> PatchGenRequest:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> PatchGenRequest:
        command_chars, items = policy.command_chars_max, policy.list_items_max
        found = cls(
            title=reader.text("title", _TITLE_CHARS_MAX, 1),
            body=reader.text("body", policy.text_chars_max, 0, ""),
            base_commit=read_commit(reader, "base_commit"),
            test_command=reader.text("test_command", command_chars, 1),
            terms=Terms.read(reader, policy),
            repo_url=reader.text("repo_url", _URL_CHARS_MAX, 0, ""),
            subdir=_read_folder(reader, "subdir"),
            allowed_paths=_read_patterns(reader, "allowed_paths", items, paths.EVERYTHING) or paths.EVERYTHING,
            disallowed_paths=_read_patterns(reader, "disallowed_paths", items, paths.DISALLOWED),
            deciding_paths=_read_patterns(reader, "deciding_paths", items, ()),
            verification_commands=reader.texts("verification_commands", items, command_chars, ()),
            evidence=reader.one_of("evidence", Evidence, Evidence.REPORT),
            fail_before=reader.yes("fail_before", True),
            whole_suite=reader.yes("whole_suite", False),
            suite_command=reader.text("suite_command", command_chars, 1, SUITE),
            allow_introspection=reader.yes("allow_introspection", False),
            files_max=reader.whole("files_max", 1, policy.patch_files_max, policy.units_files),
            hidden=read_optional_hash(reader, "hidden"),
        )
        reported = [found.test_command] if found.evidence is Evidence.REPORT else []
        for command in reported + [found.suite_command] * found.whole_suite:
            if parse_pytest(command) is None:
                raise BadField(field="test_command", why=_NO_REPORT)
        return found

    def to_json(self) -> dict[str, Any]:
        return self.terms.to_json() | {
            "title": self.title,
            "body": self.body,
            "base_commit": self.base_commit,
            "test_command": self.test_command,
            "repo_url": self.repo_url,
            "subdir": self.subdir,
            "allowed_paths": list(self.allowed_paths),
            "disallowed_paths": list(self.disallowed_paths),
            "deciding_paths": list(self.deciding_paths),
            "verification_commands": list(self.verification_commands),
            "evidence": self.evidence.value,
            "fail_before": self.fail_before,
            "whole_suite": self.whole_suite,
            "suite_command": self.suite_command,
            "allow_introspection": self.allow_introspection,
            "files_max": self.files_max,
            "hidden": self.hidden,
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


@dataclass(frozen=True, slots=True)
class PatchGenResult:
    """What a provider claims about its diff."""

    base_commit: str
    status: ResultStatus = ResultStatus.SUCCESS
    error: str = ""
    trajectory_id: str = ""
    usage: TokenUsage = field(default_factory=TokenUsage)

    @classmethod
    def from_bytes(cls, data: bytes, policy: VerificationPolicy) -> PatchGenResult:
        return read_bytes(data, policy.request_bytes_max, "The result", lambda reader: cls._read(reader, policy))

    @classmethod
    def from_json(cls, value: Mapping[str, Any], policy: VerificationPolicy) -> PatchGenResult:
        return read_value(value, lambda reader: cls._read(reader, policy))

    @classmethod
    def _read(cls, reader: Reader, policy: VerificationPolicy) -> PatchGenResult:
        return cls(
            base_commit=read_commit(reader, "base_commit"),
            status=reader.one_of("status", ResultStatus),
            error=reader.text("error", policy.text_chars_max, 0, ""),
            trajectory_id=reader.text("trajectory_id", ID_CHARS_MAX, 0, ""),
            usage=read_usage(reader),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "base_commit": self.base_commit,
            "status": self.status.value,
            "error": self.error,
            "trajectory_id": self.trajectory_id,
            "usage": self.usage.to_json(),
        }

    def to_bytes(self) -> bytes:
        return canonical_bytes(self.to_json())


def read_commit(reader: Reader, name: str) -> str:
    value = reader.text(name, 64, 40)
    if not _COMMIT.match(value):
        raise reader.bad(name, "it must be a full commit id in lower-case hex")
    return value


def read_optional_hash(reader: Reader, name: str) -> ObjectHash | None:
    value = reader.take(name, None)
    return None if value is None else Reader({name: value}).hash(name)


def _read_patterns(reader: Reader, name: str, most: int, default: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(paths.check_pattern(item) for item in reader.texts(name, most, 300, default))


def _read_folder(reader: Reader, name: str) -> str:
    value = reader.text(name, 1_000, 0, "")
    try:
        return safe_path(value) if value else ""
    except Invalid as error:
        raise reader.bad(name, str(error)) from None
