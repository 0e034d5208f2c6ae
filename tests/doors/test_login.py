"""Logging the command line in: by a browser that approves, by a token; staying so for one node only; and out again."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import pytest

from choir.sdk import Client
from tests.doors.townsfolk import Neighbour, neighbour, public_node, public_url
from tests.operations.nodes import ADA, CHOIR, NodeUnderTest, free_port, new_node

DEADLINE_S = 60.0
BUYS = ("--no-browser", "--scope", "read", "--scope", "buy")


@pytest.fixture(scope="module")
def town() -> Iterator[NodeUnderTest]:
    with public_node(CHOIR_POLICY__DELEGATIONS__LOGIN_INTERVAL_S="1") as node:
        yield node


@pytest.fixture(scope="module")
def ada(town: NodeUnderTest) -> Iterator[Neighbour]:
    with neighbour(town, "ada") as person:
        yield person


@pytest.fixture
def config(tmp_path: Path) -> dict[str, str]:
    """A configuration folder of this test's own."""
    return {"XDG_CONFIG_HOME": str(tmp_path / "config")}


def files(config: dict[str, str]) -> list[Path]:
    return sorted(Path(config["XDG_CONFIG_HOME"]).glob("choir/logins/*"))


class Terminal:
    """A `choir login` that runs while somebody is at the browser."""

    def __init__(self, node: NodeUnderTest, env: dict[str, str], *options: str) -> None:
        self.process = subprocess.Popen(
            [*CHOIR, "login", *options],
            env=node.environment | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.said = ""
        self._stderr: IO[str] = self.process.stderr

    def shows(self) -> tuple[str, str]:
        """The login's id and the code, as the terminal shows them."""
        while (code := re.search(r"^  code +(\S+)$", self.said, re.MULTILINE)) is None:
            line = self._stderr.readline()
            assert line, self.said
            self.said += line
        found = re.search(r"/login/(login_\w+)$", self.said, re.MULTILINE)
        assert found is not None
        return found[1], code[1]

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def ends(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, self.said + err


def log_in(node: NodeUnderTest, person: Neighbour, env: dict[str, str], *options: str) -> None:
    with Terminal(node, env, "--no-browser", *options) as terminal:
        login, _ = terminal.shows()
        person.post(f"/logins/{login}/approve")
        code, _, err = terminal.ends()
    assert code == 0, err


def test_a_person_approves_in_the_browser_and_the_terminal_is_logged_in(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str]
) -> None:
    with Terminal(town, config, "--no-browser", "--json") as terminal:
        login, code = terminal.shows()
        asked = ada.http.get(f"/logins/{login}").json()
        assert asked["code"] == code
        assert asked["scopes"] == ["read"]
        assert asked["name"].startswith("choir on ")
        assert f"{public_url(town)}/login/{login}" in terminal.said
        ada.post(f"/logins/{login}/approve")
        ended, out, err = terminal.ends()
    assert ended == 0, err
    assert json.loads(out)["handle"] == "ada"
    [file] = files(config)
    assert json.loads(out)["file"] == str(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    token = json.loads(file.read_text())["token"]
    assert token not in out + err
    who = town.run("whoami", "--json", env=config).json
    assert (who["role"], who["handle"], who["credential"], who["source"]) == ("person", "ada", "token", "login")
    told = town.run("whoami", env=config).out
    assert told.startswith(f"You are ada ({ada.owner}) at {town.url}.\n  because     you logged in to {town.url}\n")
    assert told.endswith("  orders as   nobody: this credential lacks the scope buy\n")
    assert who["buyer"] is None
    assert "500.00" in town.run("account", env=config).out
    assert {item["asset"] for item in town.run("account", "--json", env=config).json} == {"CREDIT", "CHIP", "SAT"}


def test_whoever_signs_up_can_order_and_sees_what_the_machine_ordered(
    town: NodeUnderTest, config: dict[str, str]
) -> None:
    order = ("job", "submit", "run", "--region", "nowhere", "--no-wait", "--", "true")
    assert town.run(*order, env=config).code == 0
    [machines] = town.run("job", "ls", "--json", env=config).json
    with neighbour(town, "carla") as carla, Terminal(town, config, *BUYS) as terminal:
        login, _ = terminal.shows()
        carla.post(f"/logins/{login}/approve")
        code, _, err = terminal.ends()
        assert code == 0, err
        assert "this machine's own buyer: choir --machine job ls" in err
        empty = town.run("ledger", "balance", f"{carla.owner}/available/USDC", env=config)
        assert (empty.code, empty.out) == (0, f"{carla.owner}/available/USDC  0.000000 USDC (unopened)\n")
        assert (
            town.run("ledger", "statement", f"{carla.owner}/available/USDC", "--json", env=config).json["items"] == []
        )
        assert town.run("ledger", "balance", f"{carla.owner}/available/SAT", env=config).out.endswith(
            "100000.000 SAT\n"
        )

        assert town.run(*order, env=config).code == 0
        listed = town.run("job", "ls", env=config)
        assert machines["id"] not in listed.out
        assert "choir --machine job ls" in listed.err
        unknown = town.run("job", "show", machines["id"], env=config)
        assert (unknown.code, "choir --machine job ls" in unknown.err) == (1, True)
        assert [item["id"] for item in town.run("--machine", "job", "ls", "--json", env=config).json] == [
            machines["id"]
        ]
        for who, job in (
            ((), town.run("job", "ls", "--json", env=config).json[0]["id"]),
            (("--machine",), machines["id"]),
        ):
            assert town.run(*who, "job", "cancel", job, env=config).code == 0


def test_a_login_that_is_denied_or_forgotten_gives_nothing(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str]
) -> None:
    with Terminal(town, config, "--no-browser") as terminal:
        login, _ = terminal.shows()
        ada.post(f"/logins/{login}/deny")
        code, out, err = terminal.ends()
    assert (code, out) == (4, ""), err
    assert "Traceback" not in err
    assert files(config) == []


def test_the_browser_is_opened_where_there_is_one(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str], tmp_path: Path
) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    with Terminal(town, config | {"BROWSER": str(browser)}) as terminal:
        login, _ = terminal.shows()
        deadline = time.monotonic() + DEADLINE_S
        while not opened.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert opened.read_text() == f"{public_url(town)}/login/{login}"
        ada.post(f"/logins/{login}/approve")
        assert terminal.ends()[0] == 0


