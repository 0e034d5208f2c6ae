"""The pure rules, by example and by property."""

from __future__ import annotations

import ipaddress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.identity.people import rules
from choir.identity.people.model import BadHandle, HandleAlike
from choir.identity.policy import PeoplePolicy

POLICY = PeoplePolicy()
PERSON = UUID(int=7)


@given(st.text(max_size=40))
def test_a_handle_is_plain_or_refused(text: str) -> None:
    try:
        handle = rules.checked_handle(text, POLICY)
    except BadHandle:
        return
    assert handle == text
    assert set(handle) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")
    assert 3 <= len(handle) <= 30
    assert handle[0] not in "0123456789-"


@given(st.from_regex(r"[a-z_][a-z0-9_-]{2,29}", fullmatch=True))
def test_every_plain_handle_that_is_not_reserved_is_good(handle: str) -> None:
    plain = handle.replace("_", "-").strip("-")
    if plain not in rules.RESERVED_HANDLES and handle.strip("_") not in rules.RESERVED_HANDLES:
        assert rules.checked_handle(handle, POLICY) == handle


ALIKE = [("modern", "rnodem"), ("w1l_i", "vvll-i"), ("b0b", "bob"), ("avvvv", "awvv"), ("a_-b", "a_b"), ("all", "a1l")]
UNLIKE = [("mail", "mall"), ("ann-lee", "annlee"), ("rob", "nob"), ("eve", "ewe"), ("clan", "dan"), ("ada", "_ada")]


@pytest.mark.parametrize(("a", "b", "same"), [(*pair, True) for pair in ALIKE] + [(*pair, False) for pair in UNLIKE])
def test_handles_that_read_alike_have_one_skeleton(a: str, b: str, *, same: bool) -> None:
    assert (rules.skeleton(a) == rules.skeleton(b)) is same


@given(st.from_regex(r"[a-z_][a-z0-9_-]{2,29}", fullmatch=True))
def test_a_skeleton_is_its_own(handle: str) -> None:
    assert rules.skeleton(rules.skeleton(handle)) == rules.skeleton(handle)


@pytest.mark.parametrize("handle", ["adrnin", "w0rld", "_supp0rt", "he1p", "sign--in", "vvvvvv"])
def test_nobody_new_reads_like_a_part_of_the_node(handle: str) -> None:
    assert rules.checked_handle(handle, POLICY) == handle  # who had it before is still found by it
    with pytest.raises(HandleAlike):
        rules.check_new_handle(handle)


@given(st.binary(min_size=16, max_size=16), st.binary(min_size=16, max_size=16))
def test_codes_are_read_as_they_are_shown(a: bytes, b: bytes) -> None:
    code = rules.shown_code(a)
    hash_ = rules.code_hash(PERSON, code)
    assert rules.code_hash(PERSON, code.lower().replace("-", " ").replace("0", "o").replace("1", "i")) == hash_
    assert rules.code_hash(UUID(int=8), code) != hash_
    assert (rules.shown_code(b) == code) == (int.from_bytes(a) % 2**125 == int.from_bytes(b) % 2**125)
    assert rules.among(hash_, [b"x" * 32, hash_])
    assert not rules.among(hash_, [b"x" * 32])
    assert not rules.among(hash_, [])


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("192.0.2.1", "192.0.2.254", True),
        ("192.0.2.1", "192.0.3.1", False),
        ("192.0.2.1", "::ffff:192.0.2.9", True),
        ("2001:db8:1::1", "2001:db8:1:ffff::9", True),
        ("2001:db8:1::1", "2001:db8:2::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("", "testclient", True),
        ("192.0.2.1", "", False),
    ],
)
def test_places(a: str, b: str, *, same: bool) -> None:
    assert (rules.place_of(a, POLICY) == rules.place_of(b, POLICY)) is same


@given(st.ip_addresses(), st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_a_place_is_unlike_itself_under_another_salt(
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address, a: bytes, b: bytes
) -> None:
    place = rules.place_of(str(ip), POLICY)
    assert (rules.place_hash(a, place) == rules.place_hash(b, place)) == (a == b)


@given(
    limit=st.integers(1, 50),
    window_us=st.integers(1_000, 10**9),
    moves=st.lists(st.integers(0, 10**9), min_size=1, max_size=60),
)
def test_a_rate_keeps_its_limit_and_its_promise(limit: int, window_us: int, moves: list[int]) -> None:
    counts: dict[int, int] = {}
    now_us = 0

    def used(extra: int) -> tuple[int, int, int]:
        window, elapsed_us = divmod(now_us, window_us)
        return counts.get(window - 1, 0), counts.get(window, 0) + extra, elapsed_us

    for move in moves:
        now_us += move % (2 * window_us)
        previous, current, elapsed_us = used(1)
        if rules.rate(previous, current, elapsed_us, window_us) > limit:
            now_us += rules.rate_wait_us(previous, current - 1, elapsed_us, window_us, limit)
            previous, current, elapsed_us = used(1)
            assert rules.rate(previous, current, elapsed_us, window_us) <= limit
        counts[now_us // window_us] = current
        assert current <= limit


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 1000))
def test_the_score_grows_with_signs_and_falls_with_vouches(signs: int, more: int, vouches: int) -> None:
    score = rules.sybil_score(signs, vouches, POLICY)
    assert 0 <= score <= POLICY.sybil_score_max
    assert rules.sybil_score(signs + more, vouches, POLICY) >= score
    assert rules.sybil_score(signs, vouches + more, POLICY) <= score


def test_a_retired_handle_needs_the_pepper() -> None:
    assert rules.retired_hash(b"a" * 32, "ada") != rules.retired_hash(b"b" * 32, "ada")
    assert rules.retired_hash(b"a" * 32, "ada") != rules.retired_hash(b"a" * 32, "adb")
