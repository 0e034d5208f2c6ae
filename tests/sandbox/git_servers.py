"""Real git servers on loopback: `git http-backend` behind a small HTTP server, and `git daemon`."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_PLAIN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
_SAFE = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}


class _Backend(BaseHTTPRequestHandler):
    root: Path
    protocol_version = "HTTP/1.0"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        environment = _PLAIN | _SAFE | {
            "GIT_PROJECT_ROOT": str(self.root), "GIT_HTTP_EXPORT_ALL": "1", "REQUEST_METHOD": self.command,
            "PATH_INFO": path, "QUERY_STRING": query, "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "", "REMOTE_ADDR": "127.0.0.1",
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], env=environment, input=body, capture_output=True, check=False)
        head, _, answer = done.stdout.partition(b"\r\n\r\n")
        rows = [row.split(b": ", 1) for row in head.split(b"\r\n") if b": " in row]
        status = next((int(value.split()[0]) for name, value in rows if name == b"Status"), 200)
        self.send_response(status)
        for name, value in rows:
            if name != b"Status":
                self.send_header(name.decode(), value.decode())
        self.end_headers()
        self.wfile.write(answer)

    do_POST = do_GET  # noqa: N815 - the name that the server looks for


@contextmanager
def http_server(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextmanager
def http_backend(repository: Path) -> Iterator[str]:
    """The address of a repository that is served by git's own program."""
    handler = type("Backend", (_Backend,), {"root": repository.parent})
    with http_server(handler) as url:
        yield f"{url}/{repository.name}"


@contextmanager
def daemon(repository: Path) -> Iterator[str]:
    """The same by `git daemon`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["git", "daemon", "--reuseaddr", "--export-all", "--listen=127.0.0.1", f"--port={port}"]
    process = subprocess.Popen(
        [*command, f"--base-path={repository.parent}"], env=_PLAIN | _SAFE, start_new_session=True
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"git://127.0.0.1:{port}/{repository.name}"
    finally:
        os.killpg(process.pid, 15)
        process.wait(10)
