"""The bait on the host: files, sockets, listeners and a victim process that an escaped payload would reach."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

_VICTIM = """
import os, signal, sys, time
signal.signal(signal.SIGUSR1, lambda *_: open(sys.argv[1], "w").write("hit"))
print("ready", flush=True)
for _ in range(6000):
    open("/usr/bin/cksum", "rb").close()
    time.sleep(0.1)
"""


class Scene:
    """Everything an attack can aim at; `touched` says what was reached."""

    def __init__(self) -> None:
        self.secret = f"bait-{secrets.token_hex(12)}"
        self.marker = f"choir-attack-{secrets.token_hex(6)}"  # what is left behind carries it
        self.key = secrets.randbelow(2**30) + 1
        self.folder = Path(tempfile.mkdtemp(prefix="choir-bait-"))
        self.folder.chmod(0o755)
        self.file = self.folder / "secret"
        self.file.write_text(self.secret)
        self.file.chmod(0o644)
        self.open_folder = self.folder / "open"
        self.open_folder.mkdir()
        self.open_folder.chmod(0o777)
        self.suid_folder = self.folder / "suid"
        self.suid_folder.mkdir()
        self.touched: set[str] = set()
        self._sockets = [self._tcp(), self._unix(), self._abstract()]
        self._dns = self._udp()
        self._threads = [threading.Thread(target=self._accept, args=(s, n), daemon=True) for s, n in self._sockets]
        self._threads.append(threading.Thread(target=self._answer, daemon=True))
        for thread in self._threads:
            thread.start()
        self.hit = self.open_folder / "victim-hit"
        self.victim = self._start_victim()
        os.environ["CHOIR_TEST_BAIT"] = self.secret
        self._suid()

    @property
    def environment(self) -> dict[str, str]:
        """Where the bait is. The secret itself is never told."""
        return {
            "BAIT_FILE": str(self.file),
            "BAIT_FOLDER": str(self.open_folder),
            "BAIT_TCP": str(self._sockets[0][0].getsockname()[1]),
            "BAIT_UDP": str(self._dns.getsockname()[1]),
            "BAIT_UNIX": str(self.folder / "socket"),
            "BAIT_ABSTRACT": self._abstract_name,
            "BAIT_PID": str(self.victim.pid),
            "BAIT_MARKER": self.marker,
            "BAIT_KEY": str(self.key),
            "BAIT_HOST": os.uname().nodename,
        }

    def reset(self) -> None:
        self.touched.clear()
        for path in self.open_folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def close(self) -> None:
        os.environ.pop("CHOIR_TEST_BAIT", None)
        self.victim.kill()
        self.victim.wait()
        for listening, _ in self._sockets:
            listening.close()
        self._dns.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _tcp(self) -> tuple[socket.socket, str]:
        listening = socket.create_server(("127.0.0.1", 0))
        return listening, "tcp"

    def _unix(self) -> tuple[socket.socket, str]:
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(self.folder / "socket"))
        (self.folder / "socket").chmod(0o777)
        listening.listen()
        return listening, "unix"

    def _abstract(self) -> tuple[socket.socket, str]:
        self._abstract_name = f"choir-bait-{secrets.token_hex(6)}"
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(f"\0{self._abstract_name}")
        listening.listen()
        return listening, "abstract"

    def _udp(self) -> socket.socket:
        listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        listening.bind(("127.0.0.1", 0))
        return listening

    def _accept(self, listening: socket.socket, name: str) -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            self.touched.add(name)
            connection.sendall(b"hello")
            connection.close()

    def _answer(self) -> None:
        while True:
            try:
                question, sender = self._dns.recvfrom(2048)
            except OSError:
                return
            self.touched.add("udp")
            self._dns.sendto(question, sender)

    def _start_victim(self) -> subprocess.Popen[bytes]:
        environment = {"VICTIM_SECRET": self.secret, "PATH": os.environ.get("PATH", "")}
        victim = subprocess.Popen(
            [sys.executable, "-c", _VICTIM, str(self.hit)], env=environment, stdout=subprocess.PIPE
        )
        assert victim.stdout is not None
        victim.stdout.readline()
        return victim

    def _suid(self) -> None:
        """A set-uid copy of id(1), which shows whose rights it runs with."""
        copy = self.suid_folder / "id"
        shutil.copy("/usr/bin/id", copy)
        copy.chmod(0o4755)
