"""What the relay keeps, replaces, deletes and forgets, in the database."""

from __future__ import annotations

import base64
import random
from typing import Any

import pytest

from choir.foundation.clock import ManualClock
from choir.foundation.policy import load
from choir.nostr.events import Draft, NostrEvent, sign_event
from choir.nostr.filters import Filter, parse_filter
from choir.policies import default_policy
from choir.relay.model import Outcome
from choir.relay.policy import RelayPolicy
from choir.relay.service import Pieces, Relay, pieces
from choir.storage.database import Database

NOW = 1_800_000_000
ADA, BOB = b"\x11" * 32, b"\x22" * 32


class Place:
    """A relay on a database, and its clock."""

    def __init__(self, database: Database, **numbers: str) -> None:
        self.database = database
        self.clock = ManualClock()
        policy = load(default_policy(), {f"relay.{name}": text for name, text in numbers.items()})
        self.relay = Relay(self.clock, policy.of(RelayPolicy))

    def take(self, *events: NostrEvent) -> list[Outcome]:
        return self.database.run(lambda tx: self.relay.take(tx, events))

    def ids(self, keys: frozenset[bytes] = frozenset(), **wanted: Any) -> list[bytes]:
        found: Filter = parse_filter(
            {name.replace("tag_", "#"): value for name, value in wanted.items()}, self.relay.filter_limits
        )
        with self.database.unit_of_work() as tx:
            page = self.relay.page(tx, found, keys, 100, None)
            assert self.relay.count(tx, found, keys) == (len(page.ids), False)
            return list(page.ids)

    def forget(self) -> None:
        while self.database.run(self.relay.forget):
            pass


@pytest.fixture
def place(database: Database) -> Place:
    return Place(database)


def made(kind: int = 1, content: str = "", *tags: tuple[str, ...], at: int = NOW, key: bytes = ADA) -> NostrEvent:
    return sign_event(key, Draft(kind, content, tags), at)


def test_an_event_is_stored_once(place: Place) -> None:
    event = made(1, "hello")
    assert place.take(event, event) == [Outcome.STORED, Outcome.DUPLICATE]
    assert place.take(event) == [Outcome.DUPLICATE]
    assert place.ids() == [event.id]


def test_filters_find_what_they_mean(place: Place) -> None:
    one = made(1, "", ("t", "x"), ("long", "y"), at=NOW - 2)
    two = made(5932, "", ("t", "x"), ("p", "z" * 5000), at=NOW - 1)
    three = made(1, "", key=BOB)
    place.take(one, two, three)
    assert place.ids() == [three.id, two.id, one.id]
    assert place.ids(kinds=[1]) == [three.id, one.id]
    assert place.ids(authors=[one.pubkey.hex()]) == [two.id, one.id]
    assert place.ids(tag_t=["x"]) == [two.id, one.id]
    assert place.ids(tag_p=["z" * 5000]) == [two.id]
    assert place.ids(tag_t=["x"], tag_p=["q"]) == []
    assert place.ids(ids=[one.id.hex(), three.id.hex()]) == [three.id, one.id]
    assert place.ids(since=NOW - 1, until=NOW - 1) == [two.id]
    assert place.ids(ids=[]) == []


def test_pages_follow_each_other(place: Place) -> None:
    events = [made(1, str(number), at=NOW - number % 3) for number in range(20)]
    place.take(*events)
    found: list[bytes] = []
    after = None
    with place.database.unit_of_work() as tx:
        while True:
            page = place.relay.page(tx, Filter(), frozenset(), 7, after)
            found += page.ids
            after = page.last
            if after is None:
                break
    assert found == [event.id for event in sorted(events, key=lambda event: (-event.created_at, event.id))]


@pytest.mark.parametrize(("kind", "tags"), [(0, ()), (10002, ()), (31990, (("d", "a"),))])
def test_only_the_newest_version_stays(place: Place, kind: int, tags: tuple[tuple[str, ...], ...]) -> None:
    old, new = made(kind, "old", *tags, at=NOW - 1), made(kind, "new", *tags)
    assert place.take(old, new) == [Outcome.STORED, Outcome.STORED]
    assert place.take(made(kind, "older", *tags, at=NOW - 2)) == [Outcome.OLDER]
    first, second = sorted([made(kind, "a", *tags), made(kind, "b", *tags)], key=lambda event: event.id)
    place.take(second, first)
    winner = min([new, first], key=lambda event: event.id)
    others = [made(kind, "", *tags, key=BOB), made(31990, "", ("d", "other"))]
    place.take(*others)
    only = {"tag_d": ["a"]} if tags else {}
    assert place.ids(frozenset(), kinds=[kind], authors=[new.pubkey.hex()], **only) == [winner.id]
    assert {event.id for event in others} <= set(place.ids())


