"""Wrong usage: the same shape and exit code however it is wrong, and help that says what can be typed."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import typer
from typer.main import get_command

from choir.doors.cli import main as cli
from choir.doors.cli import output
from choir.doors.ledger.commands import entries, presentation
from choir.foundation.ids import show_id

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
        (("job", "dispute", "job_1", "--reason", "rain", "--statement", "x"), "invalid", "--reason rain"),
        (("job", "dispute", "rule", "dispute_1", "--for", "me", "--reason", "x"), "invalid", "--for me"),
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
    assert "sandbox" not in listed.replace("provider's sandbox", "")


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


# What is typed by mistake


ADA, BOB = "person:ada/available/CREDIT", "person:bob/available/CREDIT"
SMALL = "person:ada/available/credit"
HOLD_UUID = "77cb1f0e-453e-8307-8889-1b3ef8a81caa"
ENTRY: dict[str, Any] = {"reason": "x", "legs": [{"from": ADA, "to": BOB, "amount": "100"}]}


def _with_a_key(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, below in getattr(command, "commands", {}).items():
        yield from _with_a_key(below, (*path, name))
    told = [getattr(item, "help", None) or "" for item in command.params if "--key" in item.opts]
    if any("Idempotency" in text or "verifier" in text for text in told):
        yield path


@pytest.mark.parametrize("path", list(_with_a_key(get_command(cli.app))), ids=" ".join)
def test_an_empty_key_is_wrong_usage_and_not_the_same_as_none(call: Called, path: tuple[str, ...]) -> None:
    """As in `--key "$UNSET"`, which would pay twice."""
    for key in ("", "  "):
        code, out, err = call(*path, "--key", key)
        assert (code, out) == (2, "")
        assert "'--key': it is empty" in err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("ledger", "balance", ADA, "--at-seq", "2", "--at", "2026-01-01"), "give --at or --at-seq, not both"),
        (("ledger", "hold", ADA, "1", "--for", "60", "--until", "2030-01-01"), "give --for or --until, not both"),
        (("ledger", "verify", "--key", "x"), "--key is for a file"),
        (("ledger", "prove", "--consistency", "0"), "--consistency takes a checkpoint size"),
    ],
)
def test_options_that_contradict_each_other_are_wrong_usage(call: Called, words: tuple[str, ...], told: str) -> None:
    code, out, err = call(*words)
    assert (code, out) == (2, "")
    assert told in err


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (ENTRY | {"key": "k"}, "key: a single entry gets its key from --key"),
        (ENTRY | {"color": "red"}, "color: unknown field"),
        ({"legs": ENTRY["legs"]}, "reason: it is missing"),
        ({"entries": [ENTRY]}, "entries.0.key: it is missing"),
        ({"entries": 5}, "entries: it must be a list"),
        ({"entries": []}, "entries: it must not be empty"),
        ({"entries": [7]}, "entries.0: it must be an object"),
        (ENTRY | {"reason": ""}, "reason: it must not be empty"),
        (ENTRY | {"legs": [{"from": ADA, "to": BOB, "amount": 100}]}, 'quoted string, such as "100"'),
        (
            ENTRY | {"legs": [{"from": ADA, "to": BOB, "amount": "12.5"}]},
            "legs.0.amount: '12.5' must be whole smallest units, such as 1250",
        ),
        (
            {"entries": [ENTRY | {"key": "k", "legs": [{"from": ADA, "to": BOB, "amount": "much"}]}]},
            "entries.0.legs.0.amount: 'much' must be whole smallest units, such as 100",
        ),
        (ENTRY | {"legs": [{"from": SMALL, "to": BOB, "amount": "1"}]}, "the asset is written in capitals: CREDIT"),
    ],
)
def test_what_is_wrong_with_an_entry_is_told_in_plain_words(
    call: Called, tmp_path: Path, value: dict[str, Any], told: str
) -> None:
    file = tmp_path / "entry.json"
    file.write_text(json.dumps(value))
    code, out, err = call("ledger", "post", str(file))
    assert (code, out) == (1, "")
    assert told in err


def test_a_batch_has_its_keys_inside(call: Called, tmp_path: Path) -> None:
    file = tmp_path / "batch.json"
    file.write_text(json.dumps({"entries": [ENTRY | {"key": "k"}]}))
    code, _, err = call("ledger", "post", str(file), "--key", "p2")
    assert code == 2
    assert "each entry of a batch has its own key" in err


@pytest.mark.parametrize(
    "words",
    [
        ("ledger", "balance", "{}"),
        ("ledger", "statement", "{}"),
        ("ledger", "open", "{}"),
        ("ledger", "freeze", "{}", "--reason", "x"),
        ("ledger", "transfer", "{}", BOB, "1"),
        ("ledger", "transfer", BOB, "{}", "1"),
        ("ledger", "hold", "{}", "1"),
        ("fund", "{}", "1"),
    ],
    ids=" ".join,
)
def test_an_asset_in_small_letters_is_told_so(call: Called, words: tuple[str, ...]) -> None:
    code, _, err = call(*(word.format(SMALL) for word in words))
    assert code == 1
    assert err.startswith(f"choir: '{SMALL}' is not an account name: the asset is written in capitals: CREDIT.\n")
    code, _, err = call(*(word.format("nobody:ada/available/credit") for word in words))
    assert (code, "capitals" in err) == (1, False)


@pytest.mark.parametrize("odd", ["../../../healthz", "hold_a/b", "hold:nonsense/escrow/CREDIT", "hold_", "12"])
def test_what_is_no_hold_is_not_asked_for(call: Called, odd: str) -> None:
    commands = [("release", odd), ("capture", odd, BOB, "1")] + [("show", odd)] * odd.startswith("hold")
    for words in commands:
        code, _, err = call("ledger", *words)
        assert code == 1  # three would mean that the node was asked
        assert "hold_" in err


def test_a_hold_is_understood_by_its_account() -> None:
    id_ = show_id("hold", UUID(HOLD_UUID))
    told = (id_, f"hold:{HOLD_UUID}/escrow/CREDIT", f"hold:{HOLD_UUID}")
    assert [presentation.hold_typed(text) for text in told] == [id_] * 3
