"""What a user can rely on when putting and reading objects."""

from __future__ import annotations

import hashlib
import random
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.canonical import NotCanonical, ObjectHash, bytes_hash, canonical_bytes, canonical_hash
from choir.foundation.errors import Invalid, NotFound, Refusal, TooLarge
from choir.objects import rules
from choir.objects.model import BadLabel, Kind, NotAnAtom, ObjectTooLarge, TooLargeToGet, UnknownObject, WrongHash
from tests.objects.conftest import OWNER, Store

NOWHERE = ObjectHash("sha256:" + "00" * 32)
TABLES = ["objects", "object_pieces", "object_claims", "object_touches"]


def kept(store: Store) -> list[int]:
    return [store.count(table) for table in TABLES]


def test_an_atom_is_named_by_its_canonical_form(store: Store) -> None:
    put = store.put_atom({"b": [1, 2.5, None], "a": "é"})
    assert put.hash == canonical_hash({"a": "é", "b": [1, 2.5, None]})
    assert put.new
    assert store.get(put.hash) == b'{"a":"\xc3\xa9","b":[1,2.5,null]}'
    with store.database.unit_of_work() as tx:
        assert store.objects.get_atom(tx, put.hash) == {"a": "é", "b": [1, 2.5, None]}
        stat = store.objects.stat(tx, put.hash)
    assert (stat.kind, stat.size, stat.created_us) == (Kind.ATOM, put.size, store.clock.now_us())


def test_a_value_and_its_canonical_bytes_are_one_object(store: Store) -> None:
    value = {"claim": "water is wet", "n": 3}
    first = store.put_atom(value)
    again = store.put_atom(canonical_bytes(value))
    assert (again.hash, again.new) == (first.hash, False)
    assert store.count("objects") == store.count("object_pieces") == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" {}",
        b"{}\n",
        b'{"b":1,"a":2}',
        b'{"a":1,"a":1}',
        b'{"a": 1}',
        b"1.0",
        b"-0",
        b"1e400",
        b"NaN",
        b"9007199254740993",
        b'"\\u0041"',
        b'"\\ud800"',
        b'"\xff"',
        b"\xef\xbb\xbf{}",
        b"[" * 200 + b"]" * 200,
        b"[" * 400_000,
        b"1" * 10_000,
        b"{} {}",
        b"not json",
    ],
)
def test_bytes_that_are_not_canonical_are_refused(store: Store, data: bytes) -> None:
    with pytest.raises(NotCanonical):
        store.put_atom(data)
    assert kept(store) == [0, 0, 0, 0]


def deep(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("levels", [65, 100_000])
def test_values_that_are_too_deep_are_refused(store: Store, levels: int) -> None:
    with pytest.raises(NotCanonical):
        store.put_atom(deep(levels))
    assert kept(store) == [0, 0, 0, 0]


@pytest.mark.parametrize("value", [float("nan"), 2**53, {1: 2}, {"x": b"y"}, "\ud800"])
def test_values_without_a_canonical_form_are_refused(store: Store, value: Any) -> None:
    with pytest.raises(NotCanonical):
        store.put_atom(value)
    assert kept(store) == [0, 0, 0, 0]


def test_an_atom_above_the_limit_is_refused_before_it_is_parsed(store: Store) -> None:
    limit = store.objects.policy.atom_bytes_max
    assert store.put_atom(b'"' + b"x" * (limit - 2) + b'"').size == limit
    for value in (b'"' + b"x" * (limit - 1) + b'"', "x" * (limit - 1), b"[" * (limit + 1)):
        with pytest.raises(ObjectTooLarge) as refused:
            store.put_atom(value)
        assert refused.value.fields["limit"] == limit
    assert isinstance(refused.value, TooLarge)


def test_several_atoms_are_put_together_or_not_at_all(store: Store) -> None:
    with store.database.unit_of_work() as tx:
        put = store.objects.put_atoms(tx, ["b", "a", "b"], OWNER)
    assert [item.hash for item in put] == [canonical_hash("b"), canonical_hash("a"), canonical_hash("b")]
    assert store.count("objects") == 2
    small = store.with_policy(owner_quota_bytes=20)
    with store.database.unit_of_work() as tx, pytest.raises(Refusal):  # the transaction goes on and commits
        small.objects.put_atoms(tx, ["12345678", "1234567890"], OWNER)
    assert store.count("objects") == 2
    assert store.used() == 6


@given(
    st.lists(st.binary(max_size=40), max_size=20),
    st.integers(min_value=1, max_value=50),
)
def test_bytes_are_cut_into_equal_pieces_without_loss(chunks: list[bytes], size: int) -> None:
    pieces = list(rules.cut(chunks, size))
    assert b"".join(pieces) == b"".join(chunks)
    assert all(len(piece) == size for piece in pieces[:-1])
    assert all(0 < len(piece) <= size for piece in pieces)


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 8192, 50_000])
def test_a_blob_comes_back_as_it_went_in(store: Store, size: int) -> None:
    data = random.Random(size).randbytes(size)
    put = store.put_blob(b"", data[:100], b"", data[100:], b"")
    assert (put.hash, put.size, put.new) == (bytes_hash(data), size, True)
    assert store.get(put.hash) == data
    chunks = store.read(put.hash)
    assert b"".join(chunks) == data
    assert all(len(chunk) <= 4096 for chunk in chunks)
    with store.database.unit_of_work() as tx:
        opened = store.objects.open(tx, put.hash)
        assert (opened.stat.size, opened.stat.kind) == (size, Kind.BLOB)
        opened.close()


