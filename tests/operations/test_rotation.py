"""Replacing the node's key while it runs, and after a kill in between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from choir.ledger.notes import VerifierKey, open_note
from tests.auditor import verifier
from tests.operations.nodes import ADA, BOB, NodeUnderTest, fund

_KILLED_BEFORE_THE_KEY_IS_IN_PLACE = """
import os, signal
from choir.operations import rotation
rotation.put_key_in_place = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from choir.foundation.settings import load_settings
rotation.rotate_key(load_settings(), lambda _: None)
"""
_KILLED_BEFORE_THE_HAND_OVER_IS_RECORDED = """
import os, signal
from choir.ledger.keys import NodeKeys
NodeKeys.rotate = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
from choir.operations import rotation
from choir.foundation.settings import load_settings
rotation.rotate_key(load_settings(), lambda _: None)
"""


def interrupted(node: NodeUnderTest, code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], env=node.environment, check=False, capture_output=True)
    assert done.returncode == -9, done.stderr.decode()


def signs_with(note: str, key: str) -> bool:
    """Whether the note is signed by that key and by no other."""
    open_note(note, [VerifierKey.parse(key)])
    return True


def test_the_next_checkpoint_is_signed_by_the_new_key(node: NodeUnderTest, tmp_path: Path) -> None:
    fund(node.up())
    with node.client() as client:
        first = client.node().key
        early = client.transfer(ADA, BOB, 1, reason="a test")
        assert signs_with(client.checkpoint().note, first)
        early_size = client.checkpoint().size
        rotated = node.run("key", "rotate", "--json")
        assert rotated.code == 0, rotated.err
        assert rotated.json["old"] == first
        second = rotated.json["new"]
        assert second != first
        assert client.node().key == second
        late = client.transfer(ADA, BOB, 1, reason="a test")
        assert signs_with(client.checkpoint().note, second)
        assert node.run("key", "rotate").code == 0
        third = client.node().key
        client.transfer(ADA, BOB, 1, reason="a test")
        assert signs_with(client.checkpoint().note, third)
        shown = node.run("key", "show", "--json").json
        assert [item["key"] for item in shown] == [first, second, third]
        for number, entry in enumerate((early, late)):
            proof = tmp_path / f"{number}.json"
            proof.write_text(client.prove(entry.id).model_dump_json())
            assert verifier.run("proof", proof, "--key", first).code == 0  # whoever trusts the first key can follow
        consistency = tmp_path / "consistency.json"
        consistency.write_text(client.prove_consistency(early_size).model_dump_json(by_alias=True))
        assert verifier.run("consistency", consistency, "--key", first).code == 0
    exported = node.run("ledger", "export", str(tmp_path / "ledger.jsonl"))
    assert exported.code == 0, exported.err
    for key in (first, second, third):
        assert verifier.run("export", tmp_path / "ledger.jsonl", "--key", key).code == 0
    assert node.run("ledger", "verify").code == 0
    assert len(list(node.home.glob("node.key.retired-*"))) == 2
    assert (node.home / "node.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.deep
def test_a_rotation_that_was_recorded_is_completed_at_the_next_start(node: NodeUnderTest) -> None:
    fund(node.up())
    with node.client() as client:
        first = client.node().key
        interrupted(node, _KILLED_BEFORE_THE_KEY_IS_IN_PLACE)
        second = client.node().key
        assert second != first
    assert (node.home / "node.key.next").exists()
    assert node.stop() == 0
    node.up()
    assert not (node.home / "node.key.next").exists()
    with node.client() as client:
        assert client.node().key == second
        assert signs_with(client.checkpoint().note, second)
    assert node.run("ledger", "verify").code == 0


@pytest.mark.deep
def test_a_rotation_that_was_not_recorded_never_happened(node: NodeUnderTest) -> None:
    fund(node.up())
    with node.client() as client:
        first = client.node().key
        interrupted(node, _KILLED_BEFORE_THE_HAND_OVER_IS_RECORDED)
        assert signs_with(client.checkpoint().note, first)
        assert node.stop() == 0
        node.up()
        assert signs_with(client.checkpoint().note, first)
        assert node.run("key", "rotate").code == 0
        assert signs_with(client.checkpoint().note, client.node().key)
    assert not (node.home / "node.key.next").exists()


def test_two_rotations_at_once_leave_one_chain_of_keys(node: NodeUnderTest) -> None:
    node.up()
    command = [sys.executable, "-m", "choir.doors.cli.main", "key", "rotate"]
    both = [
        subprocess.Popen(command, env=node.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, 1), said
        assert b"Traceback" not in said, said.decode()
    with node.client() as client:
        assert signs_with(client.checkpoint().note, client.node().key)
    assert node.run("ledger", "verify").code == 0


def test_a_key_that_is_not_in_a_file_cannot_be_rotated_here(node: NodeUnderTest) -> None:
    refused = node.run("key", "rotate", env={"CHOIR_NODE_KEY": "ab" * 32})
    assert refused.code == 1
    assert "does not come from a file" in refused.err
