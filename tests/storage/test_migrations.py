"""What an operator can rely on when a database is migrated."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest

from choir.features import FEATURES
from choir.identity.people.rules import skeleton
from choir.storage.database import Connection, connect
from choir.storage.migrations import (
    DatabaseNewer,
    ExtensionMissing,
    ExtensionUnknown,
    HistoryEdited,
    Migration,
    NotMigrated,
    check_migrated,
    known_migrations,
    migrate,
)
from tests.conftest import DatabaseFactory

KNOWN = known_migrations(FEATURES)

# What databases out there were made with, in the order of that time: number, file now, hash. None of it ever changes.
LANDED = (
    (1, "storage/0001_node.sql", "65911d7a2fc5475dda55b0e15cd65328fbf76ecc353a9dd2764f2f0f7a4326ae"),
    (2, "ledger/0001_ledger.sql", "39212c0f249ecea71739ffaf81c7709695776c824edf3121a2c4d41e27c1fb37"),
    (3, "objects/0001_objects.sql", "b32c3ec2f127ce499f1f9db4e26cf4956ec5663c30860ec201507880913feb3a"),
    (4, "identity/0001_identity.sql", "2a7b76fb669007290a48c0d27474d94ca2559581a45da679d8fdfa9db844d566"),
    (5, "bazaar/0001_bazaar.sql", "dd1db103727dcb5d6f34f78390b613237ebcf28beadb194dc37fa2f3696aee63"),
    (6, "bazaar/0002_providers.sql", "e6b485b877cc946cd05059f22ef61350a66649462a9f88b6061736a1f92e17af"),
    (7, "bazaar/0003_uploads.sql", "2f40a1fe259ff98b9ca079bf0984bee047d117c22b8820041696cc0d80d3d281"),
    (8, "ledger/0002_issuances.sql", "52bca5b5b9a1d6b5aefbde6642635edfc63937ae5bfaf41361444ab54641a441"),
    (9, "ledger/0003_liabilities.sql", "09c282cec03b9cb0422bfbb933997b284d6b807f813cd9291d55df61fd5a6346"),
)
# What has landed since, numbered by feature; a change of the schema is a further file.
SINCE = {
    "storage/0002_subscribers.sql": "267f8028d8b6acec7d226f25d85b3f34e14528cc2b0cca590097ef196aa960bb",
    "identity/0002_handles_and_tokens.sql": "a1f8ecdd7f5c7f1a382ff510976a2c4836b2a16856488150cf6fd0d1c1c21ac6",
    "identity/0003_homes.sql": "ba3a20a1652ac89845a59fd06198cec97a148f99955164e88b7318fd3a9cb033",
    "bazaar/0004_holds_of_disputes.sql": "7a223177528a6af0ce2fbeb4f485b49710757f46ab6d25a12a5cbd770a6c2571",
    "bazaar/0005_absences.sql": "3fda1c97721867a230d51bd1e62d738f74af1eb77eb4a02ffdc9c948caea4adf",
    "bazaar/0006_job_summaries.sql": "ed8f92da5cd0701f45317d145b534eb95cabeff212f9a59d21034911668d46f4",
    "bazaar/0007_public_jobs.sql": "263b5c8724d9b67bdd604dd3fb115746cac7ac166af661256f5c3fa4dec9c300",
    "objects/0002_blobs_become_atoms.sql": "3a8ddeaf8c876a4de408673d7d5fba11a04be72438e5bec6c4aef2b0870d2c8c",
    "identity/0004_confirmations.sql": "2e7816ff399560eaf44bccab3f319bb39578e84563e56111d8469714cefd837f",
    "identity/0005_operator_sessions.sql": "2529fb9d10392d57d0dcd5f489be3368f620ea98e889d928950af9cdc3f1ebed",
    "treasury/0001_treasury.sql": "c7c1490e2750f9a453e993ef4768224ada901232b11c57258d24d8f8f8728462",
    "commons/0001_commons.sql": "65e82fa3e261e28497fbedac75ce9c9cb3751cb148413a7191932b7a79f06869",
    "commons/0002_novelty.sql": "ca4fd3e96cdaf98e981227d80b090d2e10f2a01b0e9af9fbc230235f4a06bfe0",
    "commons/0003_takedowns.sql": "5d0a4a6ec3d5ed76c5e49d3e28e46ff5ee6649df3ce624009cc7ab52acc1582a",
    "relay/0001_relay.sql": "4dd61f999582e9aa1bf7968f0bfadcc002fa75fd6980dd1a5f2e94be3338143e",
    "bazaar/0008_jobs_by_state.sql": "aef7a352e37a89bf3b923e284a1691d467a9adc63d4e9943f11999590bf68dfa",
    "bazaar/0009_extras.sql": "1f6f620a24480a4be4363b30a429e6b8173244952aabbc0bf79dd9f62a1a868e",
    "bazaar/0010_market.sql": "719281c7d0953da2b35f5e3d7e04ce06063897bcb4027ba52bc355d40859cea5",
    "identity/0006_referrals.sql": "a28fc433d13409c2e0b8dffdfda234fd8a62c49a6711b258589299115f7a96fc",
    "storage/0003_failing_tasks.sql": "83cd75fd28bba96242311964e7777957a343c9eb59d1b0e4901aa77cf61cb67f",
}


@pytest.fixture
def owner(owner_dsn: str) -> Iterator[Connection]:
    with connect(owner_dsn, autocommit=True) as owner:
        yield owner


def test_migrating_again_does_nothing(owner: Connection) -> None:
    assert migrate(owner, "choir_app", KNOWN) == []
    check_migrated(owner, KNOWN)


def test_two_nodes_that_start_at_once_migrate_once(owner: Connection, owner_dsn: str) -> None:
    _empty(owner)

    def start(_: int) -> int:
        with connect(owner_dsn, autocommit=True) as owner:
            return len(migrate(owner, "choir_app", KNOWN))

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(start, range(4))) == [0, 0, 0, len(KNOWN)]


def test_an_edited_migration_is_noticed(owner: Connection) -> None:
    owner.execute("update schema_migrations set sha256 = 'other' where feature = 'ledger' and number = 1")
    with pytest.raises(HistoryEdited):
        migrate(owner, "choir_app", KNOWN)


@pytest.mark.parametrize("feature", ["ledger", "a_feature_of_later"])
def test_an_older_version_refuses_a_newer_database(owner: Connection, feature: str) -> None:
    owner.execute(
        "insert into schema_migrations (feature, number, name, sha256) values (%s, 9999, 'x', 'y')", [feature]
    )
    with pytest.raises(DatabaseNewer):
        check_migrated(owner, KNOWN)


def test_a_node_without_owner_rights_says_what_is_missing(owner: Connection) -> None:
    owner.execute("delete from schema_migrations where feature = 'ledger' and number = 2")
    with pytest.raises(NotMigrated):
        check_migrated(owner, KNOWN)


def test_the_application_role_cannot_migrate(database_name: str, databases: object, owner_dsn: str) -> None:
    app_dsn = owner_dsn.replace("choir_owner", "choir_app")
    with connect(app_dsn, autocommit=True) as app, pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("create table sneaky (x integer)")


def test_people_whose_handles_read_alike_before_they_were_compared_stay(owner: Connection) -> None:
    handles = ["marlow", "rnarlow", "mar1ow", "bob", "b0b", "w_-w", "vv_vv", "a--b__-c", "ann_lee", "annlee"]
    owner.execute("delete from schema_migrations where feature = 'identity' and number = 2")
    owner.execute("alter table people drop column handle_skeleton")
    owner.execute("alter table delegations drop column by_token")
    for n, handle in enumerate([*handles, None]):
        values = [UUID(int=n), handle, bytes([n]) * 32, n]
        owner.execute("insert into people (id, handle, user_handle, created_us) values (%s, %s, %s, %s)", values)
    assert [migration.place for migration in migrate(owner, "choir_app", KNOWN)] == [("identity", 2)]
    found = owner.execute("select handle, handle_skeleton from people order by created_us").fetchall()
    assert [handle for handle, _ in found] == [*handles, None]
    oldest = {skeleton(handle): handle for handle in reversed(handles)}
    assert {handle: made for handle, made in found if made} == {handle: made for made, handle in oldest.items()}


def test_an_extension_that_the_owner_may_not_add_is_named_with_what_to_type(
    owner: Connection, databases: DatabaseFactory, database_name: str
) -> None:
    _empty(owner)
    superuser = databases.server.dsn("postgres", database_name)
    with connect(superuser, autocommit=True) as admin:
        admin.execute("drop extension vector cascade")
    with pytest.raises(ExtensionMissing) as refused:
        migrate(owner, "choir_app", KNOWN)
    said = f"{refused.value} {refused.value.advice}"
    assert f"in the database {database_name}, type: create extension vector;" in said
    assert "choir_owner" in said
    assert owner.execute("select count(*) from schema_migrations").fetchone() == (0,)  # nothing was begun
    with connect(superuser, autocommit=True) as admin:
        admin.execute("create extension vector")
    assert len(migrate(owner, "choir_app", KNOWN)) == len(KNOWN)


def test_an_extension_that_is_not_installed_is_named(owner: Connection) -> None:
    odd = Migration("odd", 1, "0001_odd.sql", "create extension if not exists no_such_extension;\n")
    with pytest.raises(ExtensionUnknown, match="no_such_extension"):
        migrate(owner, "choir_app", [*KNOWN, odd])


# Databases that were made before features had numbers of their own


def test_what_was_released_is_never_edited() -> None:
    now = {f"{migration.feature}/{migration.name}": migration.sha256 for migration in KNOWN}
    landed = {name: sha256 for _, name, sha256 in LANDED} | SINCE
    assert {name: now.get(name) for name in landed} == landed


def test_a_database_of_before_comes_to_the_same_tables_as_a_new_one(owner: Connection) -> None:
    new = _tables(owner)
    with _of_before(owner):
        with pytest.raises(NotMigrated):
            check_migrated(owner, KNOWN)
        applied = migrate(owner, "choir_app", KNOWN)
    assert len(applied) == len(KNOWN) - len(LANDED)
    check_migrated(owner, KNOWN)
    assert _tables(owner) == new
    assert migrate(owner, "choir_app", KNOWN) == []


def test_a_database_of_before_that_was_edited_is_refused_and_left_as_it_was(owner: Connection) -> None:
    with _of_before(owner):
        owner.execute("update schema_migrations set sha256 = 'other' where number = 5")
        with pytest.raises(HistoryEdited):
            migrate(owner, "choir_app", KNOWN)
    assert owner.execute("select count(*), max(number) from schema_migrations").fetchone() == (9, 9)


def _empty(owner: Connection) -> None:
    owner.execute("drop owned by choir_owner cascade")
    owner.execute("create schema if not exists public")


@contextmanager
def _of_before(owner: Connection) -> Iterator[None]:
    """The tables as an earlier version made and recorded them."""
    _empty(owner)
    files = {f"{migration.feature}/{migration.name}": migration for migration in KNOWN}
    migrate(owner, "choir_app", [files[name] for _, name, _ in LANDED])
    owner.execute("drop table schema_migrations")
    owner.execute(
        "create table schema_migrations (number integer primary key, name text not null, sha256 text not null,"
        " applied_at timestamptz not null default now())"
    )
    for number, name, sha256 in LANDED:
        owner.execute(
            "insert into schema_migrations (number, name, sha256) values (%s, %s, %s)", [number, name, sha256]
        )
    yield


def _tables(owner: Connection) -> list[tuple[object, ...]]:
    """Every column, index, constraint and grant, in an order of its own."""
    return [
        *owner.execute(
            "select table_name, column_name, data_type, is_nullable, column_default, is_generated"
            " from information_schema.columns where table_schema = 'public' order by 1, 2"
        ).fetchall(),
        *owner.execute("select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 2"),
        *owner.execute(
            "select conrelid::regclass::text, conname, pg_get_constraintdef(oid) from pg_constraint"
            " where connamespace = 'public'::regnamespace order by 1, 2"
        ),
        *owner.execute(
            "select grantee, table_name, column_name, privilege_type from information_schema.column_privileges"
            " where table_schema = 'public' order by 1, 2, 3, 4"
        ),
        *owner.execute("select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace order by 1, 2"),
    ]
