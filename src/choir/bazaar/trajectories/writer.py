"""Writing a trajectory while the work goes on.

Guarantees: what was written is valid `rlog/1` as soon as `end` has been called, whatever texts came in and however
many; what does not fit is counted as omitted, and there is always room for the end; each line is later than the one
before; a secret that the writer was told about never reaches the file.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable
from typing import BinaryIO

from choir.bazaar.policy import BazaarPolicy, WorkersPolicy
from choir.bazaar.trajectories.lines import End, Header, Line, Said, Start, Thought, ToolUse, Voice, text_digest
from choir.foundation.canonical import ObjectHash
from choir.foundation.clock import Clock

WITHHELD = "[withheld]"
_SECRET_CHARS_MIN = 6  # shorter ones would blank out ordinary words
_TOKENS_MAX = 10**12
_SIGNATURE = re.compile(r"(?!-\Z)[A-Za-z0-9+/=_.-]{1,4000}")
BYTES_MAX = BazaarPolicy().trajectory_bytes_max


class TrajectoryWriter:
    """One trajectory on its way into a file. Safe to call from many threads."""

    def __init__(
        self,
        file: BinaryIO,
        header: Header,
        clock: Clock,
        policy: WorkersPolicy,
        bytes_max: int = BYTES_MAX,
        secrets: Iterable[str] = (),
    ) -> None:
        self._file = file
        self._clock = clock
        self._policy = policy
        self._lock = threading.Lock()
        self._secrets = sorted({word for word in secrets if len(word) >= _SECRET_CHARS_MIN}, key=len, reverse=True)
        self._digest = hashlib.sha256()
        self._bytes_left = bytes_max - policy.trajectory_line_bytes_max  # room for the end
        self._lines = self._omitted = self._calls = 0
        self._last_us = header.started_us - 1
        self._ended: ObjectHash | None = None
        self._put(header.write())
        with self._lock:
            self._add(Start(header.id, header.started_us))

    @property
    def ended(self) -> ObjectHash | None:
        """The name of the whole, once it is whole."""
        return self._ended

    def withhold(self, secrets: Iterable[str]) -> None:
        """More words that must not be written."""
        with self._lock:
            words = {*self._secrets, *(word for word in secrets if len(word) >= _SECRET_CHARS_MIN)}
            self._secrets = sorted(words, key=len, reverse=True)

    def user(self, text: str | bytes) -> None:
        """What was asked."""
        self._later(lambda at_us: Said(Voice.USER, self._fit(text), at_us))

    def answer(self, text: str | bytes) -> None:
        """What the worker said, and whatever it printed."""
        self._later(lambda at_us: Said(Voice.ANSWER, self._fit(text), at_us))

    def thought(self, text: str | bytes, signature: str = "") -> None:
        """What the agent thought; with the model's signature, if it has one that a line can hold."""
        held = signature if _SIGNATURE.fullmatch(signature) else ""
        self._later(lambda at_us: Thought(self._fit(text), at_us, held))

    def tool(self, name: str, argument: str | bytes, result: str | bytes) -> None:
        """A tool's use. The hash in the line is that of the result as it is stated there."""
        with self._lock:
            self._calls += 1
            call = f"call_{self._calls}"
        self._later(lambda at_us: ToolUse(name, call, self._fit(argument), self._fit(result), at_us))

    def end(self, summary: str, tokens_in: int = 0, tokens_out: int = 0) -> ObjectHash:
        """Close it; nothing can be written after. Returns its name."""
        with self._lock:
            assert self._ended is None, "a trajectory ends once"
            tokens = [min(max(0, count), _TOKENS_MAX) for count in (tokens_in, tokens_out)]
            text = self._fit(summary)
            self._put(End(text, self._now_us(), self._lines + 1, tokens[0], tokens[1], self._omitted).write() + "\n")
            self._file.flush()
            self._ended = ObjectHash(f"sha256:{self._digest.hexdigest()}")
            return self._ended

    def output(self) -> OutputLines:
        """For the outputs of a command while it runs."""
        return OutputLines(self.answer, self._clean, self._policy.trajectory_text_chars)

    def _later(self, make: Callable[[int], Line]) -> None:
        with self._lock:
            self._add(make(self._now_us()))

    def _now_us(self) -> int:
        self._last_us = max(self._clock.now_us(), self._last_us + 1)
        return self._last_us

    def _add(self, line: Line) -> None:
        assert self._ended is None, "a trajectory that has ended is not written to"
        row = line.write() + "\n"
        size = len(row.encode())
        is_full = self._lines + 1 >= self._policy.trajectory_lines_max
        if is_full or size > min(self._bytes_left, self._policy.trajectory_line_bytes_max):
            self._omitted += 1
            return
        self._last_us = max(self._last_us, line.at_us or 0)
        self._lines += 1
        self._put(row)

    def _put(self, text: str) -> None:
        data = text.encode()
        self._bytes_left -= len(data)
        self._digest.update(data)
        self._file.write(data)

    def _fit(self, text: str | bytes) -> str:
        """Without secrets, and no longer than a line should be."""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        text = self._clean(text)
        most = self._policy.trajectory_text_chars
        if len(text) <= most:
            return text
        return f"{text[:most]}… [{len(text) - most} characters more; sha256:{text_digest(text)} of all]"

    def _clean(self, text: str) -> str:
        for word in self._secrets:
            text = text.replace(word, WITHHELD)
        return text


class OutputLines:
    """Turns the pieces of a command's outputs into lines, without cutting a secret in two where nobody would see it."""

    def __init__(self, tell: Callable[[bytes], None], clean: Callable[[str], str], longest: int) -> None:
        self._tell = tell
        self._clean = clean
        self._longest = longest
        self._open: dict[str, bytes] = {}

    def __call__(self, stream: str, piece: bytes) -> None:
        *whole, rest = (self._open.get(stream, b"") + piece).split(b"\n")
        for line in whole:
            self._say(stream, line)
        if len(rest) > 2 * self._longest:  # a flood without line ends
            rest = self._clean(rest.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        while len(rest) > 2 * self._longest:
            self._say(stream, rest[: self._longest])
            rest = rest[self._longest :]
        self._open[stream] = rest

    def close(self) -> None:
        """What came without a line's end."""
        for stream, rest in self._open.items():
            self._say(stream, rest)
        self._open.clear()

    def _say(self, stream: str, line: bytes) -> None:
        if line.strip():
            self._tell(line if stream == "stdout" else b"[" + stream.encode() + b"] " + line)
