"""The embedded server in ordinary days: first start, settings, roles, borrowing, two at once."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import psycopg
import pytest

from choir.foundation.errors import ChoirError
from choir.storage import postgres
from choir.storage.embedded import log as server_log
from choir.storage.embedded import tuning
from choir.storage.embedded.errors import AlreadyRunning
from choir.storage.postgres import EmbeddedPostgres, borrowed_server, running_server
from tests.storage.servers import Node, exists, leftovers, ordinary_uid, run_script


def setting(connection: psycopg.Connection, name: str) -> str:
    row = connection.execute("SELECT current_setting(%s)", [name]).fetchone()
    assert row is not None
    return str(row[0])


def test_first_start_makes_roles_and_database(home: Path) -> None:
    told: list[str] = []
    server_of = EmbeddedPostgres(home)
    assert not server_of.alive()
    server = server_of.start(told.append)
    try:
        assert told == ["Creating a new database (first start).", "Starting PostgreSQL."]
        assert server_of.alive()
        assert server_of.start() == server  # again is the same
        with psycopg.connect(server.dsn("choir_owner")) as owner:
            owner.execute("CREATE TABLE kept (n int)")
            owner.execute("INSERT INTO kept VALUES (7)")
            owner.execute("SELECT '[1,2]'::vector")
            roles = "SELECT rolname, rolsuper, rolcreaterole, rolcreatedb FROM pg_roles WHERE rolname LIKE 'choir%'"
            found = {tuple(row) for row in owner.execute(roles)}
            assert found == {("choir_owner", False, False, False), ("choir_app", False, False, False)}
            row = owner.execute("SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = 'choir'").fetchone()
            assert row == ("choir_owner",)
        with (
            psycopg.connect(server.dsn("choir_app")) as app,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            app.execute("INSERT INTO kept VALUES (8)")
    finally:
        server_of.stop()
    server_of.stop()  # again does nothing
    assert not server_of.alive()
    assert not exists(server.pid)
    assert leftovers(home) == []
    server = server_of.start()
    try:
        with psycopg.connect(server.dsn("choir_owner")) as owner:
            assert owner.execute("SELECT n FROM kept").fetchall() == [(7,)]
    finally:
        server_of.stop()


def test_it_is_durable_private_and_without_tcp(home: Path) -> None:
    server_of = EmbeddedPostgres(home)
    server = server_of.start()
    try:
        with psycopg.connect(server.dsn("postgres", "postgres")) as connection:
            for name in ("fsync", "synchronous_commit", "full_page_writes", "data_checksums"):
                assert setting(connection, name) == "on"
            assert setting(connection, "listen_addresses") == ""
            assert setting(connection, "max_connections") == "200"
            assert setting(connection, "jit") == "off"
            assert setting(connection, "TimeZone") == "UTC"
        folder = server.socket_dir.lstat()
        assert folder.st_mode & 0o777 == 0o700
        assert (home / "postgres").stat().st_mode & 0o007 == 0
        assert os.getpgid(server.pid) != os.getpgrp()  # Ctrl-C in our terminal does not reach it
    finally:
        server_of.stop()


def test_a_throw_away_database_does_not_wait_for_the_disk(home: Path) -> None:
    server_of = EmbeddedPostgres(home, durable=False)
    server = server_of.start()
    try:
        with psycopg.connect(server.dsn("choir_app")) as connection:
            assert [setting(connection, n) for n in ("fsync", "synchronous_commit")] == ["off", "off"]
    finally:
        server_of.stop()


def test_settings_fit_the_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def buffers(memory: int, *, durable: bool = True) -> str:
        monkeypatch.setattr(tuning, "memory_bytes", lambda: memory)
        return tuning.server_settings(tmp_path, "s", "c", durable=durable)["shared_buffers"]

    assert buffers(64 * 2**30) == "1024MB"
    assert buffers(2 * 2**30) == "256MB"
    assert buffers(2**20) == "16MB"
    assert buffers(64 * 2**30, durable=False) == "128MB"
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 2**30, "total": 2**30}))
    assert tuning.server_settings(tmp_path, "s", "c", durable=True)["max_wal_size"] == "128MB"


def test_missing_roles_and_database_are_made_at_the_next_start(home: Path) -> None:
    server_of = EmbeddedPostgres(home, durable=False)
    server = server_of.start()
    with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
        connection.execute("DROP DATABASE choir")
        connection.execute("DROP ROLE choir_app")
    server_of.stop()
    server = server_of.start()
    try:
        psycopg.connect(server.dsn("choir_app")).close()
        with psycopg.connect(server.dsn("postgres", "postgres"), autocommit=True) as connection:
            connection.execute("CREATE ROLE stranger LOGIN")
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(server.dsn("stranger"))
    finally:
        server_of.stop()


def test_a_second_start_is_refused(home: Path) -> None:
    first = EmbeddedPostgres(home, durable=False)
    server = first.start()
    try:
        second = EmbeddedPostgres(home)
        with pytest.raises(AlreadyRunning) as here:
            second.start()
        assert here.value.code == "storage.already_running"
        assert str(os.getpid()) in str(here.value)
        told = run_script(
            "try: EmbeddedPostgres(home).start()\nexcept ChoirError as error: tell(error.code, error.advice)", home
        )
        assert told.startswith("storage.already_running Stop that one first")
        assert second.alive()  # someone's serves this folder
        second.stop()  # stops nothing that it did not start
        assert first.alive()
        psycopg.connect(server.dsn("choir_app")).close()
    finally:
        first.stop()


def test_threads_starting_at_once_get_one_server(home: Path) -> None:
    server_of = EmbeddedPostgres(home, durable=False)
    found: list[postgres.Server] = []
    threads = [threading.Thread(target=lambda: found.append(server_of.start())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    server_of.stop()
    assert len(found) == 3
    assert len(set(found)) == 1


def test_a_running_server_is_found_and_borrowed(home: Path) -> None:
    assert running_server(home) is None
    node = Node(home)
    try:
        server = running_server(home)
        assert server is not None
        assert server.pid == node.server_pid
        with borrowed_server(home) as borrowed:
            assert borrowed == server
        assert running_server(home) == server
    finally:
        node.close()
    assert running_server(home) is None


def test_borrowing_without_a_node_starts_and_stops_one(home: Path) -> None:
    with borrowed_server(home) as server:
        assert psycopg.connect(server.dsn("choir_app")).execute("SELECT 1").fetchone() == (1,)
        assert running_server(home) == server
    assert not exists(server.pid)
    assert running_server(home) is None


def test_a_borrowed_server_stays_until_the_last_borrower_has_finished(home: Path) -> None:
    entered, leave = threading.Event(), threading.Event()
    results: list[object] = []

    def second() -> None:
        with borrowed_server(home, durable=False) as server:
            entered.set()
            leave.wait(20)
            results.append(psycopg.connect(server.dsn("choir_app")).execute("SELECT 1").fetchone())

    thread = threading.Thread(target=second)
    with borrowed_server(home, durable=False):
        thread.start()
        assert entered.wait(20)
        threading.Timer(0.4, leave.set).start()
    thread.join()
    assert results == [(1,)]


def test_a_pid_file_alone_proves_nothing(home: Path) -> None:
    with borrowed_server(home, durable=False):
        pid_file = home / "postgres/data/postmaster.pid"
        true_lines = pid_file.read_text().splitlines()
        for line, lie in ((0, str(os.getpid())), (0, "1"), (0, "999999999"), (0, "x"), (4, "/tmp"), (4, "")):
            lines = true_lines.copy()
            lines[line] = lie
            pid_file.write_text("\n".join(lines))
            assert running_server(home) is None, (line, lie)
        pid_file.write_text("\n".join(true_lines) + "\n")
        assert running_server(home) is not None


def test_the_log_is_rotated_by_size(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_log, "LOG_BYTES_MAX", 100)
    server_of = EmbeddedPostgres(home, durable=False)
    for _ in range(5):
        server_of.start()
        server_of.stop()
    names = sorted(path.name for path in (home / "postgres").glob("postgres.log*"))
    assert names == ["postgres.log", "postgres.log.1", "postgres.log.2", "postgres.log.3"]
    assert "ready to accept connections" in (home / "postgres/postgres.log").read_text()
    assert (home / "postgres/postgres.log").stat().st_mode & 0o777 == 0o600


_ODD = {
    "LC_ALL": "xx_YY.weird",
    "LANG": "de_DE@odd",
    "TMPDIR": "/nowhere/at/all",
    "PGHOST": "db.example",
    "PGPORT": "1",
    "PGUSER": "x",
    "PGDATA": "/nowhere",
    "PGSSLMODE": "verify-full",
    "TZ": "Mars/Olympus",
    "LD_LIBRARY_PATH": "/nowhere",
    "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
}
_LIFE = """
told = []
for durable in (True, False):
    server_of = EmbeddedPostgres(home, durable=durable)
    server = server_of.start(told.append)
    assert running_server(home) == server
    with psycopg.connect(server.dsn("choir_owner")) as c: c.execute("CREATE TABLE IF NOT EXISTS t (n int)")
    status = Path(f"/proc/{server.pid}/status").read_text()
    server_of.stop()
    assert running_server(home) is None
tell(status.partition("Uid:")[2].split()[0])
"""


@pytest.mark.parametrize("umask", [0o777, 0o000])
def test_an_odd_environment_does_no_harm(home: Path, umask: int) -> None:
    run_script(_LIFE, home, env=_ODD, umask=umask)


@pytest.mark.parametrize("umask", [0o777, 0o000])
def test_an_ordinary_user_runs_it_as_themselves(user_home: Path, umask: int) -> None:
    told = run_script(_LIFE, user_home / "below/it", ordinary_uid(), env=_ODD, umask=umask)
    assert told == str(ordinary_uid())
    assert (user_home / "below/it/postgres").stat().st_mode & 0o777 == 0o700
    assert leftovers(user_home / "below/it") == []


def test_errors_speak_to_the_operator() -> None:
    from choir.foundation.errors import known_codes
    from choir.storage.embedded import errors as server_errors

    found = [value for value in vars(server_errors).values() if isinstance(value, type)]
    ours = [value for value in found if issubclass(value, ChoirError) and value.__module__ == server_errors.__name__]
    assert len(ours) > 10
    for error in ours:
        assert error.code.startswith("storage.")
        assert error.hint
        assert known_codes()[error.code] is error
