"""Notices that other processes send over the database as they commit (NOTIFY), for one listener in this process.

Guarantees: from the moment `begin` returns, every notice is heard once, in the order of the commits, until `on_lost` is
called; then some may be missed, and whoever needs them asks again. A lost connection is made anew by itself. Belongs to
one event loop; the listener must not block.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context
from typing import Any, LiteralString

import psycopg

log = logging.getLogger(__name__)

_RETRY_S = 0.1
_RETRY_S_MAX = 2.0
_BREATH = 64  # heard without a pause
_LOOK_S = 15.0  # a connection that died silently is noticed by asking


class Notices:
    """One connection that listens on a channel."""

    def __init__(
        self, conninfo: str, channel: LiteralString, hear: Callable[[str], None], on_lost: Callable[[], None]
    ) -> None:
        self._conninfo = conninfo
        self._channel: LiteralString = channel
        self._hear = hear
        self._on_lost = on_lost
        self._listening = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Listen; returns once nothing more is missed."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), context=Context())  # it works for no single request
        await self._listening.wait()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause_s = _RETRY_S
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._conninfo, autocommit=True, connect_timeout=10, application_name="choir notices"
                ) as connection:
                    await connection.execute(f"listen {self._channel}")
                    self._listening.set()
                    pause_s = _RETRY_S
                    await self._listen(connection)
            except (psycopg.Error, OSError) as error:
                log.warning("notices wait for the database", extra={"error": type(error).__name__})
            except Exception:
                log.exception("notices cannot be heard")
            if self._listening.is_set():
                self._listening.clear()
                self._on_lost()
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _RETRY_S_MAX)

    async def _listen(self, connection: psycopg.AsyncConnection[tuple[Any, ...]]) -> None:
        while True:
            heard = 0
            async for notice in connection.notifies(timeout=_LOOK_S):
                self._hear(notice.payload)
                heard += 1
                if heard % _BREATH == 0:
                    await asyncio.sleep(0)
            await connection.execute("select 1")
