"""How a command starts: it loads what it needs; the list of commands is whole and true without loading one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from choir.doors.cli import groups
from choir.doors.cli.contents import sections
from choir.doors.cli.main import app
from choir.doors.delegations.shapes import DelegationIn
from choir.doors.door import Command
from choir.doors.logins.shapes import LoginIn
from choir.doors.tokens.shapes import TokenIn
from choir.identity.model import OFFERED_SCOPES, Scope

HEAVY = ("click", "cryptography", "fastapi", "httpx", "psycopg", "pydantic", "pygments", "rich", "uvicorn")
PROGRAM = """
import sys
from choir.doors.cli.main import main
try:
    main()
finally:
    print("loaded:", *sorted(sys.modules), file=sys.stderr)
"""


def started(*words: str) -> tuple[int, str, set[str]]:
    """Run it in a process of its own: the code it ended with, what it printed, and all that it loaded."""
    env = os.environ | {"CHOIR_NODE": "http://127.0.0.1:9", "COLUMNS": "100"}
    done = subprocess.run([sys.executable, "-c", PROGRAM, *words], capture_output=True, text=True, env=env, check=False)
    said, _, loaded = done.stderr.rpartition("loaded: ")
    return done.returncode, done.stdout + said, set(loaded.split())


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("--help",), 0),
        (("help",), 0),
        (("--version",), 0),
        (("version", "--json"), 0),
        (("no-such-command",), 2),
        (("--no-such-option",), 2),
        (("help", "no-such-command"), 2),
    ],
)
def test_asking_what_there_is_loads_no_command(words: tuple[str, ...], code: int) -> None:
    ended, _, loaded = started(*words)
    assert (ended, loaded & set(HEAVY)) == (code, set())
    own = {name for name in loaded if name.startswith("choir.")}
    rooms = {f"choir.{room}" for room in ("bazaar", "commons", "ledger", "operations", "node", "sandbox", "storage")}
    assert {name for name in own if ".".join(name.split(".")[:2]) in rooms} == set()
    assert {item.place.partition(":")[0] for item in _items()} & own <= {"choir.doors.cli.about"}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("job", "ls", "--no-such-option"), 2),
        (("job", "submit", "run"), 2),
        (("job", "show", "--help"), 0),
        (("ledger", "balance"), 2),
        (("ledger", "transfer", "nobody", "nobody", "1"), 1),
        (("fund", "person:ada/available/SAT", "much"), 1),
        (("provider", "status", "--help"), 0),
        (("token", "create", "--help"), 0),
        (("article", "ls", "--no-such-option"), 2),
        (("source", "find"), 2),
        (("claim", "add", "--help"), 0),
        (("article", "vote", "revision_01h", "--accept", "--refuse"), 2),
        (("publish", "--help"), 0),
    ],
)
def test_what_is_answered_without_a_node_loads_no_client(words: tuple[str, ...], code: int) -> None:
    ended, said, loaded = started(*words)
    assert (ended, loaded & set(HEAVY)) == (code, set()), said


def test_one_command_does_not_load_its_neighbours() -> None:
    _, _, loaded = started("ledger", "balance", "--help")
    assert "choir.doors.ledger.commands.accounts" in loaded
    assert (
        loaded
        & {"choir.doors.ledger.commands.files", "choir.doors.ledger.commands.holds", "choir.doors.node.commands.run"}
        == set()
    )


def test_the_client_comes_without_its_own_command_line() -> None:
    """Which would load a library for colours, one for syntax and one for command lines."""
    ended, _, loaded = started("ledger", "balance", "person:ada/available/SAT")
    assert ended == 3
    assert "httpx" in loaded
    assert loaded & {"click", "pygments", "rich"} == set()


# The list of commands


def _items() -> list[Command]:
    return [item for items in sections().values() for item in items]


def test_the_list_says_of_each_command_what_it_says_itself() -> None:
    commands: Any = get_command(app).commands  # type: ignore[attr-defined]
    assert {item.name: item.summary for item in _items()} == {
        name: groups.summary(command) for name, command in commands.items()
    }


def _places(group: Any) -> Iterator[tuple[str, str]]:
    yield from getattr(group, "parts", {}).items()
    for command in getattr(group, "commands", {}).values():
        yield from _places(command)


def test_every_command_that_a_module_registers_can_be_named() -> None:
    found = list(_places(get_command(app)))
    assert len(found) > 50
    for place in sorted({place for _, place in found if not place.endswith(":app")}):
        listed = {name for name, where in found if where == place}
        assert listed == set(groups.names_in(groups.registered(place, "x"))), place


def test_commands_are_listed_by_what_they_are_for() -> None:
    said = CliRunner().invoke(app, ["--help"], prog_name="choir", env={"COLUMNS": "80"}).output
    titles = ["Options:", *(f"{title}:" for title in sections())]
    assert [line for line in said.splitlines() if line in titles] == titles
    assert len(titles) > 4
    assert {len(line) - len(line.lstrip()) for line in said.splitlines()} <= {0, 2, 14, 24}  # each on a line or wrapped
    assert all(f"\n  {item.name}" in said and item.summary.split()[-1] in said for item in _items())


# help and version


@pytest.mark.parametrize(
    "path", [(), ("job",), ("job", "submit", "run"), ("fund",), ("key", "rotate"), ("help",)], ids=" ".join
)
def test_help_shows_what_the_option_shows(path: tuple[str, ...]) -> None:
    asked = CliRunner().invoke(app, ["help", *path], prog_name="choir")
    option = CliRunner().invoke(app, [*path, "--help"], prog_name="choir")
    assert (asked.exit_code, asked.output) == (0, option.output)
    assert f"Usage: choir {' '.join(path)}".strip() in asked.output


def test_help_about_what_is_not_there_is_wrong_usage() -> None:
    for path in (("jbo",), ("job", "sumbit"), ("fund", "me")):
        done = CliRunner().invoke(app, ["help", *path], prog_name="choir")
        assert done.exit_code == 2
        assert f"No such command '{path[-1]}'." in done.output


def test_version_is_what_the_option_says() -> None:
    said = CliRunner().invoke(app, ["version"]).output
    assert said == CliRunner().invoke(app, ["--version"]).output
    assert json.loads(CliRunner().invoke(app, ["version", "--json"]).output) == {"version": said.split()[1]}


# What is offered


def test_no_option_offers_a_scope_that_nothing_asks_for() -> None:
    asked_for = set()
    source = Path(sys.modules["choir.doors.cli"].__path__[0]).parents[1]
    for file in source.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if file.name not in ("words.py", "model.py"):
            asked_for |= {scope for scope in Scope if f"Scope.{scope.name}" in text}
    assert asked_for == set(OFFERED_SCOPES)
    for command in (("login",), ("token", "create"), ("delegation", "grant"), ("delegation", "narrow")):
        said = CliRunner().invoke(app, [*command, "--help"], prog_name="choir", env={"COLUMNS": "200"}).output
        assert "read, research, publish, challenge, buy, sell" in " ".join(said.split())
        assert set(Scope) & set(re.findall("[a-z]+", said)) == set(OFFERED_SCOPES)


def test_the_description_of_the_api_offers_the_same_and_every_scope_is_valid() -> None:
    for shape in (TokenIn, DelegationIn, LoginIn):
        items = shape.model_json_schema()["properties"]["scopes"]["items"]
        assert items == {"type": "string", "enum": [scope.value for scope in OFFERED_SCOPES]}
    asked = TokenIn.model_validate_json(json.dumps({"name": "x", "scopes": list(Scope), "days": 1}))
    assert asked.scopes == list(Scope)


def test_the_first_start_shows_a_first_job_and_a_first_article(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from choir.doors.node.commands import run
    from choir.foundation.settings import load_settings

    monkeypatch.setattr(run, "_tell_of_the_sandbox", lambda _: None)
    run._greet(load_settings({"home": str(tmp_path)}, {}), first=True, as_json=False)
    told = capsys.readouterr().out
    for words in ("job submit run", "source add", "article new"):
        assert words in told
