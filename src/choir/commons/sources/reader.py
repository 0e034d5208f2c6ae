"""Reads documents in processes of their own, which are forked from one that is ready and end with their document.

Guarantees: whatever a document does to the libraries that read it (endless work, all memory, a crash), the server
gets an answer in time and keeps nothing of it: no process, no descriptor. A reader has an empty environment. Any
thread may read. If the process that readers are forked from is gone, the next document starts another.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import choir
from choir.commons.policy import SourcesPolicy
from choir.commons.sources.documents import check_size, read_document
from choir.commons.sources.model import (
    DocumentTooLarge,
    MediaType,
    ReadersBusy,
    ReadersStopped,
    ReadingTooLong,
    ReadText,
    UnreadableDocument,
)

# The package is found by its place and not by the environment, which is empty.
_PROGRAM = "import sys; sys.path.append(sys.argv[1]); from choir.commons.sources import reading_process as p; p.serve()"
_PLACE = str(Path(choir.__file__).parents[1])
_REFUSALS = {each.code: each for each in (UnreadableDocument, DocumentTooLarge, ReadingTooLong)}
_HERE_BYTES_MAX = 200_000  # a plain text that is no longer is read at once, as it takes less than a fork
_PIECE = 1 << 20
_HEAD_BYTES_MAX = 1 << 16
_CHAR_BYTES_MAX = 4  # of UTF-8
_FORK_S_MAX = 60  # the first one is preceded by imports
_END_S_MAX = 5


class DocumentReader:
    """Reads a few documents at once."""

    def __init__(self, policy: SourcesPolicy) -> None:
        self._policy = policy
        self._free = threading.BoundedSemaphore(policy.readers_max)
        self._nursery = _Nursery()

    def read(self, data: bytes, media_type: MediaType) -> ReadText:
        """The normalised text of a document, or why there is none."""
        check_size(data, self._policy)
        if media_type in (MediaType.TEXT, MediaType.MARKDOWN) and len(data) <= _HERE_BYTES_MAX:
            return read_document(data, media_type, self._policy)
        if not self._free.acquire(timeout=self._policy.read_s_max):
            raise ReadersBusy(readers=self._policy.readers_max)
        try:
            return self._read_apart(data, media_type)
        finally:
            self._free.release()

    def close(self) -> None:
        """End all readers; who waits for one is refused."""
        self._nursery.close()

    def _read_apart(self, data: bytes, media_type: MediaType) -> ReadText:
        asked = {"media_type": media_type.value, "bytes": len(data), "limits": asdict(self._policy)}
        most = self._policy.text_chars_max * _CHAR_BYTES_MAX + _HEAD_BYTES_MAX
        with self._nursery.reader() as connection:
            until = time.monotonic() + self._policy.read_s_max
            try:
                _send(connection, (json.dumps(asked).encode() + b"\n", data), until)
                answer = _receive(connection, most, until)
            except TimeoutError:
                raise ReadingTooLong(what=f"{self._policy.read_s_max} seconds") from None
        self._nursery.check_open()
        return _understood(answer)


def _send(connection: socket.socket, pieces: Iterable[bytes], until: float) -> None:
    with suppress(ConnectionError):  # it may answer, or end, before it has heard all
        for piece in pieces:
            connection.settimeout(_left(until))
            connection.sendall(piece)


def _receive(connection: socket.socket, most: int, until: float) -> bytes:
    """All that comes, until the end; but not much more than an answer can be."""
    found = bytearray()
    with suppress(ConnectionError):
        while len(found) <= most:
            connection.settimeout(_left(until))
            piece = connection.recv(_PIECE)
            if not piece:
                break
            found += piece
    return bytes(found)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _understood(answer: bytes) -> ReadText:
    """What a reader answered; it may have been made to answer anything."""
    first, _, text = answer.partition(b"\n")
    try:
        head: dict[str, Any] = json.loads(first)
        if "refused" in head:
            raise _REFUSALS[head["refused"]](**head["fields"])
        if len(text) == head["bytes"]:
            return ReadText(text.decode(), str(head["reader"]), str(head["title"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise UnreadableDocument(why="its reader broke down on it, so it is damaged or hostile")


class _Nursery:
    """The process that readers are forked from; started by the first reader."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._program: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._readers: set[int] = set()  # descriptors of processes
        self._closed = False

    @contextmanager
    def reader(self) -> Iterator[socket.socket]:
        """A connection to a new reader, which ends with it."""
        ours, process = self._fork()
        with ours:
            try:
                yield ours
            finally:
                self._end(process)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for process in self._readers:
                _kill(process)
            self._stop()

    def check_open(self) -> None:
        if self._closed:
            raise ReadersStopped

    def _fork(self) -> tuple[socket.socket, int]:
        """A new reader: the connection to it and its process."""
        with self._lock:
            for _ in range(2):  # it may be gone since the last time
                self.check_open()
                ours, theirs = socket.socketpair()  # of its own: a reader of the first try may be there, and listen
                with theirs:
                    process = self._try_fork(theirs)
                if process is not None:
                    self._readers.add(process)
                    return ours, process
                ours.close()
                self._stop()
        raise ReadersStopped

    def _try_fork(self, theirs: socket.socket) -> int | None:
        if self._control is None:
            self._start()
        assert self._control is not None
        with suppress(OSError):
            socket.send_fds(self._control, [b"."], [theirs.fileno()])
            _, descriptors, _, _ = socket.recv_fds(self._control, 1, 1)
            return descriptors[0] if descriptors else None
        return None

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.settimeout(_FORK_S_MAX)
        with theirs:
            self._program = subprocess.Popen(
                [sys.executable, "-I", "-c", _PROGRAM, _PLACE],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                cwd="/",
                env={},
                start_new_session=True,  # an interrupt from the terminal is the server's to handle
            )

    def _stop(self) -> None:
        if self._control is None or self._program is None:
            return
        self._control.close()
        try:
            self._program.wait(_END_S_MAX)
        except subprocess.TimeoutExpired:
            self._program.kill()
            self._program.wait()
        self._control = self._program = None

    def _end(self, process: int) -> None:
        with self._lock:
            self._readers.discard(process)
        _kill(process)
        os.close(process)


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(process, signal.SIGKILL)
