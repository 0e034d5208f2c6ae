"""Heartbeats, capacity, draining, and slots under many hands."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg

from choir.bazaar.providers.model import Heartbeat
from tests.bazaar.providers.stalls import Stalls, owner, principal, wants

THREADS = 16


def in_use(stalls: Stalls, provider: UUID) -> int:
    with stalls.tx() as tx:
        row = stalls.providers.view(tx, provider).market
        assert row.in_use == tx.value("select count(*) from provider_slots where provider = %s", provider)
    return row.in_use


def test_slots_are_as_many_as_the_smaller_of_capacity_and_tier(stalls: Stalls) -> None:
    small, large = stalls.stall(1, capacity=3), stalls.stall(2, capacity=900)
    with stalls.tx() as tx:
        assert [stalls.providers.view(tx, one.id).market.slots for one in (small, large)] == [3, 5]
        taken = [stalls.providers.reserve(tx, large.id, stalls.new_job()) for _ in range(7)]
    assert taken == [True] * 5 + [False] * 2
    assert in_use(stalls, large.id) == 5
    assert stalls.ids(wants()) == [small.id]


def test_a_job_has_one_slot_and_gives_it_back_once(stalls: Stalls) -> None:
    made, job = stalls.stall(1, capacity=1), stalls.new_job()
    with stalls.tx() as tx:
        assert stalls.providers.reserve(tx, made.id, job)
        assert stalls.providers.reserve(tx, made.id, job)
        assert not stalls.providers.reserve(tx, made.id, stalls.new_job())
        assert stalls.providers.release(tx, made.id, job)
        assert not stalls.providers.release(tx, made.id, job)
        assert not stalls.providers.release(tx, made.id, stalls.new_job())
    assert in_use(stalls, made.id) == 0


def test_what_a_caller_undoes_is_undone(stalls: Stalls) -> None:
    made = stalls.stall(1)
    with stalls.tx() as tx:
        stalls.providers.reserve(tx, made.id, stalls.new_job())
        tx.connection.rollback()
    assert in_use(stalls, made.id) == 0


def test_sixteen_hands_never_take_more_than_there_is(stalls: Stalls) -> None:
    """Each reserves, holds for a moment, and gives back or not; a second provider is raced for as well."""
    made = [stalls.stall(n, capacity=5) for n in (1, 2)]
    barrier, most, held = threading.Barrier(THREADS), [0], []
    lock = threading.Lock()

    def work(n: int) -> None:
        barrier.wait()
        for round_ in range(12):
            job = UUID(int=1_000_000 + n * 1000 + round_)
            for one in sorted(made, key=lambda provider: provider.id):
                with stalls.tx() as tx:
                    got = stalls.providers.reserve(tx, one.id, job)
                    count = tx.value("select in_use from provider_market where provider = %s", one.id)
                most[0] = max(most[0], count)
                if got and round_ < 11:
                    with stalls.tx() as tx:
                        assert stalls.providers.release(tx, one.id, job)
                elif got:
                    with lock:
                        held.append((one.id, job))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    assert most[0] == 5
    for one in made:
        assert in_use(stalls, one.id) == sum(1 for provider, _ in held if provider == one.id) <= 5


def test_a_provider_that_is_not_heard_from_is_not_chosen(stalls: Stalls) -> None:
    made = stalls.stall(1)
    stalls.clock.advance(59)
    assert stalls.ids(wants()) == [made.id]
    stalls.clock.advance(1)
    assert stalls.ids(wants()) == []
    with stalls.tx() as tx:
        assert not stalls.providers.reserve(tx, made.id, stalls.new_job())
        assert stalls.providers.gone(tx, [made.id], stalls.clock.now_us()) == {made.id}
        assert stalls.providers.silence_round(tx) == 1
        assert stalls.providers.silence_round(tx) == 0
    stalls.beat(1)
    assert stalls.ids(wants()) == [made.id]
    types = [event.type for event in stalls.events()]
    assert types.count("bazaar.provider.silent") == 1
    assert types.count("bazaar.provider.online") == 2


def test_an_unhealthy_or_draining_one_finishes_but_takes_nothing_new(stalls: Stalls) -> None:
    made, job = stalls.stall(1), stalls.new_job()
    with stalls.tx() as tx:
        stalls.providers.reserve(tx, made.id, job)
        stalls.providers.drain(tx, principal(owner(1)), True)
    assert stalls.ids(wants()) == []
    with stalls.tx() as tx:
        assert not stalls.providers.reserve(tx, made.id, stalls.new_job())
        assert stalls.providers.release(tx, made.id, job)
        stalls.providers.drain(tx, principal(owner(1)), False)
    assert stalls.ids(wants()) == [made.id]
    stalls.beat(1, healthy=False)
    assert stalls.ids(wants()) == []


def test_slots_that_are_taken_elsewhere_are_not_offered(stalls: Stalls) -> None:
    made = stalls.stall(1, capacity=4)
    with stalls.tx() as tx:
        stalls.providers.reserve(tx, made.id, stalls.new_job())
    stalls.beat(1, free=1)  # one of ours, two of somebody else's
    with stalls.tx() as tx:
        row = stalls.providers.view(tx, made.id).market
    assert (row.busy_elsewhere, row.slots, row.free) == (2, 2, 1)


def test_a_heartbeat_that_says_what_it_runs_is_understood_however_late_it_comes(stalls: Stalls) -> None:
    made, job = stalls.stall(1, capacity=1), stalls.new_job()
    with stalls.tx() as tx:
        stalls.providers.reserve(tx, made.id, job)
        stalls.providers.release(tx, made.id, job)
    stalls.beat(1, free=0, running=1)  # sent while the job was still there
    with stalls.tx() as tx:
        assert stalls.providers.reserve(tx, made.id, stalls.new_job())
    stalls.beat(1, free=1, running=0)  # sent before the next one was known
    with stalls.tx() as tx:
        row = stalls.providers.view(tx, made.id).market
        assert (row.in_use, row.slots, row.free) == (1, 1, 0)
        odd = stalls.providers.heartbeat(tx, principal(owner(1)), Heartbeat(True, -5, "", -5))
    assert odd.busy_elsewhere == 1


def test_a_full_or_stale_provider_is_not_in_the_index(stalls: Stalls) -> None:
    full, stale, free = stalls.stall(1, capacity=1), stalls.stall(2), stalls.stall(3)
    with stalls.tx() as tx:
        stalls.providers.reserve(tx, full.id, stalls.new_job())
        tx.run("update provider_market set alive_until_us = 0 where provider = %s", stale.id)
        stalls.providers.silence_round(tx)
        rows = tx.rows("select provider from provider_market where available")
    assert rows == [(free.id,)]


def test_heartbeats_and_slots_leave_the_indexes_alone(stalls: Stalls, superuser_dsn: str) -> None:
    """Otherwise every heartbeat of every provider would grow them."""
    made = stalls.stall(1)
    for _ in range(30):
        job = stalls.new_job()
        stalls.beat(1)
        with stalls.tx() as tx:
            assert stalls.providers.reserve(tx, made.id, job)
        with stalls.tx() as tx:
            stalls.providers.release(tx, made.id, job)
    with psycopg.connect(superuser_dsn) as root:
        root.execute("select pg_stat_force_next_flush()")
    with stalls.tx() as tx:
        tx.run("select pg_stat_force_next_flush()")
    with psycopg.connect(superuser_dsn) as root:
        row = root.execute(
            "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relname = 'provider_market'"
        ).fetchone()
    assert row is not None
    updates, in_place = row
    assert in_place >= updates - 10
