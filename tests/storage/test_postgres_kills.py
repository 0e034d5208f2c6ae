"""The embedded server when processes are killed: node, server, both, at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import psycopg
import pytest

from choir.storage import postgres
from choir.storage.embedded import previous
from choir.storage.embedded.errors import AlreadyRunning, PreviousServerStuck
from choir.storage.postgres import EmbeddedPostgres, running_server
from choir.storage.processes import FolderLock
from tests.places import DISK
from tests.storage.servers import (
    Node,
    exists,
    leftovers,
    ordinary_uid,
    root_only,
    run_script,
    script,
    wait_for,
)


def server_processes(home: Path) -> list[str]:
    return [left for left in leftovers(home) if left.startswith("process")]


def write_row(server: postgres.Server) -> None:
    with psycopg.connect(server.dsn("choir_owner")) as owner:
        owner.execute("CREATE TABLE IF NOT EXISTS kept (n int)")
        owner.execute("INSERT INTO kept VALUES (1)")


def rows(server: postgres.Server) -> int:
    with psycopg.connect(server.dsn("choir_owner")) as owner:
        return len(owner.execute("SELECT n FROM kept").fetchall())


@pytest.fixture
def place() -> Path:
    return DISK


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(previous, "FAST_STOP_LIMIT_S", 0.5)
    monkeypatch.setattr(previous, "QUICK_STOP_LIMIT_S", 0.5)


def test_killing_the_node_ends_the_server(home: Path) -> None:
    node = Node(home)
    write_row(postgres.Server(home / "postgres/socket", node.server_pid))
    node.kill()
    wait_for(lambda: not server_processes(home))
    assert "fast shutdown request" in (home / "postgres/postgres.log").read_text()
    assert running_server(home) is None
    server_of = EmbeddedPostgres(home, durable=False)
    assert rows(server_of.start()) == 1
    server_of.stop()


@pytest.mark.deep
def test_killing_an_ordinary_users_node_ends_the_server(user_home: Path) -> None:
    node = Node(user_home, ordinary_uid())
    assert exists(node.server_pid)
    node.kill()
    wait_for(lambda: not server_processes(user_home))
    run_script("EmbeddedPostgres(home).start(); EmbeddedPostgres(home).alive() or tell('dead')", user_home)
    wait_for(lambda: not server_processes(user_home))  # that script ended without stop()
    with postgres.borrowed_server(user_home):
        pass


@pytest.mark.deep
def test_a_new_node_waits_for_the_killed_ones_server(home: Path) -> None:
    node = Node(home)
    connection = psycopg.connect(postgres.Server(home / "postgres/socket", node.server_pid).dsn("choir_app"))
    node.kill()
    server_of = EmbeddedPostgres(home, durable=False)
    server = server_of.start()  # at once, while the other shuts down
    assert server.pid != node.server_pid
    assert not exists(node.server_pid)
    connection.close()
    server_of.stop()


@pytest.mark.deep
@pytest.mark.usefixtures("impatient")
def test_a_hanging_server_of_a_killed_node_is_ended(home: Path) -> None:
    node = Node(home)
    os.kill(node.server_pid, signal.SIGSTOP)  # deaf to every request
    node.kill()
    told: list[str] = []
    server_of = EmbeddedPostgres(home, durable=False)
    server_of.start(told.append)
    assert "Waiting for an earlier PostgreSQL on this folder to end." in told
    assert not exists(node.server_pid)
    server_of.stop()


@pytest.mark.deep
@pytest.mark.usefixtures("impatient")
def test_a_lock_that_never_comes_free_is_reported(home: Path) -> None:
    with postgres.borrowed_server(home):
        pass
    holder = FolderLock(home / "postgres/server.lock")  # a process that is no server: never signalled
    assert holder.acquire()
    with pytest.raises(PreviousServerStuck) as stuck:
        EmbeddedPostgres(home).start()
    assert "still running after" in str(stuck.value)
    holder.release()


def test_killing_the_server_is_noticed_and_mended(home: Path) -> None:
    server_of = EmbeddedPostgres(home)
    server = server_of.start()
    write_row(server)
    os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: not server_of.alive())
    assert running_server(home) is None
    again = server_of.start()
    assert again.pid != server.pid
    assert rows(again) == 1
    assert running_server(home) == again
    server_of.stop()


@pytest.mark.deep
@pytest.mark.usefixtures("impatient")
def test_a_backend_that_outlives_the_killed_server_is_ended(home: Path) -> None:
    server_of = EmbeddedPostgres(home, durable=False)
    server = server_of.start()
    connection = psycopg.connect(server.dsn("choir_app"))
    backend = connection.info.backend_pid
    busy = "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b"

    def count() -> None:
        with pytest.raises(psycopg.Error):
            connection.execute(busy)

    thread = threading.Thread(target=count)
    thread.start()
    time.sleep(0.3)
    os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: not server_of.alive())
    assert exists(backend)  # it counts on, without looking
    server_of.start()
    assert not exists(backend)
    thread.join()
    server_of.stop()


@pytest.mark.deep
def test_killing_both_at_once(home: Path) -> None:
    node = Node(home)
    write_row(postgres.Server(home / "postgres/socket", node.server_pid))
    os.kill(node.server_pid, signal.SIGKILL)
    node.kill()
    server_of = EmbeddedPostgres(home, durable=False)
    assert rows(server_of.start()) == 1
    server_of.stop()


@pytest.mark.deep
def test_a_worker_that_outlives_its_node_does_not_keep_the_folder(home: Path) -> None:
    code = """
server_of = EmbeddedPostgres(home, durable=False)
server = server_of.start()
worker = os.fork()
if worker == 0:
    time.sleep(30); os._exit(0)
