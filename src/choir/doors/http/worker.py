"""One server process: `python -m choir.doors.http.worker FD`.

It serves the socket that its parent listens on, runs background work, and stops in order on SIGTERM.
The parent gives it settings and the database through the environment; nothing secret is an argument.
"""

from __future__ import annotations

import os
import socket
import sys

import uvicorn

from choir.doors.http.app import create_app
from choir.foundation.logs import set_up_logs
from choir.foundation.policy import Policy, load
from choir.foundation.settings import load_settings
from choir.node import Node, build_node
from choir.operations.background import keep_policy, make_scheduler, schedule_repeating
from choir.operations.supervisor import DATABASE_VARIABLE
from choir.storage.database import Database

_CONNECTIONS = 16
_STOP_S_MAX = 10


def main() -> None:
    settings = load_settings()
    set_up_logs(settings.log_format)
    listener = socket.socket(fileno=int(sys.argv[1]))
    policy = load(Policy(), settings.policy_overrides)
    database = Database(
        os.environ.pop(DATABASE_VARIABLE), connections_max=_CONNECTIONS, wait_s=policy.node.database_wait_s_max
    )
    node = build_node(settings, database.open())
    scheduler = make_scheduler(node)
    schedule_repeating(node)
    keep_policy(node)
    scheduler.start()
    try:
        _serve(node, listener)
    finally:
        scheduler.stop()
        node.close()


def _serve(node: Node, listener: socket.socket) -> None:
    app = create_app(node)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_S_MAX,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
    )
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