def test_the_empty_blob_is_an_object_like_any_other(store: Store) -> None:
    put = store.put_blob()
    assert put.hash == bytes_hash(b"")
    assert store.read(put.hash) == []
    assert not store.put_blob(b"", b"").new


def test_a_blob_that_exists_is_not_stored_twice(store: Store) -> None:
    data = random.Random(1).randbytes(10_000)
    first = store.put_blob(data)
    assert kept(store)[:3] == [1, 3, 1]
    for expect in (None, first.hash):
        again = store.put_blob(data, owner="person:bob", expect=expect)
        assert (again.hash, again.new) == (first.hash, False)
        assert kept(store)[:3] == [1, 3, 2]
    assert store.get(first.hash) == data


def test_wrong_bytes_for_an_announced_hash_are_refused_and_not_kept(store: Store) -> None:
    known = store.put_blob(b"the real thing").hash
    before = kept(store)
    for expect in (known, NOWHERE):
        with store.database.unit_of_work() as tx, pytest.raises(WrongHash) as refused:  # and then commits
            store.objects.put_blob(tx, [b"something else" * 1000], OWNER, expect)
        assert refused.value.fields == {"expected": expect, "actual": bytes_hash(b"something else" * 1000)}
    assert kept(store) == before
    assert store.used() == len(b"the real thing")


def test_an_upload_above_the_limit_stops_early_and_is_not_kept(store: Store) -> None:
    small = store.with_policy(blob_bytes_max=10_000)
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield bytes(1000)

    with store.database.unit_of_work() as tx, pytest.raises(ObjectTooLarge):  # and then commits
        small.objects.put_blob(tx, endless(), OWNER)
    assert sent < 15_000
    assert kept(store) == [0, 0, 0, 0]
    assert small.put_blob(bytes(10_000)).size == 10_000


def test_an_upload_that_breaks_off_is_not_kept_and_leaves_the_transaction_usable(store: Store) -> None:
    def broken() -> Iterator[bytes]:
        yield bytes(9000)
        raise ConnectionResetError

    with store.database.unit_of_work() as tx:
        with pytest.raises(ConnectionResetError):
            store.objects.put_blob(tx, broken(), OWNER)
        store.objects.put_blob(tx, [b"another"], OWNER)
    assert kept(store) == [1, 1, 1, 1]


def test_what_is_rolled_back_was_never_there(store: Store) -> None:
    with store.database.unit_of_work() as tx:
        store.objects.put_blob(tx, [b"x" * 5000], OWNER)
        store.objects.put_atom(tx, "y", OWNER)
        tx.connection.rollback()
    assert kept(store) == [0, 0, 0, 0]
    assert store.used() == 0


def test_the_same_bytes_put_both_ways_are_one_object_known_to_be_an_atom(store: Store) -> None:
    data = canonical_bytes({"n": list(range(2000))})
    blob = store.put_blob(data)
    assert store.put_atom(data).hash == blob.hash
    store.put_blob(data)
    with store.database.unit_of_work() as tx:
        assert store.objects.stat(tx, blob.hash).kind is Kind.ATOM
        assert store.objects.get_atom(tx, blob.hash)["n"][1999] == 1999
    assert store.count("objects") == 1
    assert store.used() == len(data)


def test_what_does_not_exist_is_said_so(store: Store) -> None:
    with store.database.unit_of_work() as tx:
        assert not store.objects.exists(tx, NOWHERE)
        for ask in (store.objects.get, store.objects.open, store.objects.stat, store.objects.signatures):
            with pytest.raises(UnknownObject) as refused:
                ask(tx, NOWHERE)
            assert isinstance(refused.value, NotFound)


@pytest.mark.parametrize(
    "name", ["", "sha256:", "sha256:" + "0" * 63, "sha256:" + "G" * 64, "../etc", "sha256:" + "A" * 64]
)
def test_a_name_that_is_no_hash_is_refused(store: Store, name: str) -> None:
    with store.database.unit_of_work() as tx, pytest.raises(Invalid):
        store.objects.get(tx, ObjectHash(name))


