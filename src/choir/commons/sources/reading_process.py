"""The process that readers are forked from, and what a reader does there.

It is a program of its own, started by `reader.DocumentReader` with an empty environment and nothing but a socket. It
has imported what reads documents, so that a reader costs a fork. It takes the end of a socket for each document, and
answers with a descriptor of the process that has it now. A reader reads one document and ends.

Guarantees: one thread, so that forking is safe; a reader has limits on memory, time and files before it sees a byte
of its document; when the server is gone, this process ends, and its readers soon after.
"""

from __future__ import annotations

import gc
import io
import json
import os
import resource
import signal
import socket
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from choir.commons.policy import SourcesPolicy
from choir.commons.sources.documents import read_document
from choir.commons.sources.model import MediaType, ReadingTooLong
from choir.foundation.errors import Refusal

_ENDED = {signal.SIGCHLD}
_GRACE_S = 1  # the server ends a reader in time; this is for when there is no server any more


def serve() -> None:
    """Fork a reader for each socket that comes, until no more can come. Standard input is where they come."""
    signal.signal(signal.SIGCHLD, _forget_readers)
    gc.freeze()
    with socket.socket(fileno=0) as control:
        while True:
            message, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if not message:
                return
            _start_reader(control, descriptors[0])


def _forget_readers(_signal: int, _frame: FrameType | None) -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _start_reader(control: socket.socket, descriptor: int) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDED)  # it may be killed at once, and must not be forgotten before
    pid = os.fork()
    if pid == 0:
        _be_reader(control, descriptor)
    process = os.pidfd_open(pid)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDED)
    os.close(descriptor)
    socket.send_fds(control, [b"."], [process])
    os.close(process)


def _be_reader(control: socket.socket, descriptor: int) -> NoReturn:
    """Whatever happens, this process does not go on as if it were the other."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDED)
        control.close()
        with socket.socket(fileno=descriptor) as connection, connection.makefile("rb") as stream:
            connection.sendall(_answer(stream))
    finally:
        os._exit(0)


def _answer(stream: io.BufferedReader) -> bytes:
    asked = json.loads(stream.readline())
    limits = SourcesPolicy(**asked["limits"])
    _restrict(limits)
    head, text = _read(stream, asked, limits)
    return json.dumps(head | {"bytes": len(text)}).encode() + b"\n" + text


def _restrict(limits: SourcesPolicy) -> None:
    seconds = limits.read_s_max + _GRACE_S
    signal.setitimer(signal.ITIMER_REAL, seconds)  # its signal is caught by nobody
    for what, most in (
        (resource.RLIMIT_AS, limits.read_bytes_max),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(what, (most, most))


def _read(stream: io.BufferedReader, asked: dict[str, Any], limits: SourcesPolicy) -> tuple[dict[str, Any], bytes]:
    """The head of the answer and the text; a refusal has no text."""
    try:
        found = read_document(stream.read(asked["bytes"]), MediaType(asked["media_type"]), limits)
        return {"reader": found.reader, "title": found.title}, found.text.encode()
    except Refusal as refusal:
        return {"refused": refusal.code, "fields": refusal.fields}, b""
    except MemoryError:
        too_much = ReadingTooLong(what=f"{limits.read_bytes_max // 1_000_000} MB of memory")
        return {"refused": too_much.code, "fields": too_much.fields}, b""
