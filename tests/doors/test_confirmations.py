"""Agents, delegations and tokens from the terminal: asked there, confirmed in the browser, and what else can happen."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator
from typing import IO

import httpx
import pytest

from tests.doors.townsfolk import Neighbour, neighbour, public_node, public_url
from tests.operations.nodes import CHOIR, NodeUnderTest

DEADLINE_S = 60.0
Env = dict[str, str]


@pytest.fixture(scope="module")
def town() -> Iterator[NodeUnderTest]:
    more = {"CHOIR_POLICY__DELEGATIONS__LOGIN_INTERVAL_S": "1", "CHOIR_POLICY__DELEGATIONS__LOGINS_PER_PLACE": "1000"}
    with public_node(**more) as node:
        yield node


@pytest.fixture(scope="module")
def ada(town: NodeUnderTest) -> Iterator[Neighbour]:
    with neighbour(town, "ada") as person:
        yield person


@pytest.fixture(scope="module")
def logged_in(ada: Neighbour) -> Env:
    return {"CHOIR_TOKEN": ada.token("read")}


class Terminal:
    """A command that waits for somebody at the browser."""

    def __init__(self, node: NodeUnderTest, env: Env, *command: str) -> None:
        self.process = subprocess.Popen(
            [*CHOIR, *command, "--no-browser"],
            env=node.environment | env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        self.said = ""
        self._stderr: IO[str] = self.process.stderr

    def asks(self) -> tuple[str, str]:
        """The id of what is asked and the code, as the terminal shows them."""
        while (code := re.search(r"^  code +(\S+)$", self.said, re.MULTILINE)) is None:
            line = self._stderr.readline()
            assert line, self.said
            self.said += line
        found = re.search(r"/confirm/(login_\w+)$", self.said, re.MULTILINE)
        assert found is not None, self.said
        return found[1], code[1]

    def ends(self) -> tuple[int, str, str]:
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, self.said + err

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


def confirmed(node: NodeUnderTest, person: Neighbour, env: Env, *command: str) -> dict[str, object]:
    with Terminal(node, env, *command, "--json") as terminal:
        asked, _ = terminal.asks()
        person.post(f"/logins/{asked}/approve")
        code, out, err = terminal.ends()
    assert code == 0, err
    made: dict[str, object] = json.loads(out)
    return made


def page(person: Neighbour, asked: str) -> httpx.Response:
    return person.http.get(f"{person.node.url}/confirm/{asked}", headers={"Accept": "text/html"})


def count(person: Neighbour, what: str) -> int:
    return len(person.http.get(f"/{what}").json()["items"])


def test_from_an_agent_to_its_token(town: NodeUnderTest, ada: Neighbour, logged_in: Env) -> None:
    agent = confirmed(town, ada, logged_in, "agent", "create", "night librarian")
    assert (agent["name"], agent["person"]) == ("night librarian", ada.owner)
    grant = ("delegation", "grant", str(agent["id"]), "--scope", "read", "--scope", "buy", "--cap", "SAT/day=100")
    delegation = confirmed(town, ada, logged_in, *grant, "--name", "night shift", "--days", "3")
    assert (delegation["agent"], delegation["scopes"]) == (agent["id"], ["buy", "read"])
    token = ("token", "create", "robot", "--delegation", str(delegation["id"]), "--scope", "read", "--days", "2")
    with Terminal(town, logged_in, *token) as terminal:
        asked, code = terminal.asks()
        shown = page(ada, asked).text
        for expected in (code, "robot", "night librarian", "night shift", "See balances", "100 SAT", "per day"):
            assert expected in shown
        ada.post(f"/logins/{asked}/approve")
        ended, out, err = terminal.ends()
    assert ended == 0, err
    secret = out.strip()
    assert re.fullmatch(r"choir_pat_\w{49}", secret)
    assert secret not in err + page(ada, asked).text + ada.http.get(f"/logins/{asked}").text
    log = (town.home / "log").read_text() if (town.home / "log").is_file() else ""
    assert secret not in log
    assert town.run("whoami", "--json", env={"CHOIR_TOKEN": secret}).json["agent"] == agent["id"]


def test_what_is_denied_is_not_done(town: NodeUnderTest, ada: Neighbour, logged_in: Env) -> None:
    before = count(ada, "agents")
    with Terminal(town, logged_in, "agent", "create", "unwanted") as terminal:
        asked, _ = terminal.asks()
        ada.post(f"/logins/{asked}/deny")
        code, out, err = terminal.ends()
    assert (code, out) == (4, "")
    assert "It was denied in the browser. Nothing was done." in err
    assert count(ada, "agents") == before
    assert "Denied" in page(ada, asked).text


def test_somebody_else_finds_nothing_to_confirm(town: NodeUnderTest, ada: Neighbour, logged_in: Env) -> None:
    with neighbour(town, "mallory") as other, Terminal(town, logged_in, "agent", "create", "mine") as terminal:
        asked, _ = terminal.asks()
        shown = page(other, asked)
        assert (shown.status_code, "you are logged in as <strong>@mallory" in shown.text) == (404, True)
        assert "mine" not in shown.text
        for act in ("approve", "deny"):
            assert other.http.post(f"/logins/{asked}/{act}", json={}).status_code == 404
        twice = [ada.http.post(f"/logins/{asked}/approve", json={}).status_code for _ in range(2)]
        code, _, err = terminal.ends()
    assert code == 0, err
    assert twice in ([200, 409], [200, 200])  # the second may come when it is done


def test_a_command_that_was_killed_leaves_nothing(town: NodeUnderTest, ada: Neighbour, logged_in: Env) -> None:
    before = count(ada, "tokens")
    with Terminal(town, logged_in, "token", "create", "lost", "--scope", "read") as terminal:
        asked, _ = terminal.asks()
        terminal.process.send_signal(signal.SIGINT)
        code, out, err = terminal.ends()
    assert (code, out, "Traceback" in err) == (130, "", False)
    ada.post(f"/logins/{asked}/approve")
    assert count(ada, "tokens") == before


def test_nobody_confirms_in_time(ada: Neighbour, town: NodeUnderTest) -> None:
    """The time cannot be waited for: another request is asked for what is not there any more."""
    assert ada.owner
    answer = httpx.post(
        f"{town.url}/v1/confirmations/login_01j9zq7d3zj9ywb4q6r7f8g9ha/result", json={"verifier": "v" * 43}
    )
    assert (answer.status_code, answer.json()["code"]) == (404, "identity.login_unknown")


def test_a_key_asks_once(town: NodeUnderTest, ada: Neighbour, logged_in: Env) -> None:
    command = ("agent", "create", "steady", "--key", "steady")
    first = confirmed(town, ada, logged_in, *command)
    again = town.run(*command, "--no-browser", "--json", env=logged_in)
    assert (again.code, again.json["id"]) == (0, first["id"])
    other = town.run("agent", "create", "unsteady", "--key", "steady", "--no-browser", env=logged_in)
    assert other.code == 1
    assert "already used for another request" in other.err


def test_what_cannot_be_done_is_refused_at_once(town: NodeUnderTest, ada: Neighbour, logged_in: Env) -> None:
    none = "agent_01j9zq5a1wf6vsy1m3n4c5d6e7"
    refused = town.run("delegation", "grant", none, "--scope", "read", "--no-browser", env=logged_in)
    assert (refused.code, "Open this URL" in refused.err) == (1, False)
    agent = {"CHOIR_TOKEN": ada.token("read", delegation=ada.delegation(ada.agent(), "read"))}
    assert town.run("agent", "create", "mine", "--no-browser", env=agent).code == 4
    assert town.run("agent", "create", "mine", "--no-browser", env={"XDG_CONFIG_HOME": "/nowhere"}).code == 4
    two = ada.http.post("/confirmations", json={"challenge": "c" * 43, "name": "x"})
    assert two.status_code == 422


def test_what_a_program_says_of_itself_is_only_text(ada: Neighbour) -> None:
    hostile = "<script>alert(1)</script>"
    asked = ada.post("/confirmations", challenge="c" * 43, name=hostile, agent={"name": hostile})["login"]
    shown = page(ada, asked).text
    assert hostile not in shown
    assert "&lt;script&gt;alert(1)" in shown
    hidden = ada.http.post("/confirmations", json={"challenge": "c" * 43, "name": "x", "agent": {"name": "a\u202eb"}})
    assert hidden.status_code == 422
    assert public_url(ada.node)
