"""The auditor on proofs of what a node owes: it agrees with the package's own check, and finds every change."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from choir.doors.liabilities import routes as door
from choir.foundation.signing import NodeSecret
from choir.ledger.liabilities.model import Proof, Snapshot
from choir.ledger.liabilities.note import LiabilitiesNote
from choir.ledger.notes import Checkpoint, KeyRotation, VerifierKey, sign_note
from tests.auditor.verifier import Outcome, run, verify
from tests.depth import times
from tests.ledger.grove import JOURNAL, Grove, people

SIGNER = NodeSecret(b"\x07" * 32).signer()
KEY = VerifierKey(JOURNAL.origin, SIGNER.public)
GROVE = Grove(people(500, 1, 2**62, 77, 500, held=3))


def signed(text: str, signer: Any = SIGNER) -> str:
    return sign_note(text, JOURNAL.origin, [signer])


def record(grove: Grove = GROVE, who: int = 0, **changes: Any) -> dict[str, Any]:
    """A proof file as the node gives it."""
    snapshot = Snapshot(UUID(int=1), 42, 0, signed(grove.note.text()), signed(JOURNAL.text()), grove.secret)
    proof = door.proof(Proof(snapshot, [], (grove.prove(grove.accounts[who]),)))
    return proof.model_dump() | changes


def check(folder: Path, found: dict[str, Any] | bytes, *options: str, key: VerifierKey = KEY) -> Outcome:
    file = folder / "proof.json"
    file.write_bytes(found if isinstance(found, bytes) else json.dumps(found, ensure_ascii=False).encode())
    return run("liabilities", file, "--key", str(key), *options)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 257])
def test_everybody_is_proven(tmp_path: Path, size: int) -> None:
    grove = Grove(people(*range(10, size + 10), held=1))
    for who in {0, size // 2, size - 1}:
        report = check(tmp_path, record(grove, who)).report
        assert report["verified"], report
        assert report["owed"] == {"CREDIT": str(who + 11)}
        assert report["totals"] == {"CREDIT": str(grove.total.total)}
        assert report["size"] == 42


TEXT = json.dumps(record(), ensure_ascii=False, separators=(",", ":")).encode()


@settings(max_examples=times(60, 250), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(TEXT) - 1), st.integers(1, 255))
def test_any_changed_byte_is_found(tmp_path: Path, place: int, flip: int) -> None:
    changed = bytearray(TEXT)
    changed[place] ^= flip
    try:
        same = json.loads(changed) == json.loads(TEXT)
    except ValueError:
        same = False
    assert check(tmp_path, bytes(changed)).code == (0 if same else 5)


def _set(found: Any, path: str, value: Any) -> Any:
    """The record with one field changed; the path goes through lists by number."""
    changed = copy.deepcopy(found)
    *way, last = [int(part) if part.isdecimal() else part for part in path.split(".")]
    inner = changed
    for part in way:
        inner = inner[part]
    inner[last] = value(inner[last]) if callable(value) else value
    return changed


def less(text: str) -> str:
    return str(int(text) - 1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("accounts.0.balance", less),
        ("accounts.0.held", less),
        ("accounts.0.account", "person:p3/available/CREDIT"),
        ("accounts.0.account", "person:p0/available/SAT"),
        ("accounts.0.account", "treasury:main/pool/CREDIT"),
        ("accounts.0.shares", lambda shares: shares[:3]),
        ("accounts.0.shares", lambda shares: [*shares, shares[0]]),
        ("accounts.0.shares", lambda shares: [shares[1], shares[0], *shares[2:]]),
        ("accounts.0.shares.0.amount", lambda text: str(int(text) + 1)),
        ("accounts.0.shares.0.amount", "-1"),
        ("accounts.0.shares.2.index", lambda index: index + 1),
        ("accounts.0.shares.2.index", 10**9),
        ("accounts.0.shares.3.salt", base64.b64encode(bytes(16)).decode()),
        ("accounts.0.shares.3.salt", ""),
        ("accounts.0.shares.1.beside", lambda nodes: nodes[:-1]),
        ("accounts.0.shares.1.beside", lambda nodes: [*nodes, nodes[0]]),
        ("accounts.0.shares.1.beside.0.sum", lambda text: str(int(text) + 1)),
        ("accounts.0.shares.1.beside.0.sum", str(2**127)),
        ("accounts.0.shares.1.beside.0.sum", str(2**127 - 1)),
        ("accounts.0.shares.1.beside.0.sum", "-5"),
        ("accounts.0.shares.1.beside.0.sum", "007"),
        ("accounts.0.shares.1.beside.0.hash", base64.b64encode(bytes(32)).decode()),
        ("accounts.0.shares.1.beside.0.hash", base64.b64encode(bytes(31)).decode()),
        ("accounts", lambda accounts: accounts * 2),
        ("note", lambda note: note.replace(" 5 ", " 6 ")),
        ("note", signed(JOURNAL.text())),
        ("note", signed(GROVE.note.text(), NodeSecret(b"\x01" * 32).signer())),
        ("checkpoint", signed(Checkpoint(JOURNAL.origin, 41, JOURNAL.root).text())),
        ("checkpoint", signed(Checkpoint(JOURNAL.origin, 42, bytes(32)).text())),
        ("checkpoint", signed(Checkpoint("another.test", 42, JOURNAL.root).text())),
        ("format", "choir-ledger-proof/1"),
    ],
)
def test_any_changed_field_is_found(tmp_path: Path, path: str, value: Any) -> None:
    assert check(tmp_path, _set(record(), path, value)).code == 5


def test_a_node_that_dropped_or_understated_somebody_has_no_proof_for_them(tmp_path: Path) -> None:
    honest = people(500, 400, 500)
    for cheating in (Grove(honest[1:]), Grove([people(499)[0], *honest[1:]])):
        note = signed(cheating.note.text())
        assert check(tmp_path, record(Grove(honest), 0, note=note)).code == 5
        theirs = record(cheating, 0)
        assert check(tmp_path, theirs).code == 0
        mine = _set(theirs, "accounts.0.account", honest[0].account)
        assert check(tmp_path, _set(mine, "accounts.0.balance", "500")).code == 5


def test_two_notes_for_one_size_are_found_by_who_compares(tmp_path: Path) -> None:
    other = tmp_path / "other.note"
    other.write_text(signed(GROVE.note.text()))
    same = check(tmp_path, record(), "--note", str(other))
    assert (same.code, same.report["note_given"]) == (0, True)
    other.write_text(signed(Grove(people(500, 1)).note.text()))
    assert "different people" in check(tmp_path, record(), "--note", str(other)).difference["what"]
    later = LiabilitiesNote(Checkpoint(JOURNAL.origin, 43, JOURNAL.root), GROVE.note.totals)
    other.write_text(signed(later.text()))
    assert "another size" in check(tmp_path, record(), "--note", str(other)).difference["what"]
    other.write_text("no note")
    assert check(tmp_path, record(), "--note", str(other)).code == 2


def test_key_changes_are_followed(tmp_path: Path) -> None:
    new = NodeSecret(b"\x08" * 32).signer()
    new_key = VerifierKey(JOURNAL.origin, new.public)
    change = KeyRotation(JOURNAL.origin, KEY, new_key, 42, JOURNAL.root)
    note = sign_note(change.text(), JOURNAL.origin, [SIGNER, new])
    assert check(tmp_path, record(rotations=[note]), key=new_key).code == 0
    assert check(tmp_path, record(), key=new_key).code == 5


def test_what_it_says_to_people(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "proof.json"
    file.write_text(json.dumps(record()))
    assert verify.main(["liabilities", str(file), "--key", str(KEY)]) == 0
    said = capfd.readouterr().out
    assert "VERIFIED  after 42 entries choir.test owes you" in said
    assert "person:p0/available/CREDIT: 500, and held 3" in said
    assert f"you are owed 503 of all the {GROVE.total.total} that are owed" in said


def test_a_file_without_accounts_says_loudly_that_nothing_is_owed(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    outcome = check(tmp_path, record(accounts=[]))
    assert outcome.code == 0
    assert outcome.report["owed"] == {}
    assert outcome.report["notes"][0].startswith("No account is in the file: according to it, nothing is owed")
    assert verify.main(["liabilities", str(tmp_path / "proof.json"), "--key", str(KEY)]) == 0
    first = capfdbinary.readouterr().out.decode().splitlines()[0]
    assert first.endswith("THE FILE SAYS THAT YOU ARE OWED NOTHING")
    assert "owes you what is below" not in first
