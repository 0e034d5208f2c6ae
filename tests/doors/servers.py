"""Servers that misbehave as networks do: with prepared answers, or by losing a real node's answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Script:
    """A server that answers each connection with the next of some prepared answers."""

    def __init__(self, *answers: bytes, port: int = 0) -> None:
        self._answers = answers
        self.requests: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", port))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        number = 0
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.requests.append(read_request(connection))
                answer = self._answers[min(number, len(self._answers) - 1)]
                number += 1
                with contextlib.suppress(OSError):
                    connection.sendall(answer)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join(5)


@contextmanager
def script(*answers: bytes) -> Iterator[Script]:
    made = Script(*answers)
    try:
        yield made
    finally:
        made.close()


class LosingProxy:
    """Stands before a real node and loses the answers of the first requests, after the node has acted on them."""

    def __init__(self, port: int, lose: int) -> None:
        self._port = port
        self._lose = lose
        self.requests: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self._pass_on(connection)

    def _pass_on(self, connection: socket.socket) -> None:
        request = read_request(connection)
        self.requests.append(request)
        with socket.create_connection(("127.0.0.1", self._port)) as node:
            node.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            answer = b""
            while part := node.recv(65536):
                answer += part
        if len(self.requests) > self._lose:
            connection.sendall(answer)

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join(5)


@contextmanager
def losing(port: int, lose: int) -> Iterator[LosingProxy]:
    made = LosingProxy(port, lose)
    try:
        yield made
    finally:
        made.close()


def read_request(connection: socket.socket) -> bytes:
    """One whole request."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = connection.recv(65536)
        if not part:
            return data
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def answer(status: int, body: str, *headers: str) -> bytes:
    data = body.encode()
    lines = [f"HTTP/1.1 {status} X", "Content-Type: application/json", "Connection: close", *headers]
    return "\r\n".join([*lines, f"Content-Length: {len(data)}"]).encode() + b"\r\n\r\n" + data


def problem(status: int, code: str, fields: str = "{}", *headers: str) -> bytes:
    return answer(status, f'{{"code": "{code}", "detail": "It was said.", "fields": {fields}}}', *headers)


class CuttingProxy:
    """Passes everything on in both directions, until it is told to cut what is open or to be away."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._open: list[socket.socket] = []
        self._away = False
        self.connections = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def cut(self, *, away: bool = False) -> None:
        """Break every connection; while away, new ones are broken as well."""
        self._away = away
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def back(self) -> None:
        self._away = False

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            if self._away:
                client.close()
                continue
            node = socket.create_connection(("127.0.0.1", self._port))
            self._open += [client, node]
            for source, target in ((client, node), (node, client)):
                threading.Thread(target=self._pump, args=(source, target), daemon=True).start()

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.cut(away=True)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


@contextmanager
def cutting(port: int) -> Iterator[CuttingProxy]:
    made = CuttingProxy(port)
    try:
        yield made
    finally:
        made.close()
