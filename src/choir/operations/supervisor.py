"""The parent process of a node: PostgreSQL, the listening socket, and the server processes.

Guarantees: one node per home; whatever dies is started again, with a growing pause; SIGTERM and
Ctrl-C stop everything in order, and nothing runs afterwards; a kill -9 of this process takes its
children along, because the kernel tells them.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from choir.foundation.clock import SystemClock, SystemEntropy
from choir.foundation.errors import ChoirError, Unavailable
from choir.foundation.policy import load
from choir.foundation.settings import Settings
from choir.operations.home import NodeLock, RunningNode, check_disk, look_first, prepare_home
from choir.operations.preparation import Dsns, must_hold_ledger, prepare_database
from choir.operations.shutdown import StopFlag
from choir.policies import default_policy
from choir.storage.database import Tx, connect
from choir.storage.embedded.sockets import is_private
from choir.storage.policy import NodePolicy
from choir.storage.postgres import EmbeddedPostgres
from choir.storage.processes import Child
from choir.storage.tasks import forget_leases

log = logging.getLogger(__name__)
Progress = Callable[[str], None]

WORKER = "choir.doors.http.worker_start"
DATABASE_VARIABLE = "CHOIR_WORKER_DATABASE"
_LOOK_S = 0.2
_STOP_S_MAX = 15.0
_READY_S_MAX = 600.0  # while its processes live: a machine may have more to do
_PAUSE_S = 0.2  # before something that died is started again; doubles, and is forgotten after a while
_PAUSE_S_MAX = 10.0
_STEADY_S = 30.0
_ADDRESS_S_MAX = 3.0


class AddressInUse(Unavailable):
    """Another program listens there."""

    code = "node.address_in_use"
    sentence = "The address {address} cannot be used: {why}."
    hint = "Choose another one with CHOIR_BIND, for example CHOIR_BIND=127.0.0.1:8421."


class WorkerFailed(Unavailable):
    """A server process ended before it could serve."""

    code = "node.worker_failed"
    sentence = "The server process ended with code {exit_code} before it was ready."
    hint = "See the log above; `choir doctor` checks all parts."


class _StopAsked(Exception):
    """A signal came while the database was recovering, which may take long."""


class Supervisor:
    """Starts, watches and stops everything of one node."""

    def __init__(self, settings: Settings, say: Progress) -> None:
        self._settings = settings
        self._say = say
        self._lock = NodeLock(settings.home)
        self._postgres = EmbeddedPostgres(settings.home) if settings.embedded else None
        self._stop = StopFlag()
        self._listener: socket.socket | None = None
        self._workers: list[_Kept] = []
        self._metrics: Path | None = None

    def run(self, on_ready: Callable[[], None]) -> None:
        """Start, call `on_ready`, and stay until a signal comes."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stop.set())
        try:
            self._start()
            self._wait_until_ready()
            if not self._stop.is_set():
                on_ready()
            self._watch()
        except _StopAsked:
            pass
        finally:
            self._shut_down()

    def _start(self) -> None:
        settings = self._settings
        policy = load(default_policy(), settings.policy_overrides)
        look_first(settings, self._say)
        prepare_home(settings, SystemEntropy())
        self._lock.acquire()
        check_disk(settings.home, policy.of(NodePolicy).disk_free_bytes_min)
        self._listener = _listen(settings.host, settings.port, policy.of(NodePolicy).connections_waiting_max)
        self._lock.announce(RunningNode(os.getpid(), settings.own_url, SystemClock().now_us()))
        dsns = self._start_database()
        must_hold_ledger(settings, dsns)
        self._say("PostgreSQL is running; preparing the database.")
        prepare_database(settings, dsns).must_be(settings.mode)
        with connect(dsns.app) as app:
            forget_leases(Tx(app))  # of a node that was killed: nobody shall wait for them to end
        self._metrics = _metrics_folder(settings.home)
        self._say("The database is ready; starting the server.")
        environment = self._worker_environment(dsns)
        descriptor = self._listener.fileno()
        command = [sys.executable, "-m", WORKER, str(descriptor)]
        self._workers = [_Kept(command, environment, descriptor) for _ in range(settings.processes)]

    def _start_database(self) -> Dsns:
        if self._postgres is None:
            return Dsns.external(self._settings)
        return Dsns.embedded(self._postgres.start(self._unless_stopped(self._say)))

    def _unless_stopped(self, say: Progress) -> Progress:
        """Tells progress, and ends the wait when the node is to stop."""

        def tell(text: str) -> None:
            say(text)
            if self._stop.is_set():
                raise _StopAsked

        return tell

    def _worker_environment(self, dsns: Dsns) -> dict[str, str]:
        settings = self._settings
        keep = {name: value for name, value in os.environ.items() if not name.startswith("CHOIR_DATABASE")}
        given = {
            "CHOIR_HOME": str(settings.home),
            "CHOIR_BIND": f"{settings.host}:{settings.port}",
            "CHOIR_PUBLIC_URL": settings.public_url,
            "CHOIR_MODE": settings.mode,
            "CHOIR_LOG_FORMAT": "text"
            if settings.log_format == "auto" and sys.stderr.isatty()
            else settings.log_format,
            DATABASE_VARIABLE: dsns.app,
            "PROMETHEUS_MULTIPROC_DIR": str(self._metrics),
            "PYTHONUNBUFFERED": "1",
        }
        return keep | given

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_S_MAX
        while not self._stop.is_set() and not _answers(self._settings):
            for worker in self._workers:
                if not worker.running:
                    raise WorkerFailed(exit_code=worker.exit_code)
            if time.monotonic() > deadline:
                raise WorkerFailed(exit_code="none (it did not answer)")
            self._stop.wait(0.05)

    def _watch(self) -> None:
        while not self._stop.wait(_LOOK_S):
            if self._postgres is not None and not self._postgres.alive():
                self._revive_database()
            for worker in self._workers:
                worker.revive_if_dead()

    def _revive_database(self) -> None:
        assert self._postgres is not None
        log.warning("PostgreSQL ended; starting it again")
        try:
            self._postgres.start(self._unless_stopped(log.info))
        except ChoirError as error:
            log.error("PostgreSQL does not start", extra={"code": error.code, "detail": str(error)})  # noqa: TRY400
            self._stop.wait(1.0)

    def _shut_down(self) -> None:
        for worker in self._workers:
            worker.send(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_S_MAX
        for worker in self._workers:
            if not worker.wait(max(0.0, deadline - time.monotonic())):
                worker.send(signal.SIGKILL)
                worker.wait(5.0)
        if self._listener is not None:
            self._listener.close()
        if self._postgres is not None:
            self._postgres.stop()
        if self._metrics is not None:
            shutil.rmtree(self._metrics, ignore_errors=True)
        self._lock.release()


class _Kept:
    """A server process that is started again when it dies."""

    def __init__(self, command: list[str], environment: dict[str, str], descriptor: int) -> None:
        self._command = command
        self._environment = environment
        self._descriptor = descriptor
        self._pause_s = _PAUSE_S
        self._not_before = 0.0
        self._child = self._spawn()

    def _spawn(self) -> Child:
        self._started_at = time.monotonic()
        return Child(self._command, signal.SIGTERM, env=self._environment, pass_fds=[self._descriptor])

    @property
    def running(self) -> bool:
        return self._child.running

    @property
    def exit_code(self) -> int | None:
        return self._child.exit_code

    def revive_if_dead(self) -> None:
        now = time.monotonic()
        if self._child.running or now < self._not_before:
            return
        if self._not_before == 0.0:
            steady = now - self._started_at > _STEADY_S
            self._pause_s = _PAUSE_S if steady else min(self._pause_s * 2, _PAUSE_S_MAX)
            self._not_before = now + self._pause_s
            log.warning("a server process ended", extra={"exit_code": self._child.exit_code})
            return
        self._not_before = 0.0
        self._child = self._spawn()

    def send(self, number: signal.Signals) -> None:
        self._child.send(number)

    def wait(self, limit_s: float) -> bool:
        return self._child.wait(limit_s)


def _metrics_folder(home: Path) -> Path:
    """A private folder for the counters, not on the home's disk, which may be full; clears those of killed nodes."""
    token = hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:16]
    prefix = f"choir-metrics-{token}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        if is_private(left, os.geteuid()):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=prefix))


def _listen(host: str, port: int, waiting_max: int) -> socket.socket:
    """The socket that all server processes accept on; waits a moment for those of a killed node."""
    deadline = time.monotonic() + _ADDRESS_S_MAX
    while True:
        try:
            return _bind(host, port, waiting_max)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                why = (error.strerror or str(error)).lower()
                raise AddressInUse(address=f"{host}:{port}", why=why) from None
        time.sleep(0.1)


def _bind(host: str, port: int, waiting_max: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(waiting_max)
        listener.set_inheritable(True)
    except OSError:
        listener.close()
        raise
    return listener


def _answers(settings: Settings) -> bool:
    """Whether a server process answers a health check."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    try:
        with socket.create_connection((host, settings.port), timeout=1.0) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False
