"""Caps and revocations hold across processes: 16 clients race on two server processes of one node."""

from __future__ import annotations

import contextlib
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psycopg
import pytest

from tests.doors.http.visitors import Browser, Json, balance, cap, client, done, fund, key, program, refused
from tests.operations.nodes import NodeUnderTest, until

CLIENTS = 16
CAP = 1000


class Connections:
    """Sixteen connections that stay open, each to one of the two processes, and every process has some."""

    def __init__(self, node: NodeUnderTest, token: str) -> None:
        self._node = node
        self._stack = contextlib.ExitStack()
        workers = set(node.workers())
        assert len(workers) == 2
        kept: dict[int, list[httpx.Client]] = {pid: [] for pid in workers}
        for _ in range(40 * CLIENTS):  # which process takes a connection is the kernel's choice
            http = program(node, token)
            pid = _served_by(node, http.get("/v1/me"))
            if len(kept[pid]) < CLIENTS // 2:
                self._stack.callback(http.close)
                kept[pid].append(http)
            else:
                http.close()
            if all(len(each) == CLIENTS // 2 for each in kept.values()):
                break
        self.by_process = kept
        self.all = [http for each in kept.values() for http in each]

    def __enter__(self) -> Connections:
        assert all(self.by_process.values()), "one process never got a connection"
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def statuses(self, path: str = "/v1/me") -> list[set[int]]:
        """What each process answers now."""
        return [{http.get(path).status_code for http in each} for each in self.by_process.values()]


def _served_by(node: NodeUnderTest, answer: httpx.Response) -> int:
    """The process at the other end of the connection that this answer came by."""
    client_port = answer.extensions["network_stream"].get_extra_info("client_addr")[1]
    inode = _server_socket(node.port, client_port)
    for pid in node.workers():
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if os.readlink(entry) == f"socket:[{inode}]":  # noqa: PTH115 - it is no path
                    return pid
    raise AssertionError("nobody holds the connection")


def _server_socket(port: int, client_port: int) -> str:
    def end(number: int) -> str:
        return f"{socket.inet_aton('127.0.0.1')[::-1].hex().upper()}:{number:04X}"

    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if (fields[1], fields[2]) == (end(port), end(client_port)):
            return fields[9]
    raise AssertionError("there is no such connection")


@pytest.fixture
def spender(ada: Browser) -> tuple[Browser, Json, Json, Json]:
    """Somebody rich, their agent, its delegation, and a token under it."""
    agent = ada.agent()
    delegation = ada.grant(agent, "read", "buy", caps=[cap(CAP), cap(3 * CAP, period="total")])
    fund(ada.node, ada.owner, 100 * CAP)
    return ada, agent, delegation, ada.make_token("read", "buy", delegation=delegation)


def test_a_cap_cannot_be_exceeded_by_racing(spender: tuple[Browser, Json, Json, Json]) -> None:
    ada, agent, delegation, token = spender
    body = {"from": ada.owner, "to": agent["owner"], "asset": "SAT", "amount": "70"}
    with Connections(ada.node, token["secret"]) as connections, ThreadPoolExecutor(CLIENTS) as pool:
        codes = list(pool.map(lambda http: _spend(http, body, times=3), connections.all))
    answers = [code for each in codes for code in each]
    accepted = answers.count(201)
    assert len(answers) == 3 * CLIENTS
    assert set(answers) <= {201, 409}
    assert accepted == CAP // 70  # as many as fit, not one more, and not one less
    assert balance(ada.node, f"{agent['owner']}/available/SAT") == 70 * accepted
    for state in done(ada.http.get(f"/v1/delegations/{delegation['id']}"))["caps"]:
        assert state["spent"] == str(70 * accepted)


def _spend(http: httpx.Client, body: Json, times: int) -> list[int]:
    return [http.post("/v1/transfers", json=body, headers=key()).status_code for _ in range(times)]


def test_one_key_spends_once_however_many_send_it(spender: tuple[Browser, Json, Json, Json]) -> None:
    ada, agent, delegation, token = spender
    body = {"from": ada.owner, "to": agent["owner"], "asset": "SAT", "amount": "70"}
    once = key()
    with Connections(ada.node, token["secret"]) as connections, ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(lambda http: http.post("/v1/transfers", json=body, headers=once), connections.all))
    assert sorted(answer.status_code for answer in answers) == [200] * (CLIENTS - 1) + [201]
    assert len({answer.json()["posted"]["id"] for answer in answers}) == 1
    assert done(ada.http.get(f"/v1/delegations/{delegation['id']}"))["caps"][0]["spent"] == "70"


