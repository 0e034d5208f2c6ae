"""Carries connections from the sandbox's loopback to the proxy's socket, then becomes the payload.

Called as: python3 -c SOURCE SOCKET program argument…
The forwarder itself is a grandchild that the payload does not know; it dies with the sandbox. It adds nothing
and knows no secret: ordinary clients find the proxy by HTTP_PROXY.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys

PORT = 3128
BUFFER = 65_536
CONNECTIONS_MAX = 128


class Pair:
    """Two sockets and what is on its way between them."""

    def __init__(self, near: socket.socket, far: socket.socket) -> None:
        self.other = {near: far, far: near}
        self.waiting = {near: b"", far: b""}  # bytes for this socket
        self.reading = {near: True, far: True}


def wanted(pair: Pair, end: socket.socket) -> int:
    """Read only when the other side has taken what was there, so that nothing piles up."""
    events = 0
    if pair.reading[end] and not pair.waiting[pair.other[end]]:
        events |= selectors.EVENT_READ
    if pair.waiting[end]:
        events |= selectors.EVENT_WRITE
    return events


def update(selector: selectors.BaseSelector, pair: Pair) -> None:
    for end in pair.other:
        events = wanted(pair, end)
        known = end in selector.get_map()
        if events and known:
            selector.modify(end, events, pair)
        elif events:
            selector.register(end, events, pair)
        elif known:
            selector.unregister(end)


def drop(selector: selectors.BaseSelector, pair: Pair) -> None:
    for end in pair.other:
        if end in selector.get_map():
            selector.unregister(end)
        end.close()


def move(pair: Pair, end: socket.socket, events: int) -> bool:
    """Take one step; False when the pair is done."""
    other = pair.other[end]
    try:
        if events & selectors.EVENT_WRITE:
            pair.waiting[end] = pair.waiting[end][end.send(pair.waiting[end]) :]
        if events & selectors.EVENT_READ:
            piece = end.recv(BUFFER)
            pair.waiting[other] = piece
            if not piece:
                pair.reading[end] = False
                other.shutdown(socket.SHUT_WR)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return any(pair.reading.values()) or any(pair.waiting.values())


def accept(selector: selectors.BaseSelector, listening: socket.socket, path: str) -> None:
    near, _ = listening.accept()
    if len(selector.get_map()) > 2 * CONNECTIONS_MAX:
        near.close()
        return
    far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        far.connect(path)
    except OSError:
        near.close()
        far.close()
        return
    near.setblocking(False)
    far.setblocking(False)
    update(selector, Pair(near, far))


def serve(listening: socket.socket, path: str) -> None:
    selector = selectors.DefaultSelector()
    selector.register(listening, selectors.EVENT_READ, None)
    while True:
        for key, events in selector.select():
            if key.data is None:
                accept(selector, listening, path)
            elif not isinstance(key.fileobj, socket.socket) or key.fileobj.fileno() < 0:
                continue  # closed by an earlier step of this round
            elif move(key.data, key.fileobj, events):
                update(selector, key.data)
            else:
                drop(selector, key.data)


def main() -> None:
    path, argv = sys.argv[1], sys.argv[2:]
    listening = socket.socket()
    listening.bind(("127.0.0.1", PORT))
    listening.listen(64)
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            os.setsid()
            quiet = os.open("/dev/null", os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(quiet, fd)
            serve(listening, path)
        os._exit(0)
    os.waitpid(child, 0)
    listening.close()
    try:
        os.execvp(argv[0], argv)  # noqa: S606
    except OSError as error:
        sys.stderr.write(f"choir: {argv[0]}: {error.strerror}\n")
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
