"""`choir` commands without the time that an interpreter takes to load them; see warm_server."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tests.depth import DEEP
from tests.places import throw_away

SERVER = Path(__file__).with_name("warm_server.py")
# What an interpreter looks at when it starts; a command that is given one of these has to start one.
_FOR_INTERPRETERS = ("PYTHON", "LC_", "LANG")


def usable(environment: Mapping[str, str]) -> bool:
    """Whether such a command does the same as in a new interpreter. The deep tests take a new one always."""
    return not DEEP and not any(name.startswith(_FOR_INTERPRETERS) for name in environment)


@cache
def server() -> Path:
    """Where the commands of this test process are asked for."""
    place = Path(tempfile.mkdtemp(prefix="warm-", dir=throw_away())) / "socket"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(place))
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, str(SERVER), str(listener.fileno())],
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            cwd="/",
            start_new_session=True,  # an interrupt of the tests is for the tests
        )
    atexit.register(_end, process, place)
    return place


def _end(process: subprocess.Popen[bytes], place: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()
    shutil.rmtree(place.parent)


def run(
    words: Sequence[str], *, env: Mapping[str, str], stdin: bytes, cwd: Path, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """As subprocess.run does it, with all output captured."""
    streams = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
    try:
        os.write(streams[0], stdin)
        os.lseek(streams[0], 0, os.SEEK_SET)
        code = _ask(words, env, cwd, streams, timeout)
        out, err = (_content(each) for each in streams[1:])
    finally:
        for each in streams:
            os.close(each)
    return subprocess.CompletedProcess(list(words), code, out, err)


def _ask(words: Sequence[str], env: Mapping[str, str], cwd: Path, streams: list[int], timeout: float) -> int:
    order = {"words": ["choir", *words], "environment": dict(env), "folder": str(cwd), "umask": _umask()}
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asked:
        asked.settimeout(timeout)
        asked.connect(str(server()))
        socket.send_fds(asked, [json.dumps(order).encode()], streams)
        try:
            return int(asked.recv(16))
        except TimeoutError:
            raise subprocess.TimeoutExpired(list(words), timeout) from None


def _umask() -> int:
    found = os.umask(0o077)
    os.umask(found)
    return found


def _content(stream: int) -> bytes:
    return os.pread(stream, os.fstat(stream).st_size, 0)
