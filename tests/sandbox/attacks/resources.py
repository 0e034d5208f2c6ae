"""Attacks that take too much, run too long, or leave something behind."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from choir.sandbox.model import EndReason, Limits, Result
from tests.sandbox.attacks.model import PROOF_S_MAX, PYTHON, Attack, left_processes
from tests.sandbox.attacks.scene import Scene

_MEGABYTE = 1_000_000


def _ended_by(*reasons: EndReason) -> object:
    def check(result: Result, scene: Scene) -> str:
        return "" if result.ended in reasons else f"it ended by {result.ended}"

    return check


def _stays_small(result: Result, scene: Scene) -> str:
    if len(result.stdout) > result.limits.output_bytes:
        return "more was kept than the limit"
    return "" if result.stdout_truncated else "nothing was said about the cut"


def _slow(scene: Scene) -> dict[str, str]:
    """The environment of a proof that has to be caught in the act."""
    return {**os.environ, **scene.environment, "BAIT_SLOW": "1"}


def _keeps_all(attack: Attack) -> bool:
    done = subprocess.run([PYTHON, "-c", attack.program], capture_output=True, timeout=PROOF_S_MAX, check=False)
    return len(done.stdout) + len(done.stderr) > 200 * _MEGABYTE


def _nobody_left(result: Result, scene: Scene) -> str:
    time.sleep(0.2)
    left = left_processes(scene.marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return f"{len(left)} processes are left" if left else ""


def _leaves_a_process(attack: Attack, scene: Scene) -> bool:
    command = [PYTHON, "-c", attack.program]
    subprocess.run(command, env=_slow(scene), stdout=subprocess.DEVNULL, timeout=PROOF_S_MAX, check=False)
    until = time.monotonic() + 10
    while not left_processes(scene.marker) and time.monotonic() < until:  # it may not be as far yet
        time.sleep(0.1)
    return bool(_nobody_left(None, scene))  # type: ignore[arg-type]


def _comes_back(result: Result, scene: Scene) -> str:
    left = _nobody_left(result, scene)
    return left or ("" if result.usage.wall_s < 10 else "the host waited for the pipe")


def _hangs_a_simple_host(attack: Attack, scene: Scene) -> bool:
    """A host that reads until the pipe ends waits for whoever holds it."""
    pipe = subprocess.PIPE
    child = subprocess.Popen([PYTHON, "-c", attack.program], env=_slow(scene), stdout=pipe, stdin=pipe)
    try:
        child.communicate(b"x" * 5 * _MEGABYTE, timeout=3)
    except subprocess.TimeoutExpired:
        return True
    finally:
        child.kill()
        _nobody_left(None, scene)  # type: ignore[arg-type]
        child.wait()
        for end in (child.stdout, child.stdin):
            assert end is not None
            end.close()
    return False


def _runs_on(attack: Attack, scene: Scene) -> bool:
    command = [PYTHON, "-c", attack.program]
    child = subprocess.Popen(command, env=_slow(scene), stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        child.wait(1.5)
    except subprocess.TimeoutExpired:
        return True
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    return False


def _shared_memory(result: Result, scene: Scene) -> str:
    left = []
    for kind, option in (("shm", "-m"), ("sem", "-s"), ("msg", "-q")):
        ids = [line.split()[:2] for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]]
        left += [(option, number) for key, number in ids if int(key) == scene.key]
    for option, number in left:
        subprocess.run(["ipcrm", option, number], check=False)
    files = list(Path("/dev/shm").glob(f"{scene.marker}*"))
    for path in files:
        path.unlink()
    return "shared memory is left on the host" if left or files else ""


def _leaves_shared_memory(attack: Attack, scene: Scene) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        command = [PYTHON, "-c", attack.program]
        subprocess.run(command, cwd=folder, env=_slow(scene), timeout=PROOF_S_MAX, check=False, capture_output=True)
    return bool(_shared_memory(None, scene))  # type: ignore[arg-type]


def _right_code(result: Result, scene: Scene) -> str:
    return "" if result.exit_code == 5 and result.usage.wall_s < 10 else f"it ended with code {result.exit_code}"


def _fills_memory_with_files(attack: Attack, scene: Scene) -> bool:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        command = [PYTHON, "-c", attack.program]
        done = subprocess.run(
            command, cwd=folder, env=_slow(scene), timeout=PROOF_S_MAX, check=False, capture_output=True
        )
    return b"ESCAPED" in done.stdout


RESOURCES = (
    Attack(
        "fork-bomb",
        "make 200 processes where 32 are allowed",
        """
