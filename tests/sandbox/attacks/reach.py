"""Attacks that reach for the host's files, network, processes and secrets."""

from __future__ import annotations

import os
import pty
import subprocess
import tempfile
from pathlib import Path

from choir.sandbox.model import Mount, Result, Tier
from choir.sandbox.tiers.base import Machine
from tests.sandbox.attacks.model import PYTHON, Attack, unconfined
from tests.sandbox.attacks.scene import Scene

_SHARES_NETWORK = "this tier has the host's network"


def _sees_processes(machine: Machine, tier: Tier) -> str:
    shares = tier is Tier.LOCAL and not (machine.is_root or machine.own_namespaces)
    return "an ordinary user without user namespaces sees the host's processes" if shares else ""


def _follows_links(attack: Attack, scene: Scene) -> bool:
    """A host that opens results by name follows the payload's links."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [PYTHON, "-c", attack.program], cwd=folder, env={**os.environ, **scene.environment}, timeout=20, check=True
        )
        found = [path for path in Path(folder).rglob("*") if path.is_file()]
        return any(scene.secret in path.read_text() for path in found)


def _hangs_on_a_fifo(attack: Attack, scene: Scene) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([PYTHON, "-c", attack.program], cwd=folder, timeout=20, check=True)
        try:
            subprocess.run(["cat", "result"], cwd=folder, timeout=1, capture_output=True, check=False)
        except subprocess.TimeoutExpired:
            return True
    return False


def _has_network() -> bool:
    return any(path.name != "lo" for path in Path("/sys/class/net").iterdir())


def _signalled(result: Result, scene: Scene) -> str:
    return "the victim was signalled" if scene.hit.exists() else ""


def _inherits(attack: Attack, scene: Scene) -> bool:
    fd = os.open(scene.file, os.O_RDONLY)
    os.set_inheritable(fd, True)
    try:
        done = subprocess.run([PYTHON, "-c", attack.program], close_fds=False, capture_output=True, check=False)
    finally:
        os.close(fd)
    return b"ESCAPED" in done.stdout


def _has_a_terminal(attack: Attack, scene: Scene) -> bool:
    """The same program in a terminal opens it."""
    pid, fd = pty.fork()
    if pid == 0:
        os.execv(PYTHON, [PYTHON, "-c", attack.program])  # noqa: S606
    said = b""
    try:
        while piece := os.read(fd, 1000):
            said += piece
    except OSError:
        pass
    os.close(fd)
    os.waitpid(pid, 0)
    return b"ESCAPED" in said


def _suid_as_user(attack: Attack, scene: Scene) -> bool:
    done = subprocess.run(
        ["setpriv", "--reuid", "1879999999", "--regid", "1879999999", "--clear-groups", str(scene.suid_folder / "id")],
        capture_output=True,
        check=False,
    )
    return b"euid=0" in done.stdout


REACH = (
    Attack(
        "host-file-read",
        "read a file of the host that everyone may read",
        "print(open(E['BAIT_FILE']).read())",
    ),
    Attack(
        "host-file-by-proc-root",
        "reach the host's files through /proc/*/root and /proc/*/cwd",
        """
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    for link in ("root", "cwd"):
        try: print(open(f"/proc/{pid}/{link}{E['BAIT_FILE']}").read()); break
        except OSError: pass
""",
    ),
    Attack(
        "host-folders",
        "list the host's homes and data",
        """
for path in ("/root", "/home", "/var/lib", "/boot", "/sys/class/net", "/run"):
    try:
        found = [n for n in os.listdir(path) if n not in ("choir", "lo")]
        if found: escaped(path, found[:3])
    except OSError: pass
""",
    ),
    Attack(
        "write-outside",
        "write to an open folder of the host, to /usr and to /etc",
        """
for path in (E["BAIT_FOLDER"], "/usr/local", "/etc", "/usr/bin", "/"):
    try:
        open(path + "/choir-attack", "w").close(); os.unlink(path + "/choir-attack"); escaped(path)
    except OSError: pass
""",
    ),
    Attack(
        "symlink-escape",
        "hand out links to the host's files and folders as results",
        """
os.symlink(E["BAIT_FILE"], "result")
os.symlink(os.path.dirname(E["BAIT_FILE"]), "folder")
os.symlink("/proc/self/root" + E["BAIT_FILE"], "magic")
""",
        proof=_follows_links,
        proof_text="a host that opens results by name reads its own secret",
        more=lambda _: {"collect": ("result", "folder/secret", "magic", ".")},
    ),
    Attack(
        "hard-link-escape",
        "hard-link a file of the host into the workspace",
        """
os.link(E["BAIT_FILE"], "result"); print(open("result").read())
""",
        more=lambda _: {"collect": ("result",)},
    ),
    Attack(
        "fifo-as-result",
        "hand out a pipe that nobody writes to as a result",
        "os.mkfifo('result')",
        proof=_hangs_on_a_fifo,
        proof_text="a host that reads results by name hangs",
        more=lambda _: {"collect": ("result", ".")},
    ),
    Attack(
        "network-tcp",
        "connect to a port of the host",
        "socket.create_connection(('127.0.0.1', int(E['BAIT_TCP'])), 3).recv(5); escaped('tcp')",
        not_for={Tier.LOCAL: _SHARES_NETWORK},
    ),
    Attack(
        "network-udp-dns",
        "ask a name server on the host",
        """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
