"""Starting, looking at and stopping a node, in the foreground and in the background."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from choir.doors.node.commands import start
from choir.operations.home import running_node
from choir.storage.embedded.previous import Places, read_pid_file
from choir.storage.processes import FolderLock
from tests.operations.nodes import ADA, BOB, CHOIR, NodeUnderTest, command_line, fund, new_node, until
from tests.storage.servers import exists, wait_for


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_node_ends_well_and_leaves_nothing(node: NodeUnderTest, number: signal.Signals) -> None:
    node.up()
    wait_for(lambda: "Stop it with Ctrl-C" in node.said)
    assert f"is running at {node.url}" in node.said
    assert f"pages     http://localhost:{node.port}\n" in node.said  # where passkeys work
    workers = node.workers()
    assert len(workers) == 1
    assert node.stop(number) == 0
    assert "Stopped." in node.said
    assert "Traceback" not in node.said
    assert node.left() == []
    assert not exists(workers[0])
    assert not (node.home / "node.json").exists()


def test_ctrl_c_during_the_start_ends_well_too(node: NodeUnderTest) -> None:
    for delay_s in (0.0, 0.3, 0.6, 1.0):
        node.launch()
        wait_for((node.home / "node.json").exists)
        time.sleep(delay_s)
        assert node.stop(signal.SIGINT) == 0
        assert node.left() == []
    assert "Traceback" not in node.said


def test_a_stop_is_heard_while_the_database_takes_long_to_start(node: NodeUnderTest) -> None:
    node.up()
    assert node.stop() == 0
    server = _stopped_while_starting(node)
    assert node.process is not None
    node.process.send_signal(signal.SIGTERM)
    try:
        until(lambda: _is_asked_to_end(server), 20)  # the node does not wait for it any longer
    finally:
        os.kill(server, signal.SIGCONT)
    assert node.process.wait(60) == 0
    assert "recovering" in node.said
    assert "Traceback" not in node.said
    assert node.left() == []


def _stopped_while_starting(node: NodeUnderTest) -> int:
    """Start the node and halt its server before it is ready, as a long recovery would look."""
    for _ in range(10):
        process = node.launch()
        wait_for(lambda: node.database_pid() is not None, 60)
        server = node.database_pid()
        assert server is not None
        os.kill(server, signal.SIGSTOP)
        found = read_pid_file(Places.of(node.home).data)
        if found is not None and found.pid == server and found.status != "ready":
            return server
        os.kill(server, signal.SIGCONT)  # too late: once more
        wait_for(lambda: node.ready() or process.poll() is not None, 60)  # noqa: B023 - called at once
        assert node.stop() == 0
    pytest.skip("the server is always ready too soon here")


def _is_asked_to_end(pid: int) -> bool:
    waiting = Path(f"/proc/{pid}/status").read_text().partition("ShdPnd:")[2].split()[0]
    return bool(int(waiting, 16) & 1 << signal.SIGINT - 1)


def test_in_the_background_it_returns_when_the_node_is_ready(node: NodeUnderTest) -> None:
    up = node.run("up", "--background")
    assert up.code == 0, up.err
    assert node.ready()
    found = running_node(node.home)
    assert found is not None
    assert str(found.pid) in up.out
    assert node.url in up.out
    status = node.run("status", "--json")
    assert status.code == 0, status.err
    assert status.json["running"] is True
    assert status.json["pid"] == found.pid
    assert "entries  0" in node.run("status").out
    log = node.home / "node.log"
    assert log.stat().st_mode & 0o777 == 0o600
    down = node.run("down", "--json")
    assert down.code == 0
    assert down.json == {"stopped": True, "pid": found.pid}
    assert node.left() == []


@pytest.mark.parametrize("options", [(), ("--background",)])
def test_a_second_node_on_a_home_is_refused_and_the_first_goes_on(
    node: NodeUnderTest, options: tuple[str, ...]
) -> None:
    node.up()
    assert node.process is not None
    second = node.run("up", *options)
    assert second.code == 1
    assert f"already running on {node.home} (process {node.process.pid}" in second.err
    assert "choir down" in second.err
    assert node.ready()
    assert node.run("status", "--json").json["pid"] == node.process.pid  # the first is as it was
    assert node.run("down", "--json").json == {"stopped": True, "pid": node.process.pid}


def test_a_port_that_is_in_use_is_named_and_nothing_stays(node: NodeUnderTest) -> None:
    with socket.create_server(("127.0.0.1", node.port)):
        refused = node.run("up")
    assert refused.code == 1
    assert f"The address 127.0.0.1:{node.port} cannot be used: address already in use." in refused.err
    assert "CHOIR_BIND" in refused.err
    assert node.left() == []
    background = node.run("up", "--background")
    assert background.code == 0, background.err


def test_a_background_node_that_cannot_start_says_why(node: NodeUnderTest) -> None:
    with socket.create_server(("127.0.0.1", node.port)):
        refused = node.run("up", "--background")
    assert refused.code == 1
    assert "address already in use" in refused.err
    assert "node.log" in refused.err


def test_without_a_node_down_says_so_and_status_has_its_own_exit_code(node: NodeUnderTest) -> None:
    down = node.run("down")
    assert (down.code, down.out) == (0, f"No node is running on {node.home}.\n")
    status = node.run("status")
    assert status.code == 3
    assert f"No node answers at {node.url}." in status.err
    assert "start it with `choir up`" in status.err.lower()
    assert not node.home.exists()  # asking makes nothing


@pytest.mark.deep
def test_a_stale_file_with_a_reused_process_id_is_seen_through(node: NodeUnderTest) -> None:
    node.up()
    node.kill()
    wait_for(lambda: not any("process" in left for left in node.left()))  # what ran has ended by itself
    stale = node.home / "node.json"
    assert stale.exists()
    with subprocess.Popen(["sleep", "60"]) as other:  # another process has that id by now
        stale.write_text(json.dumps({"pid": other.pid, "url": node.url, "started_us": 1}))
        assert running_node(node.home) is None
        assert node.run("down").out == f"No node is running on {node.home}.\n"
        holder = FolderLock(node.home / "node.lock")
        assert holder.acquire()  # a node that just starts: it has not written its own file yet
        found = running_node(node.home)
        assert found is not None
        assert found.pid == 0
        node.run("down")
        holder.release()
        assert other.poll() is None
        node.up()
        assert other.poll() is None
        other.kill()


def test_looking_at_a_home_never_keeps_a_node_from_starting(node: NodeUnderTest) -> None:
    node.home.mkdir(mode=0o700)
    lock = node.home / "node.lock"
    lock.touch()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            running_node(node.home)

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        node.up()
    finally:
        done.set()
        for looker in lookers:
            looker.join()


def test_another_nodes_address_in_the_environment_does_not_mislead_a_start() -> None:
    with new_node(CHOIR_NODE="http://127.0.0.1:9") as node:
        up = node.run("up", "--background", "--json")
        assert up.code == 0, up.err
        assert (up.json["url"], up.json["mode"]) == (node.url, "dev")
        assert up.json["log"] == str(node.home / "node.log")
        assert node.run("down", "--json").json == {"stopped": True, "pid": up.json["pid"]}
        steps = start.steps(node.home / "node.log", 0)
        assert steps[0] == "Creating a new database (first start)."
        assert steps[-1] == "The database is ready; starting the server."  # and not what it said when it was


@pytest.mark.deep
def test_two_processes_serve_one_socket_and_a_killed_one_is_replaced() -> None:
    with new_node(CHOIR_PROCESSES="2") as node:
        node.up()
        until(lambda: len(node.workers()) == 2)
        fund(node)
        for number in range(4):
            victim = node.workers()[0]
            os.kill(victim, signal.SIGKILL)
            with node.client() as client:  # at once, while one process is gone
                posted = client.transfer(ADA, BOB, 1, reason="a test", key=f"during kill {number}")
                again = client.transfer(ADA, BOB, 1, reason="a test", key=f"during kill {number}")
                assert (again.id, again.hash, again.again) == (posted.id, posted.hash, True)
                assert client.balance(BOB).balance == str(number + 1)
            until(lambda gone=victim: gone not in node.workers() and len(node.workers()) == 2)  # type: ignore[misc]
        assert "a server process ended" in node.said


def test_both_processes_answer_requests() -> None:
    with new_node(CHOIR_PROCESSES="2") as node:
        node.up()
        until(lambda: len(node.workers()) == 2)
        for stopped in node.workers():
            until(lambda only=stopped: _others_answer(node, only), 60)  # type: ignore[misc]


def _others_answer(node: NodeUnderTest, stopped: int) -> bool:
    """Whether a request is answered while this one cannot. The other may still be start, and wait for a lock that
    this one holds, so it is stopped for a moment only."""
    os.kill(stopped, signal.SIGSTOP)
    try:
        return _answers(node)
    finally:
        os.kill(stopped, signal.SIGCONT)


def _answers(node: NodeUnderTest) -> bool:
    try:
        with node.http() as http:
            return http.get("/healthz", timeout=1).status_code == 200
    except Exception:
        return False


def test_no_secret_is_on_a_command_line() -> None:
    key = "ab" * 32
    with new_node(CHOIR_NODE_KEY=key, CHOIR_TOKEN="op_not_this_nodes_token") as node:
        node.up()
        assert node.process is not None
        secrets = [key, node.token, "op_not_this_nodes_token"]
        pids = [node.process.pid, *node.workers(), node.database_pid() or 0]
        shown = b"".join(command_line(pid) for pid in pids)
        assert b"choir" in shown
        assert not any(secret.encode() in shown for secret in secrets)
        assert not (node.home / "node.key").exists()


def test_help_for_up_is_there_without_a_home() -> None:
    done = subprocess.run([*CHOIR, "up", "--help"], capture_output=True, text=True, check=True)
    assert "Example: choir up --background" in done.stdout
