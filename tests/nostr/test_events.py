"""Events and filters: what is believed, what is taken from strangers, what a filter means."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.nostr.events import BadEvent, Draft, EventLimits, NostrEvent, event_json, event_text, read_event, sign_event
from choir.nostr.filters import BadFilter, Filter, FilterLimits, filter_json, parse_filter

NOW = 1_800_000_000
KEY = b"\x07" * 32
LIMITS = EventLimits(bytes_max=2000, tags_max=5, tag_items_max=4, tag_bytes_max=100, future_s_max=60)
FILTERS = FilterLimits(values_max=20, value_bytes_max=100, limit_max=500)

plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


def made(kind: int = 1, content: str = "", *tags: tuple[str, ...], at: int = NOW, key: bytes = KEY) -> NostrEvent:
    return sign_event(key, Draft(kind, content, tags), at)


@given(plain, st.lists(st.tuples(plain, plain), max_size=4), st.integers(0, 65535))
def test_what_is_signed_is_read_back_and_believed(content: str, tags: list[tuple[str, str]], kind: int) -> None:
    event = made(kind, content, *(tag for tag in tags if tag[0] != "expiration"))
    found = read_event(json.loads(event_text(event)), LIMITS, NOW)
    found.verify()
    assert found == event
    assert ", " not in event_text(replace(event, content="", tags=()))


def test_the_id_is_the_hash_of_the_published_form() -> None:
    event = made(1, 'a "quote"\n\u00e9', ("e", "x"))
    text = f'[0,"{event.pubkey.hex()}",{NOW},1,[["e","x"]],"a \\"quote\\"\\n\u00e9"]'
    assert event.id == hashlib.sha256(text.encode()).digest()


@pytest.mark.parametrize("name", ["content", "created_at", "kind", "tags", "pubkey"])
def test_a_changed_event_is_not_believed(name: str) -> None:
    changed: dict[str, Any] = {"content": "other", "created_at": NOW - 1, "kind": 2, "tags": (("a", "b"),)}
    changed["pubkey"] = made(key=b"\x08" * 32).pubkey
    with pytest.raises(BadEvent, match="its id"):
        replace(made(), **{name: changed[name]}).verify()


def test_a_signature_of_another_key_is_not_believed() -> None:
    with pytest.raises(BadEvent, match="signature"):
        replace(made(), sig=made(key=b"\x08" * 32).sig).verify()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"tags": [["t", "x"]] * 6}, "more than 5 tags"),
        ({"tags": [[]]}, "empty"),
        ({"tags": [["t"] * 5]}, "more than 4 items"),
        ({"tags": [["t", "é" * 51]]}, "more than 100 bytes"),
        ({"tags": [["t", "\x00"]]}, "NUL"),
        ({"tags": [["t", 1]]}, "must be text"),
        ({"tags": {"t": "x"}}, "list of lists"),
        ({"content": "é" * 1000}, "more than 2000 bytes"),
        ({"content": "\ud800"}, "not Unicode"),
        ({"kind": 65536}, "kind"),
        ({"kind": True}, "kind"),
        ({"kind": 1.0}, "kind"),
        ({"kind": -1}, "kind"),
        ({"created_at": NOW + 61}, "ahead"),
        ({"created_at": 2**60}, "created_at"),
        ({"tags": [["expiration", str(NOW)]]}, "expired"),
        ({"id": "A" * 64}, "lower-case hex"),
        ({"id": "0" * 63 + "\u0660"}, "lower-case hex"),
        ({"extra": 1}, "exactly the fields"),
    ],
)
def test_what_is_absurd_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(BadEvent, match=why):
        read_event({**event_json(made()), **change}, LIMITS, NOW)


def test_when_an_event_expires() -> None:
    assert made().expires_at is None
    assert made(1, "", ("expiration", "12"), ("expiration", "10")).expires_at == 10
    assert made(1, "", ("expiration", "soon"), ("expiration", "9" * 5000), ("expiration",)).expires_at is None


def test_what_replaces_what() -> None:
    assert made(1).slot is None
    assert [made(kind).slot for kind in (0, 3, 10002)] == ["", "", ""]
    assert made(31990, "", ("d", "x")).slot == "x"
    assert made(31990, "", ("d",)).slot == made(31990).slot == ""
    assert made(31990, "", ("d", "x")).address == f"31990:{made().pubkey.hex()}:x"
    assert made(20001).is_ephemeral
    assert made(0, "b", at=NOW + 1).supersedes(made(0, "a"))
    first, second = sorted([made(0, "a"), made(0, "b")], key=lambda event: event.id)
    assert first.supersedes(second)
    assert not second.supersedes(first)


def test_filters_mean_what_they_say() -> None:
    event = made(1, "", ("t", "x"), ("e", "ab"), at=NOW)
    good: list[dict[str, Any]] = [
        {},
        {"ids": [event.id.hex()]},
        {"authors": [event.pubkey.hex()], "kinds": [1, 2]},
        {"#t": ["y", "x"], "#e": ["ab"]},
        {"since": NOW, "until": NOW},
        {"limit": 0},
    ]
    bad: list[dict[str, Any]] = [
        {"ids": ["0" * 64]},
        {"ids": []},
        {"kinds": []},
        {"#t": ["y"]},
        {"#t": ["x"], "#e": ["cd"]},
        {"#p": ["x"]},
        {"since": NOW + 1},
        {"until": NOW - 1},
    ]
    assert all(parse_filter(value, FILTERS).matches(event) for value in good)
    assert not any(parse_filter(value, FILTERS).matches(event) for value in bad)
    assert parse_filter({"limit": 10**9}, FILTERS).limit == 500


@pytest.mark.parametrize(
    "value",
    [
        [],
        {"ids": "x"},
        {"ids": ["0" * 63]},
        {"ids": ["npub1"]},
        {"kinds": ["1"]},
        {"kinds": [-1]},
        {"kinds": [True]},
        {"kinds": list(range(21))},
        {"since": "now"},
        {"since": 1.5},
        {"limit": -1},
        {"search": "x"},
        {"#word": ["x"]},
        {"#": ["x"]},
        {"#t": ["x" * 101]},
        {"#t": [1]},
        {"#t": ["\ud800"]},
    ],
)
def test_filters_that_are_refused(value: Any) -> None:
    with pytest.raises(BadFilter):
        parse_filter(value, FILTERS)


@given(
    st.sets(st.binary(min_size=32, max_size=32), max_size=3),
    st.sets(st.integers(0, 65535), max_size=3),
    st.dictionaries(st.sampled_from("abZ"), st.frozensets(plain, max_size=2), max_size=2),
    st.integers(0, 2**40),
)
def test_a_filter_is_read_back_as_it_was(
    keys: set[bytes], kinds: set[int], tags: dict[str, frozenset[str]], at: int
) -> None:
    wanted = Filter(frozenset(keys), frozenset(keys), frozenset(kinds), tags, at, at, 5)
    assert parse_filter(json.loads(json.dumps(filter_json(wanted))), FILTERS) == wanted


@given(st.recursive(st.none() | st.integers() | plain, lambda inner: st.lists(inner) | st.dictionaries(plain, inner)))
def test_no_json_breaks_the_readers(value: Any) -> None:
    for read in (lambda: read_event(value, LIMITS, NOW), lambda: parse_filter(value, FILTERS)):
        with contextlib.suppress(BadEvent, BadFilter):
            read()
