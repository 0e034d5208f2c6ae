"""Clients of a relay in tests: a plain one over a WebSocket, and keys that sign."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import ClientConnection, connect

from choir.nostr.events import Draft, NostrEvent, event_json, sign_event

WAIT_S_MAX = 60.0
ADA, BOB = b"\x11" * 32, b"\x22" * 32


def signed(
    kind: int = 1, content: str = "", *tags: tuple[str, ...], key: bytes = ADA, at: int | None = None
) -> NostrEvent:
    return sign_event(key, Draft(kind, content, tags), int(time.time()) if at is None else at)


class RelayClient:
    """One connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.challenge: str = self.next("AUTH")[1]

    def send(self, *message: Any) -> None:
        self.connection.send(json.dumps(message))

    def receive(self) -> list[Any]:
        found: list[Any] = json.loads(self.connection.recv(timeout=WAIT_S_MAX))
        return found

    def next(self, *words: str) -> list[Any]:
        """The next message that begins with one of these words."""
        while True:
            message = self.receive()
            if message[0] in words:
                return message

    def publish(self, event: NostrEvent | dict[str, Any]) -> tuple[bool, str]:
        self.send("EVENT", event if isinstance(event, dict) else event_json(event))
        _, _, accepted, told = self.next("OK")
        return accepted, told

    def subscribe(self, name: str, *filters: dict[str, Any]) -> list[str]:
        """The ids of what is stored, in the order in which it comes."""
        self.send("REQ", name, *filters)
        found: list[str] = []
        while True:
            message = self.next("EVENT", "EOSE", "CLOSED")
            if message[0] != "EVENT":
                assert message[:2] == ["EOSE", name], message
                return found
            assert message[1] == name
            found.append(message[2]["id"])

    def ask(self, *filters: dict[str, Any]) -> list[str]:
        found = self.subscribe("ask", *filters)
        self.send("CLOSE", "ask")
        return found

    def prove(self, key: bytes, relay: str, challenge: str | None = None, at: int | None = None) -> tuple[bool, str]:
        tags = (("relay", relay), ("challenge", challenge or self.challenge))
        self.send("AUTH", event_json(signed(22242, "", *tags, key=key, at=at)))
        _, _, accepted, told = self.next("OK")
        return accepted, told


@contextmanager
def client_of(url: str) -> Iterator[RelayClient]:
    with connect(f"ws{url.removeprefix('http')}/relay", max_size=None, open_timeout=WAIT_S_MAX) as connection:
        yield RelayClient(connection)