def test_ephemeral_events_are_not_stored(place: Place) -> None:
    assert place.take(made(20001)) == [Outcome.PASSED_ON]
    assert place.ids() == []


def test_an_author_deletes_their_own_events_alone(place: Place) -> None:
    mine, other = made(1, "mine"), made(1, "other", key=BOB)
    version = made(31990, "", ("d", "a:b"), at=NOW - 5)
    place.take(mine, other, version)
    address = f"31990:{mine.pubkey.hex()}:a:b"
    foreign = f"31990:{other.pubkey.hex()}:x"
    gone = made(
        5, "", ("e", mine.id.hex()), ("e", other.id.hex()), ("a", address), ("a", foreign), ("e", "x"), ("a", ":")
    )
    assert place.take(gone) == [Outcome.STORED]
    assert set(place.ids()) == {other.id, gone.id}
    assert place.take(mine, version) == [Outcome.DELETED, Outcome.DELETED]
    later = made(31990, "", ("d", "a:b"), at=NOW + 1)
    assert place.take(later) == [Outcome.STORED]
    assert place.take(made(5, "", ("e", gone.id.hex()), at=NOW + 1)) == [Outcome.STORED]
    assert gone.id in place.ids()  # a deletion cannot be deleted


def test_a_deletion_counts_for_what_comes_later(place: Place) -> None:
    mine, theirs = made(1, "mine"), made(1, "theirs", key=BOB)
    place.take(made(5, "", ("e", mine.id.hex()), ("e", theirs.id.hex())))
    assert place.take(mine, theirs) == [Outcome.DELETED, Outcome.STORED]


def test_what_has_expired_is_not_seen_and_then_forgotten(place: Place) -> None:
    short, long = made(1, "", ("expiration", str(NOW + 10))), made(1, "long")
    place.take(short, long)
    assert set(place.ids()) == {short.id, long.id}
    place.clock.advance(11)
    assert place.ids() == [long.id]
    place.forget()
    assert place.take(short) == [Outcome.STORED]  # gone from the table; readers of events refuse it before
    place.clock.advance(91 * 86_400)
    place.take(made(31990, "", ("d", "kept")))
    place.forget()
    assert len(place.ids()) == 1


def test_private_events_are_for_their_parties(place: Place) -> None:
    bob = made(key=BOB).pubkey
    event = made(1059, "", ("p", bob.hex()))
    place.take(event)
    assert place.ids() == []
    assert place.ids(frozenset({bob})) == place.ids(frozenset({event.pubkey})) == [event.id]
    assert place.ids(frozenset({b"\x01" * 32})) == []


def test_a_key_has_so_many_events_and_no_more(database: Database) -> None:
    place = Place(database, key_events_max="3")
    events = [made(1, str(number)) for number in range(5)]
    assert place.take(*events) == [Outcome.STORED] * 3 + [Outcome.KEY_FULL] * 2
    assert place.take(made(1, "", key=BOB), made(0)) == [Outcome.STORED, Outcome.STORED]
    assert place.take(made(5, "", ("e", events[0].id.hex()), ("e", events[1].id.hex()))) == [Outcome.STORED]


def test_a_full_relay_takes_no_new_keys(database: Database) -> None:
    place = Place(database)
    assert place.take(made()) == [Outcome.STORED]
    full = Place(database, store_bytes_max="1000000")
    big = [made(1, base64.b64encode(random.Random(number).randbytes(60_000)).decode()) for number in range(30)]
    full.take(*big)
    assert full.take(made(1, "", key=BOB), made(1, "known")) == [Outcome.STORE_FULL, Outcome.STORED]


def test_what_is_told_fits_into_notices() -> None:
    events = [made(1, 'é"\\\n' * 3000), made(1, "b")]
    parts = list(pieces(events))
    assert len(parts) > 3
    assert all(len(part.encode()) < 8000 for part in parts)
    heard = Pieces()
    heard.add(parts[0])  # what began before this process listened is dropped
    assert [event for part in parts for event in heard.add(part)] == events
    assert list(pieces([])) == []
