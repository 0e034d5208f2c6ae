"""PatchGen: a change to a repository that makes the buyer's own tests pass.

The artifact is a unified diff against one commit. The result carries what the provider claims; all of it is measured
again, and nothing of it sets the price.

Hidden checks are commands and files that only the node sees before the delivery. The buyer commits to them by a salted
hash when the job opens: they cannot be changed afterwards, and the provider cannot guess them from the hash. They run
after the delivery, several times each.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from choir.bazaar.contracts import paths
from choir.bazaar.contracts.base import (
    BadField,
    Base64,
    Document,
    Hash,
    OneOf,
    Record,
    Records,
    Rule,
    Text,
    Texts,
    Whole,
    Wrong,
    Yes,
)
from choir.bazaar.contracts.commands import parse_tests
from choir.bazaar.contracts.environments import Environment
from choir.bazaar.contracts.terms import (
    ALLOWED_TOOLS,
    CONTEXT_TOKENS,
    FREE_TEXT,
    ID,
    STATUS,
    AgentTool,
    RequestRecord,
    ResultRecord,
    ResultStatus,
    Terms,
    TokenUsage,
)
from choir.bazaar.jobs.model import Level
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, canonical_hash
from choir.foundation.errors import Invalid
from choir.sandbox.files import safe_path

if TYPE_CHECKING:
    from pydantic import ValidationInfo

_COMMIT = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?\Z")
_COMMIT_TEXT = Text(64, 40)
_HEX_DIGITS = frozenset("0123456789abcdef")
_HASH_CHARS = 64
_HASH_TEXT = Text(_HASH_CHARS)
_SALT_TEXT = Text(200, 32)
_PATH_TEXT = Text(1_000)
_FILE_PATH_TEXT = Text(1_000, 1)
_CONTENT_CHARS_MAX = 2_000_000
_CONTENT = Base64(Text(_CONTENT_CHARS_MAX))  # so that any bytes can be committed to
_TITLE = Text(300, 1)
_URL = Text(1_000)
_COMMAND = Text(lambda policy: policy.command_chars_max, 1)
_COMMANDS = Texts(lambda policy: policy.list_items_max, lambda policy: policy.command_chars_max)
_PATTERNS = Texts(lambda policy: policy.list_items_max, 300)
_FILES_MAX = Whole(1, lambda policy: policy.patch_files_max)
_BPS = Whole(0, 10_000)
_LIST = Records(lambda policy: policy.list_items_max)
_LIST_OF_SOME = Records(lambda policy: policy.list_items_max, least=1)
_NO_REPORT = (
    "it is not a plain command of a known test runner (pytest, unittest, node --test, jest, vitest, go test, cargo"
    " test), and only those give a report of each test. Use one, such as `python3 -m pytest -q`, or name the report"
    " in JUnit's XML that it writes (`junit_report`). To keep any other command, such as `make test`, add `--exit-code`"
    " (in a request: `evidence` is `exit_code`): then only its exit code is checked, a weak proof (V1)"
    " that the patched code can forge; hidden checks make it stronger"
)
_NO_HIDDEN = "V3 and V4 need hidden checks: whoever knows every test can answer exactly them"
SUITE = "python3 -m pytest -q"


class Evidence(StrEnum):
    """What the buyer takes as proof that the tests passed."""

    REPORT = "report"  # a full report of exactly the buyer's tests; only pytest commands have one
    EXIT_CODE = "exit_code"  # code 0 alone, which the tested code can forge; the buyer must ask for it by name


class Commit(Rule):
    """A whole commit id."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        text = _COMMIT_TEXT.read(value, info)
        if not _COMMIT.match(text):
            raise Wrong("it must be a full commit id in lower-case hex")
        return text


@dataclass(frozen=True)
class TreePath(Rule):
    """A path below the top of a tree, in plain form."""

    text: Text

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        text = self.text.read(value, info)
        try:
            return safe_path(text) if text else ""
        except Invalid as error:
            raise Wrong(str(error)) from None


@dataclass(frozen=True)
class Patterns(Rule):
    """Path patterns; an empty list means `otherwise`."""

    otherwise: tuple[str, ...] = ()

    def read(self, value: Any, info: ValidationInfo[Any]) -> tuple[str, ...]:
        try:
            return tuple(paths.check_pattern(item) for item in _PATTERNS.read(value, info)) or self.otherwise
        except paths.BadPattern as error:
            raise Wrong(error) from None