tell(worker); time.sleep(30)
"""
    node = Node(home, code=code)
    worker = node.server_pid
    node.kill()
    try:
        server_of = EmbeddedPostgres(home, durable=False)
        server_of.start()
        assert exists(worker)
        server_of.stop()
    finally:
        os.kill(worker, signal.SIGKILL)


@pytest.mark.deep
@pytest.mark.parametrize("uid", [None, "ordinary"])
def test_a_stale_pid_file_with_a_reused_id_is_seen_through(home: Path, user_home: Path, uid: str | None) -> None:
    code = """
server_of = EmbeddedPostgres(home, durable=False)
server_of.start()
pid_file = home / "postgres/data/postmaster.pid"
lines = pid_file.read_text().splitlines()
os.kill(int(lines[0]), signal.SIGKILL)
while server_of.alive(): time.sleep(0.01)
other = subprocess.Popen(["sleep", "60"])
pid_file.write_text("\\n".join([str(other.pid), *lines[1:]]) + "\\n")
assert not EmbeddedPostgres(home).alive() and running_server(home) is None
server_of.start()
assert other.poll() is None
other.kill()
server_of.stop()
"""
    if uid is None:
        run_script(code, home)
    else:
        run_script(code, user_home, ordinary_uid())


@pytest.mark.deep
def test_a_server_started_by_hand_is_not_disturbed(user_home: Path) -> None:
    run_script("with borrowed_server(home): pass", user_home, ordinary_uid())
    by_hand = """
data = home / "postgres/data"
program = binaries.installed_programs().path("postgres")
command = [program, "-D", str(data), "-c", "listen_addresses=", "-c", f"unix_socket_directories={home}"]
server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
while not (data / "postmaster.pid").exists() or "ready" not in (data / "postmaster.pid").read_text(): time.sleep(0.05)
try:
    EmbeddedPostgres(home).start()
except ChoirError as error:
    tell(error.code)
assert server.poll() is None
server.send_signal(signal.SIGINT)
server.wait()
"""
    assert run_script(by_hand, user_home, ordinary_uid()) == AlreadyRunning.code


@pytest.mark.deep
def test_killed_at_any_moment_of_the_first_start(home: Path) -> None:
    code = "tell('go'); EmbeddedPostgres(home).start(); time.sleep(30)"
    for delay_s in (0.02, 0.08, 0.15, 0.25, 0.35, 0.45, 0.55):
        process = subprocess.Popen(script(code, home), stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay_s)
        process.kill()
        process.communicate()
    server_of = EmbeddedPostgres(home, durable=False)
    server = server_of.start()
    psycopg.connect(server.dsn("choir_app")).close()
    assert not (home / "postgres/data.new").exists()
    server_of.stop()


@pytest.mark.deep
def test_a_long_recovery_reports_progress(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server_of = EmbeddedPostgres(home)
    server = server_of.start()
    with psycopg.connect(server.dsn("choir_owner")) as owner:
        owner.execute("CREATE TABLE bulk AS SELECT n, md5(n::text) AS t FROM generate_series(1, 300000) AS n")
    os.kill(server.pid, signal.SIGKILL)
    wait_for(lambda: not server_of.alive())
    monkeypatch.setattr(postgres, "PROGRESS_EVERY_S", 0.05)
    told: list[str] = []
    again = server_of.start(told.append)
    assert any("recovering" in line for line in told)
    with psycopg.connect(again.dsn("choir_owner")) as owner:
        assert owner.execute("SELECT count(*) FROM bulk").fetchone() == (300000,)
    server_of.stop()


@pytest.mark.usefixtures("impatient")
def test_stop_ends_a_server_that_does_not_listen(home: Path) -> None:
    server_of = EmbeddedPostgres(home, durable=False)
    server = server_of.start()
    os.kill(server.pid, signal.SIGSTOP)
    server_of.stop()
    assert not exists(server.pid)
    assert leftovers(home) == []
    server_of.start()  # clears the shared memory that a killed server leaves
    server_of.stop()


def test_stop_does_not_wait_for_busy_clients(home: Path) -> None:
    server_of = EmbeddedPostgres(home, durable=False)
    connection = psycopg.connect(server_of.start().dsn("choir_app"))
    connection.execute("SELECT 1")  # an open transaction
    begun = time.monotonic()
    server_of.stop()
    assert time.monotonic() - begun < 5
    with pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")


@root_only
@pytest.mark.deep
def test_without_the_right_to_look_into_processes_titles_decide(home: Path) -> None:
    """Root in a container has no CAP_SYS_PTRACE; dropping it here shows the second way."""
    code = """
import ctypes
node = EmbeddedPostgres(home, durable=False)
server = node.start()
if os.fork() == 0:
    CAP_SYS_PTRACE, SYS_CAPSET = 19, {"x86_64": 126, "aarch64": 91}[os.uname().machine]
    libc = ctypes.CDLL(None, use_errno=True)
    status = Path("/proc/self/status").read_text()
    caps = int(status.partition("CapEff:")[2].split()[0], 16) & ~(1 << CAP_SYS_PTRACE)
    low, high = caps & 0xFFFFFFFF, caps >> 32
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    body = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    assert libc.syscall(SYS_CAPSET, header, body) == 0, ctypes.get_errno()
    try: os.readlink(f"/proc/{server.pid}/cwd"); tell("still allowed")
    except PermissionError: pass
    tell(running_server(home) == server, len(previous._leftovers(previous.Places.of(home))) > 3)
    os._exit(0)
os.wait()
node.stop()
"""
    assert run_script(code, home) == "True True"