def test_a_token_comes_by_standard_input_and_never_as_an_argument(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str]
) -> None:
    token = ada.token("read")
    refused = town.run("login", "--token", token, env=config)
    assert refused.code == 1
    assert token not in refused.out + refused.err
    assert files(config) == []
    done = town.run("login", "--token", "-", env=config, stdin=token.encode() + b"\n")
    assert done.code == 0, done.err
    assert "Logged in" in done.out
    assert token not in done.out + done.err
    wrong = town.run("login", "--token", "-", env=config, stdin=b"choir_pat_nonsense\n")
    assert wrong.code == 4
    assert json.loads(files(config)[0].read_text())["token"] == token  # what was there stays
    empty = town.run("login", "--token", "-", env=config, stdin=b"")
    assert empty.code == 1


@pytest.mark.deep
def test_a_saved_token_is_for_its_own_address_and_no_other(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str]
) -> None:
    town.run("login", "--token", "-", env=config, stdin=ada.token("read").encode())
    with new_node() as other:
        other.up()
        stranger = other.run("whoami", env=config | {"CHOIR_HOME": str(town.temporary / "nowhere")})
        assert stranger.code == 4
        assert f"You are not authenticated at {other.url}" in stranger.err
        by_flag = town.run("--node", other.url, "whoami", env=config)
        assert by_flag.code == 4
        assert town.run("whoami", "--node", f"{town.url}/", env=config).code == 0
    elsewhere = town.run("whoami", "--node", f"http://localhost:{town.port}", env=config)
    assert elsewhere.code == 4  # another name is another address


