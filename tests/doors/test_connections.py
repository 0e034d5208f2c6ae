"""Connections and their limits; proxies; other sites' pages; tags; requests that nobody waits for any more."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from choir.doors.http.connection import Limits
from choir.doors.http.cors import Cors
from choir.doors.http.proxies import Proxies
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time
from choir.storage.policy import NodePolicy
from tests.operations.nodes import ADA, ANSWER_S_MAX, BOB, NodeUnderTest, fund, new_node, until

LIMITS = {
    "CHOIR_POLICY__NODE__HEAD_S_MAX": "1",
    "CHOIR_POLICY__NODE__HEAD_BYTES_MAX": "8000",
    "CHOIR_POLICY__NODE__UNREAD_S_MAX": "1",
    "CHOIR_POLICY__NODE__REQUEST_S_MAX": "2",
    "CHOIR_POLICY__NODE__CONNECTIONS_PER_ADDRESS_MAX": "30",
    "CHOIR_CORS_ORIGINS": "https://app.example, https://other.example",
}


@pytest.fixture(scope="module")
def strict() -> Iterator[NodeUnderTest]:
    with new_node(**LIMITS) as node:
        fund(node.up())
        yield node


@contextlib.contextmanager
def connected(node: NodeUnderTest) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", node.port), timeout=ANSWER_S_MAX) as connection:
        yield connection


def rest(connection: socket.socket) -> bytes:
    pieces = []
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(65536):
            pieces.append(piece)
    return b"".join(pieces)


@pytest.mark.parametrize(
    "begun", [b"", b"GET /healthz HTTP/1.1\r\n", b"\r\n", b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A"]
)
def test_a_head_that_does_not_come_ends_the_connection(strict: NodeUnderTest, begun: bytes) -> None:
    with connected(strict) as connection:
        connection.sendall(begun)
        assert rest(connection).startswith(b"HTTP/1.1 408 ")


def test_a_head_that_trickles_is_not_waited_for(strict: NodeUnderTest) -> None:
    with connected(strict) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        for _ in range(900):  # fewer bytes than a head may have
            time.sleep(0.1)
            try:
                connection.sendall(b"X-A: b\r\n")
            except OSError:
                return
    pytest.fail("it was waited for")


def test_nor_one_that_trickles_after_an_answer(strict: NodeUnderTest) -> None:
    with connected(strict) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"\r\n")
        assert rest(connection).endswith(b"content-length: 0\r\n\r\n")


def test_a_head_without_end_is_refused(strict: NodeUnderTest) -> None:
    with connected(strict) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: " + b"a" * 20_000)
        assert rest(connection).startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("piece", [b"X-A: b\r\n" * 1000, b"a" * 8000])
@pytest.mark.parametrize("before", ["a stream", "a body"])
def test_nor_does_one_grow_behind_a_request_that_is_answered(strict: NodeUnderTest, piece: bytes, before: str) -> None:
    who = f"Host: x\r\nAuthorization: Bearer {strict.token}\r\n"
    begun = f"GET /v1/events HTTP/1.1\r\n{who}\r\nGET /healthz HTTP/1.1\r\nX-A: "
    if before == "a body":
        begun = f"POST /v1/entries HTTP/1.1\r\n{who}Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\nX-A: "
    sent = 0
    with connected(strict) as connection, contextlib.suppress(OSError):
        connection.sendall(begun.encode())
        while sent < 50_000_000:
            connection.sendall(piece)
            sent += len(piece)
    assert sent < 20_000_000  # what the machine's own buffers took


def test_what_stands_behind_a_body_is_no_header(strict: NodeUnderTest) -> None:
    head = "GET /v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    with connected(strict) as connection:
        connection.sendall(f"{head}0\r\nAuthorization: Bearer {strict.token}\r\n\r\n".encode())
        assert rest(connection).startswith(b"HTTP/1.1 401 ")


def test_a_large_body_is_no_large_head(strict: NodeUnderTest) -> None:
    with strict.http() as http:
        assert http.post("/v1/entries", content=b" " * 100_000, headers={"Idempotency-Key": "k"}).status_code == 422


def test_a_client_that_does_not_read_is_cut_off(strict: NodeUnderTest) -> None:
    request = f"GET /v1/openapi.json HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {strict.token}\r\n\r\n".encode()
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", strict.port))
        connection.settimeout(ANSWER_S_MAX)
        connection.sendall(request * 100)
        until(lambda: not _is_open(strict, connection))
        got = rest(connection)
    assert got.count(b"HTTP/1.1 200") < 100


def _is_open(node: NodeUnderTest, client: socket.socket) -> bool:
    """Whether the node still has its end of a connection, as the kernel says it; nothing is read for that."""
    own = [f"0100007F:{port:04X}" for port in (node.port, client.getsockname()[1])]
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return any(row[1:3] == own and row[3] == "01" for row in rows)  # TCP_ESTABLISHED


def test_one_address_has_only_so_many_connections(strict: NodeUnderTest) -> None:
    ask = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(connected(strict)) for _ in range(40)]
        answers = []
        for connection in opened:
            with contextlib.suppress(OSError):
                connection.sendall(ask)
                answers.append(connection.recv(16))
        assert answers.count(b"HTTP/1.1 200 OK\r") <= 30
        assert answers.count(b"HTTP/1.1 200 OK\r") >= 20
    until(lambda: _answers(strict))


def test_all_addresses_of_one_ipv6_host_count_together() -> None:
    limits = Limits(NodePolicy(connections_per_address_max=2), lambda _: False)
    assert [limits.enter(f"2001:db8::{n}") for n in range(3)] == [True, True, False]
    assert limits.enter("2001:db8:0:1::1")
    assert [limits.enter(each) for each in ("192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1", "192.0.2.2")] == [
        True,
        True,
        False,
        True,
    ]
    limits.leave("2001:db8::ffff")
    assert limits.enter("2001:db8::9")
    assert not limits.enter("2001:db8::a")


def _answers(node: NodeUnderTest) -> bool:
    try:
        return httpx.get(f"{node.url}/healthz", trust_env=False, timeout=ANSWER_S_MAX).status_code == 200
    except httpx.TransportError:
        return False


@pytest.mark.deep
def test_a_request_that_timed_out_leaves_no_statement_behind(strict: NodeUnderTest) -> None:
    """Else each would keep a thread and a connection until the database's own limit."""
    with psycopg.connect(strict.dsn()) as blocker, psycopg.connect(strict.dsn("postgres"), autocommit=True) as admin:
        blocker.execute("lock table accounts in access exclusive mode")
        with strict.http() as http:
            slow = http.get("/v1/balance", params={"account": ADA})
        assert slow.status_code == 503
        assert slow.json()["code"] == "http.timed_out"
        waiting = "select count(*) from pg_stat_activity where query like %s and wait_event_type = 'Lock'"
        until(lambda: admin.execute(waiting, ["%accounts%"]).fetchone() == (0,))
    with strict.http() as http:
        assert http.get("/v1/balance", params={"account": ADA}).status_code == 200