class Digest(Rule):
    """A SHA-256 in hex, or nothing."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        text = _HASH_TEXT.read(value, info)
        if text and (len(text) != _HASH_CHARS or not _HEX_DIGITS.issuperset(text)):
            raise Wrong("it must be 64 lower-case hex digits")
        return text


@dataclass(frozen=True, slots=True)
class OutsideCheck(Record):
    """A command that the verifier starts itself. All it writes to stdout is compared with this hash, outside."""

    command: Annotated[str, _COMMAND]
    output_sha256: Annotated[str, Digest()]

    def check(self) -> None:
        if not self.output_sha256:
            raise Wrong(BadField(field="output_sha256", why="an outside check needs the hash of what it must write"))


@dataclass(frozen=True, slots=True)
class PatchGenRequest(RequestRecord):
    """What a buyer orders."""

    title: Annotated[str, _TITLE]
    body: Annotated[str, FREE_TEXT]
    base_commit: Annotated[str, Commit()]  # the exact commit that the diff applies to
    test_command: Annotated[str, _COMMAND]  # run from the buyer's tree
    terms: Terms
    repo_url: Annotated[str, _URL] = ""  # for people; nothing is fetched from it
    subdir: Annotated[str, TreePath(_PATH_TEXT)] = ""  # where the commands run
    allowed_paths: Annotated[tuple[str, ...], Patterns(paths.EVERYTHING)] = paths.EVERYTHING
    disallowed_paths: Annotated[tuple[str, ...], Patterns()] = paths.DISALLOWED
    deciding_paths: Annotated[tuple[str, ...], Patterns()] = ()  # more files that decide, beside those found by looking
    verification_commands: Annotated[tuple[str, ...], _COMMANDS] = ()  # must end with code 0 after the patch
    evidence: Annotated[Evidence, OneOf(Evidence)] = Evidence.REPORT
    fail_before: Annotated[bool, Yes()] = True  # the tests must fail without the patch
    whole_suite: Annotated[bool, Yes()] = False  # an extra: nothing that passed before may fail after
    suite_command: Annotated[str, _COMMAND] = SUITE
    # decides nothing any more: what it allowed is a sign on the verdict and no reason to refuse
    allow_introspection: Annotated[bool, Yes()] = False
    files_max: Annotated[int, _FILES_MAX] = 10  # most files it is paid for
    hidden: Annotated[ObjectHash, Hash()] | None = None  # commitment to the hidden checks
    environment: Environment | None = None  # what the repository needs to be built and tested
    level: Annotated[Level, OneOf(Level)] = Level.V1  # the least level that the verdict must have
    checks: Annotated[tuple[OutsideCheck, ...], _LIST] = ()  # outside checks that everybody may see
    writable_paths: Annotated[tuple[str, ...], Patterns()] = ()  # folders that tests may write to, no others
    # where the test command writes a report in JUnit's XML; then any command gives a report of each test
    junit_report: Annotated[str, TreePath(_PATH_TEXT)] = ""
    mutation: Annotated[bool, Yes()] = False  # an extra: change the patched lines, and count what the tests notice
    mutation_floor_bps: Annotated[int, _BPS] = 0  # the least share of mutants that the tests must notice
    allowed_tools: Annotated[tuple[AgentTool, ...], ALLOWED_TOOLS] = ()  # none named: whatever the worker has
    max_context_tokens: Annotated[int, CONTEXT_TOKENS] = 0  # of a model that works on it; 0: as the worker has it

    later: ClassVar[frozenset[str]] = frozenset(
        {
            "environment",
            "level",
            "checks",
            "writable_paths",
            "junit_report",
            "mutation",
            "mutation_floor_bps",
            "allowed_tools",
            "max_context_tokens",
        }
    )

    @classmethod
    def absent(cls, context: VerificationPolicy) -> dict[str, Any]:
        long = {"disallowed_paths": paths.DISALLOWED, "suite_command": SUITE}  # a policy may be too narrow for them
        return {"body": "", "files_max": context.units_files} | long

    def check(self) -> None:
        commands = [self.test_command] * (self.evidence is Evidence.REPORT) + [self.suite_command] * self.whole_suite
        if any(parse_tests(command) is None for command in commands) and not self.junit_report:
            raise Wrong(BadField(field="test_command", why=_NO_REPORT))
        if self.level >= Level.V3 and self.hidden is None:
            raise Wrong(BadField(field="level", why=_NO_HIDDEN))
        if self.mutation_floor_bps and not self.mutation:
            raise Wrong(BadField(field="mutation_floor_bps", why="`mutation` must be true for it"))
        if any(any(sign in path for sign in "*?") for path in self.writable_paths):
            raise Wrong(BadField(field="writable_paths", why="it must name folders, without * and ?"))


@dataclass(frozen=True, slots=True)
class PatchGenResult(ResultRecord):
    """What a provider claims about its diff."""

    base_commit: Annotated[str, Commit()]
    status: Annotated[ResultStatus, STATUS] = ResultStatus.SUCCESS
    error: Annotated[str, FREE_TEXT] = ""
    trajectory_id: Annotated[str, ID] = ""
    usage: TokenUsage = field(default_factory=TokenUsage)


# --- hidden checks ----------------------------------------------------------------------------------


class Salt(Rule):
    """The hex of at least 16 random bytes."""

    def read(self, value: Any, info: ValidationInfo[Any]) -> str:
        text = _SALT_TEXT.read(value, info)
        if not _HEX_DIGITS.issuperset(text):
            raise Wrong("it must be the hex of at least 16 random bytes")
        return text


@dataclass(frozen=True, slots=True)
class HiddenCheck(Record):
    """A command that must end with code 0 in the patched tree. A pytest command must also report its tests."""

    command: Annotated[str, _COMMAND]
    # of all it must write to stdout; the provider does not know it, so it cannot fake the end
    output_sha256: Annotated[str, Digest()] = ""


@dataclass(frozen=True, slots=True)
class HiddenFile(Record):
    """A file put into the tree for the hidden checks."""

    path: Annotated[str, TreePath(_FILE_PATH_TEXT)]
    content: Annotated[bytes, _CONTENT]


@dataclass(frozen=True, slots=True)
class HiddenChecks(Document):
    """All of them, with the salt that makes the commitment opaque."""

    what: ClassVar[str] = "The hidden checks"

    salt: Annotated[str, Salt()]
    checks: Annotated[tuple[HiddenCheck, ...], _LIST_OF_SOME]
    files: Annotated[tuple[HiddenFile, ...], _LIST] = ()

    @property
    def commitment(self) -> ObjectHash:
        """What the request carries."""
        return canonical_hash(self.to_json())

    @classmethod
    def bytes_max(cls, policy: VerificationPolicy) -> int:  # noqa: ARG003
        return _CONTENT_CHARS_MAX