made, (stay, go) = 0, os.pipe()
try:
    for _ in range(200):
        if os.fork() == 0:
            os.close(go); os.read(stay, 1); os._exit(0)
        made += 1
except OSError as error:
    print("stopped at", made, error.strerror)
if made == 200: escaped(made, "processes")
""",
        Limits(processes=32, memory_bytes=400 * _MEGABYTE),
        needs=("processes",),
    ),
    Attack(
        "thread-bomb",
        "make 200 threads where 32 are allowed",
        """
threading.stack_size(65536)
made = 0
try:
    for _ in range(200):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
        made += 1
except RuntimeError as error:
    print("stopped at", made, error)
if made == 200: escaped(made, "threads")
os._exit(0)
""",
        Limits(processes=32, memory_bytes=400 * _MEGABYTE),
        needs=("processes",),
    ),
    Attack(
        "memory-hog",
        "use 300 MB where 100 MB are allowed",
        "held = bytearray(os.urandom(1000) * 300_000); escaped(len(held), 'bytes')",
        Limits(memory_bytes=100 * _MEGABYTE),
        needs=("memory",),
    ),
    Attack(
        "memory-shared-out",
        "use 300 MB in five processes, each below the limit of 100 MB",
        """
# Each holds what it has until all have said that they have it, or are dead: the pipe ends then.
(read, write), (stay, go) = os.pipe(), os.pipe()
for _ in range(5):
    if os.fork() == 0:
        os.close(go)
        held = bytearray(os.urandom(1000) * 60_000)
        os.write(write, b"x"); os.close(write); os.read(stay, 1); os._exit(0)
os.close(write)
said = b""
while part := os.read(read, 10): said += part
if len(said) == 5: escaped("five times 60 MB")
""",
        Limits(memory_bytes=100 * _MEGABYTE),
        needs=("memory",),
    ),
    Attack(
        "memory-in-memfd",
        "keep 300 MB in a memory file, which no rlimit counts",
        """
fd = os.memfd_create("hog")
for _ in range(300): os.write(fd, bytes(1_000_000))
escaped("300 MB in memfd")
""",
        Limits(memory_bytes=100 * _MEGABYTE, disk_bytes=1000 * _MEGABYTE),
    ),
    Attack(
        "memory-in-shm",
        "keep 300 MB in /dev/shm",
        """
with open("/dev/shm/" + E["BAIT_MARKER"] + "-hog", "wb") as f:
    try:
        for _ in range(300): f.write(bytes(1_000_000))
        f.flush(); escaped("300 MB in /dev/shm")
    finally:
        os.unlink("/dev/shm/" + E["BAIT_MARKER"] + "-hog")
""",
        Limits(memory_bytes=100 * _MEGABYTE, disk_bytes=50 * _MEGABYTE),
        needs=("memory",),
    ),
    Attack(
        "disk-filler",
        "write 60 MB to the workspace where 20 MB are allowed",
        """
for n in range(6):
    with open(f"fill{n}", "wb") as f:
        for _ in range(10): f.write(bytes(1_000_000))
escaped("60 MB")
""",
        Limits(disk_bytes=20 * _MEGABYTE),
        needs=("disk",),
    ),
    Attack(
        "disk-filler-tmp",
        "write 60 MB to /tmp where 20 MB are allowed",
        """
import tempfile
with tempfile.TemporaryDirectory(dir="/tmp") as d:
    for n in range(6):
        with open(f"{d}/fill{n}", "wb") as f:
            for _ in range(10): f.write(bytes(1_000_000))
    escaped("60 MB")
""",
        Limits(disk_bytes=20 * _MEGABYTE),
        needs=("disk",),
    ),
    Attack(
        "inode-filler",
        "make 150 000 empty files within 60 MB of memory",
        """
for n in range(150):
    os.mkdir(f"d{n}")
    for m in range(1000): os.close(os.open(f"d{n}/{m}", os.O_CREAT | os.O_WRONLY))
