"""Ids: sorted by time, shown in letters that people can copy, read back with their kind."""

from __future__ import annotations

from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.foundation.errors import Invalid
from choir.foundation.ids import PREFIX_LETTERS_MIN, id_range, is_whole, parse_id, show_id, uuid7

times = st.integers(0, 2**48 * 1000 - 1)
randoms = st.binary(min_size=6, max_size=6)
A = UUID("0190b3f0-1234-7abc-8def-0123456789ab")


@given(st.uuids())
def test_a_shown_id_reads_back(value: UUID) -> None:
    text = show_id("job", value)
    assert parse_id("job", text) == value
    assert parse_id("job", "job_" + text[4:].upper()) == value
    assert len(text) == 4 + 26


@given(st.uuids(), st.uuids())
def test_shown_ids_sort_like_the_ids(one: UUID, other: UUID) -> None:
    assert (show_id("x", one) < show_id("x", other)) == (one.int < other.int)


@given(times, st.integers(0, 2**14 - 1), randoms)
def test_ids_are_uuid_version_7(at_us: int, counter: int, random: bytes) -> None:
    id_ = uuid7(at_us, counter, random)
    assert id_.version == 7
    assert id_.variant == uuid4().variant
    assert id_.int >> 80 == at_us // 1000
    assert id_.bytes[-6:] == random


@given(times, times, st.integers(0, 2**14 - 1), st.integers(0, 2**14 - 1), randoms, randoms)
def test_later_ids_sort_later(a_us: int, b_us: int, a: int, b: int, a_random: bytes, b_random: bytes) -> None:
    one, other = uuid7(a_us, a, a_random), uuid7(b_us, b, b_random)
    if (a_us, a) < (b_us, b):
        assert one < other


def test_letters_that_look_alike_are_taken_for_each_other() -> None:
    text = show_id("job", UUID(int=(1 << 64) + 1))
    assert parse_id("job", text.replace("0", "o").replace("1", "l")) == UUID(int=(1 << 64) + 1)
    assert parse_id("job", text.replace("1", "I")) == UUID(int=(1 << 64) + 1)


@pytest.mark.parametrize(
    "text",
    ["", "job", "job_", show_id("entry", A), show_id("job", A)[:-1], show_id("job", A) + "0", "job_" + "u" * 26,
     "job_" + "z" * 26, " " + show_id("job", A), show_id("job", A).replace("_", "-"),
     "job_0\u212a" + show_id("job", A)[6:],
     "job_" + "０" * 26, "JOB_" + show_id("job", A)[4:]],
)  # fmt: skip
def test_what_is_not_an_id_of_this_kind_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_id("job", text)


@given(st.uuids(), st.uuids(), st.integers(PREFIX_LETTERS_MIN, 26))
def test_the_range_of_a_beginning_has_exactly_what_begins_so(one: UUID, other: UUID, letters: int) -> None:
    text = show_id("job", one)[: 4 + letters]
    kind, first, last = id_range(text)
    assert kind == "job"
    assert first <= one <= last
    assert show_id("job", first).startswith(text)
    assert show_id("job", last).startswith(text)
    assert (first <= other <= last) == show_id("job", other).startswith(text)
    assert id_range(text.upper().replace("JOB", "job")) == (kind, first, last)


def test_a_beginning_can_be_too_short_too_long_and_no_beginning() -> None:
    text = show_id("job", A)
    assert is_whole(text)
    assert not is_whole(text[:-1])
    with pytest.raises(Invalid, match="at least 8 characters after job_"):
        id_range(text[: 4 + PREFIX_LETTERS_MIN - 1])
    for odd in ("", "job", "job_", "_01h01h01h", "job_uuuuuuuuuu", "job_zzzzzzzzzz", f"{text}0", "job_01h 01h01h01h"):
        with pytest.raises(Invalid):
            id_range(odd)
