"""Moving bytes between a run and the host, in one place for all tiers.

Guarantees: whatever the child does with its pipes (floods them, closes them, hands them to others, never
reads them), the host keeps at most the limit in memory, notices the end of the child by its process and
not by its pipes, and is back by the deadline.
"""

from __future__ import annotations

import os
import selectors
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from choir.sandbox.model import EndReason

_PIECE = 65_536
_TICK_S = 0.05
_LEFTOVER_S = 0.25  # how long pipes that others still hold are read after the end
_STATUS_BYTES_MAX = 4_096

OnOutput = Callable[[str, bytes], None]


@dataclass(slots=True)
class Stream:
    """One output of the child: what is kept of it, and how much there was."""

    name: str
    fd: int
    keep_bytes: int
    kept: bytearray = field(default_factory=bytearray)
    seen_bytes: int = 0
    open: bool = True
    told: bool = True  # whether the caller hears of it while it comes
    skip_bytes: int = 0  # leading bytes that are not the payload's

    @property
    def truncated(self) -> bool:
        return self.seen_bytes > len(self.kept)

    def take(self) -> bytes | None:
        """Read what is there: the kept part of it, or None at the end of the stream."""
        try:
            piece = os.read(self.fd, _PIECE)
        except BlockingIOError:
            return b""
        except OSError:
            piece = b""
        if not piece:
            self.open = False
            return None
        skipped = min(self.skip_bytes, len(piece))
        self.skip_bytes -= skipped
        piece = piece[skipped:]
        self.seen_bytes += len(piece)
        room = piece[: self.keep_bytes - len(self.kept)]
        self.kept += room
        return room

    def forget(self, count: int) -> None:
        """Take the last bytes back: they are not the payload's."""
        del self.kept[-count:]
        self.seen_bytes -= count


class Pump:
    """Feeds one child and reads it until it has ended or must be stopped."""

    def __init__(
        self,
        pidfd: int,
        stdin: int,
        outputs: list[Stream],
        given: bytes,
        flood_bytes: int,
        on_output: OnOutput | None = None,
    ) -> None:
        self.pidfd = pidfd
        self.stdin = stdin
        self.outputs = outputs
        self.flood_bytes = flood_bytes
        self.on_output = on_output
        self._given = memoryview(given)
        self._selector = selectors.DefaultSelector()
        self._selector.register(pidfd, selectors.EVENT_READ, None)
        for stream in outputs:
            os.set_blocking(stream.fd, False)
            self._selector.register(stream.fd, selectors.EVENT_READ, stream)
        self._open_stdin()

    def close(self) -> None:
        self._close_stdin()
        self._selector.close()

    def run(self, deadline: float, over: Callable[[], EndReason | None]) -> EndReason:
        """Until the child ends (EXITED) or a limit says stop; `over` is asked every tick."""
        next_tick = 0.0
        while True:
            now = time.monotonic()
            if now >= deadline:
                return EndReason.TIMEOUT
            if now >= next_tick:
                next_tick = now + _TICK_S
                if reason := over():
                    return reason
            if self._step(min(deadline, next_tick) - now):
                return EndReason.EXITED
            if sum(stream.seen_bytes for stream in self.outputs) > self.flood_bytes:
                return EndReason.OUTPUT

    def wait_for_end(self, seconds: float) -> bool:
        """Keep reading until the child is gone, after it was killed."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._step(left):
                return True
        return False

    def read_leftovers(self) -> None:
        """What is still in the pipes. A pipe that outlives the child is not waited for."""
        deadline = time.monotonic() + _LEFTOVER_S
        for stream in self.outputs:
            while stream.open and time.monotonic() < deadline and stream.seen_bytes <= self.flood_bytes:
                piece = stream.take()
                if piece == b"" and stream.seen_bytes <= len(stream.kept):
                    break  # nothing there now, and whoever could write is dead
                self._tell(stream, piece)

    def _step(self, seconds: float) -> bool:
        """Handle what is ready; True when the child has ended."""
        ended = False
        for key, _ in self._selector.select(max(seconds, 0)):
            if key.fd == self.pidfd:
                ended = True
            elif key.fd == self.stdin:
                self._feed()
            else:
                stream: Stream = key.data
                piece = stream.take()
                if piece is None:
                    self._selector.unregister(key.fd)
                self._tell(stream, piece)
        return ended

    def _tell(self, stream: Stream, piece: bytes | None) -> None:
        if piece and self.on_output and stream.told:
            self.on_output(stream.name, piece)

    def _open_stdin(self) -> None:
        if self.stdin < 0:
            return
        if not self._given:
            self._close_stdin()
            return
        os.set_blocking(self.stdin, False)
        self._selector.register(self.stdin, selectors.EVENT_WRITE, None)

    def _feed(self) -> None:
        try:
            self._given = self._given[os.write(self.stdin, self._given[:_PIECE]) :]
        except BlockingIOError:
            return
        except OSError:  # the child does not want to hear more
            self._given = self._given[:0]
        if not self._given:
            self._selector.unregister(self.stdin)
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self.stdin >= 0:
            os.close(self.stdin)
            self.stdin = -1