def test_what_was_narrowed_shares_the_cap_it_came_from(spender: tuple[Browser, Json, Json, Json]) -> None:
    ada, agent, delegation, _ = spender
    children = []
    for n in range(4):
        other = ada.agent(f"child {n}")
        terms = {"agent": other["id"], "scopes": ["buy"], "caps": [cap(CAP)], "days": 1}
        child = done(ada.http.post(f"/v1/delegations/{delegation['id']}/narrow", json=terms), 201)
        children.append(ada.make_token("buy", delegation=child)["secret"])
    body = {"from": ada.owner, "to": agent["owner"], "asset": "SAT", "amount": "90"}

    def spend(n: int) -> list[int]:
        with program(ada.node, children[n % len(children)]) as http:
            return _spend(http, body, times=2)

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = [code for each in pool.map(spend, range(CLIENTS)) for code in each]
    assert answers.count(201) == CAP // 90
    assert set(answers) == {201, 409}


def test_a_revoked_delegation_fails_at_once_on_both_processes(spender: tuple[Browser, Json, Json, Json]) -> None:
    ada, _, delegation, token = spender
    with Connections(ada.node, token["secret"]) as connections:
        assert connections.statuses() == [{200}, {200}]
        done(ada.http.delete(f"/v1/delegations/{delegation['id']}"), 204)
        assert connections.statuses() == [{403}, {403}]
        assert connections.all[0].get("/v1/me").json()["code"] == "identity.delegation_ended"


def test_a_revoked_token_fails_at_once_on_both_processes(spender: tuple[Browser, Json, Json, Json]) -> None:
    ada, _, _, token = spender
    with Connections(ada.node, token["secret"]) as connections:
        done(ada.http.delete(f"/v1/tokens/{token['token']['id']}"), 204)
        assert connections.statuses() == [{401}, {401}]


def test_a_retired_agent_fails_at_once_on_both_processes(spender: tuple[Browser, Json, Json, Json]) -> None:
    ada, agent, _, token = spender
    with Connections(ada.node, token["secret"]) as connections:
        done(ada.http.delete(f"/v1/agents/{agent['id']}"), 204)
        assert connections.statuses() == [{401}, {401}]


def test_an_ended_session_fails_at_once_everywhere(ada: Browser) -> None:
    headers = {"Cookie": f"choir_session={ada.token}"}
    open_ = [client(ada.node, **headers) for _ in range(8)]
    assert {http.get("/v1/me").status_code for http in open_} == {200}
    done(ada.http.post("/v1/sign-out"), 204)
    assert {http.get("/v1/me").status_code for http in open_} == {401}
    for http in open_:
        http.close()


def test_nothing_is_paid_to_somebody_who_is_being_erased(served: NodeUnderTest) -> None:
    ada, bob = Browser(served).sign_up(), Browser(served).sign_up()
    fund(served, ada.owner, 10, "USDC")
    waiting = "select count(*) >= %s from pg_stat_activity where wait_event_type = 'Lock'"
    body = {"to": bob.owner, "asset": "USDC", "amount": "1"}
    with psycopg.connect(served.dsn("postgres"), autocommit=True) as admin, ThreadPoolExecutor(2) as both:
        with psycopg.connect(served.dsn()) as first:
            first.execute("select 1 from ledger_head for update")
            erased = both.submit(lambda: bob.http.delete("/v1/me"))
            until(lambda: admin.execute(waiting, [1]).fetchone() == (True,))
            paid = both.submit(lambda: ada.http.post("/v1/transfers", json=body, headers=key()))
            until(lambda: admin.execute(waiting, [2]).fetchone() == (True,))
        done(erased.result(), 204)
        refused(paid.result(), 404, "identity.person_unknown")
        found = admin.execute("select name from accounts where name like %s and state = 'open'", [f"{bob.owner}/%"])
        assert found.fetchall() == []
    assert balance(served, f"{ada.owner}/available/USDC") == 10
