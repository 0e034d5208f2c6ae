"""Debian's Firefox, driven by WebDriver BiDi (W3C): one window, what went wrong in it, and nothing else.

The driver of the other browser tests wants a Firefox of its own; this speaks to the one that people have.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
_ANSWER_S = 60


class Firefox:
    """A window of Firefox."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        self._numbers = itertools.count(1)
        self.errors: list[str] = []
        self._send("session.new", capabilities={})
        self._send("session.subscribe", events=["log.entryAdded"])
        self._window = self._send("browsingContext.getTree")["contexts"][0]["context"]

    def open(self, url: str) -> None:
        """Go to an address and wait until everything of it is there."""
        self._send("browsingContext.navigate", context=self._window, url=url, wait="complete")

    def size(self, width: int, height: int) -> None:
        viewport = {"width": width, "height": height}
        self._send("browsingContext.setViewport", context=self._window, viewport=viewport)

    def evaluate(self, function: str) -> Any:
        """What a function without arguments says in the page, as JSON."""
        said = self._send(
            "script.evaluate",
            expression=f"Promise.resolve(({function})()).then(JSON.stringify)",
            target={"context": self._window},
            awaitPromise=True,
        )
        assert said["type"] == "success", said
        return json.loads(said["result"].get("value", "null"))

    def cookie(self, url: str, name: str, value: str) -> None:
        """Give the browser a cookie of a host."""
        host = url.split("/")[2].split(":", maxsplit=1)[0]
        cookie = {"name": name, "value": {"type": "string", "value": value}, "domain": host, "path": "/"}
        self._send("storage.setCookie", cookie=cookie)

    def _send(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            told = json.loads(self._connection.recv(_ANSWER_S))
            if told.get("method") == "log.entryAdded":
                self._heard(told["params"])
            if told.get("id") == number:
                assert told["type"] == "success", told
                return told["result"]

    def _heard(self, entry: dict[str, Any]) -> None:
        if entry["level"] in ("error", "warn"):
            self.errors.append(entry["text"])


@contextmanager
def firefox(program: str, profile: Path) -> Iterator[Firefox]:
    """A Firefox with an empty profile, ended afterwards."""
    profile.mkdir(parents=True)
    command = [program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stderr is not None
        address = next(found[1] for line in process.stderr if (found := _LISTENING.search(line)))
        with connect(f"{address}/session", max_size=None, open_timeout=_ANSWER_S) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(_ANSWER_S)
