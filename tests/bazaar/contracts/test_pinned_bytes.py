"""What every request, result and artifact is in bytes, and what is said of a bad one, to the letter.

Hashes of requests and hidden checks are signed and committed to, and clients match the name of a bad field: so neither
may change unnoticed, whatever reads the records.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from choir.bazaar.contracts import (
    Approval,
    BadField,
    CodeReviewRequest,
    CodeReviewResult,
    Evidence,
    HiddenCheck,
    HiddenChecks,
    HiddenFile,
    PatchGenRequest,
    PatchGenResult,
    ResultStatus,
    ReviewDepth,
    ReviewFocus,
    ReviewIssue,
    ReviewSuggestion,
    RunOutput,
    SandboxRunRequest,
    SandboxRunResult,
    Severity,
    Statement,
    StructuredReview,
    Terms,
    TextGenRequest,
    TextGenResult,
    TokenUsage,
)
from choir.bazaar.contracts.paths import BadPattern
from choir.bazaar.contracts.schemas import BadSchema
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import ObjectHash, bytes_hash
from choir.foundation.errors import ChoirError

POLICY = VerificationPolicy()
COMMIT = "a" * 40
LONG_COMMIT = "0123456789abcdef" * 4
HASH = bytes_hash(b"x")
TERMS = Terms(5_000_000, 60, "k1")
USAGE = TokenUsage(1, 22, 333, 10**12)
ALL_BYTES = bytes(range(256))

NO_REPORT = (
    "it is not a plain command of a known test runner (pytest, unittest, node --test, jest, vitest, go test, cargo"
    " test), and only those give a report of each test. Use one, such as `python3 -m pytest -q`, or name the report"
    " in JUnit's XML that it writes (`junit_report`). To keep any other command, such as `make test`, add `--exit-code`"
    " (in a request: `evidence` is `exit_code`): then only its exit code is checked, a weak proof (V1)"
    " that the patched code can forge; hidden checks make it stronger"
)

Kind = Any  # a class of records

# --- records as callers make them -------------------------------------------------------------------

BUILT: list[tuple[Any, str]] = [
    (
        PatchGenRequest("t", "", COMMIT, "pytest", Terms(0, 1, "k")),
        "7239100c1df6db2899e441fa4b62cf7a627d47f6b2da35262a829de78e4890b9",
    ),
    (
        PatchGenRequest("Fix it", "", COMMIT, "python3 -m pytest -q", TERMS),
        "133513774f10ab2c696652a43faea9baaba957eb87915d44900ebffd9da4befb",
    ),
    (
        PatchGenRequest(
            title="Fix \u00e4 \U0001f600",
            body="line\n\ttab\r\n",
            base_commit=LONG_COMMIT,
            test_command="make test",
            terms=Terms(999_999_999_999_999_999, 86_400, "k" * 200),
            repo_url="https://example.org/r.git",
            subdir="a/b",
            allowed_paths=("src/**", "\u00e9"),
            disallowed_paths=(),
            deciding_paths=("conftest.py",),
            verification_commands=("true", "echo '\u00e9'"),
            evidence=Evidence.EXIT_CODE,
            fail_before=False,
            whole_suite=True,
            suite_command="pytest",
            allow_introspection=True,
            files_max=500,
            hidden=HASH,
        ),
        "73ce40556b043c3a36afd3c24aaef7c45305a4746fa9b73b539e9d12557f5a61",
    ),
    (CodeReviewRequest(HASH, TERMS), "45ebac1e9304e9a9639512561994a1bf48e4e175df21bf9f812a86d76a1aad11"),
    (
        CodeReviewRequest(
            HASH,
            TERMS,
            repo_url="u",
            base_commit=COMMIT,
            head_commit=LONG_COMMIT,
            focus=(ReviewFocus.STYLE, ReviewFocus.LOGIC),
            depth=ReviewDepth.THOROUGH,
            instructions="Look \u00e0 fond.",
        ),
        "c0d9cb930bcc33b9f58762258b2b097972e3ed367e84667b08e8e9975af58da0",
    ),
    (SandboxRunRequest(("true",), TERMS, 60), "06c803a9c37574b0a78853a24240698fe65ed72527234f6c102bb189b3789ae2"),
    (
        SandboxRunRequest(
            argv=("sh", "-c", "", "e\u0301\x01"),
            terms=TERMS,
            cpu_s_max=3_600,
            memory_bytes_max=10**12,
            stdin="a\0b\ne\u0301",
            environment=(("B", "2"), ("A", "\u00e9")),
            deterministic=True,
            exit_code=255,
        ),
        "0558ad2f849774dad3308969aeb92e728c08a288657594eecd54094f06b878ab",
    ),
    (TextGenRequest("Say it.", TERMS, 100), "5a4fc8db6ead8be771b42fc67e9da6753c4df2620fe3c23812f59cf6582996cd"),
    (
        TextGenRequest(
            "Say it.",
            TERMS,
            max_tokens=1,
            min_chars=0,
            system="Be kind.",
            schema={"type": "number", "minimum": 0.5, "enum": [1, 1.5, None, "\u00e9"]},
        ),
        "4e123a21f47368848e64be07a49a2306237df74777bf8125871f0a6a3475c999",
    ),
    (
        TextGenRequest("Say it.", TERMS, max_tokens=1, schema={}),
        "5db583ad4ee09962767280a1b7de632b7942975d571958631e66d8730f25046a",
    ),
    (PatchGenResult(COMMIT), "30ff8187cd7a1d970b75914727b1b26b1f0b8353e375e030cf71d1fac726e296"),
    (
        PatchGenResult(COMMIT, ResultStatus.PARTIAL_SUCCESS, "so\nso", HASH, USAGE),
        "547e62a28f20d839575be51d1958660b0184e74b1b6380e8510cfe95ce047537",
    ),
    (CodeReviewResult(), "6e2987ad457b69c97fb536bf110bd2f8346fb92643f22322148bdd96424b1ea7"),
    (
        CodeReviewResult(ResultStatus.FAILED, "\u00fcber", HASH, USAGE),
        "5d7f0f9ad48627c3d11759a45de6e6d3654e25c42c42cb9ce879d47fb1969941",
    ),
    (SandboxRunResult(0), "af6115a39f70c1a740cb920850f0ab7b7b8b55a565416e23bf3e4ccb98b0e29d"),
    (
        SandboxRunResult(255, 86_400_000, ResultStatus.TIMEOUT, "late", "t"),
        "aab5ad2e5d762d7b12f6a24b6c544452cdde966375c722d382c029faf3c647fc",
    ),
    (TextGenResult(), "f044fb0296768623bdf4eda3a198f6434a210f87094c4ba99bd906fddbff54cf"),
    (
        TextGenResult(ResultStatus.FAILED, "no", "model-1", "t", USAGE),
        "1588df77fbaaa9721e25e11fd84311a2d1df5e7ffb8fc7584ca800be8d25fa6e",
    ),
    (RunOutput(0, b""), "834bd866d4de57d467f58d46ba410997908d107c3e81e4e8857b94199e1ea5c3"),
    (RunOutput(255, ALL_BYTES, b"\xff"), "77bd7542da2d51e291dba313cb37a53ebe4eef8272f4b82b2f1cc7c408a14088"),
    (StructuredReview("", Approval.APPROVE), "3729b8aa69f39c185648166a574bfc861a15c77c6dbb89f73aa136cf564dca23"),
    (
        StructuredReview(
            summary="Seen \u00e9.",
            approval_status=Approval.REQUEST_CHANGES,
            issues=(
                ReviewIssue(Severity.LOW, ReviewFocus.ALL, "a.py", (1, 1), "d"),
                ReviewIssue(
                    Severity.CRITICAL, ReviewFocus.SECURITY, "e\u0301.py", (3, 10_000_000), "d", "e\u0301\0\x1b", ""
                ),
            ),
            suggestions=(ReviewSuggestion("a.py", 7, "x", "", "r\u00e9"),),
            highlights=("h1", "h2"),
            examined=(Statement("b.py", "Read."),),
        ),
        "631e4b3ccd4b7fdbcaae100ca3c61947b5fc599da72cfb1f94b321913f5c902c",
    ),
    (
        HiddenChecks("ab" * 16, (HiddenCheck("true"),)),
        "115b83d0c0c9ed3257033f71a5798cba1df49a82119da99fb250f9a81e381176",
    ),
    (
        HiddenChecks(
            "0f" * 100,
            (HiddenCheck("pytest -q"), HiddenCheck("echo \u00e9", "9" * 64)),
            (HiddenFile("a/\u00e9.py", ALL_BYTES), HiddenFile("b", b"")),
        ),
        "3dc390ab1889b74db99ce9253562f1cffa1ea4702988f7d4e5a1563136fc61ce",
    ),
]


@pytest.mark.parametrize(("record", "digest"), BUILT, ids=lambda item: type(item).__name__)
def test_a_record_has_the_bytes_it_always_had(record: Any, digest: str) -> None:
    data = record.to_bytes()
    assert hashlib.sha256(data).hexdigest() == digest
    assert type(record).from_bytes(data, POLICY).to_bytes() == data


def test_a_record_can_neither_be_changed_nor_given_more() -> None:
    record = BUILT[0][0]
    for name in ("title", "colour"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(record, name, "other")


def test_the_commitment_to_hidden_checks_is_the_hash_of_their_bytes() -> None:
    checks = HiddenChecks("ab" * 16, (HiddenCheck("true"),))
    assert checks.commitment == bytes_hash(checks.to_bytes())
    assert checks.commitment == ObjectHash("sha256:115b83d0c0c9ed3257033f71a5798cba1df49a82119da99fb250f9a81e381176")


# --- records as JSON brings them --------------------------------------------------------------------

PATCH = {
    "max_cost_msat": "5000000",
    "time_limit_s": 60,
    "idempotency_key": "k1",
    "title": "Fix it",
    "base_commit": COMMIT,
    "test_command": "python3 -m pytest -q",
}
REVIEW = {"max_cost_msat": "5000000", "idempotency_key": "k1", "diff": HASH}
RUN = {"max_cost_msat": "5000000", "idempotency_key": "k1", "argv": ["true"]}
TEXT = {"max_cost_msat": "5000000", "idempotency_key": "k1", "prompt": "Say something.", "max_tokens": 100}
ISSUE = {"severity": "high", "category": "logic", "file": "a.py", "line_range": [3, 4], "description": "Wrong."}
SUGGESTION = {"file": "a.py", "line": 3, "current": "x", "suggested": "y", "rationale": "Better."}
HIDDEN = {"salt": "ab" * 16, "checks": [{"command": "true"}]}
BASES: dict[Kind, dict[str, Any]] = {
    PatchGenRequest: PATCH,
    CodeReviewRequest: REVIEW,
    SandboxRunRequest: RUN,
    TextGenRequest: TEXT,
    PatchGenResult: {"base_commit": COMMIT, "status": "success"},
    CodeReviewResult: {"status": "success"},
    SandboxRunResult: {"status": "success", "exit_code": 0},
    TextGenResult: {"status": "success"},
    RunOutput: {"exit_code": 0, "stdout": "", "stderr": ""},
    StructuredReview: {"summary": "", "approval_status": "comment"},
    HiddenChecks: HIDDEN,
}
READ: list[tuple[Kind, dict[str, Any], str]] = [
    (
        PatchGenRequest,
        {"max_cost_msat": "0", "idempotency_key": "k", "title": "t", "base_commit": COMMIT, "test_command": "pytest"},
        "abe404e40c8f2f8f52410e2d7e8111b971adf56910727efd751eccbc9e9525e3",
    ),
    (
        PatchGenRequest,
        PATCH
        | {
            "title": "e\u0301",
            "body": "a\u0308\n",
            "idempotency_key": "o\u0302",
            "repo_url": "\u212b",
            "verification_commands": ["A\u030a"],
        },
        "5140b7fee310d3131433928bd0158f7181284e8235c87806725900c82e9d4664",
    ),
    (
        PatchGenRequest,
        PATCH | {"allowed_paths": [], "disallowed_paths": [], "hidden": None, "subdir": "", "body": ""},
        "54d782de4d070bb2e6bb5d9792846954d6c42d67b1347bfe9ef5e48b8f4f7935",
    ),
    (
        PatchGenRequest,
        PATCH | {"allowed_paths": ["e\u0301/**", "a/"], "subdir": "a/b", "files_max": 500, "time_limit_s": 86_400},
        "02671e4dc05afaf2a8de810b882350fed768afe9af1e8c27e9fba927eaa1f2d8",
    ),
    (
        PatchGenRequest,
        PATCH
        | {
            "title": "a" + "\u0301" * 30,
            "max_cost_msat": "9" * 18,
            "evidence": "exit_code",
            "test_command": "npm test",
        },
        "a177bd9d7353d5834324d621d8b4dc72da1703c6a1fa8fec23abdd68a1f98726",
    ),
    (CodeReviewRequest, REVIEW, "fd540bb5cec1f68023fdcd437295495e052156b7cba1fd3d4e1d9ad0259744f4"),
    (
        CodeReviewRequest,
        REVIEW | {"focus": [], "base_commit": "", "head_commit": COMMIT},
        "0fa62656ffb12f9ab2bff2e0f2aaeac11dadcde483d35d8a05194b1c4801e830",
    ),
    (
        CodeReviewRequest,
        REVIEW | {"focus": ["style", "all", "style"], "depth": "quick", "instructions": "e\u0301"},
        "c6cc140d79f8a49fbf32af55d435105ce69969c9d7965fdcb374e430a2b4a6e2",
    ),
    (SandboxRunRequest, RUN, "62ce9d703b78998045d6db1be9e404770f9d83ef3adbc3442c582704fb7d6369"),
    (
        SandboxRunRequest,
        RUN
        | {
            "argv": ["e\u0301", "", "\x01\n"],
            "stdin": "e\u0301\0",
            "environment": {"b": "e\u0301", "A_1": "\x01", "_": ""},
        },
        "2e530e30bc0d225f423bb29450ac457c33a3630a9badc54759449d1d99043000",
    ),
    (
        SandboxRunRequest,
        RUN | {"memory_bytes_max": 4_000_000, "exit_code": 0, "deterministic": True, "cpu_s_max": 1},
        "57dab0d442655899087339aca4dca06fe72c1ea8d6bbc39723d09e1eb4617f78",
    ),
    (
        SandboxRunRequest,
        RUN | {"memory_bytes_max": None, "exit_code": None, "environment": {}},
        "62ce9d703b78998045d6db1be9e404770f9d83ef3adbc3442c582704fb7d6369",
    ),
    (TextGenRequest, TEXT, "39dca4d37179ecd019b2186ee10a7b7d96c2161ab19ab5e7749cb1b12ed33c46"),
    (
        TextGenRequest,
        TEXT | {"prompt": "e\u0301", "system": "e\u0301", "min_chars": 0, "schema": {"description": "e\u0301"}},
        "e95f3a65c4892414d2d13a3dc785c2285f24a3e59f397f327f23e927cf11d7a1",
    ),
    (
        TextGenRequest,
        TEXT | {"schema": None, "min_chars": 1_000_000, "max_tokens": 100_000},
        "7277d890c250e1e3b1e25e11c4cdbc4b38a6709c61be9273267afd4d5ecb36e2",
    ),
    (
        PatchGenResult,
        {"base_commit": COMMIT, "status": "success"},
        "30ff8187cd7a1d970b75914727b1b26b1f0b8353e375e030cf71d1fac726e296",
    ),
    (
        PatchGenResult,
        {
            "base_commit": COMMIT,
            "status": "timeout",
            "error": "e\u0301",
            "trajectory_id": "e\u0301",
            "usage": {"output_tokens": 5},
        },
        "c3a74781fcff59d110c5b0c02a68353fb03f5c1da945da5ca36b20135b9ac69b",
    ),
    (
        CodeReviewResult,
        {"status": "success", "usage": {}},
        "6e2987ad457b69c97fb536bf110bd2f8346fb92643f22322148bdd96424b1ea7",
    ),
    (
        SandboxRunResult,
        {"status": "partial_success", "exit_code": 7, "cpu_milli": 12, "error": "e\u0301"},
        "ccda32471bdee71f015b2cb06971c23498bacbb2f0a3d5795737acb71496d8be",
    ),
    (
        TextGenResult,
        {"status": "failed", "error": "no model", "model": "e\u0301"},
        "ed1aa1f400cbf68a76aec311f7638769c76cbbfc885c3af26ccea4f5f30d92c2",
    ),
    (
        RunOutput,
        {"exit_code": 1, "stdout": "", "stderr": "AP8="},
        "9c13fce96754b362a6c944b50b63d82953917c1dffc03f88f486420be8b08051",
    ),
    (
        StructuredReview,
        {"summary": "", "approval_status": "comment"},
        "eebc278af3397792754a5cf76a09ce96a9800b00e27ac2f1b4463602e25a6cb6",
    ),
    (
        StructuredReview,
        {
            "summary": "e\u0301",
            "approval_status": "comment",
            "issues": [ISSUE, ISSUE | {"suggested_fix": "e\u0301\x1b", "current": "e\u0301"}],
            "suggestions": [SUGGESTION],
            "highlights": ["e\u0301"],
            "examined": [{"file": "e\u0301", "statement": "e\u0301"}],
        },
        "d84f56744ed4b079d3722f61569c9ca7e3f2d5279d62e55d529803c63aa81cd3",
    ),
    (HiddenChecks, HIDDEN, "115b83d0c0c9ed3257033f71a5798cba1df49a82119da99fb250f9a81e381176"),
    (
        HiddenChecks,
        HIDDEN
        | {
            "checks": [{"command": "e\u0301", "output_sha256": "0" * 64}, {"command": "x", "output_sha256": ""}],
            "files": [{"path": "a/e\u0301", "content": "AP8="}],
        },
        "c66f410be3deed52d5ca7b1544e267cf775403e38d4ac460bc49062addbd01f6",
    ),
]


def read(kind: Kind, value: Any) -> Any:
    return kind.from_bytes(json.dumps(value).encode(), POLICY)


@pytest.mark.parametrize(("kind", "value", "digest"), READ)
def test_what_is_read_has_the_bytes_it_always_had(kind: Kind, value: dict[str, Any], digest: str) -> None:
    record = read(kind, value)
    assert hashlib.sha256(record.to_bytes()).hexdigest() == digest
    assert kind.from_bytes(record.to_bytes(), POLICY) == record


def test_what_is_read_is_what_a_caller_would_make() -> None:
    assert read(RunOutput, {"exit_code": 3, "stdout": base64.b64encode(ALL_BYTES).decode(), "stderr": ""}) == RunOutput(
        3, ALL_BYTES
    )
    assert read(SandboxRunRequest, RUN | {"time_limit_s": 60, "environment": {"B": "2", "A": "1"}}) == (
        SandboxRunRequest(("true",), TERMS, 60, environment=(("A", "1"), ("B", "2")))
    )
    assert read(CodeReviewRequest, REVIEW | {"time_limit_s": 60, "focus": ["style", "style"]}) == CodeReviewRequest(
        HASH, TERMS, focus=(ReviewFocus.STYLE,)
    )


def test_what_is_left_out_comes_from_the_policy() -> None:
    policy = VerificationPolicy(
        time_limit_s=61, time_limit_s_max=62, units_files=3, run_cpu_s_max=5, text_chars_max=100
    )
    patch = PatchGenRequest.from_json({name: PATCH[name] for name in PATCH if name != "time_limit_s"}, policy)
    assert (patch.terms.time_limit_s, patch.files_max) == (61, 3)
    assert SandboxRunRequest.from_json(RUN, policy).cpu_s_max == 5
    for kind, value, field, why in (
        (PatchGenRequest, PATCH | {"time_limit_s": 63}, "time_limit_s", "it must be from 1 to 62"),
        (PatchGenRequest, PATCH | {"body": "x" * 101}, "body", "it must have 0 to 100 characters"),
        (SandboxRunRequest, RUN | {"cpu_s_max": 6}, "cpu_s_max", "it must be from 1 to 5"),
        (SandboxRunRequest, RUN | {"stdin": "x" * 101}, "stdin", "it must be text of at most 100 characters"),
    ):
        with pytest.raises(BadField) as found:
            kind.from_json(value, policy)
        assert found.value.fields == {"field": field, "why": why}


def test_what_is_left_out_must_fit_the_policy_too() -> None:
    """Or the node could not read again what it had taken."""
    for policy, field, why in (
        (VerificationPolicy(list_items_max=3), "disallowed_paths", "it must have at most 3 items"),
        (VerificationPolicy(command_chars_max=10), "suite_command", "it must have 1 to 10 characters"),
    ):
        with pytest.raises(BadField) as found:
            PatchGenRequest.from_json(PATCH | {"test_command": "pytest"}, policy)
        assert found.value.fields == {"field": field, "why": why}


# --- what is refused --------------------------------------------------------------------------------

REFUSED: list[tuple[Kind, dict[str, Any], str, str]] = [
    (PatchGenRequest, {"colour": 1, "blue": 2}, "blue", "unknown field"),
    (
        PatchGenRequest,
        {"z" * 70: 1},
        "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz",
        "unknown field",
    ),
    (PatchGenRequest, {"terms": {}}, "terms", "unknown field"),
    (
        PatchGenRequest,
        {"terms": {"max_cost_msat": "1", "time_limit_s": 1, "idempotency_key": "k"}},
        "terms",
        "unknown field",
    ),
    (PatchGenRequest, {"": 1}, "", "unknown field"),
    (PatchGenRequest, {"title": ""}, "title", "it must have 1 to 300 characters"),
    (PatchGenRequest, {"title": None}, "title", "it must be text"),
    (PatchGenRequest, {"title": 7}, "title", "it must be text"),
    (PatchGenRequest, {"title": ["t"]}, "title", "it must be text"),
    (PatchGenRequest, {"title": "x" * 301}, "title", "it must have 1 to 300 characters"),
    (PatchGenRequest, {"title": "a\0b"}, "title", "control characters are not allowed"),
    (PatchGenRequest, {"title": "\x1b[31m"}, "title", "control characters are not allowed"),
    (PatchGenRequest, {"title": "\x7f"}, "title", "control characters are not allowed"),
    (PatchGenRequest, {"title": "\u009b"}, "title", "control characters are not allowed"),
    (PatchGenRequest, {"title": "a" + "\u0301" * 31}, "title", "more than 30 marks on one letter are not allowed"),
    (PatchGenRequest, {"title": "a" + "\u0301" * 31 + "\0"}, "title", "control characters are not allowed"),
    (PatchGenRequest, {"body": None}, "body", "it must be text"),
    (PatchGenRequest, {"body": "x" * 50_001}, "body", "it must have 0 to 50000 characters"),
    (PatchGenRequest, {"base_commit": "HEAD"}, "base_commit", "it must have 40 to 64 characters"),
    (PatchGenRequest, {"base_commit": "A" * 40}, "base_commit", "it must be a full commit id in lower-case hex"),
    (PatchGenRequest, {"base_commit": "a" * 41}, "base_commit", "it must be a full commit id in lower-case hex"),
    (PatchGenRequest, {"base_commit": "a" * 65}, "base_commit", "it must have 40 to 64 characters"),
    (
        PatchGenRequest,
        {"base_commit": "a" * 40 + "\n"},
        "base_commit",
        "it must be a full commit id in lower-case hex",
    ),
    (PatchGenRequest, {"test_command": ""}, "test_command", "it must have 1 to 4000 characters"),
    (PatchGenRequest, {"test_command": "x" * 4_001}, "test_command", "it must have 1 to 4000 characters"),
    (PatchGenRequest, {"test_command": "make test"}, "test_command", NO_REPORT),
    (PatchGenRequest, {"whole_suite": True, "suite_command": "make test"}, "test_command", NO_REPORT),
    (PatchGenRequest, {"max_cost_msat": 5}, "max_cost_msat", "it must be text"),
    (PatchGenRequest, {"max_cost_msat": ""}, "max_cost_msat", "it must have 1 to 18 characters"),
    (
        PatchGenRequest,
        {"max_cost_msat": "05"},
        "max_cost_msat",
        "it must be a whole number of milli-satoshi as a decimal string",
    ),
    (
        PatchGenRequest,
        {"max_cost_msat": "-5"},
        "max_cost_msat",
        "it must be a whole number of milli-satoshi as a decimal string",
    ),
    (
        PatchGenRequest,
        {"max_cost_msat": "5.0"},
        "max_cost_msat",
        "it must be a whole number of milli-satoshi as a decimal string",
    ),
    (
        PatchGenRequest,
        {"max_cost_msat": "\u0665"},
        "max_cost_msat",
        "it must be a whole number of milli-satoshi as a decimal string",
    ),
    (PatchGenRequest, {"max_cost_msat": "9" * 19}, "max_cost_msat", "it must have 1 to 18 characters"),
    (PatchGenRequest, {"time_limit_s": 0}, "time_limit_s", "it must be from 1 to 86400"),
    (PatchGenRequest, {"time_limit_s": 86_401}, "time_limit_s", "it must be from 1 to 86400"),
    (PatchGenRequest, {"time_limit_s": True}, "time_limit_s", "it must be a whole number"),
    (PatchGenRequest, {"time_limit_s": 1.0}, "time_limit_s", "it must be a whole number"),
    (PatchGenRequest, {"time_limit_s": "60"}, "time_limit_s", "it must be a whole number"),
    (PatchGenRequest, {"time_limit_s": None}, "time_limit_s", "it must be a whole number"),
    (PatchGenRequest, {"idempotency_key": ""}, "idempotency_key", "it must have 1 to 200 characters"),
    (PatchGenRequest, {"idempotency_key": "k" * 201}, "idempotency_key", "it must have 1 to 200 characters"),
    (PatchGenRequest, {"repo_url": "u" * 1_001}, "repo_url", "it must have 0 to 1000 characters"),
    (
        PatchGenRequest,
        {"subdir": "../x"},
        "subdir",
        "'../x' is refused: a path must be relative and stay below its folder.",
    ),
    (
        PatchGenRequest,
        {"subdir": "/x"},
        "subdir",
        "'/x' is refused: a path must be relative and stay below its folder.",
    ),
    (PatchGenRequest, {"subdir": 3}, "subdir", "it must be text"),
    (PatchGenRequest, {"allowed_paths": "src"}, "allowed_paths", "it must be a list"),
    (PatchGenRequest, {"allowed_paths": {"src": 1}}, "allowed_paths", "it must be a list"),
    (PatchGenRequest, {"allowed_paths": None}, "allowed_paths", "it must be a list"),
    (PatchGenRequest, {"allowed_paths": ["a"] * 201}, "allowed_paths", "it must have at most 200 items"),
    (PatchGenRequest, {"allowed_paths": ["a", 7]}, "allowed_paths[1]", "it must be text"),
    (PatchGenRequest, {"disallowed_paths": ["a", ""]}, "disallowed_paths[1]", "it must have 1 to 300 characters"),
    (PatchGenRequest, {"deciding_paths": ["a" * 301]}, "deciding_paths[0]", "it must have 1 to 300 characters"),
    (
        PatchGenRequest,
        {"verification_commands": ["true", "x\0"]},
        "verification_commands[1]",
        "control characters are not allowed",
    ),
    (PatchGenRequest, {"evidence": "trust"}, "evidence", "it must be one of report, exit_code"),
    (PatchGenRequest, {"evidence": None}, "evidence", "it must be one of report, exit_code"),
    (PatchGenRequest, {"evidence": ["report"]}, "evidence", "it must be one of report, exit_code"),
    (PatchGenRequest, {"fail_before": 1}, "fail_before", "it must be true or false"),
    (PatchGenRequest, {"fail_before": "yes"}, "fail_before", "it must be true or false"),
    (PatchGenRequest, {"whole_suite": None}, "whole_suite", "it must be true or false"),
    (PatchGenRequest, {"suite_command": ""}, "suite_command", "it must have 1 to 4000 characters"),
    (PatchGenRequest, {"allow_introspection": 0}, "allow_introspection", "it must be true or false"),
    (PatchGenRequest, {"files_max": 0}, "files_max", "it must be from 1 to 500"),
    (PatchGenRequest, {"files_max": 501}, "files_max", "it must be from 1 to 500"),
    (PatchGenRequest, {"files_max": 10**15}, "files_max", "it must be from 1 to 500"),
    (PatchGenRequest, {"files_max": 1e3}, "files_max", "it must be a whole number"),
    (PatchGenRequest, {"hidden": "sha256:xyz"}, "hidden", "it must be 'sha256:' and 64 lower-case hex digits"),
    (PatchGenRequest, {"hidden": "sha256:" + "A" * 64}, "hidden", "it must be 'sha256:' and 64 lower-case hex digits"),
    (PatchGenRequest, {"hidden": ""}, "hidden", "it must be 'sha256:' and 64 lower-case hex digits"),
    (PatchGenRequest, {"hidden": 7}, "hidden", "it must be 'sha256:' and 64 lower-case hex digits"),
    (PatchGenRequest, {"title": 7, "body": 7, "files_max": 0, "colour": 1}, "title", "it must be text"),
    (PatchGenRequest, {"title": 7, "allowed_paths": ["/a"]}, "title", "it must be text"),
    (CodeReviewRequest, {"colour": 1}, "colour", "unknown field"),
    (CodeReviewRequest, {"diff": None}, "diff", "it must be 'sha256:' and 64 lower-case hex digits"),
    (CodeReviewRequest, {"diff": "0" * 64}, "diff", "it must be 'sha256:' and 64 lower-case hex digits"),
    (CodeReviewRequest, {"base_commit": "HEAD"}, "base_commit", "it must have 40 to 64 characters"),
    (CodeReviewRequest, {"base_commit": None}, "base_commit", "it must be text"),
    (CodeReviewRequest, {"head_commit": "z" * 40}, "head_commit", "it must be a full commit id in lower-case hex"),
    (CodeReviewRequest, {"focus": "all"}, "focus", "it must be a list"),
    (
        CodeReviewRequest,
        {"focus": ["all", "colour"]},
        "focus",
        "it must be one of security, performance, logic, style, testing, documentation, all",
    ),
    (
        CodeReviewRequest,
        {"focus": [3]},
        "focus",
        "it must be one of security, performance, logic, style, testing, documentation, all",
    ),
    (CodeReviewRequest, {"focus": ["all"] * 8}, "focus", "it must have at most 7 items"),
    (CodeReviewRequest, {"depth": "deep"}, "depth", "it must be one of quick, standard, thorough"),
    (CodeReviewRequest, {"instructions": 1}, "instructions", "it must be text"),
    (SandboxRunRequest, {"colour": 1}, "colour", "unknown field"),
    (SandboxRunRequest, {"argv": []}, "argv", "it must name a program, and no word may have NUL"),
    (SandboxRunRequest, {"argv": [""]}, "argv", "it must name a program, and no word may have NUL"),
    (SandboxRunRequest, {"argv": ["a", "b\0"]}, "argv", "it must name a program, and no word may have NUL"),
    (SandboxRunRequest, {"argv": ["a", 1]}, "argv", "it must be text of at most 50000 characters"),
    (SandboxRunRequest, {"argv": "true"}, "argv", "it must be a list"),
    (SandboxRunRequest, {"argv": ["a"] * 1_001}, "argv", "it must have at most 1000 items"),
    (SandboxRunRequest, {"argv": ["a" * 50_001]}, "argv", "it must be text of at most 50000 characters"),
    (SandboxRunRequest, {"cpu_s_max": 0}, "cpu_s_max", "it must be from 1 to 3600"),
    (SandboxRunRequest, {"cpu_s_max": 3_601}, "cpu_s_max", "it must be from 1 to 3600"),
    (SandboxRunRequest, {"cpu_s_max": False}, "cpu_s_max", "it must be a whole number"),
    (
        SandboxRunRequest,
        {"memory_bytes_max": 3_999_999},
        "memory_bytes_max",
        "it must be from 4000000 to 1000000000000",
    ),
    (SandboxRunRequest, {"memory_bytes_max": "4MB"}, "memory_bytes_max", "it must be a whole number"),
    (SandboxRunRequest, {"stdin": None}, "stdin", "it must be text of at most 50000 characters"),
    (SandboxRunRequest, {"stdin": "x" * 50_001}, "stdin", "it must be text of at most 50000 characters"),
    (SandboxRunRequest, {"environment": []}, "environment", "it must be an object of at most 100 names"),
    (
        SandboxRunRequest,
        {"environment": {"": "x"}},
        "environment",
        "names are letters, digits and _; values are text without NUL",
    ),
    (
        SandboxRunRequest,
        {"environment": {"1A": "x"}},
        "environment",
        "names are letters, digits and _; values are text without NUL",
    ),
    (
        SandboxRunRequest,
        {"environment": {"\u00e9": "x"}},
        "environment",
        "names are letters, digits and _; values are text without NUL",
    ),
    (
        SandboxRunRequest,
        {"environment": {"A": 1}},
        "environment",
        "names are letters, digits and _; values are text without NUL",
    ),
    (
        SandboxRunRequest,
        {"environment": {"A": "\0"}},
        "environment",
        "names are letters, digits and _; values are text without NUL",
    ),
    (
        SandboxRunRequest,
        {"environment": {"A": "x" * 4_001}},
        "environment",
        "names are letters, digits and _; values are text without NUL",
    ),
    (
        SandboxRunRequest,
        {"environment": {f"A{n}": "" for n in range(101)}},
        "environment",
        "it must be an object of at most 100 names",
    ),
    (SandboxRunRequest, {"deterministic": None}, "deterministic", "it must be true or false"),
    (SandboxRunRequest, {"exit_code": 256}, "exit_code", "it must be from 0 to 255"),
    (SandboxRunRequest, {"exit_code": -1}, "exit_code", "it must be from 0 to 255"),
    (SandboxRunRequest, {"exit_code": True}, "exit_code", "it must be a whole number"),
    (TextGenRequest, {"colour": 1}, "colour", "unknown field"),
    (TextGenRequest, {"prompt": ""}, "prompt", "it must have 1 to 50000 characters"),
    (TextGenRequest, {"prompt": "\u0327\u0301" * 16}, "prompt", "more than 30 marks on one letter are not allowed"),
    (TextGenRequest, {"max_tokens": 0}, "max_tokens", "it must be from 1 to 100000"),
    (TextGenRequest, {"max_tokens": 100_001}, "max_tokens", "it must be from 1 to 100000"),
    (TextGenRequest, {"min_chars": -1}, "min_chars", "it must be from 0 to 1000000"),
    (TextGenRequest, {"system": []}, "system", "it must be text"),
    (PatchGenResult, {"colour": 1}, "colour", "unknown field"),
    (PatchGenResult, {"base_commit": 40}, "base_commit", "it must be text"),
    (PatchGenResult, {"status": "done"}, "status", "it must be one of success, partial_success, failed, timeout"),
    (PatchGenResult, {"status": None}, "status", "it must be one of success, partial_success, failed, timeout"),
    (PatchGenResult, {"error": "\x01"}, "error", "control characters are not allowed"),
    (PatchGenResult, {"trajectory_id": "t" * 201}, "trajectory_id", "it must have 0 to 200 characters"),
    (PatchGenResult, {"usage": None}, "usage", "it must be an object"),
    (PatchGenResult, {"usage": []}, "usage", "it must be an object"),
    (PatchGenResult, {"usage": {"input_tokens": 1.5}}, "usage.input_tokens", "it must be a whole number"),
    (PatchGenResult, {"usage": {"output_tokens": True}}, "usage.output_tokens", "it must be a whole number"),
    (
        PatchGenResult,
        {"usage": {"cache_read_tokens": -1}},
        "usage.cache_read_tokens",
        "it must be from 0 to 1000000000000",
    ),
    (
        PatchGenResult,
        {"usage": {"cache_write_tokens": 10**12 + 1}},
        "usage.cache_write_tokens",
        "it must be from 0 to 1000000000000",
    ),
    (PatchGenResult, {"usage": {"tokens": 1}}, "usage.tokens", "unknown field"),
    (CodeReviewResult, {"status": 1}, "status", "it must be one of success, partial_success, failed, timeout"),
    (CodeReviewResult, {"error": 1}, "error", "it must be text"),
    (SandboxRunResult, {"exit_code": "0"}, "exit_code", "it must be a whole number"),
    (SandboxRunResult, {"cpu_milli": 86_400_001}, "cpu_milli", "it must be from 0 to 86400000"),
    (TextGenResult, {"model": "m" * 201}, "model", "it must have 0 to 200 characters"),
    (TextGenResult, {"usage": 7}, "usage", "it must be an object"),
    (RunOutput, {"exit_code": 256}, "exit_code", "it must be from 0 to 255"),
    (RunOutput, {"stdout": "?"}, "stdout", "it must be base64"),
    (RunOutput, {"stdout": "AP8"}, "stdout", "it must be base64"),
    (RunOutput, {"stdout": None}, "stdout", "it must be base64"),
    (RunOutput, {"stderr": "\u00e9"}, "stderr", "it must be base64"),
    (RunOutput, {"stderr": "A P 8 ="}, "stderr", "it must be base64"),
    (RunOutput, {"colour": 1}, "colour", "unknown field"),
    (RunOutput, {"what": 1}, "what", "unknown field"),
    (StructuredReview, {"what": 1}, "what", "unknown field"),
    (HiddenChecks, {"what": 1, "read": 2}, "read", "unknown field"),
    (HiddenChecks, {"checks": [{"command": "true", "__class__": 1}]}, "checks[0].__class__", "unknown field"),
    (StructuredReview, {"summary": "s" * 10_001}, "summary", "it must have 0 to 10000 characters"),
    (
        StructuredReview,
        {"approval_status": "yes"},
        "approval_status",
        "it must be one of approve, request_changes, comment",
    ),
    (StructuredReview, {"issues": {}}, "issues", "it must be a list"),
    (StructuredReview, {"issues": [ISSUE] * 501}, "issues", "it must have at most 500 items"),
    (StructuredReview, {"issues": [ISSUE, 7]}, "issues[1]", "it must be an object"),
    (StructuredReview, {"issues": [ISSUE, {}]}, "issues[1].severity", "it is missing"),
    (
        StructuredReview,
        {"issues": [ISSUE, ISSUE, ISSUE, ISSUE | {"line": 1}]},
        "issues[3].line",
        "unknown field",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"severity": "bad"}]},
        "issues[0].severity",
        "it must be one of critical, high, medium, low, info",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"category": None}]},
        "issues[0].category",
        "it must be one of security, performance, logic, style, testing, documentation, all",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"file": 1}]},
        "issues[0].file",
        "it must be text of at most 1000 characters",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"file": "f" * 1_001}]},
        "issues[0].file",
        "it must be text of at most 1000 characters",
    ),
    (StructuredReview, {"issues": [ISSUE | {"line_range": 3}]}, "issues[0].line_range", "it must be a list"),
    (
        StructuredReview,
        {"issues": [ISSUE | {"line_range": [3]}]},
        "issues[0].line_range",
        "it must be the first and the last line, counted from 1",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"line_range": [1, 2, 3]}]},
        "issues[0].line_range",
        "it must have at most 2 items",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"line_range": [0, 1]}]},
        "issues[0].line_range",
        "it must be the first and the last line, counted from 1",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"line_range": [4, 3]}]},
        "issues[0].line_range",
        "it must be the first and the last line, counted from 1",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"line_range": [True, 3]}]},
        "issues[0].line_range",
        "it must be the first and the last line, counted from 1",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"line_range": [1, 2.0]}]},
        "issues[0].line_range",
        "it must be the first and the last line, counted from 1",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"line_range": [1, 10_000_001]}]},
        "issues[0].line_range",
        "it must be the first and the last line, counted from 1",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"description": ""}]},
        "issues[0].description",
        "it must have 1 to 10000 characters",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE, ISSUE | {"current": None}]},
        "issues[1].current",
        "it must be text of at most 20000 characters",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE, ISSUE | {"suggested_fix": 7}]},
        "issues[1].suggested_fix",
        "it must be text of at most 20000 characters",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"suggested_fix": "x" * 20_001}]},
        "issues[0].suggested_fix",
        "it must be text of at most 20000 characters",
    ),
    (
        StructuredReview,
        {"issues": [ISSUE | {"file": 1}], "highlights": 7},
        "issues[0].file",
        "it must be text of at most 1000 characters",
    ),
    (
        StructuredReview,
        {"suggestions": [SUGGESTION, SUGGESTION, SUGGESTION, SUGGESTION | {"line": 0}]},
        "suggestions[3].line",
        "it must be from 1 to 10000000",
    ),
    (
        StructuredReview,
        {"suggestions": [SUGGESTION | {"line": "3"}]},
        "suggestions[0].line",
        "it must be a whole number",
    ),
    (
        StructuredReview,
        {"suggestions": [SUGGESTION | {"current": None}]},
        "suggestions[0].current",
        "it must be text of at most 20000 characters",
    ),
    (
        StructuredReview,
        {"suggestions": [SUGGESTION | {"rationale": "\0"}]},
        "suggestions[0].rationale",
        "control characters are not allowed",
    ),
    (StructuredReview, {"highlights": ["good", 7]}, "highlights[1]", "it must be text"),
    (StructuredReview, {"highlights": [""]}, "highlights[0]", "it must have 1 to 10000 characters"),
    (StructuredReview, {"examined": [{"file": "a"}]}, "examined[0].statement", "it is missing"),
    (
        StructuredReview,
        {"examined": [{"file": "a", "statement": "b"}] * 501},
        "examined",
        "it must have at most 500 items",
    ),
    (StructuredReview, {"colour": 1}, "colour", "unknown field"),
    (HiddenChecks, {"salt": "ab"}, "salt", "it must have 32 to 200 characters"),
    (HiddenChecks, {"salt": "x" * 32}, "salt", "it must be the hex of at least 16 random bytes"),
    (HiddenChecks, {"salt": "a" * 201}, "salt", "it must have 32 to 200 characters"),
    (HiddenChecks, {"checks": []}, "checks", "there must be at least one"),
    (HiddenChecks, {"checks": [{"command": ""}]}, "checks[0].command", "it must have 1 to 4000 characters"),
    (HiddenChecks, {"checks": [{"command": "true"}] * 201}, "checks", "it must have at most 200 items"),
    (
        HiddenChecks,
        {"checks": [{"command": "true", "output_sha256": "abc"}]},
        "checks[0].output_sha256",
        "it must be 64 lower-case hex digits",
    ),
    (
        HiddenChecks,
        {"checks": [{"command": "true", "output_sha256": "A" * 64}]},
        "checks[0].output_sha256",
        "it must be 64 lower-case hex digits",
    ),
    (
        HiddenChecks,
        {"checks": [{"command": "true", "output_sha256": "a" * 65}]},
        "checks[0].output_sha256",
        "it must have 0 to 64 characters",
    ),
    (
        HiddenChecks,
        {"checks": [{"command": "true"}, {"command": "true", "code": 0}]},
        "checks[1].code",
        "unknown field",
    ),
    (
        HiddenChecks,
        {"files": [{"path": "../x", "content": ""}]},
        "files[0].path",
        "'../x' is refused: a path must be relative and stay below its folder.",
    ),
    (HiddenChecks, {"files": [{"path": "", "content": ""}]}, "files[0].path", "it must have 1 to 1000 characters"),
    (HiddenChecks, {"files": [{"path": "x", "content": "?"}]}, "files[0].content", "it must be base64"),
    (HiddenChecks, {"files": [{"path": "x", "content": "\u00e9"}]}, "files[0].content", "it must be base64"),
    (HiddenChecks, {"files": [{"path": "x", "content": 7}]}, "files[0].content", "it must be text"),
    (HiddenChecks, {"files": [{"path": "x"}]}, "files[0].content", "it is missing"),
    (HiddenChecks, {"files": "x"}, "files", "it must be a list"),
    (HiddenChecks, {"colour": 1}, "colour", "unknown field"),
]
REFUSED_OTHERWISE: list[tuple[Kind, dict[str, Any], type[ChoirError], str, str]] = [
    (
        PatchGenRequest,
        {"allowed_paths": ["/a"]},
        BadPattern,
        "bazaar.bad_pattern",
        "The path pattern '/a' is not valid: it must be relative to the repository, without empty parts, . or ...",
    ),
    (
        PatchGenRequest,
        {"disallowed_paths": ["a", "a/**b"]},
        BadPattern,
        "bazaar.bad_pattern",
        "The path pattern 'a/**b' is not valid: ** must be a part of its own.",
    ),
    (
        PatchGenRequest,
        {"deciding_paths": ["a\tb"]},
        BadPattern,
        "bazaar.bad_pattern",
        "The path pattern 'a\tb' is not valid: use / between parts, and printable characters only.",
    ),
    (
        TextGenRequest,
        {"schema": []},
        BadSchema,
        "bazaar.bad_schema",
        "The JSON schema is not valid at '$': it must be an object.",
    ),
    (
        TextGenRequest,
        {"schema": {"pattern": "x"}},
        BadSchema,
        "bazaar.bad_schema",
        "The JSON schema is not valid at '$.pattern': this word is not supported.",
    ),
    (
        TextGenRequest,
        {"schema": {"properties": {"a": {"minLength": -1}}}},
        BadSchema,
        "bazaar.bad_schema",
        "The JSON schema is not valid at '$.a.minLength': its value has the wrong shape.",
    ),
    (
        TextGenRequest,
        {"schema": {"enum": [0] * 1_001}},
        BadSchema,
        "bazaar.bad_schema",
        "The JSON schema is not valid at '$.enum': it has more than 1000 items.",
    ),
]


@pytest.mark.parametrize(("kind", "change", "field", "why"), REFUSED)
def test_a_bad_field_is_named_and_told_why(kind: Kind, change: dict[str, Any], field: str, why: str) -> None:
    with pytest.raises(BadField) as found:
        read(kind, BASES[kind] | change)
    assert found.value.fields == {"field": field, "why": why}
    assert (found.value.code, str(found.value)) == (
        "bazaar.bad_field",
        f"The field '{field}' is not valid: {why}.",
    )


@pytest.mark.parametrize(("kind", "change", "error", "code", "sentence"), REFUSED_OTHERWISE)
def test_a_bad_pattern_or_schema_is_refused_in_its_own_words(
    kind: Kind, change: dict[str, Any], error: type[ChoirError], code: str, sentence: str
) -> None:
    with pytest.raises(error) as found:
        read(kind, BASES[kind] | change)
    assert (found.value.code, str(found.value)) == (code, sentence)


@pytest.mark.parametrize("kind", BASES)
def test_a_missing_field_is_named(kind: Kind) -> None:
    for name in BASES[kind]:
        if name == "time_limit_s":
            continue
        with pytest.raises(BadField) as found:
            read(kind, {key: value for key, value in BASES[kind].items() if key != name})
        assert found.value.fields == {"field": name, "why": "it is missing"}


@pytest.mark.parametrize("kind", BASES)
@pytest.mark.parametrize("value", [[], None, "x", 7, True])
def test_what_is_no_object_is_refused(kind: Kind, value: Any) -> None:
    with pytest.raises(BadField) as found:
        read(kind, value)
    assert found.value.fields == {"field": "(all of it)", "why": "it must be an object"}