escaped("150 000 files")
""",
        Limits(memory_bytes=60 * _MEGABYTE, wall_s=20, cpu_s=20),
        needs=("memory",),
        proof=_fills_memory_with_files,
    ),
    Attack(
        "endless-output",
        "write 200 MB to stdout and stderr",
        """
piece = b"x" * 1_000_000
for _ in range(100): os.write(1, piece); os.write(2, piece)
""",
        Limits(output_bytes=100_000, wall_s=20),
        contained=_stays_small,
        proof=lambda attack, _: _keeps_all(attack),
        proof_text="a host that keeps all output keeps 200 MB",
    ),
    Attack(
        "endless-loop",
        "burn CPU for ever",
        "while True: pass",
        Limits(cpu_s=1, wall_s=20),
        needs=("cpu",),
        contained=_ended_by(EndReason.CPU),  # type: ignore[arg-type]
        proof=_runs_on,
    ),
    Attack(
        "endless-loop-shared-out",
        "burn CPU in four processes that each stay below the limit",
        """
for _ in range(4):
    if os.fork() == 0:
        while True: pass
while True: time.sleep(1)
""",
        Limits(cpu_s=1, cores_milli=2000, wall_s=20),
        needs=("cpu",),
        contained=_ended_by(EndReason.CPU),  # type: ignore[arg-type]
        proof=_runs_on,
    ),
    Attack(
        "endless-sleep",
        "wait for ever, deaf to signals",
        """
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
time.sleep(1000)
""",
        Limits(wall_s=3),
        contained=_ended_by(EndReason.TIMEOUT),  # type: ignore[arg-type]
        proof=_runs_on,
    ),
    Attack(
        "leftover-daemon",
        "leave a daemon in a session of its own behind",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2): os.close(fd)
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(30)", E["BAIT_MARKER"]])
    os._exit(0)
os.wait()
""",
        contained=_nobody_left,
        proof=_leaves_a_process,
    ),
    Attack(
        "leftover-bomb",
        "fork without end, so that each one killed is replaced at once",
        """
bomb = '''
import os, sys, time
left = int(sys.argv[2])
while left:
    left -= 1
    try: os.fork()
    except OSError: pass
time.sleep(20)
'''
if os.fork() == 0:
    os.setsid()
    for fd in (0, 1, 2): os.close(fd)
    os.execv(sys.executable, [sys.executable, "-c", bomb, E["BAIT_MARKER"], "4" if E.get("BAIT_SLOW") else "-1"])
time.sleep(1)
""",
        Limits(processes=100),
        contained=_nobody_left,
        proof=_leaves_a_process,
    ),
    Attack(
        "held-pipes",
        "exit, while a child holds the output pipes open",
        """
if os.fork() == 0:
    os.setsid()
    os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(30)", E["BAIT_MARKER"]])
os._exit(0)
""",
        contained=_comes_back,
        proof=_hangs_a_simple_host,
        proof_text="a host that reads until the end of the pipe hangs",
    ),
    Attack(
        "unread-stdin",
        "never read 5 MB of input",
        "time.sleep(5 if E.get('BAIT_SLOW') else 0.3); sys.exit(5)",
        contained=_right_code,
        proof=_hangs_a_simple_host,
        proof_text="a host that writes all input first hangs",
        more=lambda _: {"stdin": b"x" * 5 * _MEGABYTE},
    ),
    Attack(
        "closed-pipes",
        "close all pipes at once and go on working",
        "[os.close(fd) for fd in (0, 1, 2)]; time.sleep(5 if E.get('BAIT_SLOW') else 0.5); os._exit(5)",
        contained=_right_code,
        proof=_runs_on,
        proof_text="the end of the pipes is not the end of the program",
    ),
    Attack(
        "leftover-shared-memory",
        "leave System V memory, semaphores, queues and POSIX shared memory on the host",
        """
key = int(E["BAIT_KEY"])
libc.shmget(key, 1_000_000, 0o1666), libc.semget(key, 5, 0o1666), libc.msgget(key, 0o1666)
try: open("/dev/shm/" + E["BAIT_MARKER"], "w").write("x")
except OSError as error: print(error)
""",
        contained=_shared_memory,
        proof=_leaves_shared_memory,
    ),
)
