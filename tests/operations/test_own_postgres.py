"""An operator's own PostgreSQL: looked at before anything is made, and remembered when its address is forgotten."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from choir.ledger.notes import VerifierKey
from tests.conftest import DatabaseFactory
from tests.operations.nodes import ADA, BOB, Done, NodeUnderTest, fund, new_node

pytestmark = pytest.mark.deep

FORGOTTEN = {"CHOIR_DATABASE_URL": "", "CHOIR_DATABASE_OWNER_URL": ""}


class Own:
    """An empty database, as its operator names it in the environment."""

    def __init__(self, databases: DatabaseFactory) -> None:
        self.name = f"own_{uuid.uuid4().hex[:12]}"
        self._databases = databases
        with psycopg.connect(databases.server.dsn("postgres", "postgres"), autocommit=True) as admin:
            admin.execute(
                sql.SQL("create database {} owner choir_owner template template0").format(sql.Identifier(self.name))
            )
        with psycopg.connect(databases.server.dsn("postgres", self.name), autocommit=True) as admin:
            admin.execute("create extension vector")
        self.app = make_conninfo(databases.server.dsn("choir_app", self.name), password="hush-app")
        self.owner = make_conninfo(databases.server.dsn("choir_owner", self.name), password="hush-owner")

    @property
    def environment(self) -> dict[str, str]:
        return {"CHOIR_DATABASE_URL": self.app, "CHOIR_DATABASE_OWNER_URL": self.owner}

    def tables(self) -> int:
        with psycopg.connect(self.owner) as owner:
            row = owner.execute("select count(*) from pg_tables where schemaname = 'public'").fetchone()
        assert row is not None
        return int(row[0])

    def drop(self) -> None:
        self._databases.drop(self.name)


@pytest.fixture
def empty(databases: DatabaseFactory) -> Iterator[Own]:
    made = Own(databases)
    yield made
    made.drop()


@pytest.fixture(scope="module")
def theirs(databases: DatabaseFactory) -> Iterator[NodeUnderTest]:
    """A stopped node on its operator's database. `early.tar` is from before its key was replaced, with all entries;
    `late.tar` has one more entry and is of today."""
    made = Own(databases)
    with new_node(**made.environment) as node:
        fund(node.up())
        assert node.run("backup", "early.tar").code == 0
        assert node.run("key", "rotate").code == 0
        shutil.copy(node.home / "checkpoint.note", node.temporary / "early.note")
        with node.client() as client:
            client.transfer(ADA, BOB, 1, reason="a test")
            client.checkpoint()
        assert node.run("backup", "late.tar").code == 0
        assert node.stop() == 0
        yield node
    made.drop()


@pytest.fixture
def other() -> Iterator[NodeUnderTest]:
    """A home that is not there yet, for the embedded database."""
    with new_node() as made:
        yield made


def test_the_doctor_finds_an_empty_database_as_good_as_none(other: NodeUnderTest, empty: Own) -> None:
    ready = other.run("doctor", env=empty.environment)
    assert ready.code == 0, ready.out + ready.err
    assert "note   ledger: there is none yet in this database\n       `choir up` creates it.\n" in ready.out
    needs = other.run("doctor", env={"CHOIR_DATABASE_URL": empty.app})
    assert "needs CHOIR_DATABASE_OWNER_URL" in needs.out
    nothing = other.run("ledger", "verify", env=empty.environment)
    assert (nothing.code, "There is no ledger in your PostgreSQL." in nothing.err) == (1, True)
    assert not other.home.exists()
    assert empty.tables() == 0


def test_a_database_that_does_not_answer_is_told_once(other: NodeUnderTest) -> None:
    done = other.run("doctor", env={"CHOIR_DATABASE_URL": "postgresql://choir_app:hush@127.0.0.1:9/choir"})
    assert done.code == 1
    assert done.out.count("The database is not available") == done.out.count("wrong ") == 1
    assert "`choir doctor`" not in done.out
    assert "CHOIR_DATABASE_URL" in done.out


@pytest.mark.parametrize("remembered", [True, False])
def test_with_a_forgotten_address_nothing_is_made_or_given_up(theirs: NodeUnderTest, remembered: bool) -> None:
    mark, note = theirs.home / "ledger.elsewhere", (theirs.home / "checkpoint.note").read_bytes()
    kept = mark.read_text()
    assert "hush" not in kept
    assert "choir_app" not in kept
    told = "and CHOIR_DATABASE_URL is not set here" if remembered else "published a checkpoint, but there is no ledger"
    if not remembered:  # as a home was that never kept it
        mark.unlink()
    commands = [
        ("up",), ("doctor",), ("ledger", "verify"), ("restore", "--accept-rollback"),
    ]  # fmt: skip
    if remembered:
        commands += [("up", "--background"), ("backup", "x.tar"), ("restore", "late.tar", "--accept-rollback")]
    try:
        for command in commands:
            done = theirs.run(*command, env=FORGOTTEN)
            assert done.code == 1, (command, done.out + done.err)
            assert told in done.out + done.err, command
            assert "CHOIR_DATABASE_URL" in done.out + done.err, command
    finally:
        mark.write_text(kept)
    assert not (theirs.home / "postgres").exists()
    assert (theirs.home / "checkpoint.note").read_bytes() == note
    assert theirs.run("doctor").code == 0


def test_the_address_of_another_empty_database_makes_no_second_ledger(theirs: NodeUnderTest, empty: Own) -> None:
    kept = (theirs.home / "ledger.elsewhere").read_text()
    for command in (("up",), ("doctor",), ("ledger", "verify"), ("restore", "--accept-rollback")):
        done = theirs.run(*command, env=empty.environment)
        assert done.code == 1, (command, done.out + done.err)
        assert "there is no ledger in this database" in done.out + done.err, command
    assert empty.tables() == 0
    assert (theirs.home / "ledger.elsewhere").read_text() == kept


def test_a_ledger_whose_key_is_missing_gets_no_other(theirs: NodeUnderTest, other: NodeUnderTest) -> None:
    """The database is all that tells, in a home that is new."""
    other.extra |= theirs.extra
    for command in (("up", "--background"), ("backup", "x.tar")):
        done = other.run(*command)
        assert (done.code, "There is a ledger in your PostgreSQL" in done.err) == (1, True), done.err
    assert not other.home.exists()


def test_a_restore_into_a_used_database_asks_for_an_empty_one(theirs: NodeUnderTest) -> None:
    done = theirs.run("restore", "late.tar")
    assert done.code == 1
    assert "`create database … owner …`" in done.err
    assert "postgres away" not in done.err


def give(theirs: NodeUnderTest, other: NodeUnderTest, note: Path, **names: str) -> None:
    other.home.mkdir(mode=0o700)
    shutil.copy(note, other.home / "checkpoint.note")
    (retired,) = theirs.home.glob("node.key.retired-*")
    files = {"now": theirs.home / "node.key", "former": retired}
    for which, name in names.items():
        shutil.copy(files[which], other.home / name)


def restore(theirs: NodeUnderTest, other: NodeUnderTest, backup: str, *options: str) -> Done:
    return other.run("restore", str(theirs.temporary / backup), *options)


def short_of_today(theirs: NodeUnderTest) -> str:
    shown = theirs.run("key", "show", "--json").json
    return VerifierKey.parse(shown[-1]["key"]).hash.hex()


def test_a_backup_from_before_a_rotation_says_which_key_it_lacks(theirs: NodeUnderTest, other: NodeUnderTest) -> None:
    give(theirs, other, theirs.temporary / "early.note", former="node.key")
    refused = restore(theirs, other, "early.tar")
    assert refused.code == 5
    assert f"+{short_of_today(theirs)}, a key that the backup does not know; it has 1, and no entry" in refused.err
    assert "checkpoint of this ledger has 1 entry and" in refused.err
    assert f"{other.home}/node.key.retired-…" in refused.err
    assert not (other.home / "postgres").exists()
    lost = restore(theirs, other, "early.tar", "--accept-rollback")  # that key is gone for good
    assert lost.code == 0, lost.err
    shutil.copy(theirs.temporary / "early.note", other.home / "checkpoint.note")  # as if it had not been given up
    up = other.run("up")
    assert up.code == 5
    assert "a key that this database does not know; it has 1, and nothing is missing" in up.err
    accepted = other.run("restore", "--accept-rollback")
    assert accepted.code == 0, accepted.err
    assert accepted.err.count("Starting PostgreSQL.") == 1


def test_a_backup_from_before_a_rotation_is_handed_over_again(theirs: NodeUnderTest, other: NodeUnderTest) -> None:
    give(theirs, other, theirs.temporary / "early.note", now="node.key", former="node.key.retired-0")
    restored = restore(theirs, other, "early.tar")
    assert restored.code == 0, restored.err
    assert "rotating it to the node's key again" in restored.err
    shown = [item["key"] for item in other.run("key", "show", "--json").json]
    assert shown == [item["key"] for item in theirs.run("key", "show", "--json").json]
    verified = other.run("ledger", "verify")
    assert verified.code == 0, verified.out


def test_what_is_lost_since_a_rotation_is_noticed_all_the_same(theirs: NodeUnderTest, other: NodeUnderTest) -> None:
    give(theirs, other, theirs.home / "checkpoint.note", now="node.key", former="node.key.retired-0")
    noticed = restore(theirs, other, "early.tar")
    assert noticed.code == 5
    assert "checkpoint has 2 entries; this database has 1: the end of history is missing" in noticed.err
