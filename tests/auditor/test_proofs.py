"""The auditor on proofs of one entry and of growth, with keys that changed on the way."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from choir.ledger.notes import VerifierKey
from tests.auditor.verifier import Outcome, run
from tests.ledger.export_maker import ALICE, ISSUANCE, ExportMaker, Record, full_journal


def check(folder: Path, command: str, record: Record | bytes, key: VerifierKey) -> Outcome:
    file = folder / "proof.json"
    file.write_bytes(record if isinstance(record, bytes) else json.dumps(record, indent=1).encode())
    return run(command, file, "--key", str(key))


def journal(size: int) -> ExportMaker:
    maker = ExportMaker(seed=4)
    maker.act("open", ISSUANCE, ALICE)
    for number in range(size):
        maker.post("issue", (ISSUANCE, ALICE, number + 1))
    return maker


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_every_entry_of_every_size_is_proven(tmp_path: Path, size: int) -> None:
    maker = journal(size)
    for seq in range(1, size + 1):
        outcome = check(tmp_path, "proof", maker.proof(seq), maker.keys[0])
        assert (outcome.code, outcome.report["seq"], outcome.report["size"]) == (0, seq, size)


def test_growth_from_every_size_to_every_size_is_proven(tmp_path: Path) -> None:
    maker = journal(9)
    for size2 in range(1, 10):
        for size1 in range(1, size2 + 1):
            outcome = check(tmp_path, "consistency", maker.consistency(size1, size2), maker.keys[0])
            assert (outcome.code, outcome.report["from_size"], outcome.report["size"]) == (0, size1, size2)


def test_everything_begins_with_an_empty_journal(tmp_path: Path) -> None:
    maker = journal(3)
    record = maker.consistency(1, 3) | {"from": maker.checkpoint(0), "proof": []}
    assert check(tmp_path, "consistency", record, maker.keys[0]).code == 0
    record["proof"] = [base64.b64encode(bytes(32)).decode()]
    assert check(tmp_path, "consistency", record, maker.keys[0]).difference["field"] == "proof"


def test_key_changes_lead_from_the_trusted_key_in_both_directions(tmp_path: Path) -> None:
    maker = full_journal()
    for trusted in maker.keys:
        for signing in range(len(maker.keys)):
            proof = maker.proof(3, key=signing)
            assert check(tmp_path, "proof", proof, trusted).code == 0
            proof["rotations"].reverse()
            assert check(tmp_path, "proof", proof, trusted).code == 0
            grown = maker.consistency(2, 9, key1=signing)
            assert check(tmp_path, "consistency", grown, trusted).code == 0


def test_a_key_that_no_change_leads_to_is_not_trusted(tmp_path: Path) -> None:
    maker = full_journal()
    gap = maker.proof(3, key=3)
    del gap["rotations"][1]
    assert check(tmp_path, "proof", gap, maker.keys[0]).difference["field"] == "checkpoint"
    assert check(tmp_path, "proof", gap, maker.keys[2]).code == 0
    stranger = ExportMaker(seed=99).keys[0]
    assert check(tmp_path, "proof", maker.proof(3), stranger).difference["field"] == "checkpoint"
    assert check(tmp_path, "consistency", maker.consistency(2, 3), stranger).difference["field"] == "from"


def test_a_key_change_with_one_signature_leads_nowhere(tmp_path: Path) -> None:
    maker = full_journal()
    for signer in (0, 1):
        proof = maker.proof(3)
        text = proof["rotations"][0].rpartition("\n\n")[0] + "\n"
        proof["rotations"][0] = maker.sign(text, maker.signers[signer])
        assert check(tmp_path, "proof", proof, maker.keys[0]).difference["field"] == "rotations[0]"


def test_key_changes_of_another_journal_do_not_count(tmp_path: Path) -> None:
    maker, other = full_journal(), full_journal()
    other.origin = "choir.example/other"
    proof = maker.proof(3) | {"rotations": other.rotation_notes()}
    assert check(tmp_path, "proof", proof, maker.keys[0]).difference["field"] == "rotations"


def flipped(text: str) -> str:
    data = bytearray(base64.b64decode(text))
    data[-1] ^= 1
    return base64.b64encode(data).decode()


def test_a_tampered_proof_is_found(tmp_path: Path) -> None:
    maker = journal(7)
    true = maker.proof(3)

    def field_found(**changes: Any) -> str:
        found: str = check(tmp_path, "proof", true | changes, maker.keys[0]).difference["field"]
        return found

    path = true["proof"]
    for number in range(len(path)):
        assert field_found(proof=[*path[:number], flipped(path[number]), *path[number + 1 :]]) == "proof"
        assert field_found(proof=path[:number] + path[number + 1 :]) == "proof"
    assert field_found(proof=[*path, path[0]]) == "proof"
    assert field_found(proof=[]) == "proof"
    assert field_found(proof=["AAAA"]) == "proof[0]"
    assert field_found(proof=["%"]) == "proof[0]"
    assert field_found(entry=true["entry"] | {"seq": 4}) == "entry.hash"
    assert field_found(entry=true["entry"] | {"hash": "00" * 32}) == "entry.hash"
    assert field_found(entry=true["entry"] | {"seq": 0}) == "entry.seq"
    assert field_found(entry=maker.proof(4)["entry"]) == "proof"
    assert field_found(entry=journal(9).proof(9)["entry"]) == "entry.seq"
    assert field_found(checkpoint=maker.checkpoint(6)) == "proof"
    assert field_found(checkpoint=true["checkpoint"].replace("\n7\n", "\n8\n")) == "checkpoint"
    assert field_found(format="choir-ledger-proof/2") == "format"
    assert field_found(more=1) == "more"


def test_a_forged_entry_with_its_own_hash_is_found(tmp_path: Path) -> None:
    maker, forged = journal(7), journal(7)
    forged.entries[2].content["legs"][0]["amount"] = "1000000"
    proof = maker.proof(3) | {"entry": forged.proof(3)["entry"]}
    difference = check(tmp_path, "proof", proof, maker.keys[0]).difference
    assert (difference["field"], "another root" in difference["what"]) == ("proof", True)
    forged.entries[2].content["legs"][0]["amount"] = "0"
    assert (
        check(tmp_path, "proof", forged.proof(3), maker.keys[0]).difference["field"] == "entry.content.legs[0].amount"
    )


def test_a_tampered_proof_of_growth_is_found(tmp_path: Path) -> None:
    maker, forked = journal(9), journal(9)
    forked.entries[1].content["reason"] = "another history"
    true = maker.consistency(3, 9)

    def found(**changes: Any) -> dict[str, Any]:
        return check(tmp_path, "consistency", true | changes, maker.keys[0]).difference

    path = true["proof"]
    for number in range(len(path)):
        assert found(proof=[*path[:number], flipped(path[number]), *path[number + 1 :]])["field"] == "proof"
        assert found(proof=path[:number] + path[number + 1 :])["field"] == "proof"
    assert found(proof=[])["field"] == "proof"
    assert found(proof=[*path, path[0]])["field"] == "proof"
    assert "first checkpoint" in found(**{"from": forked.checkpoint(3)})["what"]
    assert "second checkpoint" in found(to=forked.checkpoint(9))["what"]
    assert found(**{"from": maker.checkpoint(9), "to": maker.checkpoint(3)})["field"] == "to"
    same = found(**{"from": forked.checkpoint(9), "proof": []})
    assert "history was forked" in same["what"]
    elsewhere = journal(9)
    elsewhere.origin = "choir.example/other"
    assert "different journals" in found(to=elsewhere.checkpoint(9))["what"]


def test_account_acts_of_two_checkpoints_must_fit(tmp_path: Path) -> None:
    maker = journal(4)
    maker.act("freeze", ALICE)
    true = maker.consistency(3, 4)
    assert check(tmp_path, "consistency", true, maker.keys[0]).code == 0
    fewer = true | {"to": maker.checkpoint(4, acts=1)}
    assert "fewer account acts" in check(tmp_path, "consistency", fewer, maker.keys[0]).difference["what"]
    forked = journal(4)
    forked.acts[1].reason = "another"
    same = true | {"to": forked.checkpoint(4)}
    assert "account history was forked" in check(tmp_path, "consistency", same, maker.keys[0]).difference["what"]


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{", b'{"format":"a","format":"a"}', b"\xff", b"[" * 100_000, b'{"a":' + b"9" * 6000 + b"}", b"NaN"],
)
@pytest.mark.parametrize("command", ["proof", "consistency"])
def test_a_file_that_is_no_proof_is_a_difference(tmp_path: Path, command: str, data: bytes) -> None:
    assert check(tmp_path, command, data, ExportMaker().keys[0]).difference["what"]
