"""A process that has loaded the whole command line and becomes, again and again, a `choir` that somebody asked for.

Loading what a command needs takes ten times as long as most commands. Each one still is a process of its own, with
its own arguments, environment, folder, streams, signals and exit code; only the loading is done before. Whoever asks
sends those over a socket (tests/operations/warm.py) and is told the exit code; while they wait they can send signals,
and if they go away, the command is killed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import sys
import threading
import traceback
from contextlib import suppress
from typing import Any, NoReturn

MESSAGE_BYTES_MAX = 1 << 20
_IN_OTHER_PROCESSES = ("choir.doors.http", "choir.doors.web")  # large, and no command is a server itself


def main() -> None:
    """Serve at this socket until standard input ends, which happens with whoever started us."""
    listener = socket.socket(fileno=int(sys.argv[1]))
    _load()
    while True:
        ready, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in ready:
            return
        asked, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _attend(asked)
        asked.close()
        _reap()


def _load() -> None:
    """Everything that a command could name, and what it loads only when it runs."""
    import choir

    for found in pkgutil.walk_packages(choir.__path__, "choir."):
        if not found.name.startswith(_IN_OTHER_PROCESSES):
            importlib.import_module(found.name)
    assert threading.active_count() == 1  # a fork would lose the others
    gc.collect()
    gc.freeze()


def _reap() -> None:
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _attend(asked: socket.socket) -> NoReturn:
    """See one command through."""
    data, streams, _, _ = socket.recv_fds(asked, MESSAGE_BYTES_MAX, 3)
    command = os.fork()
    if command == 0:
        _become(json.loads(data), streams)
    for each in streams:
        os.close(each)
    ended = os.pidfd_open(command)
    either: list[Any] = [ended, asked]
    while ended not in select.select(either, [], [])[0]:
        number = asked.recv(1)
        os.kill(command, number[0] if number else signal.SIGKILL)
        if not number:
            break
    code = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    with suppress(OSError):
        asked.send(str(code).encode())
    os._exit(0)


def _become(order: dict[str, Any], streams: list[int]) -> NoReturn:
    for number, each in enumerate(streams):
        os.dup2(each, number)
    os.closerange(3, 1024)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.umask(order["umask"])
    os.chdir(order["folder"])
    sys.argv = order["words"]
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    code = _run()
    threading._shutdown()  # type: ignore[attr-defined]  # as an interpreter ends: threads, then what was registered
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _run() -> int:
    from choir.doors.cli.main import main as choir

    try:
        choir()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    main()
