"""`choir sandbox`: every command, its help, its JSON and its exit codes."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from choir.doors.cli.live_output import LiveOutput, plain
from choir.doors.sandbox.commands import app
from tests.sandbox.conftest import POLICY, needs_groups


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CHOIR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CHOIR_POLICY__SANDBOX__STRANGER_LIMITS_REQUIRED", str(POLICY.stranger_limits_required))
    return tmp_path


def choir(*words: str, given: str | None = None) -> Result:
    return CliRunner().invoke(app, list(words), input=given)


def as_json(result: Result) -> Any:
    return json.loads(result.stdout)


@pytest.mark.parametrize("command", ["doctor", "run", "bench", "ls", "clean"])
def test_every_command_has_help_with_an_example_and_json(command: str) -> None:
    result = choir(command, "--help")
    assert result.exit_code == 0
    assert "Example: choir sandbox" in result.stdout
    assert "--json" in result.stdout


@pytest.mark.parametrize("command", ["doctor", "run", "bench", "ls", "clean"])
def test_every_summary_is_one_sentence(command: str) -> None:
    found = next(item for item in app.registered_commands if (item.name or item.callback.__name__) == command)  # type: ignore[union-attr]
    assert found.callback is not None
    assert "\n" not in (found.callback.__doc__ or "\n")
    assert str(found.epilog).startswith(f"Example: choir sandbox {command}")


def test_doctor_names_every_tier_with_its_reason(home: Path) -> None:
    result = choir("doctor", "--json")
    tiers = {item["tier"]: item for item in as_json(result)}
    assert list(tiers) == ["local", "bubblewrap", "container", "gvisor", "microvm"]
    assert all(item["works"] or item["why"] for item in tiers.values())
    assert result.exit_code == 0
    assert "bubblewrap" in choir("doctor").stdout


def test_run_passes_output_and_exit_code_through(home: Path) -> None:
    assert choir("run", "--", "python3", "-c", "print(1)").stdout == "1\n"
    assert choir("run", "--", "sh", "-c", "exit 7").exit_code == 7
    assert choir("run", "--wall", "0.3", "--", "sleep", "9").exit_code == 137
    assert choir("run", "--stdin", "--", "cat", given="hello").stdout == "hello"


def test_doctor_says_whose_code_may_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiers = {item["tier"]: item for item in as_json(choir("doctor", "--json"))}
    assert not tiers["local"]["for_strangers"]
    assert "at least the tier bubblewrap" in tiers["local"]["why_not_for_strangers"]
    monkeypatch.setenv("CHOIR_POLICY__SANDBOX__STRANGER_TIER_MIN", "5")
    said = choir("doctor").stdout
    assert "works, for your own code only" in said
    assert "Untrusted code needs at least the tier microvm. Your own code runs with --trust own." in said


_CHOIR = [sys.executable, "-m", "choir.doors.sandbox.commands"]


def test_output_comes_while_the_program_runs(home: Path) -> None:
    script = "import os, time; print('first', flush=True); time.sleep(30)"
    command = [*_CHOIR, "run", "--wall", "20", "--", "python3", "-c", script]
    began = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"first\n"
    assert time.monotonic() - began < 15
    child.stdout.close()  # nobody reads any more, and the program need not go on
    child.send_signal(signal.SIGINT)
    child.communicate()


def test_a_program_whose_output_nobody_reads_is_stopped(home: Path) -> None:
    child = subprocess.Popen([*_CHOIR, "run", "--", "yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    _, said = child.communicate(timeout=30)
    assert child.returncode == 141, said
    assert b"Traceback" not in said


def test_a_reader_who_waits_does_not_stop_the_clock(home: Path) -> None:
    command = [*_CHOIR, "run", "--wall", "1", "--", "sh", "-c", "yes | head -c 900000; sleep 50"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    first = os.read(child.stdout.fileno(), 1)  # it has begun
    runs = home / "home" / "sandbox" / "runs"
    while list(runs.iterdir()):  # the run ends although nobody reads
        time.sleep(0.05)
    assert child.poll() is None  # it still has to print
    out, said = child.communicate(timeout=60)
    assert (len(first + out), child.returncode) == (900_000, 137)
    assert b"the time limit of 1 seconds was reached (--wall)" in said


def test_input_that_is_not_handed_in_is_said(home: Path) -> None:
    given = subprocess.run([*_CHOIR, "run", "--", "cat"], input=b"hello", capture_output=True, check=True)
    assert b"add --stdin" in given.stderr
    handed = subprocess.run([*_CHOIR, "run", "--stdin", "--", "cat"], input=b"hello", capture_output=True, check=True)
    assert (handed.stdout, handed.stderr) == (b"hello", b"")
    nothing = subprocess.run([*_CHOIR, "run", "--", "cat"], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert nothing.stderr == b""


def test_what_went_wrong_is_said_with_what_to_do(home: Path) -> None:
    missing = choir("run", "--", "no-such-program")
    assert missing.exit_code == 127
    assert "was not found; available are" in missing.stderr
    assert "could not be run" in choir("run", "--", "/etc/passwd").stderr
    assert "(--wall)" in choir("run", "--wall", "0.3", "--", "sleep", "9").stderr
    assert "(--output)" in choir("run", "--output", "10", "--", "seq", "100").stderr


@needs_groups
def test_memory_that_is_too_little_is_said(home: Path) -> None:
    small = choir("run", "--memory", "1", "--", "true")
    assert small.exit_code == 1
    assert "1 bytes of memory are too little for the tier bubblewrap" in small.stderr
    assert "--memory" in small.stderr
    hog = choir("run", "--memory", "60M", "--", "python3", "-c", "x = bytearray(200_000_000)")
    assert hog.exit_code == 137
    assert "the memory limit of 60000000 bytes was reached (--memory)" in hog.stderr


def test_a_terminal_gets_whole_letters_and_nothing_that_steers_it() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out, err = Terminal(), Terminal()
    live = LiveOutput(out, err)
    for byte in "é\x1b[31m€\n".encode():
        live.take("stdout", bytes([byte]))
    live.take("stderr", b"\xff")
    live.close()
    assert (out.getvalue(), err.getvalue()) == ("é\\x1b[31m€\n", "\ufffd")


def test_run_as_json_is_done_whatever_the_payload_says(home: Path) -> None:
    result = choir("run", "--json", "--memory", "100M", "--", "sh", "-c", "echo out; exit 7")
    facts = as_json(result)
    assert result.exit_code == 0
    assert (facts["exit_code"], facts["stdout"], facts["tier"]) == (7, "out\n", "bubblewrap")
    assert facts["missing"] == [] or "memory" in facts["missing"]


def test_run_takes_files_in_and_out(home: Path) -> None:
    (home / "script.py").write_text("open('out.txt', 'w').write('made')")
    out = home / "out"
    result = choir(
        "run",
        "--file",
        str(home / "script.py"),
        "--collect",
        "out.txt",
        "--out",
        str(out),
        "--",
        "python3",
        "script.py",
    )
    assert result.exit_code == 0, result.output
    assert (out / "out.txt").read_text() == "made"


def test_refusals_are_one_and_usage_is_two(home: Path) -> None:
    missing = choir("run", "--tier", "microvm", "--json", "--", "true")
    assert missing.exit_code == 1
    assert json.loads(missing.stderr)["error"]["code"] == "sandbox.tier_missing"
    weak = choir("run", "--tier", "local", "--trust", "stranger", "--", "true")
    assert weak.exit_code == 1
    for words in (
        ["--tier", "x"],
        ["--memory", "x"],
        ["--env", "x"],
        ["--file", "/nope"],
        ["--collect", "x"],
        ["--no"],
        ["--trust", "x"],
        ["--cores", "nan"],
        ["--cores", "0"],
        ["--wall", "0"],
    ):
        assert choir("run", *words, "--", "true").exit_code == 2, words
    assert choir("run").exit_code == 2


def test_local_only_by_name(home: Path) -> None:
    result = choir("run", "--tier", "local", "--json", "--", "true")
    assert as_json(result).get("tier", "local") == "local"


def test_ls_and_clean_on_an_empty_home(home: Path) -> None:
    assert as_json(choir("ls", "--json")) == []
    assert as_json(choir("clean", "--json")) == {"removed": [], "kept": []}


def test_what_a_killed_node_left_is_listed_and_cleaned(home: Path) -> None:
    runs = home / "home" / "sandbox" / "runs"
    runs.mkdir(parents=True)
    (runs / "run_x.run").write_text(json.dumps({"run": "run_x", "tier": "bubblewrap", "program": "a\x1b[31m"}))
    listed = choir("ls")
    assert "left behind" in listed.stdout
    assert "\x1b" not in listed.stdout
    assert as_json(choir("clean", "--json"))["removed"] == ["run_x"]


def test_bench_compares_with_bare_bubblewrap(home: Path) -> None:
    facts = as_json(choir("bench", "--runs", "3", "--json"))
    names = [item["name"] for item in facts["starts"]]
    assert names[:2] == ["fork and exec", "bare bubblewrap"]
    assert [item["at_once"] for item in facts["throughput"]] == [1, 2, 4, 8]
    assert facts["ratio_to_bare_bubblewrap"] > 0


def test_a_terminal_is_not_steered_by_a_payload() -> None:
    assert plain("a\x1b]0;title\x07b\r\nc\td") == "a\\x1b]0;title\\x07b\\x0d\nc\td"
