"""The relay of a node with two server processes, under a plain client: what it promises, and who cannot hurt it."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import psycopg
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from choir.nostr.events import event_json
from tests.operations.nodes import PLAIN, NodeUnderTest, new_node
from tests.relay.clients import ADA, BOB, WAIT_S_MAX, RelayClient, client_of, signed

LIMITS = {
    "CHOIR_PROCESSES": "2",
    "CHOIR_POLICY__NODE__HEAD_S_MAX": "3",
    "CHOIR_POLICY__RELAY__SUBSCRIPTIONS_MAX": "20",
    "CHOIR_POLICY__RELAY__EVENTS_PER_MINUTE_MAX": "2000",
    "CHOIR_POLICY__RELAY__ADDRESS_EVENTS_PER_MINUTE_MAX": "100000",
    "CHOIR_POLICY__RELAY__QUERIES_PER_MINUTE_MAX": "100000",
    "CHOIR_POLICY__RELAY__WAITING_EVENTS_MAX": "200",
    "CHOIR_POLICY__RELAY__CONNECTIONS_PER_ADDRESS_MAX": "12",
}


@pytest.fixture(scope="module")
def node() -> Iterator[NodeUnderTest]:
    with new_node(**LIMITS) as made:
        yield made.up()


@pytest.fixture
def client(node: NodeUnderTest) -> Iterator[RelayClient]:
    with client_of(node.url) as found:
        yield found


def topic() -> str:
    """A tag of a test's own."""
    return secrets.token_hex(8)


def test_it_says_what_it_is(node: NodeUnderTest) -> None:
    answer = httpx.get(f"{node.url}/relay", headers={"Accept": "application/nostr+json"}, verify=PLAIN)
    assert answer.headers["content-type"] == "application/nostr+json"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert set(answer.json()["supported_nips"]) >= {1, 9, 11, 40, 42, 45}
    assert answer.json()["limitation"]["max_subscriptions"] == 20


def test_no_other_path_is_a_websocket(node: NodeUnderTest) -> None:
    with pytest.raises(InvalidStatus), connect(f"ws{node.url.removeprefix('http')}/v1/events"):
        pass


def test_a_silent_connection_is_no_late_request(client: RelayClient) -> None:
    time.sleep(4)  # longer than a request's head may take
    assert client.publish(signed(1, topic())) == (True, "")


def test_what_is_published_is_found_and_counted(client: RelayClient) -> None:
    own = topic()
    events = [signed(1, str(number), ("t", own), at=int(time.time()) - number) for number in range(5)]
    assert [client.publish(event) for event in events] == [(True, "")] * 5
    assert client.publish(events[0])[0]
    assert client.ask({"#t": [own]}) == [event.id.hex() for event in events]
    assert client.ask({"#t": [own], "limit": 2}, {"ids": [events[4].id.hex()]}) == [
        events[number].id.hex() for number in (0, 1, 4)
    ]
    client.send("COUNT", "how many", {"#t": [own]})
    assert client.receive() == ["COUNT", "how many", {"count": 5}]


def test_subscriptions_hear_of_all_processes_once_and_in_order(node: NodeUnderTest) -> None:
    """Many connections, so that both processes have some."""
    own = topic()
    events = [
        signed(20001 if number % 3 else 1, "x" * 9000 * (number % 2), ("t", own), ("n", str(number)))
        for number in range(10)
    ]
    with ExitStack() as stack:
        clients = [stack.enter_context(client_of(node.url)) for _ in range(8)]
        assert all(one.subscribe("live", {"#t": [own]}) == [] for one in clients)
        for event in events:
            assert clients[0].publish(event) == (True, "")
        for one in clients[1:]:
            assert [one.next("EVENT")[2]["id"] for _ in events] == [event.id.hex() for event in events]
        clients[1].send("CLOSE", "live")
        assert clients[1].ask({"#t": [own]}) != []
        late = signed(1, "late", ("t", own))
        assert clients[1].publish(late)[0]
        assert clients[2].next("EVENT")[2]["id"] == late.id.hex()
        clients[1].send("CLOSE", "nothing")
        clients[1].send("COUNT", "c", {"#t": [own]})
        assert clients[1].receive()[0] == "COUNT"  # and no event before it


