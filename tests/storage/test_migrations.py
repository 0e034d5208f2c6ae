"""What an operator can rely on when a database is migrated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import psycopg
import pytest

from choir.identity.people_rules import skeleton
from choir.storage import migrations
from choir.storage.database import connect
from choir.storage.migrations import DatabaseNewer, HistoryEdited, NotMigrated, check_migrated, migrate


def test_migrating_again_does_nothing(owner_dsn: str) -> None:
    with connect(owner_dsn, autocommit=True) as owner:
        assert migrate(owner, "choir_app") == []
        check_migrated(owner)


def test_two_nodes_that_start_at_once_migrate_once(databases: object, owner_dsn: str) -> None:
    with connect(owner_dsn, autocommit=True) as owner:
        owner.execute("drop owned by choir_owner cascade")
        owner.execute("create schema if not exists public")

    def start(_: int) -> int:
        with connect(owner_dsn, autocommit=True) as owner:
            return len(migrate(owner, "choir_app"))

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(start, range(4))) == [0, 0, 0, len(migrations.known_migrations())]


def test_an_edited_migration_is_noticed(owner_dsn: str) -> None:
    with connect(owner_dsn, autocommit=True) as owner:
        owner.execute("update schema_migrations set sha256 = 'other' where number = 1")
        with pytest.raises(HistoryEdited):
            migrate(owner, "choir_app")


def test_an_older_version_refuses_a_newer_database(owner_dsn: str) -> None:
    with connect(owner_dsn, autocommit=True) as owner:
        owner.execute("insert into schema_migrations (number, name, sha256) values (9999, 'x', 'y')")
        with pytest.raises(DatabaseNewer):
            check_migrated(owner)


def test_a_node_without_owner_rights_says_what_is_missing(owner_dsn: str) -> None:
    with connect(owner_dsn, autocommit=True) as owner:
        owner.execute("delete from schema_migrations where number = 2")
        with pytest.raises(NotMigrated):
            check_migrated(owner)


def test_people_whose_handles_read_alike_before_they_were_compared_stay(owner_dsn: str) -> None:
    handles = ["marlow", "rnarlow", "mar1ow", "bob", "b0b", "w_-w", "vv_vv", "a--b__-c", "ann_lee", "annlee"]
    with connect(owner_dsn, autocommit=True) as owner:
        owner.execute("delete from schema_migrations where number = 14")
        owner.execute("alter table people drop column handle_skeleton")
        owner.execute("alter table delegations drop column by_token")
        for n, handle in enumerate([*handles, None]):
            values = [UUID(int=n), handle, bytes([n]) * 32, n]
            owner.execute("insert into people (id, handle, user_handle, created_us) values (%s, %s, %s, %s)", values)
        assert [migration.number for migration in migrate(owner, "choir_app")] == [14]
        found = owner.execute("select handle, handle_skeleton from people order by created_us").fetchall()
    assert [handle for handle, _ in found] == [*handles, None]
    oldest = {skeleton(handle): handle for handle in reversed(handles)}
    assert {handle: made for handle, made in found if made} == {handle: made for made, handle in oldest.items()}


def test_the_application_role_cannot_migrate(database_name: str, databases: object, owner_dsn: str) -> None:
    app_dsn = owner_dsn.replace("choir_owner", "choir_app")
    with connect(app_dsn, autocommit=True) as app, pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("create table sneaky (x integer)")
