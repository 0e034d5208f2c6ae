"""A `choir` for the shell of a page: asks for the command at the socket in WARM_CHOIR and ends as it ends.

It is run without the libraries of the project, so that it takes no time to start; see tests/operations/warm_server.py.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from pathlib import Path


def main() -> int:
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked.connect(os.environ["WARM_CHOIR"])
    umask = os.umask(0o077)
    order = {
        "words": ["choir", *sys.argv[1:]],
        "environment": dict(os.environ),
        "folder": str(Path.cwd()),
        "umask": umask,
    }
    socket.send_fds(asked, [json.dumps(order).encode()], [0, 1, 2])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: asked.send(bytes([number])))
    return int(asked.recv(16))


if __name__ == "__main__":
    code = main()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)
