"""Server-sent events (the WHATWG HTML standard, section 9.2) from the bytes of a connection.

Guarantees: an event is given out only when it is complete, so that what a broken connection cut off comes
again whole; lines end where the standard says and nowhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from choir.doors.sdk.errors import NodeError

_LINE_END = re.compile(rb"\r\n|\n|\r")
_RETRY_S = 0.5
_BUFFER_BYTES_MAX = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event as it came."""

    id: str
    type: str
    data: str

    @property
    def value(self) -> Any:
        """The data, which is JSON."""
        try:
            return json.loads(self.data)
        except (ValueError, RecursionError):
            raise NodeError(detail="The node sent an event that is not JSON.") from None


class EventReader:
    """Puts events together from pieces of any size; remembers the last id for going on later."""

    def __init__(self, last_id: str | None = None) -> None:
        self.last_id = last_id
        self.retry_s = _RETRY_S  # how long the node wants us to wait before we come back
        self._begin()

    def _begin(self) -> None:
        self._rest = b""
        self._id = self.last_id or ""
        self._type = ""
        self._data: list[str] = []
        self._held = 0  # bytes since the last event was complete

    def start_again(self) -> None:
        """Forget what a broken connection left unfinished."""
        self._begin()

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """The events that are complete now."""
        self._rest += data
        self._held += len(data)
        if self._held > _BUFFER_BYTES_MAX:
            raise NodeError(detail="The node sent an event without an end.")
        *lines, self._rest = self._split()
        for line in lines:
            told = self._line(line.decode("utf-8", "replace"))
            if told is not None:
                yield told

    def _split(self) -> list[bytes]:
        """Whole lines and the rest. A carriage return at the end may be half of a line end, so it waits."""
        held = b"\r" if self._rest.endswith(b"\r") else b""
        parts = _LINE_END.split(self._rest[: len(self._rest) - len(held)])
        parts[-1] += held
        return parts

    def _line(self, line: str) -> StreamEvent | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._type = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdecimal():
            self.retry_s = min(int(value[:9]) / 1000, 60.0)
        return None  # a line that starts with a colon is a sign of life

    def _dispatch(self) -> StreamEvent | None:
        """An id counts even without data: it says how far nothing was missed."""
        self._held = len(self._rest)
        self.last_id = self._id or self.last_id
        data, type_ = self._data, self._type
        self._data, self._type = [], ""
        return StreamEvent(self._id, type_ or "message", "\n".join(data)) if data else None
