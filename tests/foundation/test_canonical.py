"""Canonical JSON: one value, one byte string; what has no exact form is refused."""

from __future__ import annotations

import hashlib
import json
import math
from collections import UserDict, deque
from pathlib import Path
from types import MappingProxyType

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.canonical import (
    NotCanonical,
    bytes_hash,
    canonical_bytes,
    canonical_hash,
    hash_digest,
    parse_canonical,
    parse_json,
    parse_object_hash,
)
from choir.foundation.errors import Invalid

texts = st.text(st.characters(exclude_categories=["Cs"]))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | texts
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def has_big_float(value: object) -> bool:
    """Whether some number would be written as an integer that cannot be read back exactly."""
    if isinstance(value, float):
        return value.is_integer() and 2**53 <= abs(value) < 1e21
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(has_big_float(item) for item in items)


@pytest.mark.parametrize("name", ["arrays", "french", "structures", "unicode", "values", "weird"])
def test_the_public_vectors_come_out_byte_for_byte(vectors: Path, name: str) -> None:
    given_ = (vectors / "jcs" / "input" / f"{name}.json").read_bytes()
    expected = (vectors / "jcs" / "output" / f"{name}.json").read_bytes()
    assert canonical_bytes(parse_json(given_)) == expected
    assert canonical_bytes(parse_canonical(expected)) == expected


def test_all_public_vectors_are_among_the_tested(vectors: Path) -> None:
    found = sorted(path.stem for path in (vectors / "jcs" / "input").glob("*.json"))
    assert found == ["arrays", "french", "structures", "unicode", "values", "weird"]


@given(plain)
def test_the_fast_way_gives_what_the_library_gives(value: object) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@given(anything.filter(lambda value: not has_big_float(value)))
def test_what_was_written_reads_back_and_is_written_the_same(value: object) -> None:
    data = canonical_bytes(value)
    assert data == rfc8785.dumps(value)  # type: ignore[arg-type]
    again = parse_canonical(data)
    assert canonical_bytes(again) == data
    assert canonical_hash(value) == "sha256:" + hashlib.sha256(data).hexdigest()


def test_keys_sort_by_utf_16_units_not_by_code_points() -> None:
    assert canonical_bytes({"\ufb33": 1, "😀": 2, "a": 3}) == '{"a":3,"😀":2,"\ufb33":1}'.encode()


def test_tuples_are_lists() -> None:
    assert canonical_bytes((1, ("a",))) == b'[1,["a"]]'


@pytest.mark.parametrize(
    "value",
    [
        math.nan, math.inf, -math.inf, [math.nan], {"a": math.inf},
        2**53, -(2**53), [2**53], 2.0**53, -1e20, {"a": {"b": -(2**60)}}, 10**5000,
        "\ud800", ["\udfff"], {"\ud800": 1}, {"é\ud800": 1.5},
        {1: 2}, {None: 1}, {True: 1}, {("a",): 1},
        b"bytes", bytearray(b"x"), {1, 2}, object(), 1j, memoryview(b"x"),
        deque([1]), range(3), MappingProxyType({"a": 1}), UserDict({"a": 1}),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_has_no_exact_form_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes(value)


def test_the_largest_safe_integers_are_fine() -> None:
    assert canonical_bytes([2**53 - 1, -(2**53) + 1]) == b"[9007199254740991,-9007199254740991]"


@pytest.mark.parametrize(
    "text",
    [
        "NaN", "[Infinity]", "-Infinity", "1e999", '{"a":-1e400}', "9007199254740992", "1" * 5000,
        '{"a":1,"a":1}', '{"b":{"a":1,"\\u0061":2}}', '"\\ud800"', '{"\\udc00":1}', '["\\ud800x"]', "\ud800",
        "", " ", "{", "[1,]", "{'a':1}", "01", "tru", "1 2", "\ufeff1", "[" * 66 + "]" * 66, "[" * 100_000,
        '{"a":' * 66 + "1" + "}" * 66, '"\n"',
    ],
    ids=range(26),
)  # fmt: skip
def test_json_that_is_not_exact_is_refused(text: str) -> None:
    with pytest.raises(NotCanonical):
        parse_json(text)
    if text != "\ud800":
        with pytest.raises(NotCanonical):
            parse_json(text.encode())


@pytest.mark.parametrize("data", [b"\xff", b'"\xc3"', b'"\xed\xa0\x80"', b"\x00", '"x"'.encode("utf-16")])
def test_bytes_that_are_not_utf_8_are_refused(data: bytes) -> None:
    with pytest.raises(NotCanonical):
        parse_json(data)


def test_depth_is_bounded_at_the_same_place_both_ways() -> None:
    deep = "[" * 64 + "1" + "]" * 64
    assert canonical_bytes(parse_json(deep)) == deep.encode()
    nested: object = 1
    for _ in range(65):
        nested = [nested]
    with pytest.raises(NotCanonical, match="deeper"):
        canonical_bytes(nested)
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(NotCanonical):
        canonical_bytes(circle)


@pytest.mark.parametrize(
    "data", [b' {"a":1}', b'{"a": 1}', b'{"b":1,"a":1}', b'"\\u0061"', b"1.0", b"-0", b"1e2", b'"\\/"', b"1\n"]
)
def test_json_that_is_written_another_way_is_not_canonical(data: bytes) -> None:
    parse_json(data)
    with pytest.raises(NotCanonical):
        parse_canonical(data)


def test_an_error_message_stays_short() -> None:
    with pytest.raises(NotCanonical) as found:
        canonical_bytes({"x" * 10_000: 2**60, "y": object()})
    assert len(str(found.value)) < 300


def test_object_hashes_are_checked_when_read() -> None:
    name = bytes_hash(b"x")
    assert parse_object_hash(name) == name
    assert hash_digest(name) == hashlib.sha256(b"x").digest()
    for wrong in ("", "sha256:", name[:-1], name + "0", name.upper(), name.replace("sha256:", "sha512:"), name[7:],
                  "sha256:" + "g" * 64, "sha256:" + "１" * 64, " " + name[1:]):  # fmt: skip
        with pytest.raises(Invalid):
            parse_object_hash(wrong)


@given(st.binary(max_size=40))
def test_arbitrary_bytes_are_a_value_or_a_refusal(data: bytes) -> None:
    try:
        value = parse_json(data)
    except NotCanonical:
        return
    json.loads(canonical_bytes(value))
