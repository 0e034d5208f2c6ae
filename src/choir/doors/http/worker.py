"""One server process, which `worker_start` brings to life.

It serves the socket that its parent listens on, runs background work, and stops in order on SIGTERM, or when
its parent dies, in bounded time (`ending`). The parent gives it settings and the database through the
environment; nothing secret is an argument.
"""

from __future__ import annotations

import os
import resource
import signal
import socket
import sys
from types import FrameType
from typing import NoReturn

import uvicorn

from choir.doors.http.app import create_app
from choir.doors.http.connection import Limits, limited_protocol
from choir.doors.http.proxies import Proxies
from choir.doors.http.shutdown import Shutdown
from choir.doors.http.streams import Streams
from choir.doors.http.upgraded import LimitedWebSocket
from choir.foundation.logs import set_up_logs
from choir.foundation.policy import load
from choir.foundation.settings import PUBLISHED, load_settings
from choir.node import Node, build_node
from choir.operations.background import Background, keep_policy, schedule_repeating
from choir.operations.preparation import compare_published
from choir.operations.supervisor import DATABASE_VARIABLE
from choir.policies import default_policy
from choir.relay.policy import RelayPolicy
from choir.storage.database import Database
from choir.storage.policy import NodePolicy

_CONNECTIONS = 16


def main() -> None:
    settings = load_settings()
    # Who tries a node out reads what it says; whoever collects lines for requests says so, or runs it in production.
    set_up_logs(settings.log_format, requests=settings.mode != "dev" or settings.log_format == "json")
    _allow_files()
    listener = socket.socket(fileno=int(sys.argv[1]))
    policy = load(default_policy(), settings.policy_overrides)
    database = Database(
        os.environ.pop(DATABASE_VARIABLE),
        connections_max=_CONNECTIONS,
        wait_s=policy.of(NodePolicy).database_wait_s_max,
    )
    ending = Shutdown(database.stop_waiting)

    def leave(*_: object) -> NoReturn:
        ending.begin()
        sys.exit(0)

    # The server sends itself the signal again after it has stopped; what follows it here must still happen.
    signal.signal(signal.SIGTERM, leave)
    node = build_node(settings, database.open())
    node.checkpoints.compare_first(lambda tx: compare_published(tx, settings.home / PUBLISHED))
    schedule_repeating(node)
    keep_policy(node)
    background = Background(node, stopping=lambda: ending.begun)
    background.start()
    try:
        _serve(node, listener, ending)
    finally:
        background.wind_down()
        database.stop_waiting()  # requests are over; what background work still waits for may never come
        background.stop()
        node.close()


def _allow_files() -> None:
    """As many open files as the system lets us have, since every connection is one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class _Server(uvicorn.Server):
    """The server, with an end that has a deadline from the moment of the signal."""

    def __init__(self, config: uvicorn.Config, ending: Shutdown, streams: Streams) -> None:
        super().__init__(config)
        self._ending = ending
        self._streams = streams

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.config.timeout_graceful_shutdown = self._ending.begin()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._streams.end_all()  # they would never end by themselves
        await super().shutdown(sockets)


def _serve(node: Node, listener: socket.socket, ending: Shutdown) -> None:
    streams = Streams(node.database, node.outbox, node.policy.of(NodePolicy))
    app = create_app(node, streams)
    config = uvicorn.Config(
        app,
        http=limited_protocol(Limits(node.policy.of(NodePolicy), Proxies(node.settings.trusted_proxies).trusts)),
        ws=LimitedWebSocket,
        ws_max_size=node.policy.of(RelayPolicy).message_bytes_max,
        ws_per_message_deflate=False,  # a small message could become a huge one
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=30,
        backlog=node.policy.of(NodePolicy).connections_waiting_max,
    )
    _Server(config, ending, streams).run(sockets=[listener])
