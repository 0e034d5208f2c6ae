"""Requests, results and artifacts read themselves strictly and write themselves back."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.contracts import (
    REQUESTS,
    RESULTS,
    BadField,
    HiddenCheck,
    HiddenChecks,
    HiddenFile,
    PatchGenRequest,
    RunOutput,
    StructuredReview,
    TextGenRequest,
    TextGenResult,
    TokenUsage,
    read_request,
    read_result,
)
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import VerificationPolicy
from choir.foundation.canonical import NotCanonical, bytes_hash
from choir.foundation.errors import ChoirError, Invalid, TooLarge

POLICY = VerificationPolicy()
TERMS = {"max_cost_msat": "5000000", "idempotency_key": "k1"}
PATCH = TERMS | {"title": "Fix it", "base_commit": "a" * 40, "test_command": "python3 -m pytest -q"}
MINIMAL: dict[JobType, dict[str, Any]] = {
    JobType.PATCH_GEN: PATCH,
    JobType.CODE_REVIEW: TERMS | {"diff": bytes_hash(b"x")},
    JobType.SANDBOX_RUN: TERMS | {"argv": ["true"]},
    JobType.REPO_INDEX: TERMS | {"base_commit": "a" * 40},
    JobType.TEXT_GEN: TERMS | {"prompt": "Say something.", "max_tokens": 100},
}
RESULT: dict[JobType, dict[str, Any]] = {
    JobType.PATCH_GEN: {"base_commit": "a" * 40, "status": "success"},
    JobType.CODE_REVIEW: {"status": "success"},
    JobType.SANDBOX_RUN: {"status": "success", "exit_code": 0},
    JobType.REPO_INDEX: {"base_commit": "a" * 40, "status": "success"},
    JobType.TEXT_GEN: {"status": "failed", "error": "no model"},
}


@pytest.mark.parametrize("kind", JobType)
def test_what_was_written_reads_the_same(kind: JobType) -> None:
    request = read_request(kind, MINIMAL[kind], POLICY)
    assert REQUESTS[kind].from_bytes(request.to_bytes(), POLICY) == request
    result = read_result(kind, RESULT[kind], POLICY)
    assert RESULTS[kind].from_bytes(result.to_bytes(), POLICY) == result


@pytest.mark.parametrize("kind", JobType)
def test_unknown_and_missing_fields_are_refused_by_name(kind: JobType) -> None:
    with pytest.raises(BadField, match=r"'colour'.*unknown field"):
        read_request(kind, MINIMAL[kind] | {"colour": "red"}, POLICY)
    for name in MINIMAL[kind]:
        with pytest.raises(BadField, match=f"'{name}'.*missing"):
            read_request(kind, {key: value for key, value in MINIMAL[kind].items() if key != name}, POLICY)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"title": ""}, "title"),
        ({"title": 7}, "title"),
        ({"title": "a\0b"}, "title"),
        ({"title": "x" * 301}, "title"),
        ({"base_commit": "HEAD"}, "base_commit"),
        ({"base_commit": "A" * 40}, "base_commit"),
        ({"max_cost_msat": 5}, "max_cost_msat"),
        ({"max_cost_msat": "05"}, "max_cost_msat"),
        ({"max_cost_msat": "-5"}, "max_cost_msat"),
        ({"max_cost_msat": "٥"}, "max_cost_msat"),
        ({"time_limit_s": 0}, "time_limit_s"),
        ({"time_limit_s": True}, "time_limit_s"),
        ({"time_limit_s": 1.5}, "time_limit_s"),
        ({"fail_before": "yes"}, "fail_before"),
        ({"evidence": "trust"}, "evidence"),
        ({"subdir": "../x"}, "subdir"),
        ({"allowed_paths": "src"}, "allowed_paths"),
        ({"allowed_paths": ["a"] * 1000}, "allowed_paths"),
        ({"verification_commands": [""]}, "verification_commands"),
        ({"files_max": 0}, "files_max"),
        ({"hidden": "sha256:xyz"}, "hidden"),
        ({"test_command": "make test"}, "test_command"),
        ({"test_command": "pytest -q; true"}, "test_command"),
    ],
)
def test_a_field_that_is_not_as_it_must_be_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(BadField) as found:
        PatchGenRequest.from_json(PATCH | change, POLICY)
    assert found.value.fields["field"].startswith(field)


def test_a_command_without_a_report_must_be_asked_for_by_name() -> None:
    request = PatchGenRequest.from_json(PATCH | {"test_command": "make test", "evidence": "exit_code"}, POLICY)
    assert request.test_command == "make test"


def test_size_and_shape_of_bytes() -> None:
    with pytest.raises(TooLarge):
        PatchGenRequest.from_bytes(b" " * (POLICY.request_bytes_max + 1), POLICY)
    for data in (b"[]", b"null", b'"x"'):
        with pytest.raises(BadField):
            PatchGenRequest.from_bytes(data, POLICY)
    for data in (b"", b"{", b'{"a":1,"a":2}', b'{"a":NaN}', b"\xff"):
        with pytest.raises(NotCanonical):
            PatchGenRequest.from_bytes(data, POLICY)


def test_the_contracts_can_be_named_without_loading_what_reads_them() -> None:
    program = "import sys, choir.bazaar.contracts; print(*{'pydantic', 'pydantic_core'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_only_json_is_read() -> None:
    """A record in the place of its JSON would be a way around the rules."""
    usage: Any = TokenUsage(-1)
    for kind, value in ((TokenUsage, usage), (TextGenResult, {"status": "success", "usage": usage})):
        with pytest.raises(BadField, match="it must be an object"):
            kind.read(value, POLICY)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(JobType), st.data(), JSON)
def test_any_value_in_any_field_is_read_or_refused_with_a_typed_error(
    kind: JobType, data: st.DataObject, value: Any
) -> None:
    whole = read_request(kind, MINIMAL[kind], POLICY).to_json()
    name = data.draw(st.sampled_from(sorted(whole)))
    try:
        request = read_request(kind, whole | {name: value}, POLICY)
    except ChoirError:
        return
    assert REQUESTS[kind].from_bytes(request.to_bytes(), POLICY) == request


@given(JSON)
def test_artifacts_of_any_shape_are_read_or_refused_with_a_typed_error(value: Any) -> None:
    for kind in (StructuredReview, RunOutput):
        try:
            kind.from_bytes(json.dumps(value).encode(), POLICY)
        except ChoirError:
            continue


# --- hidden checks ----------------------------------------------------------------------------------

HIDDEN = HiddenChecks("ab" * 16, (HiddenCheck("true"),), (HiddenFile("a/b.py", b"\0\xff"),))


def test_hidden_checks_are_bound_by_their_commitment() -> None:
    again = HiddenChecks.from_bytes(HIDDEN.to_bytes(), POLICY)
    assert again == HIDDEN
    assert again.commitment == HIDDEN.commitment
    others = [
        replace(HIDDEN, salt="ac" * 16),
        replace(HIDDEN, checks=(HiddenCheck("false"),)),
        replace(HIDDEN, files=(HiddenFile("a/b.py", b"\0"),)),
    ]
    assert HIDDEN.commitment not in {item.commitment for item in others}


@pytest.mark.parametrize(
    "change",
    [
        {"salt": "ab"},
        {"salt": "x" * 32},
        {"checks": []},
        {"checks": [{"command": ""}]},
        {"checks": [{"command": "true", "output_sha256": "abc"}]},
        {"files": [{"path": "../x", "content": ""}]},
        {"files": [{"path": "/x", "content": ""}]},
        {"files": [{"path": "x", "content": "?"}]},
    ],
)
def test_hidden_checks_that_cannot_be_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        HiddenChecks.from_json(HIDDEN.to_json() | change, POLICY)


def test_a_text_request_takes_only_schemas_that_are_really_looked_at() -> None:
    schemas: list[dict[str, Any]] = [
        {"pattern": "x"},
        {"type": "thing"},
        {"properties": {"a": []}},
        {"$ref": "#"},
        {"minLength": -1},
    ]
    for schema in schemas:
        with pytest.raises(Invalid):
            TextGenRequest.from_json(MINIMAL[JobType.TEXT_GEN] | {"schema": schema}, POLICY)


def test_a_field_that_came_later_is_not_in_the_bytes_until_it_says_something() -> None:
    request = PatchGenRequest.from_json(PATCH, POLICY)
    assert PatchGenRequest.later.isdisjoint(request.to_json())
    more: dict[str, Any] = {
        "level": "V3",
        "hidden": bytes_hash(b"x"),
        "checks": [{"command": "true", "output_sha256": "0" * 64}],
    }
    more |= {"writable_paths": ["build"], "mutation": True, "mutation_floor_bps": 6_000}
    asked = PatchGenRequest.from_json(PATCH | more, POLICY)
    assert asked.to_json().items() >= more.items()
    assert PatchGenRequest.from_bytes(asked.to_bytes(), POLICY) == asked


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"level": "V5"}, "level"),
        ({"level": "V3"}, "level"),
        ({"mutation_floor_bps": 1}, "mutation_floor_bps"),
        ({"mutation": True, "mutation_floor_bps": 10_001}, "mutation_floor_bps"),
        ({"writable_paths": ["build/*"]}, "writable_paths"),
        ({"writable_paths": ["../x"]}, "writable_paths"),
        ({"checks": [{"command": "true", "output_sha256": ""}]}, "output_sha256"),
    ],
)
def test_what_is_asked_of_the_verdict_must_go_together(change: dict[str, Any], field: str) -> None:
    named = field if field != "writable_paths" else "folders|outside|not"
    with pytest.raises(Invalid, match=named):
        PatchGenRequest.from_json(PATCH | change, POLICY)


def test_later_fields_of_an_order_are_written_only_where_they_say_something() -> None:
    """So that orders which do not use them keep the hashes that were signed and paid for."""
    plain = read_request(JobType.PATCH_GEN, PATCH, POLICY)
    assert not {"allowed_tools", "max_context_tokens"} & plain.to_json().keys()
    asked = PATCH | {"allowed_tools": ["read", "edit"], "max_context_tokens": 9_000}
    found = read_request(JobType.PATCH_GEN, asked, POLICY)
    assert read_request(JobType.PATCH_GEN, found.to_json(), POLICY) == found
    assert found.to_json()["allowed_tools"] == ["read", "edit"]
    for wrong in (["web"], ["read", "read"], "read", [1]):
        with pytest.raises(BadField, match="allowed_tools"):
            read_request(JobType.PATCH_GEN, asked | {"allowed_tools": wrong}, POLICY)
    for number in (-1, True, "9", 10**10):
        with pytest.raises(BadField, match="max_context_tokens"):
            read_request(JobType.PATCH_GEN, asked | {"max_context_tokens": number}, POLICY)
