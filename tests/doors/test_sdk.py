"""The SDK: refusals are raised as what they are, and only what is safe is sent again."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from choir.doors.sdk.errors import NodeError
from choir.doors.shapes import RequestTimedOut
from choir.foundation.errors import Invalid, NotFound, Unauthenticated, Unavailable
from choir.ledger.checkpoints import NoCheckpoint
from choir.ledger.model import (
    AccountFrozen,
    AssetMismatch,
    ConflictingKey,
    HoldClosed,
    InsufficientFunds,
    UnknownAccount,
)
from choir.operations.home import DiskLow
from choir.sdk import Client, NoNode
from tests.doors.servers import answer, problem, script
from tests.operations.nodes import ADA, BOB, NodeUnderTest, free_port, fund, new_node

SAT = "person:bob/available/SAT"


@pytest.fixture(scope="module")
def funded() -> Iterator[NodeUnderTest]:
    with new_node() as node:
        fund(node.up())
        yield node


@pytest.fixture
def client(funded: NodeUnderTest) -> Iterator[Client]:
    with funded.client() as made:
        yield made


def test_refusals_come_as_the_class_that_the_node_raised_with_its_fields(client: Client) -> None:
    with pytest.raises(InsufficientFunds) as poor:
        client.transfer(BOB, ADA, 10**9, reason="a test")
    assert poor.value.fields["account"] == BOB
    assert int(poor.value.fields["asked"]) == 10**9
    assert str(poor.value).startswith(f"{BOB} has ")
    with pytest.raises(UnknownAccount) as unknown:
        client.transfer(ADA, "person:nobody/available/CREDIT", 1, reason="a test")
    assert "choir ledger open person:nobody" in unknown.value.advice
    assert isinstance(unknown.value, NotFound)
    client.open_account(SAT)
    with pytest.raises(AssetMismatch):
        client.transfer(ADA, SAT, 1, reason="a test")
    client.transfer(ADA, BOB, 1, reason="a test", key="once")
    with pytest.raises(ConflictingKey):
        client.transfer(ADA, BOB, 2, reason="a test", key="once")
    with pytest.raises(NoCheckpoint):
        client.prove_consistency(10**9)
    with pytest.raises(Invalid):
        client.transfer(ADA, BOB, 0, reason="a test")
    with pytest.raises(Invalid):
        client.entry("nothing")
    client.open_account("person:ice/available/CREDIT")
    client.freeze("person:ice/available/CREDIT", reason="a test")
    with pytest.raises(AccountFrozen):
        client.transfer(ADA, "person:ice/available/CREDIT", 1, reason="a test")
    held = client.hold(ADA, 5, expires_at="2027-01-01T00:00:00Z", reason="a test")
    client.release(held.hold.id, reason="a test")
    with pytest.raises(HoldClosed):
        client.capture(held.hold.id, [(BOB, 1)], reason="a test")


def test_a_wrong_token_is_not_a_wrong_request(funded: NodeUnderTest) -> None:
    for token in ("", "wrong"):
        with Client(funded.url, token) as stranger, pytest.raises(Unauthenticated):
            stranger.trial_balance()
    with pytest.raises(Invalid):
        Client(funded.url, "schlüssel")


def test_without_a_node_it_says_so_soon() -> None:
    begun = time.monotonic()
    with Client(f"http://127.0.0.1:{free_port()}", "x", patience_s=0.3) as client, pytest.raises(NoNode) as no_node:
        client.node()
    assert time.monotonic() - begun < 5
    assert "choir up" in no_node.value.advice


@pytest.mark.parametrize("url", ["nonsense", "ftp://localhost", "http://localhost:port"])
def test_an_address_that_is_none_is_refused_at_once(url: str) -> None:
    begun = time.monotonic()
    with pytest.raises(Invalid):
        Client(url, "x").node()
    assert time.monotonic() - begun < 2


def test_a_key_that_cannot_travel_is_refused_before_it_does(client: Client) -> None:
    for key in ("caf\u00e9", "a\nb", "a\r\nX-Evil: 1"):
        with pytest.raises(Invalid):
            client.transfer(ADA, BOB, 1, reason="a test", key=key)


def test_an_empty_key_never_means_a_fresh_one(client: Client) -> None:
    before = client.node().entries
    for key in ("", " ", "\t"):
        for write in (
            lambda: client.transfer(ADA, BOB, 1, reason="a test", key=key),  # noqa: B023 - called at once
            lambda: client.fund(ADA, 1, key=key),  # noqa: B023
            lambda: client.hold(ADA, 1, expires_in_s=60, reason="a test", key=key),  # noqa: B023
            lambda: client.agents.create("robot", key=key),  # noqa: B023
        ):
            with pytest.raises(Invalid, match="key is not valid: it is empty"):
                write()
    assert client.node().entries == before


POSTED = answer(201, '{"id": "e", "seq": 1, "at": "t", "hash": "h", "again": false}')
AWAY = problem(503, "storage.unavailable", '{"why": "a test"}')


def test_a_write_with_a_key_is_sent_again_with_the_same_key() -> None:
    with script(AWAY, b"", AWAY, POSTED) as server, Client(server.url, "x") as client:
        assert client.transfer(ADA, BOB, 1, reason="a test").id == "e"
    assert len(server.requests) == 4
    keys = {line for request in server.requests for line in request.lower().splitlines() if b"idempotency-key" in line}
    assert len(keys) == 1
    assert len({request.partition(b"\r\n\r\n")[2] for request in server.requests}) == 1


def test_a_write_without_a_key_is_sent_once() -> None:
    for first in (AWAY, b""):
        with script(first, POSTED) as server, Client(server.url, "x") as client:
            with pytest.raises(Unavailable):
                client.freeze(ADA, reason="a test")
            assert len(server.requests) == 1


def test_a_refusal_is_never_sent_again() -> None:
    for status, code in ((409, "ledger.account.frozen"), (422, "invalid"), (500, "internal"), (404, "x.y")):
        with script(problem(status, code, '{"account": "a", "what": "w", "why": "y"}'), POSTED) as server:
            with Client(server.url, "x") as client, pytest.raises(Exception, match=r"\w"):
                client.transfer(ADA, BOB, 1, reason="a test")
            assert len(server.requests) == 1


def test_a_full_disk_is_told_at_once() -> None:
    with script(problem(503, "node.disk_low", '{"free_mb": 1, "needed_mb": 2}')) as server:
        with Client(server.url, "x") as client, pytest.raises(DiskLow):
            client.transfer(ADA, BOB, 1, reason="a test")
        assert len(server.requests) == 1


def test_what_the_node_says_when_patience_is_over_is_what_is_raised() -> None:
    timed_out = problem(503, "http.timed_out", '{"limit_s": 30}')
    with script(timed_out) as server, Client(server.url, "x", patience_s=0.3) as client:
        with pytest.raises(RequestTimedOut):
            client.transfer(ADA, BOB, 1, reason="a test")
        assert len(server.requests) >= 2


@pytest.mark.parametrize(
    "odd",
    [
        answer(200, "<html>"),
        answer(200, "[1, 2]"),
        answer(200, '{"id": 1}'),
        answer(418, "{}"),
        answer(409, '{"code": "from.the.future", "detail": "New rule.", "fields": {"a": 1}}'),
        answer(409, '{"code": "ledger.insufficient_funds", "detail": "Other fields.", "fields": {}}'),
        answer(409, '{"code": "ledger.insufficient_funds", "detail": "No fields.", "fields": [1]}'),
    ],
)
def test_an_answer_of_something_else_is_a_plain_error(odd: bytes) -> None:
    with script(odd) as server, Client(server.url, "x") as client, pytest.raises(NodeError):
        client.node()
