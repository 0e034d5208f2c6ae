"""What every request passes: who asks, how large, how long, which headers; health and metrics."""

from __future__ import annotations

import itertools
import os
import signal
import socket
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from choir.storage.embedded.previous import Places
from choir.storage.processes import processes_of
from tests.operations.nodes import ADA, ANSWER_S_MAX, BOB, NodeUnderTest, fund, new_node, until

ENTRY = {"reason": "a test", "legs": [{"from": ADA, "to": BOB, "amount": "1"}]}
BODY_MAX = 200_000
STRANGER_BODY_MAX = 20_000


@pytest.fixture(scope="module")
def small() -> Iterator[NodeUnderTest]:
    """A running node with small limits."""
    limits = {
        "CHOIR_POLICY__NODE__BODY_BYTES_MAX": str(BODY_MAX),
        "CHOIR_POLICY__NODE__STRANGER_BODY_BYTES_MAX": str(STRANGER_BODY_MAX),
        "CHOIR_POLICY__NODE__REQUEST_S_MAX": "2",
    }
    with new_node(**limits) as node:
        fund(node.up())
        yield node


@pytest.fixture
def http(small: NodeUnderTest) -> Iterator[httpx.Client]:
    with small.http() as client:
        yield client


def key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def test_a_stranger_is_turned_away_before_anything_is_read(small: NodeUnderTest) -> None:
    before = small.entries()
    credentials: list[dict[str, str]] = [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {small.token}"},
        {"Authorization": small.token},
        {"Authorization": f"Bearer {small.token}x"},
    ]
    with httpx.Client(base_url=small.url, trust_env=False) as http:
        for headers in credentials:
            for answer in (
                http.get("/v1/trial-balance", headers=headers),
                http.post("/v1/entries", json=ENTRY, headers=headers | key()),
                http.post("/v1/entries", content=b"not json", headers=headers),
                http.post("/v1/fund", json={"account": ADA, "amount": "1"}, headers=headers | key()),
            ):
                assert answer.status_code == 401, answer.text
                assert answer.headers["www-authenticate"] == "Bearer"
                assert answer.json()["code"] == "unauthenticated"
                assert small.token not in answer.text
    assert small.entries() == before


def test_a_body_that_says_it_is_too_large_is_refused_unread(small: NodeUnderTest) -> None:
    with socket.create_connection(("127.0.0.1", small.port), timeout=ANSWER_S_MAX) as connection:
        connection.sendall(_head(small, f"Content-Length: {BODY_MAX + 1}"))
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")  # nothing of the body was sent


def test_a_body_in_chunks_is_not_read_beyond_the_limit(small: NodeUnderTest) -> None:
    before = small.entries()
    sent = 0
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", small.port), timeout=ANSWER_S_MAX) as connection:
        connection.sendall(_head(small, "Transfer-Encoding: chunked"))
        try:
            for _ in range(1000):  # 64 MB, if it were read
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            pass  # the node hung up
        answer = _received(connection)
    assert sent < 20_000_000
    assert answer[:13] in (b"", b"HTTP/1.1 413 ")
    assert small.entries() == before
    with small.http() as http:
        refused = http.post("/v1/entries", content=iter([b" " * BODY_MAX, b" "]), headers=key())
        assert refused.status_code == 413
        assert refused.json()["code"] == "too_large"
        exact = http.post("/v1/entries", content=iter([b" " * BODY_MAX]), headers=key())
        assert exact.status_code == 422


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Nostr e30="}])
def test_a_stranger_may_send_only_little(small: NodeUnderTest, headers: dict[str, str]) -> None:
    """A body waits in memory until it is whole, and strangers may have many connections."""
    with httpx.Client(base_url=small.url, headers=headers, trust_env=False) as http:
        refused = http.post("/v1/sign-up/begin", content=b" " * (STRANGER_BODY_MAX + 1))
        assert (refused.status_code, refused.json()["code"]) == (413, "too_large")
        exact = http.post("/v1/sign-up/begin", content=b" " * STRANGER_BODY_MAX)
        assert exact.status_code == (401 if headers else 422)


def _head(node: NodeUnderTest, line: str) -> bytes:
    lines = ["POST /v1/entries HTTP/1.1", "Host: x", f"Authorization: Bearer {node.token}", "Idempotency-Key: k", line]
    return "\r\n".join([*lines, "Content-Type: application/json", "", ""]).encode()


def _received(connection: socket.socket) -> bytes:
    try:
        return connection.recv(4096)
    except OSError:
        return b""


def _until_closed(connection: socket.socket) -> bytes:
    """Head and body may come in pieces."""
    pieces = []
    while piece := connection.recv(4096):
        pieces.append(piece)
    return b"".join(pieces)


