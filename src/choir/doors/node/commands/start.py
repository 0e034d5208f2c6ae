"""A node that is started in the background: its output goes to a log file, and what takes long is told.

Guarantees: the command returns when the node is ready or has ended, and says which; after a second it says what the
node is doing, and every step from then on.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path

from choir.doors.cli import output
from choir.foundation.clock import SystemEntropy
from choir.foundation.errors import Unavailable
from choir.foundation.settings import Settings
from choir.operations.home import NodeRunning, RunningNode, look_first, prepare_home, running_node

_START_S_MAX = 120.0
_LOOK_S = 0.1
_QUIET_S = 1.0  # a start that takes no longer needs no words
_LOGGED = re.compile(r"\{|\d\d:\d\d:\d\d\.\d")  # lines of the log, in either style; the others are for people
_ENDS = ("Choir ", "choir:")  # what follows is no step: the node is ready, or it failed


class StartFailed(Unavailable):
    """The node in the background ended before it was ready."""

    code = "node.start_failed"
    sentence = "The node did not start."
    hint = "Its log is {log}; `choir doctor` checks all parts."


def log_of(settings: Settings) -> Path:
    return settings.home / "node.log"


def start(settings: Settings) -> RunningNode:
    """The same node as in the foreground, detached from the terminal; returns when it answers."""
    look_first(settings, output.say)
    prepare_home(settings, SystemEntropy())
    running = running_node(settings.home)
    if running is not None and running.pid:
        raise NodeRunning(home=settings.home, pid=running.pid, url=running.url)
    log = log_of(settings)
    with log.open("ab") as file:
        os.fchmod(file.fileno(), 0o600)
        begins_at = file.tell()
        child = subprocess.Popen(
            [sys.executable, "-m", "choir.doors.cli.main", "up"],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env=_environment(settings),
            start_new_session=True,
        )
    output.say(f"Starting the node; its log is {log}.")
    try:
        with _telling_steps(log, begins_at):
            return _wait_for(settings, child, log, begins_at)
    except KeyboardInterrupt:
        child.terminate()
        child.wait()
        raise


def _environment(settings: Settings) -> dict[str, str]:
    return os.environ | {
        "CHOIR_HOME": str(settings.home),
        "CHOIR_BIND": f"{settings.host}:{settings.port}",
        "CHOIR_PROCESSES": str(settings.processes),
        "CHOIR_LOG_FORMAT": "json" if settings.log_format == "auto" else settings.log_format,
    }


def _wait_for(settings: Settings, child: subprocess.Popen[bytes], log: Path, begins_at: int) -> RunningNode:
    """Until the node in the background answers, or has ended."""
    deadline = time.monotonic() + _START_S_MAX
    while time.monotonic() < deadline:
        running = running_node(settings.home)
        if running is not None and running.pid == child.pid and _ready(settings):
            return running
        if child.poll() is not None:
            _quote(log, begins_at)
            raise StartFailed(log=log)
        time.sleep(0.1)
    raise StartFailed(log=log)


@contextmanager
def _telling_steps(log: Path, begins_at: int) -> Iterator[None]:
    """Beside the wait for an answer, which may come late: say what the node is doing, once it takes long."""
    over = threading.Event()

    def tell() -> None:
        told, wait_s = 0, _QUIET_S
        while not over.wait(wait_s):
            found, wait_s = steps(log, begins_at), _LOOK_S
            for step in found[told:] if told else found[-1:]:
                output.say(f"  {step}")
            told = len(found)

    teller = threading.Thread(target=tell, name="steps", daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def steps(log: Path, begins_at: int) -> list[str]:
    """What the node said so far that it is doing: whole lines, in order, and nothing of its log."""
    with log.open("rb") as file:
        file.seek(begins_at)
        lines = file.read().decode("utf-8", "replace").split("\n")[:-1]
    said = (line.strip() for line in lines if line.strip() and not _LOGGED.match(line))
    return list(takewhile(lambda line: not line.startswith(_ENDS), said))


def _ready(settings: Settings) -> bool:
    import httpx

    try:
        return httpx.get(f"{settings.own_url}/readyz", timeout=5, trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


def _quote(log: Path, begins_at: int) -> None:
    with log.open("rb") as file:
        file.seek(max(begins_at, log.stat().st_size - 2000))
        for line in file.read().decode("utf-8", "replace").splitlines()[-5:]:
            output.say(f"  {line}")
