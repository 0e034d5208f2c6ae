"""Exports for other tools on the command line: whole or not there, never over another file, some of them in again."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from choir.doors.cli.output import FileExists
from choir.doors.cli.result_file import whole_file
from tests.auditor import verifier
from tests.operations.nodes import ADA, BOB, CHOIR, NodeUnderTest
from tests.storage.servers import wait_for

LINE = (
    '{"entry_id": "1", "entry_type": "genesis", "amount": 100.0, "from_id": "", "to_id": "agent_1",'
    ' "memo": "starting balance", "created_at": 1767225600.5}\n'
)


@pytest.fixture(scope="module")
def funded(running: NodeUnderTest) -> NodeUnderTest:
    with running.client() as client:
        client.fund(ADA, 10_000)
        client.open_account(BOB)
        client.transfer(ADA, BOB, 250, reason="=1+1 naïve ♫")
    return running


def test_a_format_is_written_whole_and_never_over_a_file(funded: NodeUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "books"
    export = ("ledger", "export", str(file), "--format", "csv")
    entries = funded.entries()
    done = funded.run(*export)
    assert (done.code, done.out) == (0, f"{entries} entries written to {file}.\n"), done.err
    first = file.read_bytes()
    assert '"\'=1+1 naïve ♫"'.encode() in first
    file.write_bytes(b"precious")
    refused = funded.run(*export)
    assert refused.code == 1
    assert refused.err == f"choir: {file} already exists.\nChoose another name, or replace it with --force.\n"
    assert file.read_bytes() == b"precious"
    assert funded.run(*export, "--force", "--json").json == {"entries": entries, "file": str(file), "format": "csv"}
    assert file.read_bytes() == first
    assert [path.name for path in tmp_path.iterdir()] == ["books"]


def test_beancount_accepts_what_comes_out_of_a_pipe(funded: NodeUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "books.beancount"
    file.write_text(funded.run("ledger", "export", "-", "--format", "beancount").out, encoding="utf-8")
    assert "naïve ♫" in file.read_text(encoding="utf-8")
    checked = subprocess.run([Path(sys.executable).with_name("bean-check"), file], capture_output=True, check=False)
    assert (checked.returncode, checked.stdout + checked.stderr) == (0, b"")


def test_who_is_killed_leaves_nothing_under_the_name(funded: NodeUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "books"
    with psycopg.connect(funded.dsn()) as owner:
        # So that it stops in the middle; opening the ledger may read entries, but no stored checkpoint.
        owner.execute("lock table checkpoints in access exclusive mode")
        writing = subprocess.Popen(
            [*CHOIR, "ledger", "export", str(file)],
            env=funded.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: any(tmp_path.glob(".choir-*")) or writing.poll() is not None, 30)
        assert writing.poll() is None
        writing.kill()
        writing.wait(30)
    assert not file.exists()
    assert funded.run("ledger", "export", str(file)).code == 0
    assert file.stat().st_size > 0


def test_standard_output_has_the_data_and_nothing_else(funded: NodeUnderTest, tmp_path: Path) -> None:
    entries = funded.entries()
    plain = funded.run("ledger", "export", "-")
    assert plain.err == f"{entries} entries written to standard output.\n"
    both = funded.run("ledger", "export", "-", "--json")
    assert both.out == plain.out
    summary = json.loads(both.err)
    assert (summary["entries"], summary["file"], summary["format"]) == (entries, "-", "jsonl")
    file = tmp_path / "ledger.jsonl"
    file.write_text(both.out, encoding="utf-8")
    assert verifier.run("export", file).code == 0


def test_who_watches_an_export_into_a_pipe_sees_a_sign_of_life(funded: NodeUnderTest) -> None:
    """On the terminal; and nothing of it gets into the data."""
    main, terminal = pty.openpty()
    done = subprocess.run(
        [*CHOIR, "ledger", "export", "-"],
        env=funded.environment | {"TERM": "xterm"},
        stdout=subprocess.PIPE,
        stderr=terminal,
        check=True,
    )
    os.close(terminal)
    said = os.read(main, 65536)
    os.close(main)
    assert b"Exporting" in said
    assert done.stdout.decode() == funded.run("ledger", "export", "-").out


def test_without_a_format_the_ending_decides(funded: NodeUnderTest, tmp_path: Path) -> None:
    for name, options, chosen in (
        ("x.csv", (), "csv"),
        ("x.bean", (), "beancount"),
        ("x.BEANCOUNT", (), "beancount"),
        ("x.txt", (), "jsonl"),
        ("y.csv", ("--format", "jsonl"), "jsonl"),
    ):
        done = funded.run("ledger", "export", str(tmp_path / name), *options, "--json")
        assert (done.code, done.json["format"]) == (0, chosen), done.err
    assert (tmp_path / "x.csv").read_text().startswith("seq,entry_id,")
    assert (tmp_path / "y.csv").read_text().startswith('{"format"')


def test_an_aidollar_file_comes_in_once_and_goes_out_the_same(funded: NodeUnderTest, tmp_path: Path) -> None:
    file, again = tmp_path / "economy_ledger.jsonl", tmp_path / "again.jsonl"
    file.write_text(LINE)
    first = funded.run("ledger", "import", str(file), "--format", "aidollar")
    assert (first.code, first.out) == (0, f"1 line of {file} imported, 1 new.\n"), first.err
    assert funded.run("ledger", "import", str(file), "--format", "aidollar", "--json").json == {
        "file": str(file),
        "lines": 1,
        "new": 0,
    }
    done = funded.run("ledger", "export", str(again), "--format", "aidollar")
    assert done.out == f"1 line written to {again}.\n"
    assert again.read_text() == LINE
    file.write_text(LINE + LINE.replace('"1"', '"2"').replace("100.0", "0.0000001"))
    refused = funded.run("ledger", "import", str(file), "--format", "aidollar")
    assert refused.code == 1
    assert refused.err.startswith("choir: Line 2 of the ai$ file cannot be imported: amount")
    assert funded.run("ledger", "verify").code == 0
    with funded.client() as client:
        assert client.balance("agent:agent_1/available/AID").balance == "100000000"


def test_an_unknown_format_is_wrong_usage(funded: NodeUnderTest, tmp_path: Path) -> None:
    for command in (("export", "--format", "xls"), ("import", "--format", "csv")):
        assert funded.run("ledger", command[0], str(tmp_path / "x"), *command[1:]).code == 2


def test_a_file_that_could_not_be_finished_leaves_no_trace(tmp_path: Path) -> None:
    file = tmp_path / "result"
    with suppress(RuntimeError), whole_file(file, force=False) as out:
        out.write(b"half")
        assert list(tmp_path.iterdir()) != []
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_what_came_meanwhile_is_left_alone_unless_forced(tmp_path: Path) -> None:
    file = tmp_path / "result"
    with pytest.raises(FileExists), whole_file(file, force=False):
        file.write_bytes(b"theirs")
    assert file.read_bytes() == b"theirs"
    with whole_file(file, force=True) as out:
        out.write(b"ours")
        assert file.read_bytes() == b"theirs"
    assert file.read_bytes() == b"ours"
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_no_link_is_followed(tmp_path: Path) -> None:
    file, elsewhere = tmp_path / "result", tmp_path / "elsewhere"
    file.symlink_to(elsewhere)
    with whole_file(file, force=True) as out:
        out.write(b"ours")
    assert not elsewhere.exists()
    assert not file.is_symlink()
