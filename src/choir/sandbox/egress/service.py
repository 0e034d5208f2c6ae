"""The host's side of egress: a thread with an event loop that serves the proxies of all runs.

Guarantees: each run has a socket and a token of its own; both are gone when its endpoint is closed.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import threading
import time
from pathlib import Path

from choir.sandbox.egress.model import Egress, EgressRecord
from choir.sandbox.egress.proxy import Proxy
from choir.sandbox.inside import source
from choir.sandbox.policy import SandboxPolicy

_SOCKET_NAME = "egress.sock"
_CLOSE_S = 5


class Endpoint:
    """The way out of one run."""

    def __init__(self, host: EgressHost, proxy: Proxy, token: str, path: Path) -> None:
        self.socket = path
        self.token = token
        self.forwarder = source("forwarder")
        self._host = host
        self._proxy = proxy
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def finish(self) -> tuple[EgressRecord, ...]:
        """Stop serving and tell every request, in the order they came, those that were cut by this among them."""
        self.close()
        return tuple(sorted(self._proxy.records, key=lambda record: record.at_us))

    def close(self) -> None:
        """Stop serving; connections that are open are cut."""
        asyncio.run_coroutine_threadsafe(self._close(), self._host.loop).result(_CLOSE_S)
        self.socket.unlink(missing_ok=True)

    async def start(self, listening: socket.socket) -> None:
        limit = self._host.policy.egress_head_bytes_max
        self._server = await asyncio.start_unix_server(self._serve, sock=listening, limit=limit)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        if self._proxy.is_spent and self._server is not None:
            self._server.close()
        try:
            await self._proxy.serve(reader, writer)
        except asyncio.CancelledError:
            return  # by `_close`, and on the record; asyncio would log it as an error
        finally:
            self._tasks.discard(task)

    async def _close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class EgressHost:
    """The proxies of all runs of one service."""

    def __init__(self, policy: SandboxPolicy) -> None:
        self.policy = policy
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="choir-egress", daemon=True)
        self._thread.start()

    def open(self, egress: Egress, folder: Path, owner: int | None) -> Endpoint:
        """Listen on a socket in the run's folder that only the run's user id may use."""
        token = secrets.token_urlsafe(24)
        proxy = Proxy(egress, token, self.policy, lambda: time.time_ns() // 1000)
        endpoint = Endpoint(self, proxy, token, folder / _SOCKET_NAME)
        listening = _listen(folder, owner)
        asyncio.run_coroutine_threadsafe(endpoint.start(listening), self.loop).result(_CLOSE_S)
        return endpoint

    def close(self) -> None:
        if self.loop.is_closed():
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_CLOSE_S)
        self.loop.close()


def _listen(folder: Path, owner: int | None) -> socket.socket:
    """A socket's address holds only 108 bytes, so the folder is named by descriptor."""
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(f"/proc/self/fd/{fd}/{_SOCKET_NAME}")
    finally:
        os.close(fd)
    path = folder / _SOCKET_NAME
    path.chmod(0o600)
    if owner is not None:
        os.chown(path, owner, owner)
    listening.listen(64)
    listening.setblocking(False)
    return listening
