"""A store on a fresh database, on a clock that tests move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pytest

from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import ManualClock
from choir.objects.model import CollectionReport, StoredObject
from choir.objects.policy import ObjectsPolicy
from choir.objects.service import Objects
from choir.storage.database import Database

OWNER = "person:ada"


@dataclass(slots=True)
class Store:
    """The service with a transaction around each call, for tests that need nothing finer."""

    database: Database
    clock: ManualClock
    objects: Objects

    def with_policy(self, **numbers: int) -> Store:
        return Store(self.database, self.clock, Objects(self.clock, replace(self.objects.policy, **numbers)))

    def put_atom(self, value: Any, owner: str | None = OWNER) -> StoredObject:
        with self.database.unit_of_work() as tx:
            return self.objects.put_atom(tx, value, owner)

    def put_blob(self, *chunks: bytes, owner: str | None = OWNER, expect: ObjectHash | None = None) -> StoredObject:
        with self.database.unit_of_work() as tx:
            return self.objects.put_blob(tx, chunks, owner, expect)

    def get(self, name: ObjectHash) -> bytes:
        with self.database.unit_of_work() as tx:
            return self.objects.get(tx, name)

    def read(self, name: ObjectHash) -> list[bytes]:
        with self.database.unit_of_work() as tx:
            return list(self.objects.open(tx, name))

    def exists(self, name: ObjectHash) -> bool:
        with self.database.unit_of_work() as tx:
            return self.objects.exists(tx, name)

    def refer(self, holder: str, name: ObjectHash) -> bool:
        with self.database.unit_of_work() as tx:
            return self.objects.refer(tx, holder, name)

    def unrefer(self, holder: str, name: ObjectHash) -> bool:
        with self.database.unit_of_work() as tx:
            return self.objects.unrefer(tx, holder, name)

    def erase(self, name: ObjectHash, owner: str = OWNER) -> bool:
        with self.database.unit_of_work() as tx:
            return self.objects.erase(tx, owner, name)

    def collect(self) -> CollectionReport:
        with self.database.unit_of_work() as tx:
            return self.objects.collect(tx, self.clock.now_us())

    def used(self, owner: str = OWNER) -> int:
        with self.database.unit_of_work() as tx:
            return self.objects.usage(tx, owner).used

    def wait(self) -> None:
        """Let everything without a reference become collectable."""
        self.clock.advance(self.objects.policy.unreferenced_s)

    def count(self, table: str) -> int:
        with self.database.unit_of_work() as tx:
            return int(tx.value(f"select count(*) from {table}"))


@pytest.fixture
def store(database: Database) -> Store:
    clock = ManualClock()
    return Store(database, clock, Objects(clock, ObjectsPolicy(chunk_bytes=4096)))


@pytest.fixture
def tamper(owner_dsn: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection that may change what the application cannot."""
    with psycopg.connect(owner_dsn, autocommit=True) as connection:
        yield connection