def test_who_is_used_is_the_setting_then_the_login_then_the_operator(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str]
) -> None:
    def who(**env: str) -> dict[str, str]:
        found: dict[str, str] = town.run("whoami", "--json", env=config | env).json
        return found

    assert (who()["role"], who()["source"]) == ("operator", "operator")
    assert str(town.home) in who()["why"]
    log_in(town, ada, config)
    assert (who()["role"], who()["source"]) == ("person", "login")
    assert who(CHOIR_TOKEN=town.token)["source"] == "setting"
    assert "CHOIR_TOKEN" in who(CHOIR_TOKEN=town.token)["why"]
    assert town.run("--operator", "whoami", "--json", env=config).json["role"] == "operator"
    refused = town.run("fund", ADA, "1", env=config)
    assert refused.code == 4
    assert "choir --operator" in refused.err
    assert town.run("--operator", "fund", ADA, "1", env=config).code == 0
    assert town.run("status", env=config).code == 0


def test_logging_out_ends_the_token_and_forgets_it(town: NodeUnderTest, ada: Neighbour, config: dict[str, str]) -> None:
    log_in(town, ada, config)
    token = json.loads(files(config)[0].read_text())["token"]
    assert httpx.get(f"{town.url}/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    out = town.run("logout", "--json", env=config)
    assert out.json == {"node": town.url, "was_logged_in": True, "token_ended": True}
    assert files(config) == []
    assert httpx.get(f"{town.url}/v1/me", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert town.run("logout", env=config).out == f"You are not logged in to {town.url}.\n"


def test_a_new_login_ends_the_one_before(town: NodeUnderTest, ada: Neighbour, config: dict[str, str]) -> None:
    log_in(town, ada, config)
    first = json.loads(files(config)[0].read_text())["token"]
    log_in(town, ada, config)
    [file] = files(config)
    assert json.loads(file.read_text())["token"] != first
    assert httpx.get(f"{town.url}/v1/me", headers={"Authorization": f"Bearer {first}"}).status_code == 401


def test_a_login_without_a_node_says_so(town: NodeUnderTest, config: dict[str, str]) -> None:
    nobody = town.run("login", "--no-browser", "--node", "http://127.0.0.1:1", env=config)
    assert nobody.code == 3
    for address in ("nonsense", "ftp://localhost", "http://user:secret@localhost:1"):
        odd = town.run("login", "--no-browser", "--node", address, env=config)
        assert odd.code == 1, odd
        assert "Traceback" not in odd.err


@pytest.mark.parametrize("spoil", ["mode", "folder", "link", "other node", "garbage", "pipe", "fields"])
def test_a_file_that_others_could_have_touched_is_refused_with_words(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str], spoil: str, tmp_path: Path
) -> None:
    town.run("login", "--token", "-", env=config, stdin=ada.token("read").encode())
    [file] = files(config)
    content = json.loads(file.read_text())
    expected = {
        "mode": "mode 0640",
        "folder": "mode 0777",
        "link": "symbolic link",
        "other node": "http://evil.example:80",
        "garbage": "not a login",
        "pipe": "not a plain file",
        "fields": "not a login",
    }[spoil]
    match spoil:
        case "mode":
            file.chmod(0o640)
        case "folder":
            file.parent.chmod(0o777)
        case "link":
            file.rename(tmp_path / "moved")
            file.symlink_to(tmp_path / "moved")
        case "other node":
            file.write_text(json.dumps(content | {"node": "http://evil.example:80"}))
        case "garbage":
            file.write_text("{" * 1000)
        case "pipe":
            file.unlink()
            os.mkfifo(file, 0o600)
        case "fields":
            file.write_text(json.dumps(content | {"token": 5}))
    for command in (("whoami",), ("account",), ("login", "--no-browser"), ("logout",)):
        done = town.run(*command, env=config)
        assert done.code == 1, done
        assert "cannot be used" in done.err
        assert expected in done.err
        assert content["token"] not in done.out + done.err


def test_writing_through_a_link_is_refused(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str], tmp_path: Path
) -> None:
    target = tmp_path / "target"
    town.run("login", "--token", "-", env=config, stdin=ada.token("read").encode())
    [file] = files(config)
    file.unlink()
    file.symlink_to(target)
    done = town.run("login", "--token", "-", env=config, stdin=ada.token("read").encode())
    assert done.code == 1
    assert not target.exists()
    assert [path.name for path in files(config)] == [file.name]  # nothing half-written beside it