@pytest.mark.parametrize("owner", ["", "a\0b", "a\nb", "\ud800", "x" * 201])
def test_an_owner_that_is_no_name_is_refused(store: Store, owner: str) -> None:
    with pytest.raises(BadLabel):
        store.put_atom(1, owner=owner)
    with pytest.raises(BadLabel):
        store.put_blob(b"1", owner=owner)


def test_a_blob_that_is_no_json_is_not_read_as_an_atom(store: Store) -> None:
    put = store.put_blob(b"\x00\x01")
    with store.database.unit_of_work() as tx, pytest.raises(NotAnAtom):
        store.objects.get_atom(tx, put.hash)


def test_large_objects_are_only_streamed(store: Store) -> None:
    small = store.with_policy(whole_bytes_max=5000)
    put = small.put_blob(bytes(5001))
    with pytest.raises(TooLargeToGet):
        small.get(put.hash)
    assert b"".join(small.read(put.hash)) == bytes(5001)
    assert small.get(small.put_blob(bytes(5000)).hash) == bytes(5000)


def test_one_object_can_be_copied_from_another_in_one_transaction(store: Store) -> None:
    data = random.Random(3).randbytes(20_000)
    source = store.put_blob(data).hash
    with store.database.unit_of_work() as tx:
        copied = store.objects.put_blob(tx, (bytes(reversed(chunk)) for chunk in store.objects.open(tx, source)), None)
        one, two = (
            store.objects.open(tx, source),
            store.objects.open(tx, source),
        )  # two readers do not disturb each other
        assert [first == second for first, second in zip(one, two, strict=True)] == [True] * 5
    assert copied.new


def test_a_large_blob_goes_in_and_out_in_little_memory(store: Store) -> None:
    """50 MB, while neither Python's own memory nor the process's grows by more than a few pieces."""
    size, step = 50_000_000, 100_000
    usual = store.with_policy(chunk_bytes=262_144)
    expected = hashlib.sha256()
    peaks: list[int] = []

    def upload() -> Iterator[bytes]:
        source = random.Random(7)
        for _ in range(size // step):
            data = source.randbytes(step)
            expected.update(data)
            peaks.append(resident_bytes())
            yield data

    usual.put_blob(bytes(3_000_000))  # so that what is loaded once is loaded
    tracemalloc.start()
    before = resident_bytes()
    try:
        with usual.database.unit_of_work() as tx:
            put = usual.objects.put_blob(tx, upload(), OWNER)
        found = hashlib.sha256()
        with usual.database.unit_of_work() as tx:
            for chunk in usual.objects.open(tx, put.hash):
                found.update(chunk)
                peaks.append(resident_bytes())
        python_peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert put.size == size
    assert found.digest() == expected.digest() == rules.digest_of(put.hash)
    assert python_peak < 6_000_000
    assert max(peaks) - before < 20_000_000


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


# Parts


def part(store: Store, name: ObjectHash, offset: int, length: int) -> bytes:
    with store.database.unit_of_work() as tx:
        stat, data = store.objects.part(tx, name, offset, length)
    assert stat.hash == name
    return data


def test_any_part_of_an_object_is_what_stands_there(store: Store) -> None:
    store = store.with_policy(chunk_bytes=4096)
    data = random.Random(8).randbytes(4096 * 3 + 500)
    name = store.put_blob(data).hash
    store = store.with_policy(chunk_bytes=8192)  # what is stored stays in the pieces it has
    edges = (0, 1, 4095, 4096, 4097, 8192, len(data) - 1, len(data), len(data) + 1, 10**15)
    for offset in edges:
        for length in (1, 4095, 4096, 4097, 10**6, 10**15):
            assert part(store, name, offset, length) == data[offset : offset + length]
    empty = store.put_blob().hash
    assert part(store, empty, 0, 10) == part(store, empty, 5, 10) == b""
    atom = store.put_atom({"a": 1}).hash
    assert part(store, atom, 1, 3) == b'"a"'
    with pytest.raises(UnknownObject):
        part(store, NOWHERE, 0, 1)


def test_only_who_put_an_object_holds_it(store: Store) -> None:
    name = store.put_blob(b"mine", owner="person:ada").hash
    with store.database.unit_of_work() as tx:
        held = store.objects.holds(tx, "person:ada", name)
        assert held is not None
        assert (held.hash, held.size) == (name, 4)
        assert store.objects.holds(tx, "person:bob", name) is None
        assert store.objects.holds(tx, "person:ada", NOWHERE) is None
    store.put_blob(b"mine", owner="person:bob")
    with store.database.unit_of_work() as tx:
        assert store.objects.holds(tx, "person:bob", name) is not None
        store.objects.erase(tx, "person:bob", name)
        assert store.objects.holds(tx, "person:bob", name) is None
