"""The auditor on whole exports: what is true verifies, and no damage goes unnoticed or unplaced."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from choir.ledger.model import ROLES, account_name
from tests.auditor.verifier import FILE, audit, run, verify
from tests.depth import times
from tests.ledger.books import check_export
from tests.ledger.export_maker import (
    ALICE,
    BOB,
    CAROL,
    ISSUANCE,
    ExportMaker,
    Record,
    encode,
    full_journal,
    small_journal,
)

JOURNALS = {"empty": ExportMaker, "small": small_journal, "full": full_journal}


@pytest.fixture
def note_file(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint.txt"


@pytest.mark.parametrize("name", JOURNALS)
def test_a_true_export_verifies(tmp_path: Path, name: str) -> None:
    maker = JOURNALS[name]()
    outcome = audit(tmp_path, maker.export())
    assert outcome.code == 0
    assert check_export(maker.export()).differences == ()
    assert outcome.report["entries"] == len(maker.entries)
    assert outcome.report["key"] == str(maker.keys[-1])
    assert "taken from the file itself" in outcome.report["notes"][0]


def test_it_knows_every_role_of_an_account() -> None:
    """Its list is its own; what the ledger can write it must be able to read."""
    owners = {"issuance": "system:main", "external": "world:outside"}
    for role in ROLES:
        name = f"{owners.get(role, 'person:ada')}/{role}/SAT"
        assert account_name(name)
        assert verify.ACCOUNT.fullmatch(name), name


def test_every_key_of_the_chain_can_be_the_trusted_one(tmp_path: Path) -> None:
    maker = full_journal()
    for key in maker.keys:
        outcome = audit(tmp_path, maker.export(), "--key", str(key))
        assert (outcome.code, outcome.report["key_given"]) == (0, True)
        assert len(outcome.report["notes"]) == 1
    stranger = ExportMaker(seed=99).keys[0]
    difference = audit(tmp_path, maker.export(), "--key", str(stranger)).difference
    assert (difference["line"], difference["field"], difference["expected"]) == (1, "key", str(stranger))


@pytest.mark.scaled
def test_every_changed_byte_is_found_and_placed(tmp_path: Path) -> None:
    data = small_journal().export()
    lines_before = [data[:place].count(b"\n") + 1 for place in range(len(data))]
    for place, byte in islice(enumerate(data), 0, None, times(21, 1)):
        for change in (0x01, 0x20, 0x80):
            damaged = data[:place] + bytes([byte ^ change]) + data[place + 1 :]
            difference = audit(tmp_path, damaged).difference
            assert difference["what"], (place, change)
            assert difference["line"] >= lines_before[place] - 1, (place, change, difference)
            assert 0 <= difference["offset"] <= len(data)


@pytest.mark.scaled
def test_every_changed_byte_is_found_by_the_ledgers_own_verifier_too() -> None:
    data = small_journal().export()
    for place, byte in islice(enumerate(data), 0, None, times(15, 1)):
        damaged = data[:place] + bytes([byte ^ 0x01]) + data[place + 1 :]
        lines = [found.where.split()[1] for found in check_export(damaged).differences if found.where[:5] == "line "]
        assert lines, place
        assert min(map(int, lines)) >= data[:place].count(b"\n"), place


@pytest.mark.scaled
def test_every_dropped_byte_is_found(tmp_path: Path) -> None:
    data = small_journal().export()
    for place in range(0, len(data), times(15, 1)):
        assert audit(tmp_path, data[:place] + data[place + 1 :]).difference["line"] > 0
        assert audit(tmp_path, data[:place]).difference["line"] > 0


@pytest.mark.parametrize("name", JOURNALS)
def test_every_dropped_doubled_or_swapped_line_is_found(tmp_path: Path, name: str) -> None:
    lines = JOURNALS[name]().export().splitlines(keepends=True)
    for number in range(len(lines)):
        before, line, after = lines[:number], lines[number], lines[number + 1 :]
        for damaged in (before + after, [*before, line, line, *after], [*before, *after[:1], line, *after[1:]]):
            if damaged != lines:
                data = b"".join(damaged)
                assert number <= audit(tmp_path, data).difference["line"]
                assert any(found.where.startswith("line ") for found in check_export(data).differences)


def test_the_report_names_line_byte_and_field(tmp_path: Path) -> None:
    data = small_journal().export()
    place = data.index(b'"seq":2') + 6
    start = data.rindex(b"\n", 0, place) + 1
    difference = audit(tmp_path, data[:place] + b"3" + data[place + 1 :]).difference
    assert (difference["line"], difference["offset"], difference["field"]) == (6, start, "seq")
    assert (difference["expected"], difference["found"]) == ("2", "3")


UGLY: list[tuple[bytes, bytes]] = [
    (b'{"account":', b'{ "account":'),
    (b'"kind":"issue"', b'"kind":"\\u0069ssue"'),
    (b'"seq":1,', b'"seq":1.0,'),
    (b'"seq":1,', b'"seq":1e0,'),
    (b'"seq":1,', b'"seq":true,'),
    (b'"seq":1,', b'"seq":NaN,'),
    (b'"seq":1,', b'"seq":-0,'),
    (b'"seq":1,', b'"seq":' + b"1" * 5000 + b","),
    (b'"seq":1,', b'"seq":1,"seq":1,'),
    (b'"seq":1,', b'"seq":1,"sex":1,'),
    (b'"seq":1,', b""),
    (b'"seq":1,"type"', b'"type"'),
    (b'"reason":"a test"', b'"reason":"\\ud800"'),
    (b'"reason":"a test"', b'"reason":null'),
    (b'"reason":"a test"', b'"reason":' + b"[" * 100_000),
    (b'"type":"header"', b'"type":["header"]'),
    (b"/1", b"/2"),
    (b"\n{", b"\r\n{"),
    (b"\n{", b"\n\n{"),
    (b"\n{", b"\n[]\n{"),
    (b'{"format"', b'\xef\xbb\xbf{"format"'),
]


@pytest.mark.parametrize(("old", "new"), UGLY)
def test_lines_have_one_form(tmp_path: Path, old: bytes, new: bytes) -> None:
    data = small_journal().export()
    assert old in data
    assert audit(tmp_path, data.replace(old, new, 1)).difference["line"] > 0


def test_an_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "LINE_BYTES_MAX", 1000)
    assert "too long" in audit(tmp_path, b"a" * 5000).difference["what"]


# An attacker can hash as well as anybody, but has no key.


def rehashed(forged: ExportMaker, true: ExportMaker) -> tuple[list[Record], Record]:
    """The forged journal with all that an attacker can compute, and the rest from the true one."""
    records = forged.records()
    notes = [record for record in true.records() if record["type"] == "rotation"]
    body = [record for record in records if record["type"] != "rotation"]
    body[1:1] = notes
    trailer = forged.trailer(encode(body), forged.act_records())
    return body, trailer


@pytest.mark.parametrize("keep", ["checkpoint", "signature"])
def test_a_rehashed_forgery_is_found(tmp_path: Path, keep: str) -> None:
    true, forged = small_journal(), small_journal()
    forged.entries[2].content["legs"][0]["amount"] = "149"
    forged.entries[2].content["legs"][1]["amount"] = "251"
    records, trailer = rehashed(forged, true)
    thief = ExportMaker(seed=66)
    trailer[keep] = json.loads(true.export().splitlines()[-1])[keep]
    difference = audit(tmp_path, encode([*records, trailer])).difference
    assert (difference["line"], difference["field"]) == (9, keep)
    trailer |= {"checkpoint": thief.checkpoint(), "signature": trailer["signature"]}
    assert audit(tmp_path, encode([*records, trailer])).difference["line"] == 9


def test_a_forgery_before_a_key_change_contradicts_it(tmp_path: Path) -> None:
    true, forged = small_journal(), small_journal()
    forged.entries[0].content["legs"][0]["amount"] = "1001"
    records, trailer = rehashed(forged, true)
    difference = audit(tmp_path, encode([*records, trailer])).difference
    assert (difference["line"], difference["field"]) == (5, "root")
    assert "key change names another root" in difference["what"]


def test_forged_account_acts_are_found(tmp_path: Path) -> None:
    true, forged = small_journal(), small_journal()
    forged.acts[0].reason = "another"
    records, trailer = rehashed(forged, true)
    trailer["signature"] = json.loads(true.export().splitlines()[-1])["signature"]
    assert audit(tmp_path, encode([*records, trailer])).difference["field"] == "signature"


def test_a_whole_journal_under_another_key_needs_the_trusted_key_to_be_found(tmp_path: Path) -> None:
    true, impostor = small_journal(), small_journal()
    impostor.first = ExportMaker(seed=66).first
    outcome = audit(tmp_path, impostor.export())
    assert outcome.code == 0
    assert "not who made it" in outcome.report["notes"][0]
    assert audit(tmp_path, impostor.export(), "--key", str(true.keys[0])).difference["field"] == "key"


# Changes of key


def test_a_broken_chain_of_keys_is_found(tmp_path: Path) -> None:
    maker = full_journal()
    records = maker.records()
    for order, line in [([1, 3, 2], 3), ([2, 3], 2), ([1, 1, 2, 3], 3), ([1, 2], len(records))]:
        body = [records[0], *(records[number] for number in order), *records[4:]]
        data = encode([*body, maker.trailer(encode(body), maker.act_records())])
        difference = audit(tmp_path, data).difference
        assert (difference["line"], difference["field"]) == (line, "note" if line < 9 else "checkpoint")


@pytest.mark.parametrize("signer", [0, 1])
def test_a_key_change_needs_both_signatures(tmp_path: Path, signer: int) -> None:
    maker = small_journal()
    body = maker.records()
    text = body[1]["note"].rpartition("\n\n")[0] + "\n"
    body[1]["note"] = maker.sign(text, maker.signers[signer])
    data = encode([*body, maker.trailer(encode(body), maker.act_records())])
    difference = audit(tmp_path, data).difference
    assert (difference["line"], difference["field"]) == (2, "note")
    assert str(maker.keys[1 - signer]) == difference["expected"]


def test_a_key_change_for_entries_that_are_not_there_is_found(tmp_path: Path) -> None:
    maker = small_journal()
    body = maker.records()
    maker.cut(1)
    body = [body[0], body[1], *maker.journal_records()]
    later = small_journal()
    later.rotations = [(maker.rotations[0][0], 3)]
    body[1] = later.records()[1]
    data = encode([*body, maker.trailer(encode(body), maker.act_records())])
    assert "names 3 entries, this export has 1" in audit(tmp_path, data).difference["what"]


def test_a_key_change_may_not_be_older_than_the_one_before(tmp_path: Path) -> None:
    maker = full_journal()
    maker.rotations[1] = (maker.rotations[1][0], 1)
    difference = audit(tmp_path, maker.export()).difference
    assert (difference["line"], difference["expected"], difference["found"]) == (3, "2 entries or more", "1")


def test_another_journal_is_not_this_one(tmp_path: Path) -> None:
    maker = small_journal()
    body = maker.records()
    body[0]["origin"] = "choir.example/other"
    data = encode([*body, maker.trailer(encode(body), maker.act_records())])
    assert "another journal" in audit(tmp_path, data).difference["what"]


# A checkpoint that the auditor kept


def line_of(maker: ExportMaker, **fields: int) -> int:
    """The line on which an entry (seq=…) or an act (n=…) stands."""
    ((name, number),) = fields.items()
    return 1 + [record.get(name) for record in maker.records()].index(number)


def test_a_held_checkpoint_of_any_size_and_key_verifies(tmp_path: Path, note_file: Path) -> None:
    maker = full_journal()
    for size in range(len(maker.entries) + 1):
        note_file.write_text(maker.checkpoint(size, key=size % len(maker.keys)), encoding="utf-8")
        outcome = audit(tmp_path, maker.export(), "--checkpoint", str(note_file), "--key", str(maker.keys[0]))
        assert (outcome.code, outcome.report["notes"]) == (0, [])


def test_a_forked_history_is_exposed_by_a_held_checkpoint(tmp_path: Path, note_file: Path) -> None:
    """The node signs another history, with all its keys: only who remembers can tell."""
    true, forked = full_journal(), full_journal()
    forked.entries[1].content["legs"][0]["amount"] = "501"
    assert audit(tmp_path, forked.export(), "--key", str(true.keys[0])).code == 0
    note_file.write_text(true.checkpoint(4), encoding="utf-8")
    difference = audit(tmp_path, forked.export(), "--checkpoint", str(note_file)).difference
    assert "history was forked" in difference["what"]
    assert (difference["field"], difference["line"]) == ("root", line_of(forked, seq=4))
    note_file.write_text(true.checkpoint(1), encoding="utf-8")
    assert audit(tmp_path, forked.export(), "--checkpoint", str(note_file)).code == 0


def assert_exposed(folder: Path, note_file: Path, note: str, maker: ExportMaker, what: str) -> dict[str, Any]:
    """By itself the history is in order; who holds this checkpoint knows better, with either verifier."""
    data = maker.export()
    assert audit(folder, data, "--key", str(maker.keys[0])).code == 0
    assert check_export(data).differences == ()
    note_file.write_text(note, encoding="utf-8")
    difference = audit(folder, data, "--checkpoint", str(note_file)).difference
    assert difference["what"].startswith(what)
    assert any(what in found.what for found in check_export(data, held=[note]).differences)
    return difference


def test_a_rewritten_account_history_is_exposed_by_a_held_checkpoint(tmp_path: Path, note_file: Path) -> None:
    """The node makes another history of freezes, with all hashes and signatures: only who remembers can tell."""
    true, forked = full_journal(), full_journal()
    assert [(act.act, act.account) for act in forked.acts[5:8:2]] == [("freeze", CAROL), ("unfreeze", CAROL)]
    del forked.acts[7], forked.acts[5]
    difference = assert_exposed(tmp_path, note_file, true.checkpoint(4), forked, "account history was forked")
    assert (difference["field"], difference["line"]) == ("hash", line_of(forked, n=8))

    forked = full_journal()
    forked.acts[5].reason = "another"
    difference = assert_exposed(tmp_path, note_file, true.checkpoint(2), forked, "account history was forked")
    assert (difference["field"], difference["line"]) == ("hash", line_of(forked, n=6))
    note_file.write_text(true.checkpoint(0), encoding="utf-8")
    assert audit(tmp_path, forked.export(), "--checkpoint", str(note_file)).code == 0


def test_a_freeze_cannot_be_dated_back_before_a_held_checkpoint(tmp_path: Path, note_file: Path) -> None:
    """All acts and entries of the checkpoint are there; the new act pretends to have come before its end."""
    maker = ExportMaker(seed=5)
    maker.act("open", ISSUANCE, ALICE, BOB)
    for _ in range(4):
        maker.post("issue", (ISSUANCE, ALICE, 1))
    held = maker.checkpoint()
    maker.act("freeze", BOB)
    note_file.write_text(held, encoding="utf-8")
    assert audit(tmp_path, maker.export(), "--checkpoint", str(note_file)).code == 0
    maker.acts[-1].after, maker.acts[-1].at_us = 3, maker.entries[2].at_us
    difference = assert_exposed(tmp_path, note_file, held, maker, "account history was forked")
    assert (difference["field"], difference["line"]) == ("after", line_of(maker, n=4))


def test_an_act_cannot_be_dated_forward_beyond_a_held_checkpoint(tmp_path: Path, note_file: Path) -> None:
    """The hash covers the place, so it takes a checkpoint over a history that never was."""
    maker = ExportMaker(seed=5)
    maker.act("open", ISSUANCE, ALICE)
    for _ in range(3):
        maker.post("issue", (ISSUANCE, ALICE, 1))
    maker.act("open", BOB)
    note = maker.checkpoint(2, acts=3)
    assert assert_exposed(tmp_path, note_file, note, maker, "account history was forked")["field"] == "after"


def test_a_cut_off_account_history_is_exposed_by_a_later_checkpoint(tmp_path: Path, note_file: Path) -> None:
    true, cut = full_journal(), full_journal()
    assert true.acts[-1].after == len(true.entries)
    del cut.acts[-1]
    what = "the end of the account history is missing"
    difference = assert_exposed(tmp_path, note_file, true.checkpoint(), cut, what)
    assert (difference["expected"], difference["found"]) == (f"{len(true.acts)} or more", str(len(cut.acts)))


def test_a_checkpoint_that_does_not_speak_of_acts_shows_entries_only(tmp_path: Path, note_file: Path) -> None:
    maker = full_journal()
    lines = maker.checkpoint(4).split("\n")[:3]
    note_file.write_text(maker.sign("\n".join([*lines, ""]), maker.first), encoding="utf-8")
    outcome = audit(tmp_path, maker.export(), "--checkpoint", str(note_file), "--key", str(maker.keys[0]))
    assert outcome.code == 0
    assert "account acts" in outcome.report["notes"][0]
    for bad in (
        "acts",
        "acts 1",
        f"acts 01 {lines[2]}",
        f"acts 1 {lines[2]} x",
        f"acts 1 {lines[2]}\nacts 1 {lines[2]}",
    ):
        note_file.write_text(maker.sign("\n".join([*lines, bad + " "[: bad == "acts"], ""]), maker.first))
        difference = audit(tmp_path, maker.export(), "--checkpoint", str(note_file)).difference
        assert difference["field"] == "--checkpoint"
    note_file.write_text(maker.sign("\n".join([*lines, "actors 7", ""]), maker.first), encoding="utf-8")
    assert audit(tmp_path, maker.export(), "--checkpoint", str(note_file)).code == 0


def test_the_trailers_checkpoint_speaks_of_the_same_acts(tmp_path: Path) -> None:
    maker = full_journal()
    body = maker.records()
    bare = maker.sign("\n".join([*maker.checkpoint().split("\n")[:3], ""]), maker.signers[-1])
    for note in (bare, maker.checkpoint(acts=len(maker.acts) - 1)):
        data = encode([*body, maker.trailer(encode(body), maker.act_records(), checkpoint=note)])
        difference = audit(tmp_path, data).difference
        assert (difference["line"], difference["field"]) == (len(body) + 1, "checkpoint")
        assert [found.where for found in check_export(data).differences] == [f"line {len(body) + 1}"]


def test_a_cut_off_end_is_exposed_by_a_later_checkpoint(tmp_path: Path, note_file: Path) -> None:
    true, cut = full_journal(), full_journal()
    cut.cut(9)
    assert audit(tmp_path, cut.export(), "--key", str(true.keys[0])).code == 0
    note_file.write_text(true.checkpoint(), encoding="utf-8")
    difference = audit(tmp_path, cut.export(), "--checkpoint", str(note_file)).difference
    assert difference["what"] == "the end of history is missing: your checkpoint has 13 entries, this export 9"


def test_a_checkpoint_by_a_stranger_or_of_another_journal_is_a_difference(tmp_path: Path, note_file: Path) -> None:
    maker = small_journal()
    stranger = ExportMaker(seed=99)
    note_file.write_text(stranger.checkpoint(), encoding="utf-8")
    assert audit(tmp_path, maker.export(), "--checkpoint", str(note_file)).difference["field"] == "--checkpoint"
    elsewhere = small_journal()
    elsewhere.origin = "choir.example/other"
    note_file.write_text(elsewhere.checkpoint(), encoding="utf-8")
    difference = audit(tmp_path, maker.export(), "--checkpoint", str(note_file)).difference
    assert "another journal" in difference["what"]


# The command line


@pytest.mark.parametrize("command", ["export", "proof", "consistency", "liabilities"])
def test_a_file_for_another_command_is_told_which(tmp_path: Path, command: str) -> None:
    maker = small_journal()
    files = {
        "export": maker.export(),
        "proof": json.dumps(maker.proof(1), indent=2).encode(),
        "consistency": json.dumps(maker.consistency(1, 2)).encode(),
        "liabilities": b'{"accounts": [], "format": "choir-liabilities-proof/1"}',
    }
    file = tmp_path / "file"
    for meant in sorted(set(files) - {command}):
        file.write_bytes(files[meant])
        outcome = run(command, file, "--key", str(maker.keys[0]))
        assert outcome.difference
        assert outcome.report["try"].startswith(f"choir_verify.py {meant},")


def test_wrong_usage_is_told_apart_from_a_difference(tmp_path: Path, note_file: Path) -> None:
    file = tmp_path / "export.jsonl"
    file.write_bytes(small_journal().export())
    note_file.write_text("not a note", encoding="utf-8")
    for options in (["--key", "nonsense"], ["--checkpoint", str(note_file)], ["--checkpoint", "/no/such/file"]):
        assert run("export", file, *options).code == 2
    assert run("export", tmp_path / "missing").code == 2
    for words in ([], ["export"], ["proof", str(file)], ["nonsense"], ["export", str(file), "--nonsense"]):
        with pytest.raises(SystemExit) as caught:
            verify.main(words)
        assert caught.value.code == 2


def test_what_cannot_be_read_is_wrong_usage_and_no_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker = small_journal()
    file, key = tmp_path / "proof.json", ("--key", str(maker.keys[0]))
    file.write_bytes(b"{}")
    cases: list[tuple[list[str], str]] = [
        (["export", "-", "--checkpoint", "-"], "standard input can be read once: give - as FILE or as --checkpoint"),
        (["liabilities", "-", "--note", "-", *key], "standard input can be read once: give - as FILE or as --note"),
        (["export", "/proc/self/mem"], "cannot read /proc/self/mem: "),
        (["proof", "/proc/self/mem", *key], "cannot read /proc/self/mem: "),
        (["liabilities", str(file), "--note", "/proc/self/mem", *key], "cannot read /proc/self/mem: "),
    ]
    for words, told in cases:
        assert verify.main(words) == 2
        assert capsys.readouterr().err.startswith(f"choir_verify.py: {told}")


def test_a_key_with_a_wrong_letter_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "export.jsonl"
    maker = small_journal()
    file.write_bytes(maker.export())
    key = str(maker.keys[0])
    name_end = key.index("+")
    for place in (0, name_end + 1, name_end + 10, len(key) - 10):
        wrong = key[:place] + ("b" if key[place] != "b" else "c") + key[place + 1 :]
        assert run("export", file, "--key", wrong).code == 2
        assert "a letter may be wrong" in capsys.readouterr().err
    for nonsense in ("nonsense", key[:-3], key + "AAAA"):
        assert run("export", file, "--key", nonsense).code == 2
        assert "looks like NAME+HASH+BASE64" in capsys.readouterr().err


def test_one_is_not_many(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    maker = ExportMaker(seed=5)
    maker.act("open", ISSUANCE, ALICE)
    maker.post("issue", (ISSUANCE, ALICE, 1))
    files = {
        "export": (maker.export(), "VERIFIED  1 entry and 2 account acts of "),
        "proof": (json.dumps(maker.proof(1)).encode(), "is the only entry of "),
        "consistency": (json.dumps(maker.consistency(1, 1)).encode(), " begins with the 1 entry of the first "),
    }
    for command, (data, told) in files.items():
        (tmp_path / command).write_bytes(data)
        assert verify.main([command, str(tmp_path / command), "--key", str(maker.keys[0])]) == 0
        assert told in capfdbinary.readouterr().out.decode()


@pytest.mark.parametrize("command", ["export", "proof", "consistency"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        verify.main([command, "--help"])
    assert caught.value.code == 0
    assert f"choir_verify.py {command} " in capsys.readouterr().out


def test_it_runs_alone_and_isolated(tmp_path: Path) -> None:
    """Without site packages, without the environment, from a pipe; and its text says where."""
    data = small_journal().export()
    command = [sys.executable, "-I", "-S", str(FILE), "export", "-"]
    good = subprocess.run(command, input=data, capture_output=True, check=False, cwd=tmp_path)
    assert (good.returncode, good.stderr) == (0, b"")
    assert good.stdout.startswith(b"VERIFIED  3 entries")
    assert b"taken from the file itself" in good.stdout
    bad = subprocess.run(command, input=data[:-1], capture_output=True, check=False, cwd=tmp_path)
    assert bad.returncode == 5
    assert b"DIFFERENCE" in bad.stdout
    assert b"line 9, byte" in bad.stdout


def test_it_imports_nothing_but_the_standard_library() -> None:
    names: set[str] = set()
    for node in ast.walk(ast.parse(FILE.read_text(encoding="utf-8"), feature_version=(3, 9))):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module).partition(".")[0])
    assert names <= sys.stdlib_module_names
    assert not {"importlib", "ctypes", "subprocess", "socket", "urllib"} & names


def test_memory_holds_one_number_per_account_and_hold(tmp_path: Path) -> None:
    maker = ExportMaker()
    maker.act("open", ISSUANCE, ALICE, BOB)
    maker.post("issue", (ISSUANCE, ALICE, 10_000))
    for _ in range(50):
        hold_id = maker.place(ALICE, 10)
        maker.capture(hold_id, (BOB, 10))
    state: Any = verify.Export(None, None)
    file = tmp_path / "export.jsonl"
    file.write_bytes(maker.export())
    with file.open("rb") as stream:
        state.run(stream)
    assert state.accounts.balances == {ISSUANCE: -10_000, ALICE: 9_500, BOB: 500}
    assert (len(state.accounts.holds), len(state.accounts.finished_holds)) == (0, 50)
