"""What holds when several transactions are at work on the same objects. All use plain units of work, so that
a deadlock or a violated constraint would be seen."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import pytest

from choir.foundation.canonical import bytes_hash, canonical_hash
from choir.objects.model import CollectionReport, QuotaExceeded, StoredObject, UnknownObject
from tests.objects.conftest import OWNER, Store

T = TypeVar("T")
THREADS = 8


def all_at_once(work: Callable[[int], T]) -> list[T]:
    """Run the work in threads that start together."""
    barrier = threading.Barrier(THREADS)

    def run(n: int) -> T:
        barrier.wait()
        return work(n)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(run, range(THREADS)))


@contextmanager
def waiting(work: Callable[[], T]) -> Iterator[Future[T]]:
    """Work that has to wait for what the block does."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        time.sleep(0.2)
        assert not future.done()
        yield future


def consistent(store: Store) -> bool:
    """Whether owners are charged exactly what they claim, and nothing is left of removed objects."""
    with store.database.unit_of_work() as tx:
        wrong = tx.rows(
            "select owner from object_owners o where used_bytes"
            " - coalesce((select sum(bytes) from object_refunds r where r.owner = o.owner), 0)"
            " <> coalesce((select sum(size) from object_claims c join objects on id = object"
            " where c.owner = o.owner), 0)"
        )
        loose = tx.rows(
            "select from objects o where not exists (select from object_references r where r.object = o.id)"
            " and not exists (select from object_touches t where t.object = o.id)"
        )
    return not wrong and not loose


@pytest.mark.parametrize("one_owner", [True, False])
def test_an_object_put_by_all_at_once_is_stored_once(store: Store, one_owner: bool) -> None:
    for round_ in range(10):
        data = random.Random(round_).randbytes(20_000)
        owners = [OWNER if one_owner else f"person:{n}" for n in range(THREADS)]
        blobs = all_at_once(partial(put_blob_as, store, owners, data))
        assert {item.hash for item in blobs} == {bytes_hash(data)}
        assert [item.new for item in blobs].count(True) == 1
        atoms = all_at_once(partial(put_atom_as, store, owners, ["same", round_]))
        assert [item.new for item in atoms].count(True) == 1
    assert store.count("objects") == 20
    assert store.count("object_pieces") == 10 * 5 + 10
    assert store.count("object_claims") == 20 * (1 if one_owner else THREADS)
    assert consistent(store)


def put_blob_as(store: Store, owners: list[str], data: bytes, n: int) -> StoredObject:
    return store.put_blob(data, owner=owners[n])


def put_atom_as(store: Store, owners: list[str], value: object, n: int) -> StoredObject:
    return store.put_atom(value, owner=owners[n])


def test_many_atoms_put_together_by_all_do_not_deadlock(store: Store) -> None:
    def put(n: int) -> int:
        values = list(range(40))
        random.Random(n).shuffle(values)
        with store.database.unit_of_work() as tx:
            return sum(item.new for item in store.objects.put_atoms(tx, values, f"person:{n}"))

    assert sum(all_at_once(put)) == 40


def test_a_put_waits_for_another_and_stores_the_object_if_that_one_gives_up(store: Store) -> None:
    with store.database.unit_of_work() as tx:
        store.objects.put_blob(tx, [bytes(9000)], OWNER)
        with waiting(lambda: store.put_blob(bytes(9000), owner="person:bob")) as other:
            tx.connection.rollback()
    assert other.result().new
    assert store.get(other.result().hash) == bytes(9000)
    assert (store.used(), store.used("person:bob")) == (0, 9000)


def test_a_put_waits_for_another_and_uses_what_that_one_stored(store: Store) -> None:
    with store.database.unit_of_work() as tx:
        store.objects.put_blob(tx, [bytes(9000)], OWNER)
        with waiting(lambda: store.put_blob(bytes(9000), owner="person:bob")) as other:
            tx.connection.commit()
    assert not other.result().new
    assert store.count("object_pieces") == 3


def test_the_quota_is_exact_when_all_put_at_once(store: Store) -> None:
    small = store.with_policy(owner_quota_bytes=450)

    def put(n: int) -> int | None:
        try:
            small.put_blob(bytes([n]) * 100)
        except QuotaExceeded as refused:
            return int(refused.fields["used"])
        return None

    assert sorted(all_at_once(put), key=str) == [400] * 4 + [None] * 4
    assert small.used() == 400
    assert small.count("objects") == 4
    assert consistent(small)


