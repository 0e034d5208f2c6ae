"""A shell in a folder of its own, with a node's address and home, as a reader of the documentation has it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from tests.docs.pages import ROOT
from tests.operations import warm

_MARK = "---done---"
_WARM_CHOIR = Path(__file__).with_name("warm_choir.py")


class Shell:
    """One bash that runs command after command; what it started ends with it."""

    def __init__(self, folder: Path) -> None:
        self.port = _free_port()
        self._folder = folder
        for name in ("auditor", "examples"):
            (folder / name).symlink_to(ROOT / name)
        keep = {name: value for name, value in os.environ.items() if not name.startswith(("CHOIR_", "PG", "PYTEST_"))}
        programs = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        self._environment = keep | {
            "PATH": programs,
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            "CHOIR_HOME": str(folder / "home"),
            "CHOIR_BIND": f"127.0.0.1:{self.port}",
        }
        if warm.usable({}):
            self._environment |= {"PATH": f"{_warm_programs()}:{programs}", "WARM_CHOIR": str(warm.server())}
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # so that what a page left running can be ended with it
        )

    def run(self, command: str) -> tuple[list[str], int]:
        """Its output, standard error included, and its exit code, which `echo $?` sees too."""
        assert self._bash.stdin is not None
        assert self._bash.stdout is not None
        self._bash.stdin.write(f'{command}\nstatus=$?; printf "\\n{_MARK} $status\\n"; (exit $status)\n')
        self._bash.stdin.flush()
        lines: list[str] = []
        for line in self._bash.stdout:
            if line.startswith(_MARK):
                break
            lines.append(line.rstrip())
        else:
            raise AssertionError(f"the shell ended: {lines}")
        assert lines
        assert lines[-1] == "", lines
        lines.pop()  # the line end before the mark, after whatever the command printed last
        if lines and lines[-1] == "":
            lines.pop()
        return lines, int(line.split()[1])

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._bash.stdin is not None
        self._bash.stdin.close()
        self._bash.wait(timeout=60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._bash.pid, signal.SIGTERM)
        for running in self._folder.glob("*/node.json"):  # there while a node runs
            self._down(running.parent)

    def _down(self, home: Path) -> None:
        subprocess.run(["choir", "down", "--home", home], env=self._environment, check=True, stdout=subprocess.DEVNULL)


def _warm_programs() -> Path:
    """A folder with a `choir` that does not load what another process has loaded already."""
    folder = warm.server().parent
    program = folder / "choir"
    if not program.exists():
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S {_WARM_CHOIR} "$@"\n')
        program.chmod(0o755)
    return folder


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
