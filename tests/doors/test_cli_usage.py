"""Wrong usage: the same shape and exit code however it is wrong, and help that says what can be typed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.main import get_command

from choir.doors.cli import main as cli
from choir.doors.cli import output
from choir.doors.cli.ledger import entries

Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Called:
    """Runs the command line in this process; nobody answers at its node."""
    monkeypatch.setenv("CHOIR_NODE", "http://127.0.0.1:9")
    monkeypatch.setenv("CHOIR_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CHOIR_PROVIDER_HOME", str(tmp_path / "provider"))

    def run(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(output, "_json_wanted", False)
        monkeypatch.setattr(sys, "argv", ["choir", *words])
        with pytest.raises(SystemExit) as end:
            cli.main()
        said = capsys.readouterr()
        assert isinstance(end.value.code, int)
        return end.value.code, said.out, said.err

    return run


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("job", "show", "--json"), "Missing argument 'JOB'."),
        (("job", "show", "job_1", "job_2", "--json"), "unexpected extra argument"),
        (("job", "ls", "--limit", "0", "--json"), "'--limit'"),
        (("ledger", "prove", "--json", "--no-such"), "No such option: --no-such"),
        (("--json", "fund", "person:ada/available/CREDIT", "1"), "Put --json after the command"),
        (("no-such-command", "--json"), "No such command 'no-such-command'."),
        (("provider", "serve", "--capacity", "many", "--json"), "'--capacity'"),
    ],
)
def test_wrong_usage_is_json_where_that_is_asked_for(call: Called, words: tuple[str, ...], told: str) -> None:
    code, out, err = call(*words)
    error = json.loads(err)["error"]
    assert (code, out, error["code"]) == (2, "", "cli.wrong_usage")
    assert told in error["detail"]
    assert error["hint"].startswith("See: choir")
    assert error["hint"].endswith(" --help")


def test_wrong_usage_is_told_with_the_usage_otherwise(call: Called) -> None:
    for words in (("job", "show"), ("job", "submit", "run", "--cpu", "x", "--", "ls", "--json")):
        code, out, err = call(*words)
        assert (code, out) == (2, "")
        assert err.startswith(f"Usage: choir {' '.join(words[:2])}")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("provider", "serve", "--isolation", "cotton"), "invalid", "tier 'cotton'"),
        (("provider", "serve", "--types", "run,songs"), "invalid", "The type 'songs'"),
        (("provider", "serve", "--name", "…"), "invalid", "it needs a letter or a digit"),
        (("provider", "serve", "--worker", "nobody"), "worker.bad_profile", "there is no worker 'nobody'"),
        (("provider", "serve", "--worker", "run", "--types", "text"), "provider.no_such_work", "text"),
        (("provider", "serve", "--worker", "aider", "--api", "mine"), "worker.bad_profile", "the API 'mine'"),
        (("provider", "earnings", "--period", "year"), "invalid", "'year'"),
        (("provider", "pricebook", "history", "songs"), "invalid", "'songs'"),
        (("job", "submit", "run", "--budget", "much", "--", "ls"), "money.malformed", "'much'"),
        (("job", "submit", "run", "--race", "2", "--pin", "x", "--", "ls"), "invalid", "--race and --pin"),
        (("job", "submit", "run", "--env", "PATH", "--", "ls"), "invalid", "NAME=VALUE"),
        (("job", "submit", "review", "--depth", "deep"), "invalid", "--depth deep"),
        (("job", "dispute", "job_1", "--because", "rain", "--says", "x"), "invalid", "--because rain"),
        (("job", "dispute", "rule", "dispute_1", "--for", "me", "--says", "x"), "invalid", "--for me"),
    ],
)
def test_a_value_that_cannot_be_meant_is_wrong_usage_too(
    call: Called, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], code: str, told: str
) -> None:
    if "--name" in words:
        monkeypatch.delenv("CHOIR_PROVIDER_HOME")
    at = words.index("--") if "--" in words else len(words)
    ended, out, err = call(*words[:at], "--json", *words[at:])
    error = json.loads(err)["error"]
    assert (ended, out, error["code"]) == (2, "", code)
    assert told in error["detail"]


def _records(command: Any, path: tuple[str, ...] = ("choir",)) -> Iterator[tuple[str, str]]:
    for name, below in getattr(command, "commands", {}).items():
        yield from _records(below, (*path, name))
    context = typer.Context(command, info_name=" ".join(path))
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            yield " ".join(path), record[0]


def test_help_names_what_is_typed_in_plain_words() -> None:
    found = list(_records(get_command(cli.app)))
    assert len(found) > 100
    assert [item for item in found if re.search(r"<|list\[| (str|int|float|path)\b", item[1])] == []
    assert ("choir provider serve", "--worker WORKER") in found
    assert ("choir job submit run", "COMMAND") in found
    assert ("choir job submit review", "--focus FIELD") in found


@pytest.mark.parametrize("name", ["run", "sandbox_run", "sandbox-run"])
def test_types_are_understood_by_either_name_and_listed_by_one(call: Called, name: str) -> None:
    ended, _, err = call("job", "submit", name, "--env", "PATH", "--", "ls")
    assert (ended, "NAME=VALUE" in err) == (2, True)
    _, listed, _ = call("job", "submit", "--help")
    assert "sandbox" not in listed.replace("somebody's sandbox", "")


@pytest.mark.parametrize(
    ("id_", "told", "helps"),
    [
        ("job_01h", "job_01h is a job", "choir job explain job_01h"),
        ("hold_01h", "hold_01h is a hold", "choir ledger show hold_01h"),
        ("provider_01h", "provider_01h is a provider", "choir provider show provider_01h"),
        ("dispute_01h", "dispute_01h is a dispute", "choir job dispute show dispute_01h"),
        ("person:ada/available/SAT", "is an account", "choir ledger statement person:ada/available/SAT"),
    ],
)
def test_who_asks_the_ledger_about_something_else_is_told_whom_to_ask(
    call: Called, id_: str, told: str, helps: str
) -> None:
    for command in (("explain",), ("ledger", "prove")):
        ended, _, err = call(*command, id_)
        assert ended == 1
        assert err.startswith("choir: ")
        assert told in err
        assert err.endswith(f"Try: {helps}\n")


def test_every_command_that_is_advised_is_there() -> None:
    app = get_command(cli.app)
    for _, command in entries._OTHERS.values():
        found: Any = app
        for word in command.split()[1:]:
            found = getattr(found, "commands", {}).get(word) or found
        assert not hasattr(found, "commands"), command
