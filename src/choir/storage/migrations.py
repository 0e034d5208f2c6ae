"""Numbered SQL files, applied in order, under a lock, checked by hash.

Guarantees: a database is at a known number or the node does not start; two nodes that start at once
migrate once; a file that was edited after it was applied is noticed. Only the owner role migrates;
`{app}` in a file stands for the application role, which the file grants its rights to.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib import resources

from psycopg import errors as pg
from psycopg import sql

from choir.foundation.errors import Broken, Unavailable
from choir.storage.database import Connection

_LOCK = 0x43484F4952  # "CHOIR": one number for one lock
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")


class HistoryEdited(Broken):
    """An applied migration differs from the file of that number."""

    code = "storage.migrations.edited"
    sentence = "Migration {name} was changed after it had been applied to this database."
    hint = "Put the file back as it was and write a new migration instead."


class DatabaseNewer(Unavailable):
    """The database was migrated by a newer version."""

    code = "storage.migrations.newer"
    sentence = "The database is at migration {number}, this version of Choir knows {known}."
    hint = "Start the newer version again, or restore a backup from before the upgrade."


class NotMigrated(Unavailable):
    """Migrations are missing and this process has no owner connection to apply them."""

    code = "storage.migrations.missing"
    sentence = "The database is at migration {number} of {known}."
    hint = "Set CHOIR_DATABASE_OWNER_URL to the owner role's connection, so that the node can migrate it."


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    number: int
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def known_migrations() -> list[Migration]:
    """The files of this version, in order; each number once, and some may never have been used."""
    found = [
        Migration(int(match[1]), item.name, item.read_text(encoding="utf-8"))
        for item in resources.files("choir.storage").joinpath("migrations").iterdir()
        if (match := _NAME.fullmatch(item.name))
    ]
    found.sort(key=lambda migration: migration.number)
    assert len({migration.number for migration in found}) == len(found)
    return found


def migrate(owner: Connection, app_role: str) -> list[Migration]:
    """Bring the database up to date; returns what was applied. The connection must autocommit."""
    assert owner.autocommit
    owner.execute("select pg_advisory_lock(%s)", [_LOCK])
    try:
        owner.execute(
            "create table if not exists schema_migrations ("
            " number integer primary key, name text not null, sha256 text not null,"
            " applied_at timestamptz not null default now())"
        )
        _grant_reading(owner, app_role)
        pending = _pending(owner, known_migrations())
        for migration in pending:
            _apply(owner, migration, app_role)
        return pending
    finally:
        owner.execute("select pg_advisory_unlock(%s)", [_LOCK])


def check_migrated(connection: Connection) -> None:
    """Raise unless the database is exactly where this version expects it."""
    known = known_migrations()
    try:
        missing = _pending(connection, known)
    except pg.UndefinedTable:
        connection.rollback()
        missing = known
    if missing:
        raise NotMigrated(number=missing[0].number - 1, known=known[-1].number)


def _pending(connection: Connection, known: list[Migration]) -> list[Migration]:
    applied: dict[int, str] = dict(connection.execute("select number, sha256 from schema_migrations").fetchall())
    unknown = applied.keys() - {migration.number for migration in known}
    if unknown:
        raise DatabaseNewer(number=max(unknown), known=known[-1].number)
    for migration in known:
        if applied.get(migration.number, migration.sha256) != migration.sha256:
            raise HistoryEdited(name=migration.name)
    return [migration for migration in known if migration.number not in applied]


def _apply(owner: Connection, migration: Migration, app_role: str) -> None:
    with owner.transaction():
        owner.execute(sql.SQL(migration.text).format(app=sql.Identifier(app_role)))
        owner.execute(
            "insert into schema_migrations (number, name, sha256) values (%s, %s, %s)",
            [migration.number, migration.name, migration.sha256],
        )


def _grant_reading(owner: Connection, app_role: str) -> None:
    owner.execute(sql.SQL("grant select on schema_migrations to {}").format(sql.Identifier(app_role)))
