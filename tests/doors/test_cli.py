"""The command line: help with examples, JSON, exit codes, and errors that are sentences."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from choir.doors.cli.main import app
from choir.foundation.node_key import write_secret_file
from tests.auditor import verifier
from tests.doors.townsfolk import neighbour
from tests.operations.nodes import ADA, BOB, CHOIR, NodeUnderTest, free_port, fund, new_node


def _commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    group = group or get_command(app)
    for name, command in sorted(group.commands.items()):
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(_commands())
PRINTS_NOTHING = {("up",), ("bench", "ledger"), ("help",)}


@pytest.fixture(scope="module")
def funded() -> Iterator[NodeUnderTest]:
    with new_node() as node:
        fund(node.up())
        yield node


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*path, "--help"], prog_name="choir", env={"COLUMNS": "120"})
    assert done.exit_code == 0
    assert f"choir {' '.join(path)}" in done.output
    assert "Example: " in done.output
    if path not in PRINTS_NOTHING:
        assert "--json" in done.output


def test_a_command_that_asks_no_database_loads_none() -> None:
    """Nor an HTTP client: most of the time to start a command would go there."""
    program = (
        "import sys; from choir.doors.cli.main import app\n"
        "try: app(['ledger', 'balance', '--help'])\n"
        "finally: print([name for name in ('psycopg', 'httpx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_command_with_a_result_prints_json_that_parses(funded: NodeUnderTest) -> None:
    hold = _json(funded, "ledger", "hold", ADA, "1", "--captures", "2")["hold"]["id"]
    entry = _json(funded, "ledger", "transfer", ADA, BOB, "2.50", "--reason", "a test")["id"]
    assert _json(funded, "ledger", "capture", hold, BOB, "0.50", "--more")["seq"]
    assert _json(funded, "ledger", "release", hold)["seq"]
    assert _json(funded, "ledger", "open", "person:eve/available/CREDIT")["state"] == "open"
    assert _json(funded, "ledger", "freeze", "person:eve/available/CREDIT", "--reason", "x")["state"] == "frozen"
    assert _json(funded, "ledger", "unfreeze", "person:eve/available/CREDIT", "--reason", "x")["state"] == "open"
    assert _json(funded, "ledger", "close", "person:eve/available/CREDIT", "--reason", "x")["state"] == "closed"
    assert len(_json(funded, "ledger", "accounts", "--prefix", "person:")) >= 2
    assert _json(funded, "ledger", "balance", ADA)["asset"] == "CREDIT"
    assert _json(funded, "ledger", "statement", ADA)["items"]
    assert _json(funded, "ledger", "trial-balance")["balanced"] is True
    assert _json(funded, "ledger", "checkpoint")["note"]
    assert _json(funded, "ledger", "prove", entry)["format"] == "choir-ledger-proof/1"
    assert _json(funded, "ledger", "verify")["good"] is True
    assert _json(funded, "explain", entry)["sentences"]
    assert _json(funded, "fund", ADA, "1")["again"] is False
    everything = _json(funded, "policy", "show")["values"]
    part = _json(funded, "policy", "show", "ledger.")["values"]
    assert part == [item for item in everything if item["name"].startswith("ledger.")] != []
    assert funded.run("policy", "show", "nothing").code == 1
    assert _json(funded, "policy", "explain", "ledger.checkpoint_s")["unit"] == "seconds"
    assert _json(funded, "key", "show")[0]["n"] == 1
    assert _json(funded, "config", "show")
    assert _json(funded, "doctor")
    assert _json(funded, "status")["running"] is True


def _json(node: NodeUnderTest, *command: str) -> Any:
    done = node.run(*command, "--json")
    assert done.code == 0, done.err
    return done.json


def test_people_get_tables_and_sentences(funded: NodeUnderTest) -> None:
    assert f"{BOB}  " in funded.run("ledger", "balance", BOB).out
    once = ("ledger", "transfer", ADA, BOB, "12.50", "--reason", "thanks", "--key", "thanks-1")
    assert "number" in funded.run(*once).out
    assert "already accepted; nothing new was posted" in funded.run(*once).out
    statement = funded.run("ledger", "statement", BOB).out
    assert "thanks" in statement
    assert "12.50" in statement
    assert "Every asset sums to zero." in funded.run("ledger", "trial-balance").out
    assert "Verified: " in funded.run("ledger", "verify").out
    more = funded.run("ledger", "statement", ADA, "--limit", "1")
    assert "More: --cursor" in more.err


def test_a_hold_for_some_seconds_can_be_typed_again(funded: NodeUnderTest) -> None:
    once = ("ledger", "hold", ADA, "1", "--for", "600", "--key", "hold-once")
    first = funded.run(*once)
    assert first.code == 0, first.err
    assert funded.run(*once).out == first.out.rstrip("\n") + " (already accepted; nothing new was posted)\n"
    with funded.client() as client:
        account = client.get_hold(first.out.split()[0]).account
    assert funded.run("ledger", "show", account).out.startswith(first.out.split()[0])
    assert funded.run("ledger", "release", account).code == 0


def test_what_cannot_be_done_is_told_with_what_can(funded: NodeUnderTest) -> None:
    closed = "person:carol/available/CREDIT"
    funded.run("ledger", "open", closed)
    funded.run("ledger", "close", closed, "--reason", "a test")
    refused = funded.run("ledger", "open", closed)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith(f"choir: The account {closed} is closed.\n")
    beyond = funded.run("ledger", "prove", "--consistency", "9" * 20)
    told = f"choir: The journal has {funded.entries()} entries, so there is no checkpoint over {'9' * 20}.\n"
    assert (beyond.code, beyond.err) == (1, told)


def test_who_shows_a_persons_token_is_told_about_the_operator(funded: NodeUnderTest) -> None:
    with neighbour(funded, "mary") as mary:
        token = mary.token("read")
    refused = funded.run("ledger", "trial-balance", env={"CHOIR_TOKEN": token})
    assert refused.code == 4
    assert "you are the owner of the token that is set (CHOIR_TOKEN)" in refused.err
    assert "choir --operator" in refused.err
    assert funded.run("--operator", "ledger", "trial-balance", env={"CHOIR_TOKEN": token}).code == 0


def test_exit_codes_are_those_of_the_conventions(funded: NodeUnderTest, tmp_path: Path) -> None:
    nobody = {"CHOIR_NODE": f"http://127.0.0.1:{free_port()}"}
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(b'{"type":"header"}\n')
    cases: list[tuple[int, tuple[str, ...], dict[str, str]]] = [
        (0, ("--version",), {}),
        (1, ("ledger", "transfer", BOB, ADA, "1000000"), {}),
        (1, ("ledger", "balance", "person:nobody/available/CREDIT"), {}),
        (1, ("policy", "explain", "no.such"), {}),
        (2, ("no-such-command",), {}),
        (2, ("ledger", "transfer", ADA), {}),
        (2, ("ledger", "statement", ADA, "--limit", "0"), {}),
        (2, ("ledger", "prove"), {}),
        (3, ("status",), nobody | {"CHOIR_HOME": str(tmp_path / "none")}),
        (4, ("ledger", "balance", ADA), {"CHOIR_TOKEN": "wrong"}),
        (5, ("ledger", "verify", "--file", str(damaged)), {}),
    ]
    for code, command, env in cases:
        done = funded.run(*command, env=env)
        assert done.code == code, f"{command}: {done}"
        assert "Traceback" not in done.err


def test_an_error_is_a_sentence_and_advice_or_json(funded: NodeUnderTest) -> None:
    done = funded.run("ledger", "balance", "person:nobody/available/CREDIT")
    assert done.out == ""
    assert done.err.startswith("choir: There is no account person:nobody/available/CREDIT.\n")
    assert "choir ledger open" in done.err
    shown = funded.run("ledger", "balance", "person:nobody/available/CREDIT", "--json")
    assert shown.out == ""
    assert json.loads(shown.err)["error"]["code"] == "ledger.account.unknown"


@pytest.mark.parametrize(
    "amount", ["1.005", "0.001", "-5", "abc", "", "1e5", "1,000", "9" * 400, "0." + "0" * 400 + "1", "NaN", "∞", "١"]
)
def test_absurd_amounts_are_refused(funded: NodeUnderTest, amount: str) -> None:
    before = funded.entries()
    done = funded.run("ledger", "transfer", "--reason", "a test", "--", ADA, BOB, amount)
    assert done.code == 1, done
    assert done.err.startswith("choir: ")
    assert "Traceback" not in done.err
    assert funded.entries() == before


LEG = {"from": ADA, "to": BOB, "amount": "3"}


def test_entries_and_batches_are_posted_from_standard_input(funded: NodeUnderTest, tmp_path: Path) -> None:
    one = json.dumps({"reason": "a test", "legs": [LEG], "memo": "für dich"}, ensure_ascii=False).encode()
    assert funded.run("ledger", "post", "-", "--json", stdin=one).json["seq"]
    batch = {"entries": [{"key": "in-a-batch", "reason": "a test", "legs": [LEG]}]}
    first = funded.run("ledger", "post", "-", "--json", stdin=json.dumps(batch).encode())
    assert first.code == 0, first.err
    (tmp_path / "batch.json").write_text(json.dumps(batch))
    again = funded.run("ledger", "post", str(tmp_path / "batch.json"), "--json")
    assert again.json["results"][0]["posted"]["again"] is True
    poor = {
        "entries": [{"key": "x", "reason": "a test", "legs": [LEG | {"from": BOB, "to": ADA, "amount": str(2**60)}]}]
    }
    refused = funded.run("ledger", "post", "-", stdin=json.dumps(poor).encode())
    assert refused.code == 1
    assert "refused: " in refused.out


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"7",
        b"\xff\xfe",
        b"{}",
        b'{"entries": 5}',
        b'{"entries": [7]}',
        b'{"entries": []}',
        b'{"reason": "x", "legs": [5]}',
        b'{"reason": "x", "legs": {"from": 1}}',
        b'{"reason": "x", "legs": [{"from": "a", "to": "b", "amount": "1"}]}',
        b'{"reason": "x", "legs": [], "surprise": 1}',
        b"[" * 100_000,
    ],
)
def test_input_that_is_no_entry_is_refused(funded: NodeUnderTest, data: bytes) -> None:
    before = funded.entries()
    done = funded.run("ledger", "post", "-", stdin=data)
    assert done.code == 1, done
    assert done.err.startswith("choir: ")
    assert "Traceback" not in done.err
    assert funded.entries() == before


@pytest.mark.parametrize(
    "command",
    [
        ("ledger", "post", "/nowhere/at-all.json"),
        ("ledger", "export", "/nowhere/at-all.jsonl"),
        ("ledger", "verify", "--file", "/nowhere/at-all.jsonl"),
        ("ledger", "verify", "--checkpoint", "/dev/null"),
        ("ledger", "verify", "--key", "nonsense", "--file", "/dev/null"),
        ("ledger", "import", "/nowhere/at-all.jsonl"),
        ("ledger", "transfer", ADA, BOB, "1", "--key", "caf\u00e9"),
        ("ledger", "balance", "nonsense"),
        ("ledger", "balance", ADA, "--at", "yesterday"),
        ("ledger", "balance", ADA, "--node", "nonsense"),
        ("explain", "entry_nonsense"),
        ("restore", "/nowhere/at-all.tar"),
    ],
    ids=" ".join,
)
def test_no_mistake_ends_in_a_traceback(funded: NodeUnderTest, command: tuple[str, ...]) -> None:
    done = funded.run(*command)
    assert done.code in (1, 2, 5), done
    assert "Traceback" not in done.err + done.out


@pytest.mark.deep
def test_a_closed_pipe_is_no_news(funded: NodeUnderTest) -> None:
    for command in (
        "ledger accounts",
        "policy show --json",
        "ledger export -",
        "config show",
        "ledger statement " + ADA,
    ):
        line = " ".join([*CHOIR, command, "| head -c 1 > /dev/null"])
        done = subprocess.run(["sh", "-c", line], env=funded.environment, capture_output=True, text=True, check=False)
        assert "Traceback" not in done.stderr
        assert "BrokenPipe" not in done.stderr
        assert "Exception" not in done.stderr


def test_an_export_is_the_same_bytes_on_standard_output_and_verifies(funded: NodeUnderTest, tmp_path: Path) -> None:
    with funded.client() as client:
        client.transfer(ADA, BOB, 1, reason="naïve café ♫")
        client.checkpoint()
    file = tmp_path / "ledger.jsonl"
    assert funded.run("ledger", "export", str(file)).code == 0
    piped = subprocess.run(
        [*CHOIR, "ledger", "export", "-"],
        env=funded.environment | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert piped.stdout == file.read_bytes()
    assert not list(tmp_path.glob(".choir-*"))
    key = funded.run("key", "show", "--json").json[-1]["key"]
    assert verifier.run("export", file, "--key", key).code == 0
    assert funded.run("ledger", "verify", "--file", str(file), "--key", key).code == 0
    both = funded.run("ledger", "export", "-", "--json")
    assert both.code == 0
    assert both.out.encode() == piped.stdout


def test_an_export_is_imported_into_a_new_home(funded: NodeUnderTest, tmp_path: Path) -> None:
    file = tmp_path / "ledger.jsonl"
    assert funded.run("ledger", "transfer", ADA, BOB, "1").code == 0  # whichever test comes first: there are entries
    funded.run("ledger", "export", str(file))
    refused = funded.run("ledger", "import", str(file))
    assert refused.code == 1
    assert "A node is running" in refused.err
    with new_node() as copy:
        keyless = copy.run("ledger", "import", str(file))
        assert keyless.code == 1
        assert "needs the key that signed the export" in keyless.err
        assert not copy.home.exists()
        write_secret_file(copy.home / "node.key", "ab" * 32)
        stranger = copy.run("ledger", "import", str(file))
        assert stranger.code in (1, 5), stranger.err  # it has another key
        assert "Traceback" not in stranger.err
    with new_node() as copy:
        copy.home.mkdir(mode=0o700)
        shutil.copy(funded.home / "node.key", copy.home / "node.key")
        imported = copy.run("ledger", "import", str(file))
        assert imported.code == 0, imported.err
        assert re.fullmatch(
            r"Imported and verified: \d+ entries, \d+ accounts, every hash and balance\.\n", imported.out
        )
        assert copy.run("ledger", "verify").code == 0
        copy.up()
        with copy.client() as client, funded.client() as original:
            assert client.balance(BOB) == original.balance(BOB)
            client.transfer(ADA, BOB, 1, reason="it goes on")
        again = copy.run("ledger", "import", str(file))
        assert again.code == 1


def test_completion_is_there_for_the_usual_shells() -> None:
    named = os.environ | {
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"
    }  # else whatever started the tests decides
    for shell in ("bash", "zsh", "fish"):
        command = [*CHOIR, "--show-completion", shell]
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=named)
        assert done.returncode == 0, done.stderr
        assert "_CHOIR_COMPLETE" in done.stdout or "choir" in done.stdout


def test_a_token_or_key_is_never_printed(funded: NodeUnderTest) -> None:
    secrets = [funded.token, (funded.home / "node.key").read_text().strip()]
    for command in (("status",), ("doctor",), ("config", "show"), ("key", "show"), ("ledger", "accounts")):
        done = funded.run(*command)
        assert not any(secret in done.out + done.err for secret in secrets)
