"""A client of event streams in a thread of its own, and a way to make events happen on a node."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx

from choir.foundation.clock import SystemClock, SystemEntropy
from choir.storage.database import Database, Tx
from choir.storage.outbox import Outbox
from tests.operations.nodes import ANSWER_S_MAX, PLAIN, NodeUnderTest, until


class Announcer:
    """Announces events on a node's database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._outbox = Outbox(SystemClock(), SystemEntropy())

    def say(self, *subjects: str, type_: str = "test.said", audience: Sequence[str] = ()) -> None:
        with self.database.unit_of_work() as tx:
            for subject in subjects:
                self.say_in(tx, subject, type_=type_, audience=audience)

    def say_in(self, tx: Tx, subject: str, *, type_: str = "test.said", audience: Sequence[str] = ()) -> None:
        self._outbox.announce(tx, type_, subject=subject, actor="tester", data={}, audience=audience)


@contextmanager
def announcer(node: NodeUnderTest) -> Iterator[Announcer]:
    database = Database(node.dsn("choir_app"), wait_s=30).open()
    try:
        yield Announcer(database)
    finally:
        database.close()


class Ear:
    """One stream, read by a thread until it ends."""

    def __init__(self, node: NodeUnderTest, headers: dict[str, str] | None = None, **params: str) -> None:
        given = {"Authorization": f"Bearer {node.token}"} if headers is None else headers
        self.heard: list[dict[str, Any]] = []
        self.ids: list[str] = []  # of events
        self.last_id = ""  # as a browser would remember it
        self.comments: list[str] = []
        self.status = 0
        self.ended = threading.Event()
        self.began = threading.Event()
        self._client = httpx.Client(
            base_url=node.url, headers=given, timeout=ANSWER_S_MAX, trust_env=False, verify=PLAIN
        )
        self._params = params
        self._response: httpx.Response | None = None
        threading.Thread(target=self._listen, daemon=True).start()
        assert self.began.wait(ANSWER_S_MAX)

    @property
    def subjects(self) -> list[str]:
        return [event["subject"] for event in self.heard]

    def wait_for(self, *subjects: str) -> None:
        until(lambda: set(subjects) <= set(self.subjects))

    def close(self) -> None:
        self._client.close()

    def _listen(self) -> None:
        try:
            with self._client.stream("GET", "/v1/events", params=self._params) as response:
                self.status = response.status_code
                block: dict[str, str] = {}
                for line in response.iter_lines():
                    self.began.set()
                    block = self._line(line, block)
        except (httpx.HTTPError, RuntimeError, ValueError, OSError):
            pass  # cut off, or closed by us
        finally:
            self.began.set()
            self.ended.set()

    def _line(self, line: str, block: dict[str, str]) -> dict[str, str]:
        if line:
            name, _, value = line.partition(": ")
            if name:
                block[name] = value
            else:
                self.comments.append(value)
            return block
        self.last_id = block.get("id", self.last_id)
        if "data" in block:
            self.heard.append({"subject": "", "event": block["event"], **json.loads(block["data"])})
            self.ids.append(block.get("id", ""))
        return {}
