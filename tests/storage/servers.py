"""Tools for tests with real servers: nodes in processes of their own, ordinary accounts, leftovers.

A test that needs an ordinary user runs a script that drops root by itself after its imports, because
the interpreter may lie where that user cannot read.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from choir.storage import processes
from choir.storage.embedded import binaries, previous

IS_ROOT = os.geteuid() == 0
WAIT_S_MAX = 300.0
root_only = pytest.mark.skipif(not IS_ROOT, reason="needs root")

_PRELUDE = """
import json, os, pwd, signal, subprocess, sys, threading, time, traceback, shutil, encodings.idna
from pathlib import Path
import psycopg
from choir.foundation.errors import ChoirError
from choir.storage import postgres
from choir.storage.embedded import binaries, cluster, previous
from choir.storage.postgres import EmbeddedPostgres, borrowed_server, running_server
home, uid = Path(sys.argv[1]), int(sys.argv[2])
if uid != os.geteuid():
    os.setgroups([]); os.setgid(uid); os.setuid(uid)
def tell(*what): print(*what, flush=True)
"""
_NODE = """
postgres = EmbeddedPostgres(home)
thread = threading.Thread(target=lambda: tell(postgres.start().pid))  # ends at once, the server must not
thread.start(); thread.join()
sys.stdin.read()
postgres.stop()
"""


def ordinary_uid() -> int:
    """An account with a name that is not root: ours, or `nobody`."""
    return pwd.getpwnam("nobody").pw_uid if IS_ROOT else os.geteuid()


def script(code: str, home: Path, uid: int | None = None) -> list[str]:
    """The command line for a script as that account."""
    return [sys.executable, "-c", _PRELUDE + code, str(home), str(os.geteuid() if uid is None else uid)]


def run_script(
    code: str, home: Path, uid: int | None = None, *, env: Mapping[str, str] | None = None, umask: int = -1
) -> str:
    """Run a script to its end and return what it told."""
    done = subprocess.run(
        script(code, home, uid),
        env=env,
        umask=umask,
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S_MAX,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


class Node:
    """A process that runs a server until it is told to stop, or killed."""

    def __init__(self, home: Path, uid: int | None = None, code: str = _NODE) -> None:
        self.process = subprocess.Popen(
            script(code, home, uid), cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.server_pid = int(self.process.stdout.readline())

    def kill(self) -> None:
        """End it as an out-of-memory killer would."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """Ask it to stop in order."""
        self.process.communicate()


def wait_for(condition: Callable[[], bool], limit_s: float = WAIT_S_MAX) -> None:
    """Wait for something that must become true. The limit is a last resort; how long it takes is not judged."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.02)


def exists(pid: int) -> bool:
    """Whether a process is there and not just waiting to be reaped."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def leftovers(home: Path) -> list[str]:
    """Everything of a home that is still running or lying about outside of it."""
    places = previous.Places.of(home)
    found = [f"process {pid}" for pid in processes.processes_of(places.data, places.token)]
    for place in ("/run", *map(str, binaries.COPY_PLACES)):
        found += [str(path) for path in Path(place).glob(f"{places.token}*")]
    if (places.folder / "socket").exists():
        found.append("socket")
    return found


def remove_home(home: Path) -> None:
    """Check that nothing is left, then remove the home."""
    left = leftovers(home)
    shutil.rmtree(home, ignore_errors=True)
    assert left == [], left
