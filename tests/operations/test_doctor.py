"""`choir doctor` finds what is wrong, says what to do, and changes nothing."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.operations.nodes import NodeUnderTest, fund, new_node
from tests.storage.servers import ordinary_uid, root_only

_AS_USER = """
import os, sys, encodings.idna
import choir.doors.cli.main as cli, choir.operations.doctor, choir.doors.node.commands.run, choir.policies
choir.policies.default_policy()
choir.operations.doctor.load_features(choir.operations.doctor.FEATURES)  # later it may not read them
uid = int(sys.argv.pop(1))
os.setgroups([]); os.setgid(uid); os.setuid(uid)
cli.main()
"""


@pytest.fixture(scope="module")
def stopped() -> Iterator[NodeUnderTest]:
    """A node that ran, published a checkpoint, and was stopped."""
    with new_node() as node:
        fund(node.up())
        with node.client() as client:
            client.checkpoint()
        assert node.stop() == 0
        yield node


def findings(node: NodeUnderTest, code: int, **env: str) -> dict[str, dict[str, Any]]:
    done = node.run("doctor", "--json", env=env)
    assert done.code == code, done.out + done.err
    return {item["part"]: item for item in done.json}


def wrong(found: dict[str, dict[str, Any]]) -> list[str]:
    return [part for part, item in found.items() if item["state"] == "wrong"]


def test_a_home_that_is_not_there_yet_is_fine(node: NodeUnderTest) -> None:
    found = findings(node, 0)
    assert found["database"]["state"] == "note"
    assert not node.home.exists()


@pytest.mark.deep
def test_a_machine_that_contains_nothing_is_told_that_it_cannot_verify(stopped: NodeUnderTest) -> None:
    found = findings(stopped, 0, CHOIR_POLICY__SANDBOX__STRANGER_TIER_MIN="5")["sandbox"]
    assert (found["state"], found["advice"]) == ("note", "See `choir sandbox doctor`.")
    assert "no job can be verified" in found["told"]


def test_a_healthy_node_is_fine_whether_it_runs_or_not(stopped: NodeUnderTest) -> None:
    resting = findings(stopped, 0)
    assert {item["state"] for item in resting.values()} == {"ok"}
    assert "matches the database" in resting["published checkpoint"]["told"]
    assert stopped.left() == []
    stopped.up()
    running = findings(stopped, 0)
    assert "a node is running" in running["address"]["told"]
    assert "ok     database: PostgreSQL" in stopped.run("doctor").out
    assert stopped.stop() == 0


def test_entries_ahead_of_the_clock_are_told(node: NodeUnderTest) -> None:
    assert node.up().stop() == 0
    assert node.run("clock", "--advance", "5000").code == 0
    fund(node.up())
    assert node.stop() == 0
    assert "time" not in findings(node, 0)  # the clock itself is ahead, too
    assert node.run("clock", "--reset").code == 0
    found = findings(node, 0)["time"]
    assert found["state"] == "note"
    assert "seconds ahead of the clock" in found["told"]


def test_secrets_that_others_may_use_are_found_with_what_mends_it(stopped: NodeUnderTest) -> None:
    home, token, key = stopped.home, stopped.home / "operator.token", stopped.home / "node.key"
    home.chmod(0o755)
    token.chmod(0o640)
    try:
        found = findings(stopped, 1)
        assert wrong(found) == ["home, permissions", "operator token, permissions"]
        assert found["home, permissions"]["advice"] == f"Fix it with `chmod 700 {home}`."
        assert found["operator token, permissions"]["advice"] == f"Fix it with `chmod 600 {token}`."
        key.chmod(0o604)
        assert "node key, permissions" in wrong(findings(stopped, 1))
        refused = stopped.run("up", "--background")
        assert refused.code == 1
        assert f"The node's key {key} is accessible to others (mode 0604), so the node does not start" in refused.err
        assert f"chmod 600 {key}" in refused.err
        key.chmod(0o640)  # as secrets are handed to services; the rest is only told
        with socket.create_server(("127.0.0.1", stopped.port)):
            told = stopped.run("up").err
        assert f"Warning: {home} is open to others (mode 0755). Fix it with `chmod 700 {home}`.\n" in told
        assert f"`chmod 600 {token}`" in told
        assert "node's key" not in told
    finally:
        home.chmod(0o700)
        token.chmod(0o600)
        key.chmod(0o600)


@root_only
def test_a_home_of_another_account_is_found(stopped: NodeUnderTest) -> None:
    os.chown(stopped.home, ordinary_uid(), -1)
    try:
        found = findings(stopped, 1)["home, permissions"]
    finally:
        os.chown(stopped.home, 0, -1)
    assert f"{stopped.home} belongs to " in found["told"]
    assert f"`chown 0 {stopped.home}`" in found["advice"]


def test_a_port_in_use_is_found(stopped: NodeUnderTest) -> None:
    with socket.create_server(("127.0.0.1", stopped.port)):
        found = findings(stopped, 1)
    assert wrong(found) == ["address"]
    assert "CHOIR_BIND" in found["address"]["advice"]


def test_a_replaced_node_key_is_found(stopped: NodeUnderTest) -> None:
    key = stopped.home / "node.key"
    shutil.copy(key, stopped.temporary / "kept.key")
    try:
        key.write_text("cd" * 32 + "\n")
        found = findings(stopped, 1)
        assert wrong(found) == ["signing key"]
        assert "Restore the node's key" in found["signing key"]["advice"]
        key.write_text("not a key\n")
        assert "node key" in wrong(findings(stopped, 1))
        key.unlink()
        assert {"node key", "signing key"} <= set(wrong(findings(stopped, 1)))
        refused = stopped.run("up")
        assert refused.code == 1
        assert f"There is a ledger in {stopped.home}, and the key that signed it is not in {key}." in refused.err
        assert not key.exists()  # looking makes nothing
    finally:
        shutil.copy(stopped.temporary / "kept.key", key)


@pytest.mark.parametrize("change", ["a larger size", "another root", "no note", "other bytes"])
def test_a_changed_published_checkpoint_is_found(stopped: NodeUnderTest, change: str) -> None:
    path = stopped.home / "checkpoint.note"
    good = path.read_bytes()
    origin, size, root, *rest = good.split(b"\n")
    changed = {
        "a larger size": b"\n".join([origin, b"99", root, *rest]),
        "another root": b"\n".join([origin, size, b"A" * 43 + b"=", *rest]),
        "no note": b"",
        "other bytes": b"\xff\xfe\x00",
    }[change]
    try:
        path.write_bytes(changed)
        found = findings(stopped, 1)
        assert wrong(found) == ["published checkpoint"]
        assert found["published checkpoint"]["advice"]
        up = stopped.run("up")
        assert up.code == 5
        assert f"{path} is not a checkpoint of this ledger: " in up.err
        assert "?" not in up.err
    finally:
        path.write_bytes(good)


def test_a_missing_database_is_found_and_not_made_anew(stopped: NodeUnderTest) -> None:
    place, away = stopped.home / "postgres", stopped.home / "away"
    place.rename(away)
    try:
        found = findings(stopped, 1)
        assert wrong(found) == ["database"]
        assert "choir restore" in found["database"]["advice"]
        assert "there is no ledger here" in stopped.run("up").err
        assert not place.exists()
    finally:
        shutil.rmtree(place, ignore_errors=True)
        away.rename(place)


def test_an_operators_database_that_does_not_answer_is_found(stopped: NodeUnderTest) -> None:
    found = findings(stopped, 1, CHOIR_DATABASE_URL="postgresql://choir_app:hush@127.0.0.1:9/choir")
    assert "database" in wrong(found)
    assert "hush" not in str(found)


@root_only
def test_a_home_that_cannot_be_written_is_found(stopped: NodeUnderTest) -> None:
    command = [sys.executable, "-c", _AS_USER, str(ordinary_uid()), "doctor"]
    stopped.home.parent.chmod(0o755)
    mode = stopped.home.stat().st_mode & 0o777
    stopped.home.chmod(0o755)
    try:
        done = subprocess.run(command, env=stopped.environment, capture_output=True, text=True, check=False, cwd="/")
    finally:
        stopped.home.chmod(mode)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"wrong  home: The folder {stopped.home} cannot be used: you may not write in it." in done.stdout
    assert "Choose another one with CHOIR_HOME" in done.stdout
    assert "Traceback" not in done.stderr


def test_bad_policy_is_found(stopped: NodeUnderTest) -> None:
    found = findings(stopped, 1, CHOIR_POLICY__NODE__REQUEST_S_MAX="0")
    assert "policy" in wrong(found)
