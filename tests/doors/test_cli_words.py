"""What the command line says: words that fit what somebody did, files that are not lost, help that is whole."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from choir.doors.cli.main import app
from choir.doors.issuances.commands import what_next
from choir.doors.issuances.shapes import IssuanceOut
from choir.foundation.clock import MICROSECONDS, parse_time
from choir.sdk import Client, NostrKey
from tests.doors.servers import answer, script
from tests.doors.townsfolk import public_url
from tests.operations.nodes import ADA, ANSWER_S_MAX, BOB, CHOIR, NodeUnderTest, new_node, until


@pytest.fixture(scope="module")
def fresh() -> Iterator[NodeUnderTest]:
    """A node with one entry."""
    with new_node() as node:
        node.up()
        with node.client() as client:
            client.fund(ADA, 100)
        yield node


def test_one_is_not_many(fresh: NodeUnderTest, tmp_path: Path) -> None:
    entries = fresh.entries()
    assert entries == 1
    assert fresh.run("ledger", "export", str(tmp_path / "x.jsonl")).out.startswith("1 entry written to ")
    assert fresh.run("backup", str(tmp_path / "x.tar")).out.startswith("1 entry backed up to ")
    assert fresh.run("ledger", "verify").out == "Verified: 1 entry, 2 accounts, every hash and balance.\n"


def test_an_entry_is_known_by_its_number_too(fresh: NodeUnderTest) -> None:
    with fresh.client() as client:
        id_ = client.entries().items[0].id
    assert fresh.run("explain", "1").out == fresh.run("explain", id_).out
    assert fresh.run("ledger", "show", "1").json["id"] == id_
    assert fresh.run("ledger", "prove", "1").code in (0, 1)
    for number in ("0", "99", "9" * 18):
        done = fresh.run("explain", number)
        assert done.code == 1
        assert f"There is no entry number {int(number)}." in done.err
        assert "choir ledger entries" in done.err
    assert fresh.run("explain", "two").code == 1


def test_files_are_not_written_over(fresh: NodeUnderTest, tmp_path: Path) -> None:
    for command in (("ledger", "export"), ("backup",)):
        file = tmp_path / command[-1]
        file.write_text("precious")
        refused = fresh.run(*command, str(file))
        assert refused.code == 1
        assert refused.err == f"choir: {file} already exists.\nChoose another name, or replace it with --force.\n"
        assert file.read_text() == "precious"
        assert fresh.run(*command, str(file), "--force").code == 0
        assert file.read_bytes()[:8] != b"precious"
        link = tmp_path / f"{command[-1]}.link"
        link.symlink_to(tmp_path / "nowhere")
        assert fresh.run(*command, str(link)).code == 1
        for odd in (str(tmp_path), "/dev/null"):
            assert fresh.run(*command, odd, "--force").code == 1
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("amount", "why"),
    [
        ("0", "it must be more than zero"),
        ("-5", "it must be more than zero"),
        ("-0.5", "it must be more than zero"),
        ("9" * 30, "it can be at most 92233720368547758.07"),
        ("92233720368547758.08", "it can be at most 92233720368547758.07"),
        ("0.001", "it has at most 2 decimals"),
        ("ten", "write digits with at most one point, such as 12.5"),
    ],
)
def test_an_amount_is_refused_with_the_reason_that_fits(fresh: NodeUnderTest, amount: str, why: str) -> None:
    for command in (("fund", ADA), ("ledger", "hold", ADA), ("ledger", "transfer", ADA, BOB)):
        done = fresh.run(*command, amount)
        assert done.code == 1, done
        assert done.err == f"choir: '{amount}' is not an amount of CREDIT: {why}.\n"
    unknown = fresh.run("fund", ADA, "1", "--no-such-option")
    assert unknown.code == 2


def test_more_than_an_account_can_hold_is_refused_by_the_ledger(fresh: NodeUnderTest) -> None:
    done = fresh.run("fund", ADA, "92233720368547758.07")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert done.err.startswith("choir: ")


def test_a_balance_at_an_entry_that_is_not_there_is_refused(fresh: NodeUnderTest) -> None:
    last = fresh.entries()
    assert fresh.run("ledger", "balance", ADA, "--at-seq", str(last)).code == 0
    done = fresh.run("ledger", "balance", ADA, "--at-seq", str(last + 1))
    assert done.code == 1
    assert done.err == f"choir: There is no entry number {last + 1}; the last is {last}.\n"


def test_a_file_that_is_not_there_is_not_called_bad_json(fresh: NodeUnderTest, tmp_path: Path) -> None:
    done = fresh.run("ledger", "post", str(tmp_path / "nofile.json"))
    assert done.code == 1
    assert done.err.startswith(f"choir: {tmp_path / 'nofile.json'}: no such file or directory.\n")
    (tmp_path / "bad.json").write_text("{")
    assert "it is not JSON" in fresh.run("ledger", "post", str(tmp_path / "bad.json")).err
    assert "is a directory" in fresh.run("ledger", "post", str(tmp_path)).err


def test_what_is_empty_in_the_settings_is_shown_as_what_it_means(fresh: NodeUnderTest) -> None:
    rows = [line.split() for line in fresh.run("config", "show").out.splitlines()[1:]]
    shown = {row[0]: row[1] for row in rows}
    assert shown["node"] == fresh.url
    assert shown["node_key_file"] == str(fresh.home / "node.key")
    assert shown["node_key_command"] == shown["token"] == "(not"
    assert "(not set)" in fresh.run("config", "show").out


def test_another_homes_node_is_not_taken_for_ones_own(fresh: NodeUnderTest, tmp_path: Path) -> None:
    own = fresh.run("status", "--json").json
    assert own["of_this_home"] is True
    elsewhere = {"CHOIR_HOME": str(tmp_path / "empty")}
    other = fresh.run("status", env=elsewhere).out
    assert other.startswith(f"No node is running on {tmp_path / 'empty'}. Another node answers at that address:\n")
    found = fresh.run("status", "--json", env=elsewhere).json
    assert (found["of_this_home"], found["pid"], found["id"]) == (False, None, own["id"])
    assert fresh.run("status", "--node", fresh.url, env=elsewhere).out.startswith(
        f"{own['id']} is running at {fresh.url} ("
    )


def test_a_part_of_the_policy_is_listed_where_one_value_would_be_explained(fresh: NodeUnderTest) -> None:
    assert fresh.run("policy", "explain", "issuing").out == fresh.run("policy", "show", "issuing.").out
    assert fresh.run("policy", "explain", "issu").code == 1


def _ahead_s(node: NodeUnderTest) -> float:
    with node.client() as client:
        return parse_time(client.node().now) / MICROSECONDS - time.time()


def test_a_clock_that_is_moved_stops_nobody_and_says_what_it_does(fresh: NodeUnderTest) -> None:
    """Whoever signs signs by it, holds can be placed after it went back, and checkpoints go on."""
    with fresh.client() as client:
        client.hold(ADA, 1, expires_in_s=60, reason="a test", key="short")
    auth = NostrKey("23" * 32, public_url=public_url(fresh))
    with Client(fresh.url, auth=auth) as agent:
        agent.agents.stand("wanderer")
        moved = fresh.run("clock", "--advance", "86400")
        assert "By then 1 open hold and 0 open jobs will have expired. That cannot be undone." in moved.err
        assert "never runs backwards" not in moved.out
        until(lambda: _ahead_s(fresh) > 80_000)  # every process knows it after a second
        assert agent.me.who().credential == "nostr"
        assert fresh.run("fund", ADA, "1").code == 0
        reset = fresh.run("clock", "--reset")
        assert ", 0 seconds ahead of real time.\nThe last entry is from " in reset.out
        assert "never runs backwards" in reset.out
        until(lambda: _ahead_s(fresh) < 80_000)
        assert agent.me.who().credential == "nostr"
        with fresh.client() as client:
            assert client.hold(ADA, 1, expires_in_s=60, reason="a test", key="again").hold
    for argument in ("--help", "--reset"):
        assert fresh.run("clock", argument).code == 0
    assert "cannot be undone" in " ".join(fresh.run("clock", "--help").out.split())


def test_a_restore_says_how_to_start_what_it_restored(fresh: NodeUnderTest, tmp_path: Path) -> None:
    fresh.run("backup", str(tmp_path / "x.tar"))
    for place, flags in (("a b", ("restore", str(tmp_path / "x.tar"), "--home")), ("c", ("--home",))):
        home = tmp_path / place
        home.mkdir(mode=0o700)
        (home / "node.key").write_bytes((fresh.home / "node.key").read_bytes())
        command = [*flags, str(home)] + ([] if "restore" in flags else ["restore", str(tmp_path / "x.tar")])
        done = fresh.run(*command)
        assert done.code == 0, done.err
        quoted = f"'{home}'" if " " in place else str(home)
        assert done.out.endswith(f"Start the node with `choir up --home {quoted}`.\n")


# Help


def groups(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if hasattr(command, "commands"):
        yield path
        for name, below in command.commands.items():
            yield from groups(below, (*path, name))


@pytest.mark.parametrize("path", list(groups(get_command(app))), ids=" ".join)
def test_a_list_of_commands_has_whole_sentences(path: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*path, "--help"], prog_name="choir", env={"COLUMNS": "60"})
    listed = " ".join(done.output.partition("Commands:" if path else "Work:")[2].split())
    assert listed
    assert "..." not in listed
    assert listed.count(".") >= 1


def test_the_node_can_be_named_before_the_command(fresh: NodeUnderTest) -> None:
    elsewhere = {"CHOIR_NODE": "http://127.0.0.1:1"}
    assert fresh.run("--node", fresh.url, "ledger", "balance", ADA, env=elsewhere).code == 0
    assert fresh.run("ledger", "balance", ADA, env=elsewhere).code == 3
    refused = fresh.run("--operator", "ledger", "balance", ADA, env=elsewhere)
    assert refused.code == 1
    assert "--operator" in refused.err


# Waiting


def test_whoever_waits_longer_than_a_second_is_told_so(fresh: NodeUnderTest) -> None:
    """On a terminal; and nothing of it is left in what is printed."""
    busy = answer(503, '{"code": "storage.unavailable", "detail": "x", "fields": {"why": "x"}}', "Retry-After: 3")
    account = json.dumps({"name": ADA, "asset": "CREDIT", "state": "open", "balance": "100", "held": "0"})
    with script(busy, answer(200, account)) as server:
        main, terminal = pty.openpty()
        process = subprocess.Popen(
            [*CHOIR, "ledger", "balance", ADA, "--node", server.url],
            env=fresh.environment | {"CHOIR_TOKEN": "x", "TERM": "xterm"},
            stdout=subprocess.PIPE,
            stderr=terminal,
        )
        os.close(terminal)
        out, _ = process.communicate(timeout=ANSWER_S_MAX)
        said = _everything(main)
    assert process.returncode == 0
    assert out.decode() == f"{ADA}  1.00 CREDIT\n"
    assert "Waiting for" in said


def _everything(descriptor: int) -> str:
    data = b""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and select.select([descriptor], [], [], 0.2)[0]:
        try:
            data += os.read(descriptor, 65536)
        except OSError:  # the other end is closed
            break
    os.close(descriptor)
    return data.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("needed", "agreed", "told"),
    [
        (0, 1, "Policy no longer allows this issuance"),
        (2, 0, "2 other operators must approve by"),
        (2, 1, "1 other operator must approve by"),
        (2, 2, "Enough operators approved."),
    ],
)
def test_what_an_open_issuance_waits_for(needed: int, agreed: int, told: str) -> None:
    example = IssuanceOut.model_json_schema()["examples"][0]
    item = IssuanceOut.model_validate(example | {"operators_needed": needed, "operators_agreed": agreed})
    assert what_next(item).startswith(told)
