"""What a selection costs does not grow with providers that cannot be chosen, and little with those that can."""

from __future__ import annotations

from typing import Any

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import selection_store
from choir.bazaar.providers.selection_rules import Criteria
from choir.benchmarks import bazaar_selection
from choir.storage.database import Database, Tx
from tests.conftest import DatabaseFactory

POLICY = ProvidersPolicy(bond_msat=0)  # what a bond changes is in test_bonds
WANTED = Criteria(JobType.SANDBOX_RUN, 10**9, 10_000, near="eu-west")


class Counting(Tx):
    """Counts the pages that a statement reads, by asking the database to explain it."""

    __slots__ = ()

    def rows(self, sql: Any, *params: Any) -> list[tuple[Any, ...]]:
        self.run("set local plan_cache_mode = force_custom_plan")
        (told,) = super().rows("explain (analyze, buffers, format json) " + sql, *params)
        plan = told[0][0]["Plan"]
        return [(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],)]


def pages_read(database: Database, look_at: int | None) -> int:
    with database.unit_of_work() as tx:
        start, params = selection_store._candidates(WANTED, bazaar_selection.NOW_US, POLICY, look_at)
        found = Counting(tx.connection).rows(start + " select count(*) from affordable", *params)
    return int(found[0][0])


def fresh(databases: DatabaseFactory, providers: int) -> Database:
    database = Database(databases.server.dsn("choir_app", databases.make())).open()
    bazaar_selection.fill(database, providers)
    return database


def test_looking_at_the_highest_promises_costs_the_same_in_a_market_ten_times_as_large(
    databases: DatabaseFactory,
) -> None:
    small, large = (fresh(databases, count) for count in (1_500, 15_000))
    try:
        few, many = pages_read(small, POLICY.look_at), pages_read(large, POLICY.look_at)
        assert many < 2 * few
        told = bazaar_selection.timed(large, WANTED, 20)
        assert told["candidates"] == POLICY.candidates_max
    finally:
        small.close()
        large.close()


def test_providers_that_are_full_or_silent_are_not_looked_at(databases: DatabaseFactory) -> None:
    database = fresh(databases, 3_000)
    try:
        with database.unit_of_work() as tx:
            tx.run("update provider_market set silent = true where shuffle % 100 > 0")
        with database.unit_of_work() as tx:
            tx.run("set local enable_seqscan = off")
            tx.run("set local enable_hashjoin = off")
            tx.run("set local enable_mergejoin = off")
            rows = tx.rows(
                "explain (analyze, format json) select 1 from provider_market where available and alive_until_us > %s",
                bazaar_selection.NOW_US,
            )
        plan = rows[0][0][0]["Plan"]
        assert plan.get("Index Name") == "provider_market_available" or plan["Plans"][0]["Index Name"]
        assert plan["Actual Rows"] < 100
        assert plan.get("Rows Removed by Filter", 0) == 0
    finally:
        database.close()