def test_far_from_its_quota_an_owner_waits_for_nobody_and_is_charged_all_the_same(store: Store) -> None:
    store.put_atom({"n": 0})
    with store.database.unit_of_work() as tx:
        store.objects.put_atom(tx, {"n": 1}, OWNER)
        with ThreadPoolExecutor(1) as pool:  # must not wait for the first, which is still open
            pool.submit(store.put_atom, {"n": 2}).result(10)
        assert store.used() == 2 * len(b'{"n":0}')
    assert store.used() == 3 * len(b'{"n":0}')
    all_at_once(lambda n: [store.put_atom({"n": f"{n} {m}"}) for m in range(40)])
    assert store.count("object_refunds") < 120  # they are added up now and then
    assert consistent(store)


def test_the_same_small_object_put_twice_at_once_is_charged_once(store: Store) -> None:
    all_at_once(lambda _: store.put_atom({"the": "same"}))
    assert store.used() == len(b'{"the":"same"}')
    assert consistent(store)


def test_what_a_transaction_puts_or_refers_to_is_not_collected_under_it(store: Store) -> None:
    names = [store.put_atom(n).hash for n in range(3)]
    store.wait()
    with store.database.unit_of_work() as tx:
        store.objects.put_atom(tx, 0, OWNER)  # which also locks the owner that collection gives bytes back to
        store.objects.refer(tx, "job:1", names[1])
        assert store.collect() == CollectionReport(1, 1, more=False)  # it waits for nobody and takes the third
    store.collect()
    assert [store.exists(name) for name in names] == [True, True, False]
    assert consistent(store)


def test_a_put_that_meets_a_collection_stores_the_object_anew(store: Store) -> None:
    small = store.with_policy(owner_quota_bytes=9000)
    name = small.put_blob(bytes(9000)).hash
    small.wait()
    with small.database.unit_of_work() as tx:
        assert small.objects.collect(tx, small.clock.now_us()).objects == 1
        with waiting(lambda: small.put_blob(bytes(9000), expect=name)) as other:
            tx.connection.commit()
    assert other.result().new  # and the owner, whose quota it fills, was given its bytes back first
    assert small.used() == 9000
    assert small.get(name) == bytes(9000)
    assert consistent(small)


def test_a_put_that_meets_a_collection_that_gives_up_finds_the_object(store: Store) -> None:
    store.put_atom("x")
    store.wait()
    with store.database.unit_of_work() as tx:
        store.objects.collect(tx, store.clock.now_us())
        with waiting(lambda: store.put_atom("x")) as other:
            tx.connection.rollback()
    assert not other.result().new
    assert store.collect().objects == 0


def test_a_refer_that_meets_a_collection_is_refused_or_holds(store: Store) -> None:
    name = store.put_atom("x").hash
    store.wait()
    with store.database.unit_of_work() as tx:
        store.objects.collect(tx, store.clock.now_us())
        with waiting(lambda: store.refer("job:1", name)) as other:
            tx.connection.commit()
    with pytest.raises(UnknownObject):
        other.result()


def test_two_that_let_go_at_once_leave_nothing_behind(store: Store) -> None:
    name = store.put_atom("x").hash
    for n in range(THREADS):
        store.refer(f"job:{n}", name)
    store.wait()
    store.collect()
    assert store.count("object_touches") == 0
    assert all(all_at_once(lambda n: store.unrefer(f"job:{n}", name)))
    store.wait()
    assert store.collect().objects == 1


def test_a_reader_reads_to_the_end_though_the_object_is_collected(store: Store) -> None:
    data = random.Random(9).randbytes(60_000)
    name = store.put_blob(data).hash
    store.wait()
    with store.database.unit_of_work() as tx:
        opened = store.objects.open(tx, name)
        first = next(opened.chunks)
        assert store.collect().objects == 1
        assert first + b"".join(opened) == data
    assert not store.exists(name)


def test_one_collector_works_at_a_time(store: Store) -> None:
    store.put_atom("x")
    store.put_atom("y")
    store.wait()
    single = store.with_policy(collect_objects_max=1)
    with store.database.unit_of_work() as tx:
        assert single.objects.collect(tx, store.clock.now_us()) == CollectionReport(1, 3, more=True)
        assert store.collect() == CollectionReport(0, 0, more=False)
    assert store.collect().objects == 1


