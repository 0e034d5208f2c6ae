"""Caps and revocations under many clients at once, in real processes on real PostgreSQL."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import Pool
from typing import Any
from uuid import UUID

from choir.foundation.clock import ManualClock
from choir.identity.credentials.model import BadCredential
from choir.identity.delegations.model import CapExceeded, DelegationEnded, Period
from choir.identity.model import person_owner
from choir.ledger import holds
from choir.storage.database import Database
from tests.identity.agency import SHOP, Agency, cap, paid, placed, session

PROCESSES, THREADS = 2, 8


def in_processes(work: Callable[..., Any], *arguments: Any) -> list[Any]:
    """Run the work in every process, with its number first."""
    with _pool() as pool:
        return pool.starmap(work, [(n, *arguments) for n in range(PROCESSES)])


def _pool() -> Pool:
    return multiprocessing.get_context("spawn").Pool(PROCESSES)


def _threads(dsn: str, at_us: int, work: Callable[[Agency, int], int]) -> list[int]:
    """Run the work in threads that start together, on a pool of this process's own."""
    database = Database(dsn, connections_max=THREADS, wait_s=60).open()
    agency = Agency(database, ManualClock(at_us), seed=None)
    barrier = threading.Barrier(THREADS)

    def run(n: int) -> int:
        barrier.wait()
        return work(agency, n)

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(run, range(THREADS)))
    finally:
        database.close()


def _pay_until_refused(n: int, dsn: str, at_us: int, delegation: UUID, account: str, amount: int) -> list[int]:
    """How many payments each thread got through before the cap was met."""

    def work(agency: Agency, thread: int) -> int:
        principal, done = agency.principal(delegation), 0
        while True:
            try:
                agency.pay(principal, paid(f"{n} {thread} {done}", account, SHOP, amount))
            except CapExceeded:
                return done
            done += 1

    return _threads(dsn, at_us, work)


def test_racing_clients_in_two_processes_spend_exactly_the_cap(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(1000), cap(5000, Period.TOTAL))
    leaf = agency.narrow(root, agent, cap(900, Period.WEEK))
    account = agency.fund(person_owner(person), 10_000)
    dsn = agency.database.conninfo
    done = in_processes(_pay_until_refused, dsn, agency.clock.at_us, leaf.id, account, 7)
    assert sum(sum(each) for each in done) == 900 // 7
    assert agency.balance(SHOP) == 900 // 7 * 7 == agency.spent(root.id) == agency.spent(leaf.id, Period.WEEK)


def test_siblings_share_what_their_parent_has(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(500))
    leaves = [agency.narrow(root, agent, cap(500)) for _ in range(PROCESSES)]
    account = agency.fund(person_owner(person), 10_000)
    with _pool() as pool:
        done = pool.starmap(
            _pay_until_refused,
            [(n, agency.database.conninfo, agency.clock.at_us, leaf.id, account, 3) for n, leaf in enumerate(leaves)],
        )
    assert sum(sum(each) for each in done) == 500 // 3
    assert agency.spent(root.id) == 500 // 3 * 3 == sum(agency.spent(leaf.id) for leaf in leaves)


def _pay_until_ended(n: int, dsn: str, at_us: int, delegation: UUID, account: str, token: str) -> list[int]:
    def work(agency: Agency, thread: int) -> int:
        principal, done = agency.principal(delegation), 0
        while True:
            try:
                agency.pay(principal, paid(f"{n} {thread} {done}", account, SHOP, 1))
            except DelegationEnded:
                break
            done += 1
        try:
            with agency.tx() as tx:
                agency.tokens.principal_of(tx, token)
        except (DelegationEnded, BadCredential):
            return done
        raise AssertionError("the token outlived its delegation")

    return _threads(dsn, at_us, work)


def test_once_a_revocation_is_committed_nothing_more_is_posted_anywhere(agency: Agency) -> None:
    person = agency.person()
    agent = agency.agent(person).id
    root = agency.grant(person, agent, cap(10**9))
    leaf = agency.narrow(root, agent, cap(10**9))
    account = agency.fund(person_owner(person), 10**9)
    with agency.tx() as tx:
        token = agency.tokens.for_delegation(
            tx, session(person), leaf.id, name="t", scopes=leaf.scopes, expires_us=leaf.expires_us
        )
    before = agency.head()
    arguments = (agency.database.conninfo, agency.clock.at_us, leaf.id, account, token.text.reveal())
    with _pool() as pool:
        running = pool.starmap_async(_pay_until_ended, [(n, *arguments) for n in range(PROCESSES)])
        while agency.head() < before + 100:
            time.sleep(0.01)
        started = time.monotonic()
        agency.revoke(root)
        took_s = time.monotonic() - started
        at_revocation = agency.head()
        done = running.get(timeout=60)
    assert agency.head() == at_revocation
    assert before + sum(sum(each) for each in done) == at_revocation
    assert took_s < 5  # sixteen clients in a row do not keep it waiting


def _hold_and_release(n: int, dsn: str, at_us: int, delegation: UUID, account: str) -> list[int]:
    def work(agency: Agency, thread: int) -> int:
        principal = agency.principal(delegation)
        refused = 0
        for round_ in range(12):
            key = f"{n} {thread} {round_}"
            try:
                agency.pay(principal, placed(key, account, 10, at_us + 10**8))
            except CapExceeded:
                refused += 1
                continue
            hold = holds.placed_id("test", key)
            agency.settle(holds.release(hold, reason="no", source="test", key=f"release {key}"))
        return refused

    return _threads(dsn, at_us, work)


def test_holds_that_come_and_go_leave_caps_as_they_were(agency: Agency) -> None:
    """Spends hold the chain and wait for the head; releases must not do it the other way round."""
    person = agency.person()
    granted = agency.grant(person, agency.agent(person).id, cap(60))
    account = agency.fund(person_owner(person), 10_000)
    in_processes(_hold_and_release, agency.database.conninfo, agency.clock.at_us, granted.id, account)
    assert agency.spent(granted.id) == 0
    assert agency.balance(account) == 10_000


def test_the_same_request_from_all_sides_is_posted_and_charged_once(agency: Agency) -> None:
    person = agency.person()
    granted = agency.grant(person, agency.agent(person).id, cap(100))
    account = agency.fund(person_owner(person), 10_000)
    principal = agency.principal(granted.id)
    before = agency.head()

    def work(_: int) -> bool:
        return agency.pay(principal, paid("the one", account, SHOP, 60))[0].again

    with ThreadPoolExecutor(THREADS) as pool:
        assert sorted(pool.map(work, range(THREADS))) == [False] + [True] * (THREADS - 1)
    assert (agency.head(), agency.spent(granted.id)) == (before + 1, 60)


def test_an_agent_that_is_retired_meanwhile_gets_nothing_more(agency: Agency) -> None:
    person = agency.person()
    for _ in range(5):
        agent = agency.agent(person)
        with ThreadPoolExecutor(THREADS) as pool:
            for _ in range(THREADS - 1):
                pool.submit(agency.grant, person, agent.id, cap(1))
            with agency.tx() as tx:
                agency.agents.retire(tx, session(person), agent.id)
        with agency.tx() as tx:
            live = tx.value("select count(*) from delegations where agent = %s and revoked_us is null", agent.id)
        assert live == 0