def test_deletion_expiry_and_replacement(client: RelayClient) -> None:
    own = topic()
    event = signed(1, "", ("t", own))
    client.publish(event)
    client.publish(signed(5, "", ("e", event.id.hex())))
    assert client.ask({"#t": [own]}) == []
    assert client.publish(event) == (False, "blocked: its author has deleted it")
    assert client.publish(signed(1, "", ("expiration", "1"))) == (
        False,
        "invalid: That is not a valid Nostr event: it has expired.",
    )
    now = int(time.time())
    first, second = (signed(31990, "", ("d", own), at=at) for at in (now - 1, now))
    client.publish(first)
    client.publish(second)
    assert client.ask({"kinds": [31990], "#d": [own]}) == [second.id.hex()]
    assert client.publish(first) == (True, "duplicate: a newer version of it is here")


def test_whoever_proves_a_key_sees_what_is_for_it(node: NodeUnderTest, client: RelayClient) -> None:
    bob, relay = signed(key=BOB).pubkey.hex(), f"ws://127.0.0.1:{node.port}/relay"
    event = signed(1059, "private", ("p", bob))
    assert client.publish(event) == (True, "")
    client.send("REQ", "mail", {"kinds": [1059]})
    assert client.receive()[0:2] == ["CLOSED", "mail"]
    assert event.id.hex() not in client.ask({"ids": [event.id.hex()]})
    assert not client.prove(BOB, relay, challenge="another")[0]
    assert not client.prove(BOB, "ws://elsewhere.example/relay")[0]
    assert not client.prove(BOB, relay, at=int(time.time()) - 3600)[0]
    assert client.prove(BOB, relay) == (True, "")
    assert client.ask({"kinds": [1059], "#p": [bob]}) == [event.id.hex()]
    protected = signed(1, "", ("-",), key=ADA)
    assert client.publish(protected)[1].startswith("auth-required")
    assert client.publish(signed(1, "", ("-",), key=BOB)) == (True, "")


def test_hostile_events_are_refused(client: RelayClient) -> None:
    good = event_json(signed(1, "good"))
    now = int(time.time())
    for bad in (
        {**good, "content": "other"},
        {**good, "sig": "0" * 128},
        {**good, "id": "0" * 64},
        {**good, "kind": 10**9},
        {**good, "tags": [["t", "x"]] * 2000},
        {**good, "tags": [["t"] * 100]},
        {**good, "tags": [[["t"]]]},
        {**good, "pubkey": "f" * 64},
        {**good, "extra": 1},
        {"id": "\ud800"},
        event_json(signed(1, "", at=now + 10_000)),
        event_json(signed(1, "x" * 140_000)),
        event_json(signed(1, "", *((("t", str(number))) for number in range(300)))),
    ):
        accepted, told = client.publish(bad)
        assert not accepted
        assert told.startswith("invalid: ")
    assert client.publish(good) == (True, "")


@pytest.mark.parametrize(
    "text",
    [
        *("", "{}", "[]", "null", "[1]", '["REQ"]', '["EVENT"', '["HELLO",1]', '["CLOSE",5]'),
        "[" * 50_000,
        '["REQ","' + "x" * 65 + '",{}]',
    ],
)
def test_nonsense_is_answered_and_harmless(client: RelayClient, text: str) -> None:
    client.connection.send(text)
    assert client.receive()[0] == "NOTICE"
    assert client.publish(signed(1, topic()))[0]


def test_bad_filters_are_refused(client: RelayClient) -> None:
    asked: list[list[Any]] = [[], [{"search": "x"}], [{"ids": ["x"]}], [{}] * 50, [{"kinds": list(range(3000))}], [5]]
    for filters in asked:
        client.send("REQ", "bad", *filters)
        word, name, told = client.receive()
        assert (word, name) == ("CLOSED", "bad")
        assert told.split(":")[0] in ("invalid", "unsupported")
    client.connection.send(b"\x00\x01")
    assert client.receive()[0] == "NOTICE"


