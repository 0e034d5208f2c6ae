"""More visitors than a node takes: each is answered, some with 503, and afterwards all is as before."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
import pytest

from tests.operations.nodes import ADA, ANSWER_S_MAX, PLAIN, NodeUnderTest, fund, new_node, until

CROWD = 600
PAGE = b"GET /hall HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n"
LIVE = b"GET /live?topics=commons HTTP/1.1\r\nHost: x\r\n\r\n"
PATIENT = {"CHOIR_POLICY__NODE__REFUSAL_S_MAX": "120"}  # this machine may need long to say anything
NARROW = PATIENT | {
    "CHOIR_POLICY__NODE__REQUESTS_MAX": "8",
    "CHOIR_POLICY__NODE__CONNECTIONS_PER_ADDRESS_MAX": "12",
    "CHOIR_POLICY__NODE__REQUEST_S_MAX": "120",
    "CHOIR_POLICY__NODE__DATABASE_WAIT_S_MAX": "120",
}


@pytest.fixture(scope="module")
def narrow() -> Iterator[NodeUnderTest]:
    with new_node(**NARROW) as node:
        fund(node.up())
        yield node


@contextlib.contextmanager
def connected(node: NodeUnderTest) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", node.port), timeout=ANSWER_S_MAX) as connection:
        yield connection


def told(connection: socket.socket) -> tuple[int, bytes, bytes]:
    """One whole answer: status, head and body. A connection that breaks is an error."""
    got = b""
    while b"\r\n\r\n" not in got:
        piece = connection.recv(65536)
        assert piece, "closed without an answer"
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        piece = connection.recv(65536)
        assert piece, "closed within an answer"
        body += piece
    return int(head[9:12]), head.lower(), body


def ask(node: NodeUnderTest, path: str, **headers: str) -> httpx.Response:
    return httpx.get(f"{node.url}{path}", headers=headers, trust_env=False, verify=PLAIN, timeout=ANSWER_S_MAX)


# A crowd at an ordinary node


async def _visit_all(port: int) -> list[tuple[int, bytes]]:
    """All connections are open before the first asks; whatever breaks one fails the test."""
    opened = [await asyncio.open_connection("127.0.0.1", port) for _ in range(CROWD)]
    for _, writer in opened:
        writer.write(PAGE)

    async def answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        assert b"</html>" in body
        return int(head[9:12]), head

    async with asyncio.timeout(ANSWER_S_MAX):
        answers = await asyncio.gather(*(answer(reader) for reader, _ in opened))
    for _, writer in opened:
        writer.close()
    return answers


def test_a_crowd_is_served_or_told_to_come_back() -> None:
    with new_node(**PATIENT) as node:
        node.up()
        for _ in range(2):
            answers = asyncio.run(_visit_all(node.port))
            counted = Counter(status for status, _ in answers)
            assert set(counted) <= {200, 503}, counted
            assert counted[200] > 0
            assert counted[503] >= 100  # one address has 500 connections at most
            assert all(b"\r\nretry-after: 2\r\n" in head for status, head in answers if status == 503)
            after = ask(node, "/hall", Accept="text/html")
            assert after.status_code == 200


# Limits of a narrow one


def test_one_request_too_many_is_refused_at_once_and_only_while_it_is_one_too_many(narrow: NodeUnderTest) -> None:
    with ThreadPoolExecutor(8) as pool, narrow.http() as http:
        with psycopg.connect(narrow.dsn()) as blocker:
            blocker.execute("lock table accounts in access exclusive mode")
            slow = [pool.submit(_balance, http) for _ in range(8)]
            until(lambda: ask(narrow, "/v1/node").status_code == 503)
            refused = ask(narrow, "/v1/node")
            assert (refused.status_code, refused.json()["code"]) == (503, "http.busy")
            assert refused.headers["retry-after"] == "2"
            assert refused.headers["content-type"] == "application/problem+json"
            assert "choir-time" in refused.headers
            page = ask(narrow, "/hall", Accept="text/html")
            assert (page.status_code, page.headers["retry-after"]) == (503, "2")
            assert "Temporarily unavailable" in page.text
            assert "script-src 'self'" in page.headers["content-security-policy"]
            assert ask(narrow, "/healthz").status_code == 200
            assert not any(each.done() for each in slow)
        assert [each.result().status_code for each in slow] == [200] * 8
    assert ask(narrow, "/v1/node").status_code == 200


def _balance(http: httpx.Client) -> httpx.Response:
    """Comes back where it met somebody else who had the last place."""
    while (answer := http.get("/v1/balance", params={"account": ADA})).status_code == 503:
        time.sleep(0.05)
    return answer


def test_streams_take_no_places_of_requests_nor_connections_of_their_address(narrow: NodeUnderTest) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(16):  # as many as one place may have
            stream = stack.enter_context(connected(narrow))
            stream.sendall(LIVE)
            got = b""
            while b": listening" not in got:
                got += stream.recv(65536)
            assert got.startswith(b"HTTP/1.1 200")
        assert ask(narrow, "/v1/node").status_code == 200
        another = ask(narrow, "/live?topics=commons")
        assert (another.status_code, another.json()["code"]) == (429, "events.too_many_streams")
    until(lambda: ask(narrow, "/v1/node").status_code == 200)


def test_one_connection_too_many_gets_a_whole_answer_whatever_it_sends(narrow: NodeUnderTest) -> None:
    half = b"a" * 500_000
    head = f"POST /v1/entries HTTP/1.1\r\nHost: x\r\nContent-Length: {2 * len(half)}\r\n\r\n".encode()
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(connected(narrow)) for _ in range(12)]
        for each in opened:  # an answer shows that it is counted
            each.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert told(each)[0] == 200
        more = stack.enter_context(connected(narrow))
        more.sendall(head + half)
        status, lines, body = told(more)
        assert (status, b'"http.too_many_connections"' in body) == (503, True)
        assert b"\r\nretry-after: 2\r\n" in lines
        assert b"\r\nconnection: close" in lines
        more.sendall(half)  # is still taken
        assert more.recv(1) == b""  # and the connection ends in order
    until(lambda: _counted(narrow) == 200)


def _counted(node: NodeUnderTest) -> int:
    return ask(node, "/v1/node").status_code
