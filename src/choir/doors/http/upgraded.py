"""A connection of the server that has become a WebSocket.

Guarantees: it is counted as gone when it is gone; a client that does not read is disconnected after the same time as
any other; no address is written into the log.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

UNREAD_S = "unread_s"  # in the state of a connection: how long it may leave what was sent unread
ON_LOST = "on_lost"  # there, what to call when it is gone

_log = logging.getLogger("choir.websockets")
_log.setLevel(logging.WARNING)


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """uvicorn's protocol, with a deadline for a client that does not read."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _log
        self._unread: asyncio.TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        self.app_state[ON_LOST]()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stop()
        self._unread = self.loop.call_later(self.app_state[UNREAD_S], self.transport.abort)

    def resume_writing(self) -> None:
        self._stop()
        super().resume_writing()

    def _stop(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
