"""What is kept and for how long, and who is charged for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from choir.foundation.canonical import ObjectHash, canonical_bytes, canonical_hash
from choir.foundation.clock import MICROSECONDS
from choir.foundation.errors import Invalid
from choir.objects.model import BadLabel, CollectionReport, QuotaExceeded, UnknownObject
from tests.depth import times
from tests.objects.conftest import OWNER, Store

NOWHERE = ObjectHash("sha256:" + "00" * 32)


def test_an_object_is_kept_while_anything_points_to_it(store: Store) -> None:
    name = store.put_atom("x").hash
    assert store.refer("job:1", name)
    assert not store.refer("job:1", name)
    assert store.refer("job:2", name)
    store.wait()
    assert store.collect().objects == 0
    assert store.unrefer("job:1", name)
    assert not store.unrefer("job:1", name)
    store.wait()
    assert store.collect().objects == 0
    assert store.unrefer("job:2", name)
    assert store.collect().objects == 0  # its time without references begins only now
    store.wait()
    assert store.collect() == CollectionReport(1, 3, more=False)
    assert not store.exists(name)
    assert [store.count(f"object_{table}") for table in ("pieces", "claims", "touches", "references")] == [0, 0, 0, 0]


def test_the_time_without_references_is_counted_to_the_microsecond(store: Store) -> None:
    name = store.put_atom("x").hash
    store.clock.at_us += store.objects.policy.unreferenced_s * MICROSECONDS - 1
    assert store.collect().objects == 0
    store.clock.at_us += 1
    assert store.collect().objects == 1
    assert not store.exists(name)


def test_putting_an_object_again_begins_its_time_anew(store: Store) -> None:
    name = store.put_atom("x").hash
    store.wait()
    store.put_atom("x", owner=None)
    assert store.collect().objects == 0
    store.wait()
    assert store.collect().objects == 1
    assert not store.exists(name)
    assert store.put_atom("x").new


def test_what_an_object_points_to_is_kept_as_long_as_the_object(store: Store) -> None:
    leaf, parent = store.put_atom("leaf").hash, store.put_atom(["parent"]).hash
    store.refer(parent, leaf)
    store.refer("article:1", parent)
    store.wait()
    assert store.collect().objects == 0
    store.unrefer("article:1", parent)
    store.wait()
    assert store.collect().objects == 1
    assert store.exists(leaf)
    store.wait()
    assert store.collect().objects == 1
    assert not store.exists(leaf)
    assert store.count("object_references") == 0


def test_only_what_exists_can_point_and_be_pointed_to(store: Store) -> None:
    name = store.put_atom("x").hash
    with pytest.raises(UnknownObject):
        store.refer("job:1", NOWHERE)
    with pytest.raises(UnknownObject):
        store.refer(NOWHERE, name)
    assert not store.unrefer("job:1", NOWHERE)
    assert not store.unrefer(NOWHERE, name)
    with pytest.raises(BadLabel):
        store.refer(name, name)
    for holder in ("", "a\0", "x" * 201):
        with pytest.raises(BadLabel):
            store.refer(holder, name)
    with pytest.raises(Invalid):
        store.refer("sha256:short", name)


def test_rounds_of_collection_are_bounded(store: Store) -> None:
    small = store.with_policy(collect_objects_max=4, collect_bytes_max=1000)
    for n in range(10):
        small.put_atom(n)
    for n in range(3):
        small.put_blob(bytes([n]) * 600)
    small.wait()
    rounds = []
    while (done := small.collect()).more:
        rounds.append(done)
    rounds.append(done)
    assert sum(item.objects for item in rounds) == 13
    assert all(item.objects <= 4 for item in rounds)
    assert all(item.bytes <= 1000 for item in rounds)
    small.put_blob(bytes(5000))
    small.put_atom("x")
    small.wait()
    assert [small.collect().objects, small.collect().objects] == [1, 1]  # the large one is removed alone


def test_an_object_put_very_often_does_not_stop_collection(store: Store) -> None:
    small = store.with_policy(collect_objects_max=3)
    hot = small.put_atom("hot").hash
    for _ in range(10):
        small.put_atom("hot")
    cold = small.put_atom("cold").hash
    small.refer("policy", hot)
    small.wait()
    while small.collect().more:
        pass
    assert small.exists(hot)
    assert not small.exists(cold)
    assert small.count("object_touches") == 0


# Quota


def test_each_owner_is_charged_once_for_each_object(store: Store) -> None:
    store.put_atom("12345678")
    store.put_atom("12345678")
    store.put_blob(b'"12345678"')
    store.put_atom("12345678", owner="person:bob")
    store.put_atom("12345678", owner=None)
    assert (store.used(), store.used("person:bob"), store.used("person:eve")) == (10, 10, 0)


def test_what_does_not_fit_is_refused_with_the_numbers_and_not_kept(store: Store) -> None:
    small = store.with_policy(owner_quota_bytes=10_000)
    small.put_blob(bytes(6000))
    with small.database.unit_of_work() as tx:
        with pytest.raises(QuotaExceeded) as refused:
            small.objects.put_blob(tx, [b"x" * 4001], OWNER)
        assert refused.value.fields == {"owner": OWNER, "asked": 4001, "used": 6000, "limit": 10_000}
        with pytest.raises(QuotaExceeded):
            small.objects.put_atom(tx, "x" * 4001, OWNER)
    assert small.count("objects") == 1
    small.put_blob(b"x" * 4000)
    assert small.used() == 10_000
    small.put_blob(b"x" * 4000)  # what is paid for can be put again
    small.put_atom(0, owner=None)  # the node itself has no quota
    with pytest.raises(QuotaExceeded):
        small.put_atom(0)


def test_another_owner_of_an_object_is_charged_and_can_be_refused(store: Store) -> None:
    small = store.with_policy(owner_quota_bytes=10_000)
    small.put_blob(bytes(6000))
    small.put_blob(b"y" * 6000, owner="person:bob")
    with pytest.raises(QuotaExceeded):
        small.put_blob(bytes(6000), owner="person:bob")
    assert small.used("person:bob") == 6000


def test_collection_gives_bytes_back(store: Store) -> None:
    small = store.with_policy(owner_quota_bytes=10_000)
    small.put_blob(bytes(9000))
    small.put_blob(bytes(9000), owner="person:bob")
    small.wait()
    assert small.collect().objects == 1
    assert (small.used(), small.used("person:bob")) == (0, 0)
    small.put_blob(b"x" * 10_000)
    assert (small.used(), small.used("person:bob")) == (10_000, 0)
    assert small.count("object_refunds") == 1  # settled when Bob puts next


def test_erasing_gives_up_a_claim_and_nothing_else(store: Store) -> None:
    name = store.put_blob(bytes(100)).hash
    store.put_blob(bytes(100), owner="person:bob")
    store.refer("job:1", name)
    assert store.erase(name)
    assert not store.erase(name)
    assert not store.erase(NOWHERE)
    assert (store.used(), store.used("person:bob")) == (0, 100)
    store.wait()
    store.collect()
    assert store.exists(name)
    store.unrefer("job:1", name)
    store.wait()
    store.collect()
    assert not store.exists(name)
    assert (store.used(), store.used("person:bob")) == (0, 0)


# Any order of events, against a model


VALUES = ["a", "bb", "ccc", ["dddd"]]
NAMES = [canonical_hash(value) for value in VALUES]
OWNERS = ["person:ada", "person:bob"]
HOLDERS = ["job:1", "job:2", *NAMES[:2]]
KEEP_S = 10
QUOTA = 13


@dataclass
class Kept:
    touched: int
    holders: set[str] = field(default_factory=set)
    owners: set[str] = field(default_factory=set)


@dataclass
class Model:
    """What the store should be, as simply as it can be said."""

    now: int = 0
    objects: dict[int, Kept] = field(default_factory=dict)

    def used(self, owner: str) -> int:
        return sum(len(canonical_bytes(VALUES[i])) for i, kept in self.objects.items() if owner in kept.owners)

    def put(self, i: int, owner: str) -> bool:
        kept = self.objects.get(i)
        charged = kept is not None and owner in kept.owners
        if not charged and self.used(owner) + len(canonical_bytes(VALUES[i])) > QUOTA:
            return False
        kept = self.objects.setdefault(i, Kept(self.now))
        kept.owners.add(owner)
        kept.touched = self.now
        return True

    def refer(self, i: int, holder: str) -> bool:
        there = i in self.objects and (holder not in NAMES or NAMES.index(ObjectHash(holder)) in self.objects)
        if there and holder != NAMES[i]:
            self.objects[i].holders.add(holder)
            return True
        return False

    def unrefer(self, i: int, holder: str) -> None:
        if i in self.objects and holder in self.objects[i].holders:
            self.objects[i].holders.remove(holder)
            self.objects[i].touched = self.now

    def erase(self, i: int, owner: str) -> None:
        if i in self.objects:
            self.objects[i].owners.discard(owner)

    def collect(self) -> int:
        gone = [i for i, kept in self.objects.items() if not kept.holders and kept.touched + KEEP_S <= self.now]
        for i in gone:
            del self.objects[i]
        for kept in self.objects.values():
            if kept.holders & {NAMES[i] for i in gone}:
                kept.holders -= {NAMES[i] for i in gone}
                kept.touched = self.now
        return len(gone)


index = st.integers(0, len(VALUES) - 1)
events = st.lists(
    st.one_of(
        st.tuples(st.just("put"), index, st.sampled_from(OWNERS)),
        st.tuples(st.just("refer"), index, st.sampled_from(HOLDERS)),
        st.tuples(st.just("unrefer"), index, st.sampled_from(HOLDERS)),
        st.tuples(st.just("erase"), index, st.sampled_from(OWNERS)),
        st.tuples(st.just("wait"), st.integers(1, 12), st.none()),
        st.tuples(st.just("collect"), st.none(), st.none()),
        st.tuples(st.just("roll back"), index, st.sampled_from(OWNERS)),
    ),
    max_size=40,
)


@pytest.fixture
def fresh(store: Store, tamper: psycopg.Connection[tuple[Any, ...]]) -> Callable[[], Store]:
    def make() -> Store:
        tamper.execute("truncate objects, object_owners cascade")
        return store.with_policy(unreferenced_s=KEEP_S, owner_quota_bytes=QUOTA)

    return make


@settings(max_examples=times(20, 60))
@given(events)
def test_any_order_of_events_gives_what_the_model_says(
    fresh: Callable[[], Store], sequence: list[tuple[str, Any, Any]]
) -> None:
    store = fresh()
    model = Model()
    for what, which, who in sequence:
        match what:
            case "put":
                assert succeeds(partial(store.put_atom, VALUES[which], who)) == model.put(which, who)
            case "refer":
                assert succeeds(partial(store.refer, who, NAMES[which])) == model.refer(which, who)
            case "unrefer":
                store.unrefer(who, NAMES[which])
                model.unrefer(which, who)
            case "erase":
                store.erase(NAMES[which], owner=who)
                model.erase(which, who)
            case "wait":
                store.clock.advance(which)
                model.now += which
            case "collect":
                assert store.collect().objects == model.collect()
            case "roll back":
                put_and_roll_back(store, VALUES[which], who)
        assert {i for i, name in enumerate(NAMES) if store.exists(name)} == set(model.objects)
        assert [store.used(owner) for owner in OWNERS] == [model.used(owner) for owner in OWNERS]


def succeeds(act: Callable[[], object]) -> bool:
    try:
        act()
    except (QuotaExceeded, UnknownObject, BadLabel):
        return False
    return True


def put_and_roll_back(store: Store, value: Any, owner: str) -> None:
    with store.database.unit_of_work() as tx:
        succeeds(partial(store.objects.put_atom, tx, value, owner))
        store.objects.collect(tx, store.clock.now_us())
        tx.connection.rollback()


# Lookups


def test_no_lookup_scans_a_table(store: Store) -> None:
    """With sequential scans made expensive, one is still chosen where an index is missing."""
    with store.database.unit_of_work() as tx:
        tx.run("set local enable_seqscan = off")
        objects = store.objects
        name = objects.put_blob(tx, [bytes(9000)], OWNER).hash
        objects.put_blob(tx, [bytes(9000)], OWNER, name)
        other = objects.put_atom(tx, "x", "person:bob").hash
        objects.put_atoms(tx, ["y", "x"], None)
        list(objects.open(tx, name))
        objects.get(tx, name)
        objects.refer(tx, "job:1", name)
        objects.refer(tx, other, name)
        objects.unrefer(tx, "job:1", name)
        objects.usage(tx, OWNER)
        objects.erase(tx, OWNER, name)
        objects.signatures(tx, name)
        for _ in range(3):
            store.clock.advance(objects.policy.unreferenced_s)
            objects.collect(tx, store.clock.now_us())
        objects.put_atom(tx, "z", "person:bob")
        assert not objects.exists(tx, name)
        scanned = tx.rows("select relname, seq_scan from pg_stat_xact_user_tables where seq_scan > 0")
        assert scanned == []