def test_the_sdk_uses_a_saved_login_too(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    town.run("login", "--token", "-", env=config, stdin=ada.token("read").encode())
    monkeypatch.setenv("XDG_CONFIG_HOME", config["XDG_CONFIG_HOME"])
    monkeypatch.delenv("CHOIR_TOKEN", raising=False)
    with Client(town.url) as client:
        assert client.me.who().handle == "ada"
        assert client.who.source == "login"
        assert "choir_pat" not in repr(client) + repr(client.who) + repr(vars(client))


def test_what_takes_a_passkey_says_where_it_is_done(
    town: NodeUnderTest, ada: Neighbour, config: dict[str, str]
) -> None:
    log_in(town, ada, config)
    agent = ada.agent("night librarian")
    delegation = ada.delegation(agent, "read", "buy", caps=[{"asset": "SAT", "period": "day", "cap": "100000"}])
    assert agent in town.run("agent", "ls", env=config).out
    listed = town.run("delegation", "ls", env=config).out
    assert "0.000 of 100.000 SAT per day" in listed
    assert "buy, read" in town.run("delegation", "show", delegation, env=config).out
    assert "choir on " in town.run("token", "ls", env=config).out
    for command in (
        ("agent", "rename", agent, "day librarian"),
        ("agent", "retire", agent),
        ("delegation", "revoke", delegation),
    ):
        done = town.run(*command, env=config)
        assert done.code == 4, done
        assert f"Do it at {public_url(town)}/" in done.err


def test_an_operator_is_told_to_ask_as_a_person(town: NodeUnderTest, config: dict[str, str]) -> None:
    for command in (("agent", "ls"), ("delegation", "ls"), ("token", "ls"), ("agent", "create", "librarian")):
        done = town.run(*command, env=config)
        assert done.code == 4, done
        assert "you are the node's operator" in done.err
        assert "choir login" in done.err


def test_a_wrong_token_that_is_set_is_named(town: NodeUnderTest, config: dict[str, str]) -> None:
    for command in (("whoami",), ("account",)):
        done = town.run(*command, env=config | {"CHOIR_TOKEN": "forgotten"})
        assert done.code == 4, done
        assert "environment CHOIR_TOKEN" in done.err
        assert "forgotten" not in done.err


def test_nobody_is_told_when_there_is_no_node_at_all(town: NodeUnderTest, config: dict[str, str]) -> None:
    done = town.run("--node", f"http://127.0.0.1:{free_port()}", "whoami", env=config)
    assert done.code == 3
    assert "No node answers" in done.err


def test_an_agents_program_passes_its_authority_on(town: NodeUnderTest, ada: Neighbour, config: dict[str, str]) -> None:
    first, second = ada.agent("first"), ada.agent("second")
    delegation = ada.delegation(first, "read", "buy", caps=[{"asset": "SAT", "period": "day", "cap": "5000"}])
    env = config | {"CHOIR_TOKEN": ada.token("read", "buy", delegation=delegation)}
    assert f"the agent {first} of ada" in town.run("whoami", env=env).out
    narrow = ("delegation", "narrow", delegation, second, "--scope", "read", "--cap", "SAT/day=1.5", "--json")
    once = town.run(*narrow, "--key", "narrowed-once", env=env)
    assert once.code == 0, once.err
    assert once.json["caps"] == [{"asset": "SAT", "period": "day", "cap": "1500", "spent": "0"}]
    wider = town.run("delegation", "narrow", delegation, second, "--scope", "withdraw", env=env)
    assert wider.code in (1, 4)
    for odd in ("SAT", "SAT/day", "SAT/day=", "SAT/day=x", "EUR/day=1", "SAT/day=-1"):
        assert town.run("delegation", "narrow", delegation, second, "--scope", "read", "--cap", odd, env=env).code == 1
    revoked = town.run("delegation", "revoke", once.json["id"], "--json", env=env)
    assert revoked.json == {"delegation": once.json["id"], "revoked": True}
    assert once.json["id"] not in town.run("delegation", "ls", env=env).out