def test_holds_that_nobody_waits_for_give_their_threads_back(strict: NodeUnderTest) -> None:
    expires = format_time(SystemClock().now_us() + 3600 * MICROSECONDS)
    body = {"payer": ADA, "amount": "1", "expires_at": expires, "captures": 1, "reason": "a test"}
    with psycopg.connect(strict.dsn()) as blocker:
        blocker.execute("select 1 from ledger_head for update")
        with strict.http() as http:
            for _ in range(3):
                answer = http.post("/v1/holds", json=body, headers={"Idempotency-Key": uuid.uuid4().hex})
                assert answer.status_code == 503, answer.text
    with strict.http() as http:
        until(lambda: http.post("/v1/holds", json=body, headers={"Idempotency-Key": "one"}).status_code in (200, 201))


# Proxies


def scope(peer: str, *headers: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http", "client": (peer, 1), "scheme": "http", "headers": list(headers)}


TRUSTED = Proxies([ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1"), ipaddress.ip_network("127.0.0.1")])


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"),
        ("203.0.113.9", ["198.51.100.1"], "203.0.113.9"),  # not a proxy of ours
        ("10.0.0.1", ["1.2.3.4, 203.0.113.7"], "203.0.113.7"),  # the left one is made up
        ("10.0.0.1", ["1.2.3.4", "203.0.113.7, 10.0.0.2"], "203.0.113.7"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["garbage"], "10.0.0.1"),
        ("10.0.0.1", ["203.0.113.7, garbage, 10.0.0.2"], "10.0.0.2"),
        ("::1", ["[2001:db8::1]:443"], "2001:db8::1"),
        ("127.0.0.1", ["203.0.113.7:1234"], "203.0.113.7"),
        ("::ffff:10.0.0.1", ["::ffff:203.0.113.7"], "203.0.113.7"),
    ],
)
def test_the_client_is_the_rightmost_that_is_no_proxy_of_ours(peer: str, forwarded: list[str], client: str) -> None:
    given = scope(peer, *[(b"x-forwarded-for", line.encode()) for line in forwarded])
    TRUSTED.resolve(given)
    assert given["client"][0] == client
    untouched = scope(peer, *[(b"x-forwarded-for", line.encode()) for line in forwarded])
    Proxies([]).resolve(untouched)
    assert untouched["client"] == (peer, 1)


def test_the_scheme_comes_from_a_proxy_only() -> None:
    for peer, scheme in (("10.0.0.1", "https"), ("203.0.113.9", "http")):
        given = scope(peer, (b"x-forwarded-proto", b"https"))
        TRUSTED.resolve(given)
        assert given["scheme"] == scheme
    odd = scope("10.0.0.1", (b"x-forwarded-proto", b"gopher"))
    TRUSTED.resolve(odd)
    assert odd["scheme"] == "http"


def test_sign_up_limits_count_the_address_behind_the_proxy() -> None:
    limits = {"CHOIR_TRUSTED_PROXIES": "127.0.0.1", "CHOIR_POLICY__PEOPLE__CEREMONIES_PER_PLACE": "2"}
    with new_node(**limits) as node:
        node.up()

        def begin(address: str) -> int:
            headers = {"X-Forwarded-For": f"1.1.1.1, {address}"}
            url = f"{node.url}/v1/sign-in/begin"
            return httpx.post(url, headers=headers, trust_env=False).status_code

        assert [begin("203.0.113.7") for _ in range(3)] == [200, 200, 429]
        assert begin("198.51.100.9") == 200


# Other sites


def test_only_named_sites_may_read_and_never_with_cookies(strict: NodeUnderTest) -> None:
    asking = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    with strict.http() as http:
        for origin, allowed in (("https://app.example", True), ("https://evil.example", False), ("null", False)):
            preflight = http.options("/v1/entries", headers=asking | {"Origin": origin})
            answer = http.get("/v1/node", headers={"Origin": origin})
            health = http.get("/healthz", headers={"Origin": origin})
            assert preflight.status_code == (204 if allowed else 405)
            assert preflight.headers.get("access-control-allow-origin") == (origin if allowed else None)
            assert answer.headers.get("access-control-allow-origin") == (origin if allowed else None)
            assert "origin" in answer.headers["vary"].lower()
            assert "access-control-allow-origin" not in health.headers
            assert not [name for name in preflight.headers if name == "access-control-allow-credentials"]
        assert http.options("/v1/entries", headers={"Origin": "https://app.example"}).status_code == 405


def test_everyone_may_read_where_that_was_chosen() -> None:
    given = {"path": "/v1/node", "method": "GET", "headers": [(b"origin", b"https://anything.example")]}
    headers = dict(Cors(["*"]).headers(given))
    assert headers[b"access-control-allow-origin"] == b"*"
    assert b"access-control-allow-credentials" not in headers
    assert Cors([]).headers(given) == []


# Tags


def test_what_does_not_change_is_not_sent_twice(strict: NodeUnderTest) -> None:
    with strict.http() as http:
        entry = {"reason": "a test", "legs": [{"from": ADA, "to": BOB, "amount": "1"}]}
        posted = http.post("/v1/entries", json=entry, headers={"Idempotency-Key": uuid.uuid4().hex}).json()
        size = http.post("/v1/checkpoints").json()["size"]
        paths = [f"/v1/entries/{posted['id']}", f"/v1/checkpoints/{size}", "/v1/checkpoints/latest", "/v1/openapi.json"]
        for path in paths:
            first = http.get(path)
            assert first.status_code == 200, first.text
            tag = first.headers["etag"]
            for given in (tag, f"W/{tag}", f'"x", {tag}', "*"):
                again = http.get(path, headers={"If-None-Match": given})
                assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
            assert http.get(path, headers={"If-None-Match": '"x"'}).content == first.content
        assert http.get("/v1/checkpoints/4000000").status_code == 404


def test_no_address_leads_to_the_host_that_a_request_names(strict: NodeUnderTest) -> None:
    for path in ("/v1/me/", "/account/", "/sign-in/", "/v1/openapi.json/"):
        answer = httpx.get(strict.url + path, headers={"Host": "elsewhere.example"}, trust_env=False)
        assert answer.status_code == 404, path
        assert "elsewhere" not in str(answer.headers) + answer.text
