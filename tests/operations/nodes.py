"""Whole nodes in processes of their own, as `choir up` starts them, and what they leave behind.

Each has a home, a port and a temporary folder of its own, so that tests can run side by side and a
leftover is seen.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import httpx
import psycopg

from choir.sdk import Client
from choir.storage.embedded.previous import Places, serving_pid
from choir.storage.postgres import running_server
from tests.operations import prepared, warm
from tests.places import throw_away
from tests.storage.servers import WAIT_S_MAX, exists, leftovers, wait_for

CHOIR = [sys.executable, "-m", "choir.doors.cli.main"]
# Last resorts, for a machine with forty times as much to do as it can: what is waited for is that something happens, or
# that the process ends which should make it happen.
START_S_MAX = 600.0
STOP_S_MAX = 300.0
LEAVE_S_MAX = 60.0
ANSWER_S_MAX = 300.0

# Every address of a test is a plain one. A context that trusts nobody spares each client the reading of the world's
# certificates, which costs more than its requests.
PLAIN = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

ADA = "person:ada/available/CREDIT"
BOB = "person:bob/available/CREDIT"


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class NodeUnderTest:
    """A home and the node on it."""

    home: Path
    temporary: Path
    port: int = field(default_factory=free_port)
    extra: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        base = {"PATH": os.environ["PATH"], "TMPDIR": str(self.temporary), "HOME": str(self.temporary)}
        own = {"CHOIR_HOME": str(self.home), "CHOIR_BIND": f"127.0.0.1:{self.port}", "CHOIR_LOG_FORMAT": "json"}
        return base | own | self.extra

    @property
    def said_file(self) -> Path:
        return self.home.with_name(self.home.name + ".said")

    @property
    def said(self) -> str:
        """Everything that the node printed and logged."""
        return self.said_file.read_text()

    @property
    def token(self) -> str:
        return (self.home / "operator.token").read_text().strip()

    def launch(self) -> subprocess.Popen[bytes]:
        """Start `choir up` in the foreground, without waiting."""
        with self.said_file.open("ab") as said:
            self.process = subprocess.Popen(
                [*CHOIR, "up"], env=self.environment, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd="/"
            )
        return self.process

    def up(self) -> NodeUnderTest:
        """Start it and wait until it serves; `launch` starts one from nothing."""
        prepared.fill(self.home, self.extra)
        process = self.launch()
        wait_for(lambda: process.poll() is not None or self.ready(), START_S_MAX)
        assert process.poll() is None, self.said[-3000:]
        return self

    def ready(self) -> bool:
        """Asked many times a second while it starts, so without httpx, which reads all certificates each time."""
        with contextlib.closing(HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            try:
                connection.request("GET", "/readyz")
                return connection.getresponse().status == 200
            except (OSError, HTTPException):
                return False

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end in order; returns the exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(STOP_S_MAX)

    def kill(self) -> None:
        """End it as an out-of-memory killer would."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(STOP_S_MAX)

    def end(self) -> None:
        """Stop whatever of it runs, however the test ended."""
        if self.process is not None and self.process.poll() is None:
            self.stop()
        if (self.home / "node.json").exists():
            self.run("down")

    def client(self, **options: Any) -> Client:
        return Client(self.url, self.token, **{"timeout_s": ANSWER_S_MAX, **options})

    def http(self, **options: Any) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(
            base_url=self.url, headers=headers, timeout=ANSWER_S_MAX, trust_env=False, verify=PLAIN, **options
        )

    def run(self, *command: str, stdin: bytes | None = None, env: Mapping[str, str] | None = None) -> Done:
        """Run a `choir` command with this node's settings."""
        settings = self.environment | dict(env or {})
        if warm.usable(settings):
            done = warm.run(command, env=settings, stdin=stdin or b"", timeout=START_S_MAX, cwd=self.temporary)
        else:
            done = subprocess.run(
                [*CHOIR, *command],
                env=settings,
                input=stdin if stdin is not None else b"",
                capture_output=True,
                check=False,
                timeout=START_S_MAX,
                cwd=self.temporary,
            )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    def workers(self) -> list[int]:
        """The server processes that the node has now."""
        assert self.process is not None
        return [pid for pid in children(self.process.pid) if b"choir.doors.http.worker" in command_line(pid)]

    def database_pid(self) -> int | None:
        """The PostgreSQL that serves this home."""
        return serving_pid(Places.of(self.home))

    def dsn(self, role: str = "choir_owner") -> str:
        server = running_server(self.home)
        assert server is not None
        return server.dsn(role)

    def entries(self) -> int:
        with psycopg.connect(self.dsn()) as owner:
            row = owner.execute("select seq from ledger_head").fetchone()
        assert row is not None
        return int(row[0])

    def left(self) -> list[str]:
        """Everything of this node that still runs or lies about outside its home."""
        marker = f"CHOIR_HOME={self.home}\0".encode()
        found = [f"process {pid}: {command_line(pid)!r}" for pid in all_pids() if marker in environment_of(pid)]
        return found + leftovers(self.home) + [str(path) for path in self.temporary.glob("choir*")]


@contextlib.contextmanager
def new_node(place: Path | None = None, /, **extra: str) -> Iterator[NodeUnderTest]:
    """A node that is not started yet; at the end it is stopped and must leave nothing."""
    top = Path(tempfile.mkdtemp(prefix="choir-test-", dir=place or throw_away()))
    temporary = top / "tmp"
    temporary.mkdir()
    node = NodeUnderTest(top / "home", temporary, extra=dict(extra))
    try:
        yield node
        node.end()
        # A killed node's server processes notice at once, give requests under way a second, and end after two at the
        # latest; its PostgreSQL shuts down by itself as well. The rest is for a machine with more to do.
        deadline = time.monotonic() + LEAVE_S_MAX
        while (left := node.left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left == [], left
    finally:
        node.end()
        shutil.rmtree(top, ignore_errors=True)


def fund(node: NodeUnderTest, account: str = ADA, amount: int = 100_000) -> None:
    """Give an account money and open the other one."""
    with node.client() as client:
        client.fund(account, amount)
        client.open_account(BOB)


def all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(word) for word in (task / "children").read_text().split()]
    return [child for child in found if exists(child)]


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes() + b"\0"
    except OSError:
        return b""


def until(condition: Callable[[], object], limit_s: float = WAIT_S_MAX) -> None:
    """Wait for something that must become true, asking not too often; the limit is a last resort."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.1)
