"""The output of a program, printed while it comes.

Guarantees: whoever reads slowly, or not at all, keeps only the printing waiting and never the program or its
limits: what is not printed yet waits in memory, which the run's own output limit bounds. Bytes go into a file or
a pipe as they are, and into a terminal without what could steer it.
"""

from __future__ import annotations

import codecs
import queue
import re
import threading
from typing import TextIO

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(text: str) -> str:
    """Text that a terminal only shows."""
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


class LiveOutput:
    """Prints pieces of stdout and stderr in the order they come, in a thread of its own."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.error: OSError | None = None  # why nothing more is printed, for example that nobody reads any more
        self._streams = {"stdout": out, "stderr": err}
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in self._streams}
        self._pieces: queue.SimpleQueue[tuple[str, bytes] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._print, name="choir-output", daemon=True)
        self._thread.start()

    def take(self, name: str, piece: bytes) -> None:
        """Print this, soon."""
        self._pieces.put((name, piece))

    def failed(self) -> bool:
        """Whether printing is over, so that there is no use in running on."""
        return self.error is not None

    def close(self) -> None:
        """Wait until all is printed."""
        self._pieces.put(None)
        self._thread.join()

    def _print(self) -> None:
        while (item := self._pieces.get()) is not None:
            if self.error is None:
                try:
                    self._write(*item)
                except OSError as error:
                    self.error = error

    def _write(self, name: str, piece: bytes) -> None:
        stream = self._streams[name]
        if stream.isatty():
            stream.write(plain(self._decoders[name].decode(piece)))
        else:
            stream.buffer.write(piece)
        stream.flush()
