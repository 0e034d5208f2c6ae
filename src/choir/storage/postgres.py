"""The embedded PostgreSQL: started with the node, ended with the node.

Guarantees: one process serves one folder; the server is a child that shuts down when its node ends
in any way, also by kill -9; whatever a killed node or server left behind is found by looking at the
processes themselves, waited for and cleared at the next start; nothing runs and no socket is left
after `stop`. As root the server runs under an account of its own (see `accounts`). A start that
takes long, as recovery after a crash may, reports progress instead of giving up.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from choir.foundation.errors import ChoirError
from choir.storage.embedded import cluster, previous
from choir.storage.embedded.accounts import Account, account_for
from choir.storage.embedded.binaries import Programs, programs_for, remove_copies
from choir.storage.embedded.errors import AlreadyRunning, UnsupportedSystem, folder_errors
from choir.storage.embedded.log import ServerLog, start_error
from choir.storage.embedded.previous import Places, Progress, read_pid_file, serving_pid
from choir.storage.embedded.sockets import (
    PORT,
    SocketFolder,
    is_private,
    listener,
    make_socket_folder,
    remove_socket_folder,
    socket_folder_of,
)
from choir.storage.embedded.tuning import as_arguments, server_settings
from choir.storage.processes import Child, FolderLock

START_LIMIT_S = 3600.0  # recovery replays at most max_wal_size, but disks can be slow
PROGRESS_EVERY_S = 3.0
BORROW_LIMIT_S = 60.0
_POLL_S = 0.02
_LOCK_WAIT_S = 1.0
_BORROW_POLL_S = 0.1


def _silent(_: str) -> None:
    """Progress nobody asked for."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    socket_dir: Path
    pid: int

    def dsn(self, role: str, database: str = cluster.DATABASE) -> str:
        """A libpq connection string; explicit where PG… variables of the caller could interfere."""
        return make_conninfo(
            host=str(self.socket_dir), port=PORT, user=role, dbname=database, sslmode="disable", gssencmode="disable"
        )


class EmbeddedPostgres:
    """The supervisor of one home's server. Its methods may be called from any thread."""

    def __init__(self, home: Path, *, durable: bool = True) -> None:
        self._places = Places.of(home)
        self._durable = durable  # False: a throw-away database, fast and lost with a power cut
        self._mutex = threading.RLock()
        self._node_lock = FolderLock(self._places.node_lock)
        self._child: Child | None = None
        self._server: Server | None = None
        self._sockets: SocketFolder | None = None

    def start(self, on_progress: Progress = _silent) -> Server:
        """Make the cluster if needed, start the server, return when it accepts connections."""
        if sys.platform != "linux":
            raise UnsupportedSystem(system=sys.platform)
        with self._mutex:
            if self._server is not None and self._child is not None and self._child.running:
                return self._server
            try:
                with folder_errors(self._places.folder):
                    self._server = self._start(on_progress)
            except BaseException:
                self.stop()
                raise
            return self._server

    def stop(self) -> None:
        """Stop what this object started: fast, then at once, then by force. Safe to repeat."""
        with self._mutex:
            if self._child is not None:
                _end(self._child)
                self._child, self._server = None, None
                with suppress(ChoirError, OSError):
                    previous.wait_for_previous(self._places, _silent).release()  # its last processes
                with suppress(OSError):
                    self._clear()
            self._node_lock.release()

    def alive(self) -> bool:
        """Whether the server we started, or else another one on this folder, is running."""
        child = self._child
        return child.running if child is not None else serving_pid(self._places) is not None

    def _start(self, on_progress: Progress) -> Server:
        places = self._places
        account = account_for(places.data)
        previous.prepare_folder(places.folder, account)
        deadline = time.monotonic() + _LOCK_WAIT_S
        while not self._node_lock.acquire():  # a process that was just killed, or is just forking, lets go by itself
            if time.monotonic() > deadline:
                raise AlreadyRunning(folder=places.folder, holder=self._node_lock.holder())
            time.sleep(_POLL_S)
        server_lock = previous.wait_for_previous(places, on_progress)
        try:
            previous.clear_stale_pid_file(places)
            log = ServerLog(places.log)
            try:
                self._launch(account, log, server_lock, on_progress)
            finally:
                log.close()
        finally:
            server_lock.release()  # the server holds its own
        return self._ready_server()

    def _launch(self, account: Account, log: ServerLog, server_lock: FolderLock, on_progress: Progress) -> None:
        places = self._places
        try:
            programs = programs_for(account, places.folder, places.token)
            if cluster.cluster_exists(places.data):
                cluster.adopt_cluster(places.data, account)
            else:
                on_progress("Creating a new database (first start).")
                cluster.make_cluster(places.data, programs, account, log, server_lock.descriptor, durable=self._durable)
            on_progress("Starting PostgreSQL.")
            self._sockets = make_socket_folder(places.folder, account, places.token)
            self._child = self._spawn(programs, account, log, server_lock)
        except BaseException:
            self._clear()
            raise
        _wait_until_ready(self._child, places, log, on_progress)

    def _spawn(self, programs: Programs, account: Account, log: ServerLog, server_lock: FolderLock) -> Child:
        assert self._sockets is not None
        places = self._places
        settings = server_settings(places.data, self._sockets.setting, places.token, durable=self._durable)
        return Child(
            [programs.path("postgres"), "-D", cluster.HERE, *as_arguments(settings)],
            signal.SIGINT,  # fast shutdown
            cwd=places.data,  # entered before the account is switched
            stdout=log.descriptor,
            stderr=log.descriptor,
            pass_fds=[server_lock.descriptor],
            **account.spawn_arguments(),
        )

    def _ready_server(self) -> Server:
        assert self._sockets is not None
        assert self._child is not None
        server = Server(self._sockets.path, self._child.pid)
        try:
            cluster.ensure_roles(server.dsn(cluster.SUPERUSER, "postgres"), server.dsn(cluster.SUPERUSER))
        except psycopg.Error as error:
            why = "its roles and database could not be created"
            raise start_error(self._places.folder, self._places.log, str(error), why) from error
        return server

    def _clear(self) -> None:
        """Remove what lives outside the data folder; nothing of the server runs any more."""
        if self._sockets is not None:
            remove_socket_folder(self._sockets)
            self._sockets = None
        remove_copies(self._places.folder, self._places.token)