def test_a_request_that_trickles_in_is_ended(small: NodeUnderTest) -> None:
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", small.port), timeout=ANSWER_S_MAX) as connection:
        connection.sendall(_head(small, "Content-Length: 1000") + b"{")
        answer = _until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"http.timed_out" in answer
    assert time.monotonic() - begun > 1.5


def test_a_write_that_waits_too_long_is_answered_and_its_retry_has_one_effect(
    small: NodeUnderTest, http: httpx.Client
) -> None:
    once = key()
    before = small.entries()
    with psycopg.connect(small.dsn()) as blocker:
        blocker.execute("select 1 from ledger_head for update")
        slow = http.post("/v1/entries", json=ENTRY, headers=once)
        assert slow.status_code == 503
        assert slow.json()["code"] == "http.timed_out"
        assert slow.headers["retry-after"] == "1"
        assert http.get("/healthz").status_code == 200
    answers = [http.post("/v1/entries", json=ENTRY, headers=once) for _ in range(2)]
    assert {answer.status_code for answer in answers} <= {200, 201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert small.entries() == before + 1


def test_every_answer_carries_the_security_headers_and_an_id(http: httpx.Client) -> None:
    seen = set()
    for answer in (http.get("/healthz"), http.get("/v1/node"), http.get("/nowhere"), http.post("/v1/entries")):
        headers = answer.headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "server" not in headers
        assert "strict-transport-security" not in headers  # this node is reached by plain HTTP
        seen.add(headers["x-request-id"])
    assert len(seen) == 4


def test_no_other_site_may_read_answers(http: httpx.Client) -> None:
    origin = {"Origin": "https://elsewhere.example"}
    preflight = http.options("/v1/entries", headers=origin | {"Access-Control-Request-Method": "POST"})
    assert preflight.status_code == 405
    for answer in (preflight, http.get("/v1/node", headers=origin)):
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_wrong_methods_paths_and_types_are_problems_too(small: NodeUnderTest, http: httpx.Client) -> None:
    before = small.entries()
    cases = [
        (http.get("/nowhere"), 404, "http.not_found"),
        (http.get("/v1/nowhere"), 404, "http.not_found"),
        (http.delete("/v1/entries"), 405, "http.method_not_allowed"),
        (http.put("/v1/balance"), 405, "http.method_not_allowed"),
        (http.options("/v1/entries"), 405, "http.method_not_allowed"),
        (http.post("/v1/entries", content=b"a=b", headers=key() | {"Content-Type": "text/plain"}), 422, "invalid"),
        (http.post("/v1/entries", data={"a": "b"}, headers=key()), 422, "invalid"),
    ]
    for answer, status, code in cases:
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["code"] == code
    assert small.entries() == before


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/v1/entries", "GET, HEAD, POST"),
        ("PUT", "/v1/agents/agent_x", "DELETE, GET, HEAD, PATCH"),
        ("POST", "/v1/me", "DELETE, GET, HEAD"),
        ("HEAD", "/v1/fund", "POST"),
        ("PATCH", "/v1/attempts/attempt_x/artifact", "GET, HEAD"),
        ("POST", "/healthz", "GET, HEAD"),
        ("POST", "/sign-in", "GET, HEAD"),
    ],
)
@pytest.mark.parametrize("accept", ["*/*", "text/html"])
def test_a_wrong_method_is_told_all_right_ones(
    http: httpx.Client, method: str, path: str, allowed: str, accept: str
) -> None:
    answer = http.request(method, path, headers={"Accept": accept})
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