s.sendto(b"\\x12\\x34\\x01\\0\\0\\1\\0\\0\\0\\0\\0\\0\\4name\\4test\\0\\0\\1\\0\\1", ("127.0.0.1", int(E["BAIT_UDP"])))
s.recv(512); escaped("dns")
""",
        not_for={Tier.LOCAL: _SHARES_NETWORK},
    ),
    Attack(
        "network-interfaces",
        "find a network interface other than loopback",
        """
found = [name for _, name in socket.if_nameindex() if name != "lo"]
if found: escaped(found)
""",
        not_for={Tier.LOCAL: _SHARES_NETWORK},
        proof=lambda attack, scene: unconfined(attack, scene) or not _has_network(),
        proof_text="succeeds without a sandbox, if the host has a network at all",
    ),
    Attack(
        "abstract-socket",
        "connect to an abstract Unix socket of the host",
        """
s = socket.socket(socket.AF_UNIX); s.connect("\\0" + E["BAIT_ABSTRACT"]); escaped(s.recv(5))
""",
    ),
    Attack(
        "unix-socket",
        "connect to a Unix socket of the host, such as a container daemon's",
        "s = socket.socket(socket.AF_UNIX); s.connect(E['BAIT_UNIX']); escaped(s.recv(5))",
        not_for={Tier.LOCAL: "Landlock does not look at connecting to sockets by path"},
    ),
    Attack(
        "environment-leak",
        "find the host's secrets in the environment",
        """
print(dict(os.environ))
for pid in (os.getpid(), os.getppid(), 1):
    try: print(open(f"/proc/{pid}/environ").read())
    except OSError: pass
""",
    ),
    Attack(
        "proc-environ",
        "read the environment of any process in /proc",
        """
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    try: print(open(f"/proc/{pid}/environ").read())
    except OSError: pass
""",
    ),
    Attack(
        "proc-cmdline",
        "see the command lines of the host's processes",
        """
for pid in [p for p in os.listdir("/proc") if p.isdigit()]:
    if "victim" + "-hit" in open(f"/proc/{pid}/cmdline").read(): escaped(pid)
""",
        excused=_sees_processes,
    ),
    Attack(
        "inherited-descriptors",
        "use a descriptor that the host left open",
        """
for name in os.listdir("/proc/self/fd"):
    try:
        if int(name) > 2 and not os.readlink(f"/proc/self/fd/{name}").startswith("/proc/"):
            escaped(name, os.readlink(f"/proc/self/fd/{name}"))
    except OSError: pass
""",
        proof=_inherits,
        proof_text="succeeds in a child that inherits",
    ),
    Attack(
        "terminal",
        "open the host's terminal to push input into it",
        """
import fcntl
fd = os.open("/dev/tty", os.O_RDWR); escaped("a terminal")
""",
        proof=_has_a_terminal,
        proof_text="succeeds in a terminal",
    ),
    Attack(
        "signal",
        "signal a process of the host",
        "os.kill(int(E['BAIT_PID']), signal.SIGUSR1); time.sleep(0.2)",
        contained=_signalled,
    ),
    Attack(
        "ptrace",
        "trace a process of the host",
        """
if libc.ptrace(16, int(E["BAIT_PID"]), None, None) == 0:
    os.waitpid(int(E["BAIT_PID"]), 0x40000000); libc.ptrace(17, int(E["BAIT_PID"]), None, None); escaped("traced")
""",
    ),
    Attack(
        "process-memory",
        "read the memory of a process of the host",
        """
pid = int(E["BAIT_PID"])
start = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
with open(f"/proc/{pid}/mem", "rb") as f:
    f.seek(start); escaped(f.read(4))
""",
    ),
    Attack(
        "set-uid",
        "run a set-uid program",
        """
for path in ("/bait/id", E["BAIT_FILE"].replace("secret", "suid/id")):
    try:
        if b"euid=0" in subprocess.run([path], capture_output=True).stdout: escaped(path)
    except OSError: pass
try: os.setuid(0); escaped("setuid(0)")
except OSError: pass
""",
        proof=_suid_as_user,
        proof_text="the same program gives an ordinary user root's rights",
        needs_root=True,
        more=lambda scene: {"mounts": (Mount(scene.suid_folder, "/bait"),)},
    ),
    Attack(
        "state-folder",
        "find the node's own folders",
        """
for path in ("/run/choir-sandbox/uids", "/var/lib/choir", os.path.dirname(os.path.dirname(E["BAIT_FILE"]))):
    try:
        found = os.listdir(path)
        if found: escaped(path, found[:3])
    except OSError: pass
""",
    ),
)
