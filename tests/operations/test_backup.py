"""Backup and restore, rehearsed: under load, into another home, and everything that must be noticed."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.operations.nodes import ADA, BOB, NodeUnderTest, fund, new_node


@pytest.fixture
def other() -> Iterator[NodeUnderTest]:
    """A second home."""
    with new_node() as made:
        yield made


@pytest.fixture(scope="module")
def kept() -> Iterator[NodeUnderTest]:
    """A stopped node with two backups: `early.tar` with one entry less than `late.tar`."""
    with new_node() as node:
        fund(node.up())
        assert node.run("backup", "early.tar").code == 0
        with node.client() as client:
            client.transfer(ADA, BOB, 100, reason="a test", key="between")
            client.checkpoint()
        assert node.run("backup", "late.tar").code == 0
        assert node.stop() == 0
        yield node


def give_key(source: NodeUnderTest, target: NodeUnderTest) -> None:
    target.home.mkdir(mode=0o700, exist_ok=True)
    shutil.copy(source.home / "node.key", target.home / "node.key")


@pytest.mark.deep
def test_a_backup_under_load_restores_whole_elsewhere(node: NodeUnderTest, other: NodeUnderTest) -> None:
    fund(node.up())
    done = threading.Event()
    acknowledged: list[str] = []

    def write() -> None:
        with node.client() as client:
            while not done.is_set():
                acknowledged.append(client.transfer(ADA, BOB, 1, reason="a test").id)

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    time.sleep(0.5)
    before = list(acknowledged)
    backup = node.run("backup", "running.tar", "--json")
    done.set()
    for writer in writers:
        writer.join()
    assert backup.code == 0, backup.err
    assert backup.json["entries"] > len(before)
    file = node.temporary / "running.tar"
    assert file.stat().st_mode & 0o777 == 0o600
    assert (node.home / "node.key").read_bytes().strip() not in file.read_bytes()
    assert [path.name for path in node.temporary.iterdir() if "backup" in path.name] == []

    give_key(node, other)
    restored = other.run("restore", str(file), "--json")
    assert restored.code == 0, restored.err
    assert restored.json["entries"] == backup.json["entries"]
    assert list(other.home.glob(".choir-*")) == []
    verified = other.run("ledger", "verify", "--json")
    assert verified.code == 0, verified.out
    other.up()
    with other.client() as client, node.client() as original:
        for id_ in before:  # what was acknowledged before the backup began is in it
            assert client.entry(id_) == original.entry(id_)
        entries = client.node().entries
        assert entries >= backup.json["entries"]
        for account in (ADA, BOB):
            assert client.balance(account) == original.balance(account, at_seq=entries)
        assert client.node().origin == original.node().origin
        client.transfer(ADA, BOB, 1, reason="it goes on")


@pytest.mark.deep
def test_an_older_backup_over_a_newer_checkpoint_is_noticed(kept: NodeUnderTest, other: NodeUnderTest) -> None:
    give_key(kept, other)
    shutil.copy(kept.home / "checkpoint.note", other.home / "checkpoint.note")
    noticed = other.run("restore", str(kept.temporary / "early.tar"), "--json")
    assert noticed.code == 5
    assert json.loads(noticed.err.splitlines()[-1])["error"]["code"] == "node.rolled_back"
    up = other.run("up")
    assert up.code == 5
    assert "the end of history is missing" in up.err
    assert "--accept-rollback" in up.err
    accepted = other.run("restore", "--accept-rollback", "--json")
    assert accepted.code == 0, accepted.err
    assert accepted.json == {"entries": 1}
    again = other.run("restore", "--accept-rollback")
    assert again.code == 1
    assert "nothing to accept" in again.err
    other.up()
    with other.client() as client:
        assert client.balance(BOB).balance == "0"


def test_a_rollback_can_be_accepted_in_one_step(kept: NodeUnderTest, other: NodeUnderTest) -> None:
    give_key(kept, other)
    shutil.copy(kept.home / "checkpoint.note", other.home / "checkpoint.note")
    accepted = other.run("restore", str(kept.temporary / "early.tar"), "--accept-rollback")
    assert accepted.code == 0, accepted.err
    assert other.run("ledger", "verify").code == 0


def test_a_restore_never_writes_over_data_or_under_a_running_node(kept: NodeUnderTest, other: NodeUnderTest) -> None:
    give_key(kept, other)
    other.up()
    late = str(kept.temporary / "late.tar")
    running = other.run("restore", late)
    assert running.code == 1
    assert "A node is running" in running.err
    assert other.stop() == 0
    full = other.run("restore", late)
    assert full.code == 1
    assert "needs an empty database" in full.err
    other.up()
    assert other.entries() == 0


_FIELDS = ["format", "made_at", "origin", "entries", "checkpoint"]


def _damaged(kept: NodeUnderTest, folder: Path) -> dict[str, Path]:
    """Files that are no backups, or not whole ones."""
    good = (kept.temporary / "late.tar").read_bytes()
    made = {
        "nothing": b"",
        "something else": b"a letter to a friend\n" * 100,
        "half": good[: len(good) // 2],
        "a dump with a hole": good[:9000] + b"\0" * 2000 + good[11000:],
        "no dump": _tar({"manifest.json": _manifest(kept)}),
        "another format": _tar({"manifest.json": _manifest(kept).replace(b"choir-backup/1", b"choir-backup/9")}),
        "a manifest of numbers": _tar({"manifest.json": json.dumps(dict.fromkeys(_FIELDS, 1)).encode()}),
        "a manifest of nothing": _tar({"manifest.json": b"[]"}),
        "another dump": _tar({"manifest.json": _manifest(kept), "database.dump": b"PGDMP no"}),
    }  # fmt: skip
    paths = {}
    for number, (name, data) in enumerate(made.items()):
        paths[name] = folder / f"{number}.tar"
        paths[name].write_bytes(data)
    paths["missing"] = folder / "missing.tar"
    paths["a folder"] = folder
    return paths


def _tar(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _member(node: NodeUnderTest, backup: str, name: str) -> bytes:
    with tarfile.open(node.temporary / backup) as tar:
        found = tar.extractfile(name)
        assert found is not None
        return found.read()


def _manifest(node: NodeUnderTest) -> bytes:
    return _member(node, "late.tar", "manifest.json")


def test_damaged_and_foreign_files_are_refused_and_change_nothing(
    kept: NodeUnderTest, other: NodeUnderTest, tmp_path: Path
) -> None:
    give_key(kept, other)
    for name, file in _damaged(kept, tmp_path).items():
        refused = other.run("restore", str(file), "--json")
        assert refused.code in (1, 5), f"{name}: {refused.out}{refused.err}"
        assert json.loads(refused.err.splitlines()[-1])["error"]["code"] in (
            "backup.not_a_backup",
            "backup.failed",
            "broken",
        ), name
        assert "Traceback" not in refused.err
    whole = other.run("restore", str(kept.temporary / "late.tar"))  # nothing of the others is in the way
    assert whole.code == 0, whole.err
    assert other.run("ledger", "verify").code == 0


def test_a_dump_that_is_not_the_one_of_its_checkpoint_is_taken_back(
    kept: NodeUnderTest, other: NodeUnderTest, tmp_path: Path
) -> None:
    give_key(kept, other)
    mixed = tmp_path / "mixed.tar"
    mixed.write_bytes(
        _tar({"manifest.json": _manifest(kept), "database.dump": _member(kept, "early.tar", "database.dump")})
    )
    refused = other.run("restore", str(mixed))
    assert refused.code == 5
    assert "not the one of its checkpoint" in refused.err
    assert other.run("restore", str(kept.temporary / "late.tar")).code == 0
    verified = other.run("ledger", "verify", "--json")
    assert verified.json["entries"] == 2


def test_without_the_nodes_key_nothing_is_restored_and_it_says_why(kept: NodeUnderTest, other: NodeUnderTest) -> None:
    refused = other.run("restore", str(kept.temporary / "late.tar"))
    assert refused.code == 1
    assert "needs the node key that signed it" in refused.err
    assert not (other.home / "postgres").exists()
    give_key(kept, other)
    assert other.run("restore", str(kept.temporary / "late.tar")).code == 0
    other.up()
    assert other.entries() == 2


def test_a_backup_that_cannot_be_written_leaves_the_old_one(kept: NodeUnderTest) -> None:
    nowhere = kept.run("backup", "/nowhere/at/all.tar")
    assert nowhere.code == 1
    assert "choir: /nowhere/at" in nowhere.err
    assert "Traceback" not in nowhere.err
    assert kept.run("restore").code == 2
