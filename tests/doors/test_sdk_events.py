"""Events of a real node, over connections that break: none is missed, none comes twice, in order."""

from __future__ import annotations

import asyncio
import itertools
import json
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from choir.foundation.errors import Invalid
from choir.identity.credentials.model import BadCredential
from choir.identity.model import ScopeMissing
from choir.sdk import AsyncClient, Client, Event
from tests.doors.servers import cutting
from tests.doors.townsfolk import neighbour, public_node
from tests.operations.nodes import CHOIR, NodeUnderTest

SIGNED_UP = "identity.person.signed_up"
WAIT_S = 60.0

numbers = itertools.count(1)


@pytest.fixture(scope="module")
def town() -> Iterator[NodeUnderTest]:
    with public_node() as node:
        yield node


def arrive(node: NodeUnderTest) -> str:
    """Somebody signs up; their owner."""
    with neighbour(node, f"visitor{next(numbers)}") as person:
        return person.owner


@contextmanager
def listening(client: Client) -> Iterator[queue.Queue[Event]]:
    """A thread that listens, and what it heard."""
    heard: queue.Queue[Event] = queue.Queue()

    def listen() -> None:
        for event in client.events(type_=SIGNED_UP):
            heard.put(event)

    threading.Thread(target=listen, daemon=True).start()
    yield heard


def subjects(heard: queue.Queue[Event], count: int) -> list[str]:
    return [heard.get(timeout=WAIT_S).subject for _ in range(count)]


def test_the_past_is_told_and_ends(town: NodeUnderTest) -> None:
    owner = arrive(town)
    with town.client() as client:
        past = list(client.events(after="0-0", type_="identity", follow=False))
        assert past[-1].subject == owner
        assert past[-1].type == SIGNED_UP
        assert len({event.id for event in past}) == len(past)
        assert list(client.events(after=past[-1].position, follow=False)) == []
        assert list(client.events(after="0-0", subject=owner, follow=False)) == [past[-1]]
        with pytest.raises(Invalid):
            list(client.events(after="yesterday", follow=False))


def test_a_broken_connection_is_gone_on_without_a_gap(town: NodeUnderTest) -> None:
    with cutting(town.port) as proxy, Client(proxy.url, town.token, patience_s=60) as client:
        with listening(client) as heard:
            threading.Event().wait(1.0)  # so that it listens before anything happens
            first = arrive(town)
            assert subjects(heard, 1) == [first]
            proxy.cut(away=True)
            missed = [arrive(town), arrive(town)]
            proxy.back()
            assert subjects(heard, 2) == missed
            proxy.cut()
            assert subjects_after(town, heard) == []
            last = arrive(town)
            assert subjects(heard, 1) == [last]
        assert proxy.connections >= 3


def subjects_after(town: NodeUnderTest, heard: queue.Queue[Event]) -> list[str]:
    """What came although nothing happened."""
    threading.Event().wait(2.0)
    return [heard.get_nowait().subject for _ in range(heard.qsize())]


def test_a_connection_that_breaks_before_the_first_event_misses_nothing(town: NodeUnderTest) -> None:
    with (
        cutting(town.port) as proxy,
        Client(proxy.url, town.token, patience_s=60) as client,
        listening(client) as heard,
    ):
        threading.Event().wait(1.0)
        proxy.cut(away=True)
        owner = arrive(town)
        proxy.back()
        assert subjects(heard, 1) == [owner]


def test_a_node_that_is_started_again_goes_on_telling() -> None:
    with public_node() as node, Client(node.url, node.token, patience_s=90) as client, listening(client) as heard:
        threading.Event().wait(1.0)
        before = arrive(node)
        assert subjects(heard, 1) == [before]
        node.kill()
        node.up()
        after = arrive(node)
        assert subjects(heard, 1) == [after]


def test_an_asynchronous_client_hears_the_same(town: NodeUnderTest) -> None:
    async def run(url: str) -> list[str]:
        found: list[str] = []
        async with AsyncClient(url, town.token, patience_s=60) as client:
            async for event in client.events(after="0-0", type_=SIGNED_UP):
                found.append(event.subject)
                if len(found) == 1:
                    proxy.cut()
                if len(found) == expected:
                    break
        return found

    with town.client() as client:
        if not list(client.events(after="0-0", type_=SIGNED_UP, follow=False)):  # the first test here
            arrive(town)
        past = [event.subject for event in client.events(after="0-0", type_=SIGNED_UP, follow=False)]
    expected = len(past)
    with cutting(town.port) as proxy:
        assert asyncio.run(asyncio.wait_for(run(proxy.url), WAIT_S)) == past


def test_a_person_hears_what_is_theirs_until_the_token_ends(town: NodeUnderTest) -> None:
    with neighbour(town, "listener") as person, Client(town.url, person.token("read")) as client:
        told = list(client.events(after="0-0", follow=False))
        assert {event.subject for event in told} <= {person.owner}
        with pytest.raises(ScopeMissing):
            next(Client(town.url, person.token("cite")).events())
        [token, *_] = [item for item in client.tokens.all() if item.scopes == ["read"]]
        client.tokens.revoke(token.id)
        with pytest.raises(BadCredential):
            next(client.events())


def test_the_command_line_tells_events_line_by_line(town: NodeUnderTest) -> None:
    owner = arrive(town)
    past = town.run("events", "--after", "0-0", "--no-follow", "--json")
    assert past.code == 0, past.err
    lines = [json.loads(line) for line in past.out.splitlines()]
    assert lines[-1]["subject"] == owner
    assert owner in town.run("events", "--after", "0-0", "--no-follow", "--type", SIGNED_UP).out
    process = subprocess.Popen(
        [*CHOIR, "events", "--json", "--after", lines[-1]["position"]],
        env=town.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        newcomer = arrive(town)
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["subject"] == newcomer
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=WAIT_S)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_person_is_known_to_everybody_by_their_handle(town: NodeUnderTest) -> None:
    with neighbour(town, "witness") as person, Client(town.url, "") as stranger:
        assert stranger.people.get("witness").owner == person.owner
