"""How long a selection takes among many providers, as part of `choir bench bazaar`.

The market is filled by the database itself, in the shape that real ones have: several regions, tiers and prices,
some providers full, some silent. Measured is the whole use case: query, scores and explanation.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import ProvidersPolicy
from choir.bazaar.providers import promises
from choir.bazaar.providers.selection import Selection
from choir.bazaar.providers.selection_rules import Criteria
from choir.benchmarks.measurement import latency
from choir.features import FEATURES
from choir.sandbox.model import Tier
from choir.storage.database import Database, connect
from choir.storage.embedded.cluster import DATABASE
from choir.storage.migrations import known_migrations, migrate
from choir.storage.postgres import EmbeddedPostgres

NOW_US = 1_800_000_000_000_000
_NEAR = "eu-west"


def run(folder: Path | None = None, providers: int = 10_000, selections: int = 400) -> dict[str, Any]:
    """The measurement on a database of its own, as a JSON value."""
    with tempfile.TemporaryDirectory(prefix="choir-bench-", dir=folder) as home:
        postgres = EmbeddedPostgres(Path(home))
        try:
            server = postgres.start()
            with connect(server.dsn("choir_owner", DATABASE), autocommit=True) as owner:
                migrate(owner, "choir_app", known_migrations(FEATURES))
                database = Database(server.dsn("choir_app", DATABASE)).open()
                try:
                    fill(database, providers)
                    return measure(database, providers, selections, lambda: owner.execute("analyze"))
                finally:
                    database.close()
        finally:
            postgres.stop()


def measure(
    database: Database, providers: int, selections: int, analyse: Callable[[], object] = lambda: None
) -> dict[str, Any]:
    """Select in a market that was filled: all free, only few that fit, one in ten free.

    `analyse` is what the database does by itself after a while.
    """
    analyse()
    everyone = Criteria(JobType.SANDBOX_RUN, 10**9, 10_000, near=_NEAR)
    few = replace(everyone, min_isolation=Tier.MICROVM, min_success_bps=9_000, regions=("eu",))
    told: dict[str, Any] = {
        "providers": providers,
        "all_free": timed(database, everyone, selections),
        "everybody_scored": timed(database, everyone, selections, ProvidersPolicy(look_at=10**6)),
        "few_fit": timed(database, few, selections),
    }
    told["ratios"] = {
        "all_free_of_everybody": round(told["all_free"]["p50_ms"] / told["everybody_scored"]["p50_ms"], 2)
    }
    occupy(database)
    analyse()
    told["one_in_ten_free"] = timed(database, everyone, selections)
    return told


def timed(
    database: Database, criteria: Criteria, selections: int, policy: ProvidersPolicy | None = None
) -> dict[str, Any]:
    """Percentiles of whole selections."""
    selection, samples = Selection(policy or ProvidersPolicy()), []
    for n in range(selections + 10):
        with database.unit_of_work() as tx:
            began = time.perf_counter()
            found = selection.select(tx, criteria, NOW_US, n.to_bytes(4))
            found.as_json()
            elapsed = time.perf_counter() - began
        if n >= 10:  # the first ones plan and warm up
            samples.append(elapsed)
    return {**latency(samples).as_json(), "candidates": len(found.ranked)}


def fill(database: Database, providers: int) -> None:
    """That many providers that are there and sell two types each; in a database without any."""
    with database.unit_of_work() as tx:
        tx.run(
            "insert into providers (id, owner, owner_cluster, result_key, name, model, registered_us)"
            " select md5(n::text)::uuid, 'person:' || n, 'person:' || n, sha256(n::text::bytea), 'stall', '', %s"
            " from generate_series(1, %s) n",
            NOW_US, providers,
        )  # fmt: skip
        tx.run(
            "insert into provider_market (provider, shuffle, region, area, isolation, capacity, tier, slots,"
            " alive_until_us, silent, healthy, success_bps, reputation_bps, newcomer)"
            " select md5(n::text)::uuid, a,"
            " (array['eu-west', 'eu-north', 'us-west', 'us-east', 'ap-east'])[1 + a %% 5],"
            " (array['eu', 'eu', 'us', 'us', 'ap'])[1 + a %% 5], 1 + b %% 5, 5, c %% 4, 5, %s, false, true,"
            " case when c %% 3 > 0 then 8000 + b %% 2001 end, d %% 10001, c %% 3 = 0"
            " from generate_series(1, %s) n, lateral (select hashint8extended(n, 1) & %s as a,"
            " hashint8extended(n, 2) & %s as b, hashint8extended(n, 3) & %s as c, hashint8extended(n, 4) & %s as d) x",
            NOW_US + 10**15, providers, *([2**63 - 1] * 4),
        )  # fmt: skip
        for type_ in (JobType.SANDBOX_RUN, JobType.PATCH_GEN):
            tx.run(
                "insert into provider_offers (provider, type, offered, qualification, version, base, per_unit, cap)"
                " select md5(n::text)::uuid, %s, true, 'passed', 1, 100000 + n * 7919 %% 100000,"
                " 200 + n * 104729 %% 300, 5000000"
                " from generate_series(1, %s) n",
                type_.value, providers,
            )  # fmt: skip

    policy = ProvidersPolicy()
    while database.run(lambda tx: promises.refresh_round(tx, policy, 5_000)):
        pass


def occupy(database: Database) -> None:
    """Nine in ten become full or silent."""
    with database.unit_of_work() as tx:
        tx.run("update provider_market set in_use = slots where shuffle % 10 between 1 and 5")
        tx.run("update provider_market set silent = true where shuffle % 10 > 5")
