"""The first start in unusual places, under unusual accounts and locales, and on an operator's own PostgreSQL."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from choir.storage.postgres import EmbeddedPostgres
from tests.operations.nodes import ADA, BOB, CHOIR, NodeUnderTest, all_pids, command_line, fund, new_node, until
from tests.places import throw_away
from tests.storage.servers import ordinary_uid, root_only


def works(node: NodeUnderTest) -> None:
    """Money moves, the books verify, and nothing is left after the stop."""
    fund(node.up())
    done = node.run("ledger", "transfer", ADA, BOB, "1.50", "--reason", "a test")
    assert done.code == 0, done.err
    verified = node.run("ledger", "verify")
    assert verified.code == 0, verified.err
    assert node.stop() == 0
    assert node.left() == []


@pytest.mark.deep
def test_a_home_with_a_very_long_and_odd_path(node: NodeUnderTest) -> None:
    node.home = node.home / ("a rather long name, with ünïcode and 'quotes' " * 4) / ("deeper " * 12)
    node.home.parent.mkdir(parents=True)
    works(node)


@pytest.mark.deep
@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "xx_YY.weird"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LANG": "tr_TR.UTF-8", "LC_NUMERIC": "de_DE", "TZ": "Pacific/Kiritimati"},
        {"PYTHONIOENCODING": "latin-1", "PGDATESTYLE": "german", "PGHOST": "/nowhere", "PGUSER": "eve"},
    ],
    ids=["unknown", "ascii", "mixed", "latin"],
)
def test_odd_locales_and_variables_change_nothing(locale: dict[str, str]) -> None:
    with new_node(**locale) as node:
        works(node)
        node.up()  # reads what it wrote, under the same locale
        note = subprocess.run(
            [sys.executable, "-m", "choir.doors.cli.main", "ledger", "checkpoint"],
            env=node.environment,
            capture_output=True,
            check=True,
        ).stdout
        assert note == (node.home / "checkpoint.note").read_bytes()


@pytest.mark.deep
def test_below_a_folder_that_only_its_owner_may_enter(node: NodeUnderTest) -> None:
    node.home.parent.chmod(0o700)
    node.home.mkdir(mode=0o700)
    works(node)
    for name in ("node.key", "operator.token"):
        assert (node.home / name).stat().st_mode & 0o777 == 0o600
    assert node.home.stat().st_mode & 0o007 == 0


@root_only
def test_as_an_ordinary_user(node: NodeUnderTest) -> None:
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not here")
    uid = ordinary_uid()
    for place in (node.home.parent, node.temporary):
        os.chown(place, uid, uid)
    # It may read everything, because the interpreter may lie in root's home; it may write only its own.
    become = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    become += [
        "--inh-caps=-all,+dac_read_search",
        "--ambient-caps=-all,+dac_read_search",
        "--bounding-set=-all,+dac_read_search",
    ]
    with node.said_file.open("wb") as said:
        node.process = subprocess.Popen(
            [*become, *CHOIR, "up"], env=node.environment, stdout=said, stderr=said, cwd="/"
        )
    process = node.process
    until(lambda: node.ready() or process.poll() is not None, 90)
    assert process.poll() is None, node.said
    fund(node)
    for name in ("node.key", "operator.token", "postgres"):
        assert (node.home / name).stat().st_uid == uid
    assert node.stop(signal.SIGINT) == 0
    assert node.left() == []


@pytest.fixture
def operators() -> Iterator[tuple[str, str]]:
    """An operator's own PostgreSQL with an empty database: the application's and the owner's address."""
    place = Path(tempfile.mkdtemp(prefix="choir-test-", dir=throw_away()))
    server_of = EmbeddedPostgres(place / "theirs", durable=False)
    server = server_of.start()
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as admin:
        admin.execute("create role their_owner login password 'hush-owner'")
        admin.execute("create role their_app login password 'hush-app'")
        admin.execute("create database ledger owner their_owner")
    with psycopg.connect(server.dsn("postgres", "ledger"), autocommit=True) as admin:
        admin.execute("create extension vector")
    try:
        yield tuple(
            f"postgresql://{role}:hush-{role[6:]}@/ledger?host={server.socket_dir}&port=5432"
            for role in ("their_app", "their_owner")
        )  # type: ignore[misc]
    finally:
        server_of.stop()
        shutil.rmtree(place)


@pytest.mark.deep
def test_an_operators_own_database_is_used_and_nothing_else_is_started(operators: tuple[str, str]) -> None:
    app, owner = operators
    with new_node(CHOIR_DATABASE_URL=app) as node:
        missing = node.run("up", "--bind", f"127.0.0.1:{node.port}")
        assert missing.code == 1
        assert "The database is at migration 0 of" in missing.err
        assert "CHOIR_DATABASE_OWNER_URL" in missing.err
        node.extra["CHOIR_DATABASE_OWNER_URL"] = owner
        works(node)
        assert not (node.home / "postgres").exists()
        assert "hush" not in node.said
        del node.extra["CHOIR_DATABASE_OWNER_URL"]  # once migrated, it runs without the owner's rights
        node.up()
        with node.client() as client:
            assert client.balance(BOB).balance == "150"
        node.extra["CHOIR_DATABASE_OWNER_URL"] = owner
        backup = node.run("backup", "theirs.tar")
        assert backup.code == 0, backup.err
        assert node.run("key", "rotate").code == 0
        assert node.run("doctor").code == 0, node.run("doctor").out
        with new_node() as copy:  # from their database into an embedded one
            copy.home.mkdir(mode=0o700)
            for retired in node.home.glob("node.key.retired-*"):
                shutil.copy(retired, copy.home / "node.key")
            restored = copy.run("restore", str(node.temporary / "theirs.tar"))
            assert restored.code == 0, restored.err
            assert copy.run("ledger", "verify").code == 0


def test_an_operators_password_is_on_no_command_line(operators: tuple[str, str]) -> None:
    app, owner = operators
    with new_node(CHOIR_DATABASE_URL=app, CHOIR_DATABASE_OWNER_URL=owner) as node:
        node.up()
        seen: set[bytes] = set()
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                seen.update(command_line(pid) for pid in all_pids())

        watcher = threading.Thread(target=watch)
        watcher.start()
        assert node.run("backup", "theirs.tar").code == 0
        done.set()
        watcher.join()
        assert any(b"pg_dump" in line for line in seen)
        assert not [line for line in seen if b"hush-" in line]


@pytest.mark.parametrize(("style", "told"), [("auto", False), ("json", True)])
def test_a_node_that_is_tried_out_says_no_line_for_each_request(style: str, told: bool) -> None:
    with new_node(CHOIR_LOG_FORMAT=style) as node:
        node.up()
        assert ("choir.access" in node.said) is told