@pytest.mark.parametrize(
    "body",
    [
        '{"reason": "a test", "reason": "another", "legs": []}',
        '{"reason": "a test", "legs": [{"from": "a", "to": "b", "amount": "1", "amount": "2"}]}',
        '{"reason": "a test", "legs": [], "re\\u0061son": "another"}',
    ],
)
def test_a_name_that_stands_twice_in_a_body_is_refused(small: NodeUnderTest, http: httpx.Client, body: str) -> None:
    """Two readers of such a body can read two different things in it."""
    before = small.entries()
    answer = http.post("/v1/entries", content=body, headers=key() | {"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["code"]) == (400, "http.name_twice"), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["fields"]["name"] in ("reason", "amount")
    assert small.entries() == before


def test_two_idempotency_keys_are_refused(small: NodeUnderTest, http: httpx.Client) -> None:
    before = small.entries()
    for second in ("a", "b"):
        answer = http.post("/v1/entries", json=ENTRY, headers=[("Idempotency-Key", "a"), ("Idempotency-Key", second)])
        assert (answer.status_code, answer.json()["code"]) == (400, "http.header_twice"), answer.text
        assert answer.json()["fields"]["header"] == "Idempotency-Key"
    assert small.entries() == before


@pytest.mark.parametrize(
    ("version", "hosts", "status", "code"),
    [
        ("1.1", [], 400, "http.no_host"),
        ("1.1", ["a", "a"], 400, "http.header_twice"),
        ("1.0", ["a", "b"], 400, "http.header_twice"),
        ("1.1", ["a"], 200, ""),
        ("1.0", [], 200, ""),
    ],
)
def test_a_request_says_once_to_which_host_it_goes(
    small: NodeUnderTest, version: str, hosts: list[str], status: int, code: str
) -> None:
    lines = [f"GET /healthz HTTP/{version}", *(f"Host: {host}" for host in hosts), "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", small.port), timeout=10) as connection:
        connection.sendall("\r\n".join(lines).encode())
        answer = _until_closed(connection)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
    assert code.encode() in answer
    assert (b"application/problem+json" in answer) == (status == 400)


def test_head_answers_like_get_without_a_body(http: httpx.Client) -> None:
    for path, status in (("/healthz", 200), ("/v1/node", 200), ("/nowhere", 404)):
        head, whole = http.head(path), http.get(path)
        assert head.status_code == whole.status_code == status
        assert head.content == b""
        assert head.headers["content-type"] == whole.headers["content-type"]
    assert http.head("/v1/fund").status_code == 405


def test_the_api_describes_itself_without_secrets(small: NodeUnderTest, http: httpx.Client) -> None:
    described = http.get("/v1/openapi.json")
    paths = described.json()["paths"]
    assert {"/v1/entries", "/v1/holds", "/v1/accounts", "/healthz", "/metrics"} <= set(paths)
    assert "Idempotency-Key" in described.text
    for secret in (small.token, (small.home / "node.key").read_text().strip()):
        assert secret not in described.text


def test_logs_and_metrics_hold_no_secret_and_no_body(small: NodeUnderTest, http: httpx.Client) -> None:
    body = ENTRY | {"memo": "between the two of us"}
    http.post("/v1/entries", json=body, headers=key())
    http.post("/v1/entries", content=b'{"broken between the two of us', headers=key())
    http.get("/v1/node", headers={"Authorization": "Bearer op_guess"})
    written = small.said + http.get("/metrics").text + (small.home / "postgres" / "postgres.log").read_text()
    for secret in (small.token, (small.home / "node.key").read_text().strip(), "op_guess", "between the two of us"):
        assert secret not in written


def test_metrics_of_two_processes_are_summed() -> None:
    with new_node(CHOIR_PROCESSES="2") as node:
        node.up()
        until(lambda: len(node.workers()) == 2)
        for _ in range(20):  # a new connection each time, so that both processes get some
            assert httpx.get(f"{node.url}/healthz", trust_env=False).status_code == 200
        first = _metrics(node)
        assert _count(first, "/healthz") >= 20
        os.kill(node.workers()[0], signal.SIGKILL)
        until(lambda: len(node.workers()) == 2)
        until(node.ready)
        assert _count(_metrics(node), "/healthz") >= 20  # what a dead process counted still counts
        assert first["choir_ledger_entries"] == [({}, 0.0)]


def _metrics(node: NodeUnderTest) -> dict[str, list[tuple[dict[str, str], float]]]:
    text = httpx.get(f"{node.url}/metrics", trust_env=False).text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    by_name = itertools.groupby(sorted(samples, key=lambda sample: sample.name), key=lambda sample: sample.name)
    return {name: [(dict(sample.labels), sample.value) for sample in group] for name, group in by_name}


def _count(metrics: dict[str, list[tuple[dict[str, str], float]]], route: str) -> float:
    return sum(value for labels, value in metrics["choir_http_requests_total"] if labels["route"] == route)


def test_a_node_whose_database_is_away_says_so_and_comes_back() -> None:
    with new_node(CHOIR_POLICY__NODE__DATABASE_WAIT_S_MAX="1", CHOIR_POLICY__NODE__REQUEST_S_MAX="8") as node:
        fund(node.up())
        database = node.database_pid()
        assert database is not None
        with node.http() as http:
            with standing_still(node):
                assert http.get("/healthz").status_code == 200
                away = http.get("/readyz", timeout=15)
                assert away.status_code == 503
                assert away.json()["status"] == "not ready"
                assert away.json()["checks"]["disk"] == "ok"
                assert http.get("/metrics", timeout=15).status_code == 200
                refused = http.get("/v1/node")
                assert refused.status_code == 503
                assert refused.json()["code"] in ("storage.unavailable", "storage.busy", "http.timed_out")
            until(node.ready)
            os.kill(database, signal.SIGKILL)
            until(lambda: node.database_pid() not in (None, database))
            until(node.ready)
            assert http.post("/v1/entries", json=ENTRY, headers=key()).status_code == 201


@contextmanager
def standing_still(node: NodeUnderTest) -> Iterator[None]:
    """All processes of a node's database do not answer, and are not gone."""
    places = Places.of(node.home)
    pids = processes_of(places.data, places.token)
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