def test_ten_thousand_subscriptions(node: NodeUnderTest) -> None:
    """Twenty are opened, the others refused, until the client is cut; others do not notice."""
    with client_of(node.url) as greedy, client_of(node.url) as honest:
        words: list[str] = []

        def ask_for_all() -> None:
            for number in range(10_000):
                greedy.send("REQ", str(number), {"kinds": [7], "limit": 1})
                words.append(greedy.next("EOSE", "CLOSED")[0])

        with pytest.raises(ConnectionClosed):
            ask_for_all()
        assert words[:21] == ["EOSE"] * 20 + ["CLOSED"]
        assert len(words) < 1000
        assert honest.publish(signed(1, topic()))[0]


def test_one_subscription_again_and_again_is_one(client: RelayClient) -> None:
    assert all(client.subscribe("same", {"kinds": [7], "limit": 0}) == [] for _ in range(100))


def test_too_large_messages_end_the_connection(node: NodeUnderTest) -> None:
    with client_of(node.url) as client:
        with suppress(ConnectionClosed):
            client.connection.send("x" * 1_000_000)
        with pytest.raises(ConnectionClosed):
            client.receive()


def test_a_slow_reader_is_cut_and_others_are_served(node: NodeUnderTest) -> None:
    own = topic()
    address = f"ws{node.url.removeprefix('http')}/relay"
    with (
        client_of(node.url) as writer,
        client_of(node.url) as reader,
        connect(address, max_size=None, max_queue=1, open_timeout=WAIT_S_MAX) as slow,
    ):
        slow.send(json.dumps(["REQ", "all", {"#t": [own]}]))
        assert reader.subscribe("all", {"#t": [own]}) == []
        for number in range(600):
            assert writer.publish(signed(20001, "x" * 60_000, ("t", own), ("n", str(number))))[0]
            assert reader.next("EVENT")[1] == "all"
        with pytest.raises(ConnectionClosed):
            all(slow.recv(timeout=WAIT_S_MAX) for _ in range(700))


def test_a_flood_of_new_keys_is_limited() -> None:
    """So many in a minute from one connection, whatever the keys; few, because a busy machine sends few."""
    with new_node(**LIMITS | {"CHOIR_POLICY__RELAY__EVENTS_PER_MINUTE_MAX": "40"}) as made:
        node = made.up()
        with client_of(node.url) as flood, client_of(node.url) as honest:
            told: list[str] = []
            with suppress(ConnectionClosed):
                told.extend(flood.publish(signed(20001, key=number.to_bytes(32, "big")))[1] for number in range(1, 120))
            assert "rate-limited: too many events; try again in a minute" in told
            assert honest.publish(signed(1, topic()))[0]


def test_no_more_connections_than_an_address_may_have(node: NodeUnderTest) -> None:
    """The others are refused in words, and requests are answered all the while."""

    def come(stack: ExitStack) -> None:
        for _ in range(30):  # two processes, twelve each
            stack.enter_context(client_of(node.url))
            assert httpx.get(f"{node.url}/healthz", verify=PLAIN).status_code == 200

    with ExitStack() as stack, pytest.raises(InvalidStatus) as refused:
        come(stack)
    assert refused.value.response.status_code == 503
    with client_of(node.url) as client:  # and their places are free again
        assert client.ask({"limit": 1}) is not None


def test_a_lost_ear_ends_subscriptions_in_words(node: NodeUnderTest, client: RelayClient) -> None:
    client.subscribe("live", {"kinds": [7], "limit": 0})
    with psycopg.connect(node.dsn("postgres"), autocommit=True) as admin:
        admin.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'choir notices'")
    assert client.next("CLOSED")[1] == "live"
    assert client.subscribe("live", {"kinds": [7], "limit": 0}) == []
    event = signed(7, topic())
    client.send("EVENT", event_json(event))
    assert client.next("EVENT")[2]["id"] == event.id.hex()  # before or behind its OK
