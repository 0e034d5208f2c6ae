"""`choir sandbox`: every command, its help, its JSON and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from choir.doors.cli.sandbox import _plain, app
from tests.sandbox.conftest import POLICY


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
    assert _plain("a\x1b]0;title\x07b\r\nc\td") == "a\\x1b]0;title\\x07b\\x0d\nc\td"