def running_server(home: Path) -> Server | None:
    """The server that another process of ours runs on this home; None unless it is seen to serve."""
    places = Places.of(home)
    with folder_errors(places.folder):
        pid = serving_pid(places)
        found = read_pid_file(places.data)
        if pid is None or found is None or found.pid != pid:
            return None
        socket_dir = socket_folder_of(places.folder, found.socket_setting)
        owner = places.data.stat().st_uid
    # The pid file could speak of anything: the kernel says who really listens there.
    if not is_private(socket_dir, owner) or listener(socket_dir) != (pid, owner):
        return None
    server = Server(socket_dir, pid)
    try:
        psycopg.connect(server.dsn(cluster.APP_ROLE), connect_timeout=10).close()
    except psycopg.Error:  # starting, or shutting down
        return None
    return server


@contextmanager
def borrowed_server(home: Path, on_progress: Progress = _silent, *, durable: bool = True) -> Iterator[Server]:
    """The running server, or one that is started now and stopped when the last borrower has finished."""
    own = EmbeddedPostgres(home, durable=durable)
    borrow = FolderLock(Places.of(home).borrow_lock)
    server, started = _borrow(home, own, borrow, on_progress)
    try:
        yield server
    finally:
        borrow.release()
        try:
            while started and not borrow.acquire():  # others still use what we started
                time.sleep(_BORROW_POLL_S)
        finally:
            own.stop()
            borrow.release()


def _borrow(home: Path, own: EmbeddedPostgres, borrow: FolderLock, on_progress: Progress) -> tuple[Server, bool]:
    """A server and whether we started it; a running one is held by a shared lock, so that it stays."""
    deadline = time.monotonic() + BORROW_LIMIT_S
    while True:
        server = running_server(home)
        if server is not None and borrow.acquire(shared=True):
            if running_server(home) == server:
                return server, False
            borrow.release()
        try:
            return own.start(on_progress), True
        except AlreadyRunning:  # someone is just starting or stopping
            if time.monotonic() > deadline:
                raise
        time.sleep(_BORROW_POLL_S)


def _wait_until_ready(child: Child, places: Places, log: ServerLog, on_progress: Progress) -> None:
    begun = time.monotonic()
    told = 0.0
    while True:
        found = read_pid_file(places.data)
        if found is not None and found.pid == child.pid and found.status == "ready":
            return
        waited = time.monotonic() - begun
        if not child.running:
            raise start_error(places.folder, log.path, log.tail(), f"it exited with code {child.exit_code}")
        if waited > START_LIMIT_S:
            raise start_error(places.folder, log.path, log.tail(), f"it was not ready after {waited:.0f} s")
        if waited - told >= PROGRESS_EVERY_S:
            told = waited
            on_progress(f"PostgreSQL is recovering from an unclean shutdown ({waited:.0f} s); this can take minutes.")
        child.wait(_POLL_S)


def _end(child: Child) -> None:
    """Fast shutdown, then without a checkpoint, then by force."""
    for number, limit_s in (
        (signal.SIGINT, previous.FAST_STOP_LIMIT_S),
        (signal.SIGQUIT, previous.QUICK_STOP_LIMIT_S),
        (signal.SIGKILL, previous.QUICK_STOP_LIMIT_S),
    ):
        child.send(number)
        if child.wait(limit_s):
            return
