"""A full disk: writes are refused early, nothing is damaged, reading goes on, and it recovers by itself."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from choir.foundation.errors import ChoirError
from choir.foundation.settings import load_settings
from choir.ledger.model import Draft, Leg, Posted
from choir.ledger.rules import Outcome
from choir.node import build_node
from choir.operations.home import DiskLow
from choir.storage.database import Database, DatabaseUnavailable, WriteDiskFull
from tests.operations.nodes import ADA, BOB, NodeUnderTest, fund, new_node, until
from tests.storage.servers import root_only

pytestmark = [root_only, pytest.mark.slow]
DISK_MB = 600
ENTRY = {"reason": "a test", "legs": [{"from": ADA, "to": BOB, "amount": "1"}]}


@pytest.fixture
def node(request: pytest.FixtureRequest) -> Iterator[NodeUnderTest]:
    """A node whose home is a small disk of its own."""
    with new_node(CHOIR_POLICY__NODE__DISK_FREE_BYTES_MIN=str(request.param * 1_000_000)) as made:
        made.home.mkdir(mode=0o700)
        disk = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}M,mode=0700", "tmpfs", str(made.home)]
        if subprocess.run(disk, check=False, capture_output=True).returncode:
            pytest.skip("no file system can be mounted here")
        try:
            yield made
            made.end()
            assert made.left() == []
        finally:
            made.end()
            subprocess.run(["umount", str(made.home)], check=True)


def fill(node: NodeUnderTest, leave_bytes: int) -> Path:
    """Take all space but this much."""
    ballast = node.home / "ballast"
    found = os.statvfs(node.home)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, found.f_bavail * found.f_frsize - leave_bytes))
    return ballast


def key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


@pytest.mark.parametrize("node", [50], indirect=True)
def test_writes_are_refused_before_the_disk_is_full_and_go_on_when_there_is_space(node: NodeUnderTest) -> None:
    fund(node.up())
    before = node.entries()
    ballast = fill(node, 30_000_000)
    with node.http() as http:
        until(lambda: http.post("/v1/entries", json=ENTRY, headers=key()).status_code == 503)
        before = node.entries()
        refused = http.post("/v1/entries", json=ENTRY, headers=key())
        assert refused.status_code == 503
        assert refused.json()["code"] == "node.disk_low"
        assert "50 MB" in refused.json()["detail"]
        assert refused.json()["hint"].startswith("Free some space")
        assert http.get("/readyz").status_code == 503
        assert http.get("/v1/balance", params={"account": ADA}).status_code == 200
        command = node.run("fund", ADA, "1")
        assert command.code == 1
        assert "MB of disk are free" in command.err
        assert "Free some space" in command.err
        with node.client() as client, pytest.raises(DiskLow):
            client.transfer(ADA, BOB, 1, reason="a test")
        assert node.run("doctor").code == 1
        assert node.entries() == before
        ballast.unlink()
        until(lambda: http.post("/v1/entries", json=ENTRY, headers=key()).status_code == 201)
        assert http.get("/readyz").status_code == 200
    assert node.run("ledger", "verify").code == 0
    fill(node, 30_000_000)
    assert node.stop() == 0
    again = node.run("up")
    assert again.code == 1
    assert "MB of disk are free" in again.err


@pytest.mark.deep
@pytest.mark.parametrize("node", [16], indirect=True)
def test_a_database_that_meets_a_full_disk_in_the_middle_of_a_write_is_not_damaged(node: NodeUnderTest) -> None:
    fund(node.up(), amount=10**9)
    settings = load_settings({"home": str(node.home)}, {})
    inside = build_node(settings, Database(node.dsn("choir_app"), wait_s=3).open())  # no guard on this way
    ballast = fill(node, 40_000_000)
    acknowledged: dict[str, Outcome] = {}
    failures: list[ChoirError] = []
    for round_ in range(400):
        drafts = [_large(f"{round_}-{number}") for number in range(500)]
        try:
            outcomes = inside.submitter.submit_batch([[draft] for draft in drafts])
        except ChoirError as error:
            failures.append(error)
            if len(failures) == 3:
                break
        else:
            acknowledged |= {draft.key: outcome for draft, outcome in zip(drafts, outcomes, strict=True)}
    assert acknowledged
    assert len(failures) == 3
    assert {type(error) for error in failures} <= {WriteDiskFull, DatabaseUnavailable}
    ballast.unlink()
    until(node.ready, 60)
    keys = list(acknowledged)
    for start in range(0, len(keys), 2000):
        some = keys[start : start + 2000]
        for name, found in zip(some, inside.submitter.submit_batch([[_large(name)] for name in some]), strict=True):
            before = acknowledged[name]
            assert isinstance(found, Posted)
            assert isinstance(before, Posted)
            assert (found.id, found.hash, found.again) == (before.id, before.hash, True)
    inside.close()
    with node.http() as http:
        assert http.post("/v1/entries", json=ENTRY, headers=key()).status_code == 201
    verified = node.run("ledger", "verify", "--json")
    assert verified.code == 0, verified.out + verified.err


def _large(name: str) -> Draft:
    return Draft("transfer", "x" * 200, "test", name, (Leg(ADA, BOB, 1),), refs=tuple("y" * 190 for _ in range(8)))


@pytest.mark.deep
@pytest.mark.parametrize("node", [16], indirect=True)
def test_a_database_that_has_no_space_at_all_comes_back_when_there_is_some(node: NodeUnderTest) -> None:
    fund(node.up())
    with node.client() as client:
        posted = client.transfer(ADA, BOB, 5, reason="a test", key="before")
    for _ in range(3):  # now nothing can be written any more, not even by the database for itself
        ballast = fill(node, 0)
        with node.http() as http:
            for _ in range(20):
                http.get("/v1/balance", params={"account": ADA})
                http.post("/v1/entries", json=ENTRY, headers=key())
        database = node.database_pid()
        if database is not None:
            os.kill(database, 9)
        with pytest.raises(AssertionError):
            until(lambda gone=database: node.database_pid() not in (None, gone) and node.ready(), 2)  # type: ignore[misc]
        ballast.unlink()
        until(node.ready, 60)
        with node.client() as client:
            again = client.transfer(ADA, BOB, 5, reason="a test", key="before")
            assert (again.id, again.again) == (posted.id, True)
    assert node.run("ledger", "verify").code == 0
    assert node.stop() == 0
