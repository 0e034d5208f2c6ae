"""Fixtures: one real PostgreSQL for a test run's worker, one migrated database for each test.

A migrated template is cloned for each test that asks for `database`, which is fast and leaves tests
alone with their data. fsync is off here; the tests that kill things run their own durable server.

How a run is shared out: tests wait about as long as they compute (for disks, for processes to start, for limits to be
reached), so there are twice as many workers as cores; the longest tests begin first, so that no worker ends alone.
"""

from __future__ import annotations

import os
import signal
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql

from choir.features import FEATURES
from choir.storage.database import Database, connect
from choir.storage.migrations import known_migrations, migrate
from choir.storage.postgres import EmbeddedPostgres, Server
from tests.depth import times
from tests.places import throw_away

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as where a run is put in the background; programs inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "house",
    max_examples=times(30, 100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("house")

TEMPLATE = "choir_template"
_WORKERS_MAX = 8  # each has a database, and some a browser; many cores need no more than that


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """What `-n auto` means here, and `-n logical` for tests that hardly wait: each worker takes seconds to begin."""
    cores = len(os.sched_getaffinity(0))
    if config.option.numprocesses == "logical":
        return min(cores, _WORKERS_MAX)
    return max(cores, min(2 * cores, _WORKERS_MAX))


@pytest.hookimpl(tryfirst=True)  # before those are left out that the marks do not choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first; otherwise a module's tests stay together, because they may share a node."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(pytest.mark.scaled)  # the deep tests try each of them more often
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


class DatabaseFactory:
    """Makes fresh databases on one server."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self._admin = psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True)
        self._create(TEMPLATE, template="template0")
        with connect(server.dsn("postgres", TEMPLATE), autocommit=True) as superuser:
            superuser.execute("create extension if not exists vector")
        with connect(server.dsn("choir_owner", TEMPLATE), autocommit=True) as owner:
            migrate(owner, "choir_app", known_migrations(FEATURES))

    def make(self, template: str = TEMPLATE) -> str:
        """The name of a new migrated database, or of a copy of one that nobody is connected to."""
        name = f"test_{uuid.uuid4().hex[:12]}"
        self._create(name, template=template)
        return name

    def drop(self, name: str) -> None:
        self._admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))

    def _create(self, name: str, template: str) -> None:
        self._admin.execute(
            sql.SQL("create database {} owner choir_owner template {} strategy file_copy").format(
                sql.Identifier(name), sql.Identifier(template)
            )
        )

    def close(self) -> None:
        self._admin.close()


@pytest.fixture(scope="session")
def databases() -> Iterator[DatabaseFactory]:
    """A server of this worker's own; it ends with the worker."""
    with tempfile.TemporaryDirectory(prefix="choir-test-", dir=throw_away()) as home:
        postgres = EmbeddedPostgres(Path(home), durable=False)
        try:
            factory = DatabaseFactory(postgres.start())
            yield factory
            factory.close()
        finally:
            postgres.stop()


@pytest.fixture
def database_name(databases: DatabaseFactory) -> Iterator[str]:
    """A fresh database."""
    name = databases.make()
    yield name
    databases.drop(name)


@pytest.fixture
def database(databases: DatabaseFactory, database_name: str) -> Iterator[Database]:
    """A pool on a fresh database, as the application role."""
    pool = Database(databases.server.dsn("choir_app", database_name), wait_s=30).open()
    yield pool
    pool.close()


@pytest.fixture
def owner_dsn(databases: DatabaseFactory, database_name: str) -> str:
    """How the owner role reaches the fresh database."""
    return databases.server.dsn("choir_owner", database_name)


@pytest.fixture
def superuser_dsn(databases: DatabaseFactory, database_name: str) -> str:
    """How the superuser reaches it: for tests that tamper."""
    return databases.server.dsn("postgres", database_name)


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Public test vectors beside the project; tests that need them skip where they are not."""
    folder = Path(__file__).parents[2] / "shared" / "vectors"
    if not folder.is_dir():
        pytest.skip("no test vectors beside the project")
    return folder
