"""Numbered SQL files of each feature, applied in order, under a lock, checked by hash.

Guarantees: a database is exactly where this version expects it or the node does not start; two nodes that start at
once migrate once; a file that was edited after it was applied is noticed. A feature's files come after those of the
features it stands on. Only the owner role migrates; `{app}` in a file stands for the application role, which the file
grants its rights to.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

from psycopg import errors as pg
from psycopg import sql

from choir.foundation.errors import Broken, Unavailable
from choir.storage.database import Connection

_LOCK = 0x43484F4952  # "CHOIR": one number for one lock
_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
_EXTENSION = re.compile(r"^create extension if not exists (\w+);", re.MULTILINE)


class HistoryEdited(Broken):
    """An applied migration differs from the file of that number."""

    code = "storage.migrations.edited"
    sentence = "Migration {name} was changed after it had been applied to this database."
    hint = "Restore the file and write a new migration instead."


class DatabaseNewer(Unavailable):
    """The database was migrated by a newer version."""

    code = "storage.migrations.newer"
    sentence = "The database is at migration {number}; this version of Choir knows {known}."
    hint = "Start the newer version again, or restore a backup from before the upgrade."


class NotMigrated(Unavailable):
    """Migrations are missing and this process has no owner connection to apply them."""

    code = "storage.migrations.missing"
    sentence = "The database is at migration {number} of {known}."
    hint = "Set CHOIR_DATABASE_OWNER_URL to the owner role's connection, so that the node can migrate it."


class ExtensionMissing(Unavailable):
    """A migration needs an extension of PostgreSQL that the owner role cannot add to the database."""

    code = "storage.migrations.extension_missing"
    sentence = "The database {database} has no extension {extension}, and the role {role} may not add it."
    hint = "As a superuser, in the database {database}, type: create extension {extension};"


class ExtensionUnknown(Unavailable):
    """A migration needs an extension that is not installed on PostgreSQL's machine."""

    code = "storage.migrations.extension_unknown"
    sentence = "This PostgreSQL does not have the extension {extension}."
    hint = (
        "Install it where PostgreSQL runs (vector: pgvector 0.8 or newer). Then, as a superuser, in the database"
        " {database}, type: create extension {extension};"
    )


@dataclass(frozen=True, slots=True)
class Migration:
    """One file."""

    feature: str
    number: int  # within the feature
    name: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def place(self) -> tuple[str, int]:
        return self.feature, self.number


def known_migrations(features: Sequence[str]) -> list[Migration]:
    """The files of these packages, in the order in which they are applied."""
    return [migration for package in features for migration in _of_package(package)]


def _of_package(package: str) -> list[Migration]:
    """A feature's own files; numbers are gapless from 1."""
    folder = resources.files(package).joinpath("migrations")
    if not folder.is_dir():
        return []
    feature = package.rpartition(".")[2]
    found = [
        Migration(feature, int(match[1]), item.name, item.read_text(encoding="utf-8"))
        for item in folder.iterdir()
        if (match := _NAME.fullmatch(item.name))
    ]
    found.sort(key=lambda migration: migration.number)
    assert [migration.number for migration in found] == list(range(1, len(found) + 1)), package
    return found


def migrate(owner: Connection, app_role: str, known: Sequence[Migration]) -> list[Migration]:
    """Bring the database up to date; returns what was applied. The connection must autocommit."""
    assert owner.autocommit
    owner.execute("select pg_advisory_lock(%s)", [_LOCK])
    try:
        with owner.transaction():
            _make_table(owner, known)
        _grant_reading(owner, app_role)
        pending = _pending(owner, known)
        _add_extensions(owner, pending)
        for migration in pending:
            _apply(owner, migration, app_role)
        return pending
    finally:
        owner.execute("select pg_advisory_unlock(%s)", [_LOCK])


def check_migrated(connection: Connection, known: Sequence[Migration]) -> None:
    """Raise unless the database is exactly where this version expects it."""
    try:
        missing = _pending(connection, known)
    except (pg.UndefinedTable, pg.UndefinedColumn):  # none yet, or from before features had numbers of their own
        connection.rollback()
        missing = list(known)
    if missing:
        raise NotMigrated(number=len(known) - len(missing), known=len(known))


def _pending(connection: Connection, known: Sequence[Migration]) -> list[Migration]:
    rows = connection.execute("select feature, number, sha256 from schema_migrations").fetchall()
    applied: dict[tuple[str, int], str] = {(feature, number): sha256 for feature, number, sha256 in rows}
    if applied.keys() - {migration.place for migration in known}:
        raise DatabaseNewer(number=len(applied), known=len(known))
    for migration in known:
        if applied.get(migration.place, migration.sha256) != migration.sha256:
            raise HistoryEdited(name=f"{migration.feature}/{migration.name}")
    return [migration for migration in known if migration.place not in applied]


def _make_table(owner: Connection, known: Sequence[Migration]) -> None:
    owner.execute(
        "create table if not exists schema_migrations ("
        " feature text not null, number integer not null, name text not null, sha256 text not null,"
        " applied_at timestamptz not null default now(), primary key (feature, number))"
    )
    if owner.execute(_HAS_FEATURES).fetchone() is None:
        _give_features(owner, known)


def _give_features(owner: Connection, known: Sequence[Migration]) -> None:
    """Files were once numbered in one row for all features. Which one was applied is told by its hash."""
    by_hash = {migration.sha256: migration for migration in known}
    rows = owner.execute("select number, name, sha256 from schema_migrations").fetchall()
    owner.execute("alter table schema_migrations drop constraint schema_migrations_pkey, add column feature text")
    for number, name, sha256 in rows:
        if sha256 not in by_hash:
            raise HistoryEdited(name=name)
        now = by_hash[sha256]
        owner.execute(
            "update schema_migrations set feature = %s, number = %s, name = %s where sha256 = %s and number = %s"
            " and feature is null",
            [now.feature, now.number, now.name, sha256, number],
        )
    owner.execute("alter table schema_migrations alter column feature set not null, add primary key (feature, number)")


_HAS_FEATURES = """
    select 1 from information_schema.columns
    where table_schema = current_schema() and table_name = 'schema_migrations' and column_name = 'feature'
"""


def _add_extensions(owner: Connection, pending: Sequence[Migration]) -> None:
    """Before anything is changed: a superuser may have to help, and shall find a database as it was."""
    for name in dict.fromkeys(match[1] for migration in pending for match in _EXTENSION.finditer(migration.text)):
        if owner.execute("select 1 from pg_extension where extname = %s", [name]).fetchone() is not None:
            continue
        where = {"extension": name, "database": owner.info.dbname}
        try:
            owner.execute(sql.SQL("create extension if not exists {}").format(sql.Identifier(name)))
        except pg.InsufficientPrivilege:
            raise ExtensionMissing(role=owner.info.user, **where) from None
        except (pg.FeatureNotSupported, pg.UndefinedFile):
            raise ExtensionUnknown(**where) from None


def _apply(owner: Connection, migration: Migration, app_role: str) -> None:
    with owner.transaction():
        owner.execute(sql.SQL(migration.text).format(app=sql.Identifier(app_role)))
        owner.execute(
            "insert into schema_migrations (feature, number, name, sha256) values (%s, %s, %s, %s)",
            [migration.feature, migration.number, migration.name, migration.sha256],
        )


def _grant_reading(owner: Connection, app_role: str) -> None:
    owner.execute(sql.SQL("grant select on schema_migrations to {}").format(sql.Identifier(app_role)))
