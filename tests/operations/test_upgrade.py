"""A node of the last landed version, upgraded with everything that is in it.

`landed/backup.tar.gz` was made by that version (commit f086f32): two people with passkeys and an agent each, accounts
and transfers, a provider, a job that was paid, and one that waited for a provider. Beside it are the key and the
last checkpoint of that node. It is restored and started by the version under test, as an operator does it.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from choir.features import FEATURES
from choir.storage.migrations import known_migrations
from tests.docs.pages import ROOT
from tests.operations.nodes import NodeUnderTest, new_node, until

LANDED = Path(__file__).with_name("landed")
ENTRIES = 8
KEY = "choir/node_01m7mq2cvbetkrb851jmz4p5w8+08d4e0b0+ARTXSFnyme7e+5FxES2o8lRiwHSCThedxMmHsSOR4jO3"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def upgraded() -> Iterator[NodeUnderTest]:
    with new_node() as node:
        node.home.mkdir(mode=0o700)
        for name in ("node.key", "checkpoint.note"):
            shutil.copy(LANDED / name, node.home / name)
        (node.home / "node.key").chmod(0o600)
        backup = node.temporary / "backup.tar"
        backup.write_bytes(gzip.decompress((LANDED / "backup.tar.gz").read_bytes()))
        done = node.run("restore", str(backup))
        assert done.code == 0, done.err
        assert f"Restored {ENTRIES} entries" in done.out + done.err
        yield node.up()


def _rows(node: NodeUnderTest, question: str) -> list[tuple[object, ...]]:
    with psycopg.connect(node.dsn()) as owner:
        return owner.execute(question).fetchall()


def test_the_database_is_brought_up_to_date(upgraded: NodeUnderTest) -> None:
    recorded = _rows(upgraded, "select feature, number from schema_migrations")
    assert sorted(recorded) == sorted(migration.place for migration in known_migrations(FEATURES))
    doctor = upgraded.run("doctor")
    assert doctor.code == 0, doctor.out


def test_the_ledger_is_what_it_was_and_goes_on(upgraded: NodeUnderTest) -> None:
    with upgraded.client() as client:
        assert client.fund("person:carl/available/SAT", 1_000)
    assert upgraded.run("ledger", "verify").code == 0
    file = upgraded.temporary / "ledger.jsonl"
    assert upgraded.run("ledger", "export", str(file)).code == 0
    verifier = [sys.executable, str(ROOT / "auditor" / "choir_verify.py"), "export", str(file)]
    trusted = ["--key", KEY, "--checkpoint", str(LANDED / "checkpoint.note")]
    done = subprocess.run([*verifier, *trusted], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "VERIFIED" in done.stdout


def test_people_and_their_agents_are_there(upgraded: NodeUnderTest) -> None:
    with upgraded.http() as http:
        for handle in ("ada", "bob"):
            assert http.get(f"/v1/people/{handle}").json()["handle"] == handle
        assert http.get("/v1/people/carl").status_code == 404
    assert _rows(upgraded, "select count(*) from passkeys") == [(2,)]
    assert _rows(upgraded, "select count(*) from agents where name = 'scout'") == [(2,)]


def test_a_paid_job_stays_paid_and_a_waiting_one_ends_in_order(upgraded: NodeUnderTest) -> None:
    """Nobody took it, so its budget goes back to the buyer."""
    jobs = "select state, price is not null, receipt is not null from jobs where qualifies is null order by created_us"
    assert _rows(upgraded, jobs)[0] == ("paid", True, True)
    assert upgraded.run("clock", "--advance", "10000000", "--yes").code == 0
    until(lambda: _rows(upgraded, jobs)[1][0] != "open")
    assert upgraded.run("ledger", "verify").code == 0
