"""The outbox as it grows, for many listeners in one process, over one connection.

The connection listens for commits that announce something, reads what is new once, and tells every listener.
What an older transaction still holds back is looked for again soon. When the connection breaks another one is
made, and reading goes on behind the last event that was told.

Guarantees: listeners are told every event exactly once and in order, from the position at which they came; a
listener costs no connection and no query; it must not block. Belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any

import psycopg

from choir.storage.outbox import CHANNEL, END, PAGE, Event, Position, readable

log = logging.getLogger(__name__)

Listener = Callable[[Event], None]
Connection = psycopg.AsyncConnection[tuple[Any, ...]]

_PAGE_ROWS = 500
_BREATH_ROWS = 16  # told without a pause: listeners pass on what waits for them, and many at once are no slow reader
_BREATH_S = 0.001
_HELD_BACK_S = 0.005  # an older transaction is about to end; nobody rings when it does
_HELD_BACK_S_MAX = 0.08  # if it goes on for longer, it is looked for less often
_QUIET_S = 5.0  # a look without a ring, should one ever get lost
_RETRY_S = 0.1
_RETRY_S_MAX = 2.0


class Feed:
    """Tells listeners of new events. It starts with the first who asks."""

    def __init__(self, conninfo: str, on_connected: Callable[[], Awaitable[None]]) -> None:
        self._conninfo = conninfo
        self._on_connected = on_connected  # awaited before anything is told over a new connection
        self._listeners: set[Listener] = set()
        self._position: Position | None = None
        self._begun = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def join(self, listener: Listener) -> Position:
        """Hear of everything behind the position that this returns."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), context=Context())  # it works for no single request
        await self._begun.wait()
        assert self._position is not None
        self._listeners.add(listener)
        return self._position

    def leave(self, listener: Listener) -> None:
        self._listeners.discard(listener)

    @property
    def position(self) -> Position | None:
        """Up to where everything has been told; None before it has begun."""
        return self._position

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        pause_s = _RETRY_S
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._conninfo, autocommit=True, connect_timeout=10, application_name="choir events"
                ) as connection:
                    await self._begin(connection)
                    pause_s = _RETRY_S
                    await self._follow(connection)
            except (psycopg.Error, OSError) as error:
                log.warning("events wait for the database", extra={"error": type(error).__name__})
            except Exception:
                log.exception("events cannot be told")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, _RETRY_S_MAX)

    async def _begin(self, connection: Connection) -> None:
        connection.prepare_threshold = 1
        await connection.execute(f"listen {CHANNEL}")
        if self._position is None:
            row = await (await connection.execute(END)).fetchone()
            self._position = Position(*row) if row else Position()
        await self._on_connected()
        self._begun.set()

    async def _follow(self, connection: Connection) -> None:
        pause_s = _HELD_BACK_S
        while True:
            before = self._position
            held_back = await self._tell_new(connection)
            pause_s = _HELD_BACK_S if self._position != before else min(2 * pause_s, _HELD_BACK_S_MAX)
            async for _ in connection.notifies(timeout=pause_s if held_back else _QUIET_S, stop_after=1):
                pass

    async def _tell_new(self, connection: Connection) -> bool:
        """Tell everything that may be told; says whether something has to wait."""
        while True:
            assert self._position is not None
            cursor = await connection.execute(PAGE, (str(self._position.xid), self._position.n, _PAGE_ROWS))
            events, held_back = readable(await cursor.fetchall())
            for number, event in enumerate(events, 1):
                for listener in tuple(self._listeners):
                    listener(event)
                self._position = event.position
                if number % _BREATH_ROWS == 0:
                    await asyncio.sleep(_BREATH_S)
            if len(events) < _PAGE_ROWS:
                return held_back