def test_an_object_is_not_collected_while_one_of_its_references_is_given_up(store: Store) -> None:
    leaf, parent = store.put_atom("leaf").hash, store.put_atom(["parent"]).hash
    store.refer(parent, leaf)
    store.wait()
    with store.database.unit_of_work() as tx:
        assert store.objects.unrefer(tx, parent, leaf)
        assert store.collect().objects == 0
        tx.connection.rollback()
    assert store.collect().objects == 1
    store.wait()
    assert store.collect().objects == 1
    assert store.count("object_references") == 0


def test_erasing_and_collecting_at_once_give_bytes_back_once(store: Store) -> None:
    name = store.put_blob(bytes(100)).hash
    store.wait()
    with store.database.unit_of_work() as tx:
        assert store.objects.collect(tx, store.clock.now_us()).objects == 1
        with waiting(lambda: store.erase(name)) as other:
            tx.connection.commit()
    assert not other.result()
    assert store.used() == 0
    name = store.put_blob(bytes(100)).hash
    store.wait()
    with store.database.unit_of_work() as tx:
        assert store.objects.erase(tx, OWNER, name)
        assert store.collect().objects == 0
    assert store.collect().objects == 1
    assert store.used() == 0
    assert consistent(store)


def test_a_blob_that_becomes_an_atom_and_an_owner_near_its_quota_do_not_wait_for_each_other(store: Store) -> None:
    hasty = store.with_policy(owner_quota_bytes=200)
    hasty.put_blob(b"1")
    begun = threading.Event()

    def other() -> None:
        with hasty.database.unit_of_work() as tx:
            begun.set()
            hasty.objects.put_atom(tx, "charged", OWNER)  # so near the quota it locks the owner
            hasty.objects.put_atom(tx, 1, OWNER)

    with hasty.database.unit_of_work() as tx:
        hasty.objects.put_atom(tx, 1, OWNER)
        with ThreadPoolExecutor(1) as pool:
            waits = pool.submit(other)
            begun.wait()
            time.sleep(0.2)  # it has the owner by then, or waits for it
            hasty.objects.put_atom(tx, "charged too", OWNER)
            tx.connection.commit()
            waits.result()
    assert consistent(hasty)


def test_nothing_held_is_ever_lost_to_a_collector_that_never_rests(store: Store) -> None:
    """Everything is collectable at once here, and few objects are shared by many."""
    hasty = store.with_policy(unreferenced_s=0, owner_quota_bytes=200)
    done = threading.Event()
    collected = 0

    def collect() -> None:
        nonlocal collected
        while not done.is_set():
            collected += hasty.collect().objects

    def work(n: int) -> None:
        pick = random.Random(n)
        owner = f"person:{n % 3}"
        for step in range(60):
            value = pick.randrange(4)
            holder = f"job:{n}.{step}"
            parent = canonical_hash(["parent", value])
            with hasty.database.unit_of_work() as tx:
                if pick.random() < 0.5:
                    put = hasty.objects.put_atom(tx, value, owner)
                else:
                    put = hasty.objects.put_blob(tx, [str(value).encode()], owner)
                hasty.objects.refer(tx, holder, put.hash)
                hasty.objects.put_atom(tx, ["parent", value], owner)
                hasty.objects.refer(tx, parent, put.hash)
                hasty.objects.refer(tx, holder, parent)
            with hasty.database.unit_of_work() as tx:
                assert hasty.objects.get(tx, put.hash) == str(value).encode()
                assert hasty.objects.exists(tx, parent)
                assert hasty.objects.unrefer(tx, holder, put.hash)
                assert hasty.objects.get(tx, put.hash) == str(value).encode()  # its parent keeps it
                hasty.objects.unrefer(tx, holder, parent)
            if pick.random() < 0.3:
                hasty.erase(put.hash, owner=owner)

    collector = threading.Thread(target=collect)
    collector.start()
    try:
        all_at_once(work)
    finally:
        done.set()
        collector.join()
    assert collected > 0
    assert consistent(hasty)
    while hasty.collect().objects:
        pass
    assert hasty.count("objects") == 0
    assert [hasty.used(f"person:{n}") for n in range(3)] == [0, 0, 0]
