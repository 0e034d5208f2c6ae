"""Runs a test command in the sandbox and says how it really ended. Lives outside of the tested process.

Its memory cannot be read or written by the tested code (it is not dumpable), its standard output is not the tested
code's, and what it says is sealed with a key that came by standard input before the tested code began. The tested code
can kill it; then there is no statement, and that counts as a failure.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import hmac
import json
import os
import pathlib
import selectors
import signal
import stat
import subprocess
import sys
import time
from typing import Any

REPORTER = "/opt/choir/reporter.py"
PIECE = 65_536
TICK_S = 0.02
SET_DUMPABLE = 4  # prctl(2)


class Stream:
    """One pipe of the child, read to a limit."""

    def __init__(self, fd: int, limit: int, keep: bool) -> None:
        self.fd, self.limit, self.keep = fd, limit, keep
        self.digest, self.size, self.kept, self.open = hashlib.sha256(), 0, bytearray(), True
        os.set_blocking(fd, False)

    def take(self) -> bool:
        """Read what is there; False when there is nothing more now."""
        try:
            piece = os.read(self.fd, PIECE)
        except BlockingIOError:
            return False
        if not piece:
            self.open = False
            return False
        self.size += len(piece)
        self.digest.update(piece)
        if self.keep and self.size <= self.limit:
            self.kept += piece
        return True


def start(config: dict[str, Any], report_fd: int) -> subprocess.Popen[bytes]:
    """The tested process, with its own session, pipes and environment."""
    if config["mode"] == "tests":
        argv = ["/usr/bin/python3", "-s", REPORTER, str(report_fd)]
    else:
        argv = ["/bin/sh", "-c", config["command"]]
    return subprocess.Popen(
        argv,
        cwd=config["cwd"],
        env=dict(os.environ, **config["environment"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(report_fd,) if config["mode"] == "tests" else (),
        start_new_session=True,
    )


def watch(child: subprocess.Popen[bytes], streams: list[Stream], deadline: float) -> str:
    """Read until the child ends or must be stopped; says why it was stopped, or nothing."""
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream.fd, selectors.EVENT_READ, stream)
        while child.poll() is None:
            if time.monotonic() > deadline:
                return "timeout"
            for key, _ in selector.select(TICK_S):
                stream = key.data
                stream.take()
                if stream.size > stream.limit:
                    return "flood"
                if not stream.open:
                    selector.unregister(key.fd)
            if not selector.get_map():
                time.sleep(TICK_S)
    return ""


def end(child: subprocess.Popen[bytes]) -> None:
    """The child and its session. What left the session dies with the sandbox, and its pipes are not waited for."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def frames_of(report: bytes, key: bytes) -> tuple[list[Any], bool]:
    """The frames of the report as far as their chain of seals holds, and whether it holds to the end."""
    found: list[Any] = []
    last = b""
    for line in report.split(b"\n")[:-1]:
        seal, _, text = line.partition(b" ")
        last = hmac.new(key, last + text, hashlib.sha256).hexdigest().encode()
        if not hmac.compare_digest(seal, last):
            return found, False
        try:
            found.append(json.loads(text))
        except ValueError:
            return found, False
    return found, report.endswith(b"\n") or not report


def text_of(path: str, bytes_max: int) -> str:
    """What another runner wrote about its tests; nothing if that is no plain file or too large."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            text = file.read(bytes_max + 1) if stat.S_ISREG(os.fstat(fd).st_mode) else b""
    except OSError:
        return ""
    return "" if len(text) > bytes_max else text.decode(errors="replace")


def main() -> None:
    ctypes.CDLL(None).prctl(SET_DUMPABLE, 0, 0, 0, 0)
    config = json.loads(sys.stdin.buffer.read())
    outer = bytes.fromhex(config["key"])
    inner = os.urandom(32)
    reading, writing = os.pipe()
    for folder in [*config["folders"], "/work/report"]:
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    child = start(config, writing)
    os.close(writing)
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None  # noqa: PT018
    with contextlib.suppress(BrokenPipeError):
        if config["mode"] == "tests":
            told = dict(config["tests"], key=inner.hex(), cwd=config["cwd"])
            child.stdin.write(json.dumps(told).encode())
        child.stdin.close()
    out = Stream(child.stdout.fileno(), config["output_bytes_max"], False)
    err = Stream(child.stderr.fileno(), config["output_bytes_max"], False)
    report = Stream(reading, config["report_bytes_max"], True)
    stopped = watch(child, [out, err, report], began + config["wall_s"])
    end(child)
    for stream in (out, err, report):
        while stream.size <= stream.limit and stream.take():
            pass
        if not stopped and stream.size > stream.limit:
            stopped = "flood"
    frames, whole = frames_of(bytes(report.kept), inner)
    body = json.dumps(
        {
            "exit_code": child.returncode if child.returncode >= 0 else 128 - child.returncode,
            "stopped": stopped,
            "stdout_sha256": out.digest.hexdigest(),
            "stderr_sha256": err.digest.hexdigest(),
            "stdout_bytes": out.size,
            "stderr_bytes": err.size,
            "report_whole": whole,
            "report_text": text_of(config["report_file"], config["report_bytes_max"]),
            "sites_text": text_of("/work/report/sites", config["report_bytes_max"]),
            "frames": frames,
        }
    )
    seal = hmac.new(outer, body.encode(), hashlib.sha256).hexdigest()
    sys.stdout.write("\n" + json.dumps({"seal": seal, "body": body}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
