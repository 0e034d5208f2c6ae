"""What holds in every tier: honest programs work, no text is taken for ours, all that can be written is counted."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from choir.sandbox import runner
from choir.sandbox.model import EndReason, InFile, Limits, Mount, Result, Spec, StartFailed, Tier, TierMissing, Trust
from choir.sandbox.service import Sandboxes
from choir.sandbox.tiers import drivers
from tests.sandbox.attacks.model import PYTHON, TIERS
from tests.sandbox.conftest import POLICY

every_tier = pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.label)
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can arrange it")

# What ordinary programs do.
HONEST = {
    "pty": "import pty, os; a, b = pty.openpty(); os.write(b, b'x'); assert os.read(a, 1) == b'x' and os.ttyname(b)",
    "name": "import os, pwd; assert pwd.getpwuid(os.getuid()).pw_name == 'payload'",
    "home": "import os, pathlib; assert os.access(pathlib.Path.home(), os.W_OK)",
    "semaphore": "import multiprocessing as m; s = m.Semaphore(2); assert s.acquire(timeout=5)",
    "process-pool": "import concurrent.futures as f; assert list(f.ProcessPoolExecutor(2).map(abs, [-1])) == [1]",
    "shared-memory": "from multiprocessing import shared_memory as s; m = s.SharedMemory(create=True, size=99)\n"
    "m.buf[0] = 7; m.close(); m.unlink()",
    "tmp": "import tempfile; tempfile.mkdtemp(dir='/tmp'); tempfile.TemporaryFile(); open('/tmp/x', 'w').write('x')",
    "git": "import subprocess as s; r = lambda *a: s.run(('git', *a), check=True, capture_output=True)\n"
    "r('init', '-q'); open('f', 'w').write('x'); r('add', 'f')\n"
    "r('-c', 'user.name=n', '-c', 'user.email=e@x', 'commit', '-qm', 'm'); r('log'); r('status')",
    "run-own-program": "import subprocess as s, os; open('p', 'w').write('#!/bin/sh\\nexit 3\\n')\n"
    "os.chmod('p', 0o755); assert s.run(['./p']).returncode == 3",
}


def python(sandboxes: Sandboxes, tier: Tier, code: str, **more: object) -> Result:
    if not sandboxes.capabilities(tier).works:
        pytest.skip(f"{tier.label} does not work here")
    spec = Spec(argv=(PYTHON, "-c", code), tier=tier, trust=Trust.OWN, **more)  # type: ignore[arg-type]
    return sandboxes.run(spec)


@needs_root
@every_tier
def test_honest_programs_work(sandboxes: Sandboxes, tier: Tier) -> None:
    """All in one run, each in a process and a folder of its own."""
    code = f"""
import os, subprocess, sys
for name, code in {HONEST!r}.items():
    os.mkdir(name)
    done = subprocess.run([sys.executable, "-c", code], cwd=name, capture_output=True)
    if done.returncode: print(name, done.stderr.decode()[-300:])
"""
    assert python(sandboxes, tier, code).stdout.decode() == ""


@needs_root
@every_tier
def test_a_program_runs_in_a_terminal_of_its_own(sandboxes: Sandboxes, tier: Tier) -> None:
    if tier is Tier.GVISOR:
        pytest.skip("the terminals of gVisor's kernel do not tell the end of their last program, and `spawn` waits")
    code = "import pty; print(pty.spawn(['/bin/sh', '-c', 'test -t 0 && echo inside']))"
    assert python(sandboxes, tier, code).stdout == b"inside\r\n0\n"


@every_tier
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("unshare: sigprocmask unblock failed: Invalid argument\n", 1),
        ("choir: landlock: no\n", 125),
        ("mount: x\n", 125),
    ],
)
def test_what_a_payload_says_is_never_taken_for_our_own_words(
    sandboxes: Sandboxes, tier: Tier, line: str, code: int
) -> None:
    result = python(sandboxes, tier, f"import os; os.write(2, {line.encode()!r}); os._exit({code})")
    assert (result.exit_code, result.ended, result.stderr) == (code, EndReason.EXITED, line.encode())


@every_tier
def test_a_payload_holds_no_descriptor_by_which_we_are_told(sandboxes: Sandboxes, tier: Tier) -> None:
    code = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd') if int(n) > 3))"
    assert python(sandboxes, tier, code).stdout == b"[]\n"


def test_the_reason_of_a_failed_start_steers_no_terminal(sandboxes: Sandboxes, tmp_path: Path) -> None:
    known = sandboxes.capabilities(Tier.LOCAL)
    if not known.works:
        pytest.skip("the local tier does not work here")
    broken = tmp_path / "python3"
    broken.write_text("#!/bin/sh\nprintf '\\033]0;title\\007\\033[31mred' >&2; exit 9\n")
    broken.chmod(0o755)
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    machine = sandboxes.host.machine
    host = replace(sandboxes.host, machine=replace(machine, programs={**machine.programs, "python3": str(broken)}))
    spec = Spec(argv=("true",), tier=Tier.LOCAL, trust=Trust.OWN)
    with pytest.raises(StartFailed) as refusal:
        runner.run(host, drivers()[Tier.LOCAL], known, spec, sandboxes.new_name())
    assert "could not be started" in str(refusal.value)
    assert str(refusal.value).isprintable()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    """A service whose runs may have few files and few terminals."""
    policy = replace(POLICY, inodes=100, terminals=3)
    with Sandboxes(tmp_path_factory.mktemp("small"), policy) as service:
        yield service


@needs_root
@every_tier
def test_the_number_of_files_is_limited_over_all_places(small: Sandboxes, tier: Tier) -> None:
    code = """
made, places = 0, [os.getcwd(), '/tmp', '/dev/shm']
try:
    for n in range(90):
        for place in places:
            open(f'{place}/n{n}', 'w').close(); made += 1
except OSError as error: print(error.errno)
print(made)
"""
    said = python(small, tier, "import os" + code).stdout.split()
    assert said[0] == b"28"  # ENOSPC
    assert 50 <= int(said[1]) <= 110  # and the folders of the stage, which it may not use up


@needs_root
@every_tier
def test_disk_is_one_sum_over_all_places(sandboxes: Sandboxes, tier: Tier) -> None:
    code = """
import os
written = 0
for place in (os.getcwd(), '/tmp', '/dev/shm'):
    try:
        with open(place + '/f', 'wb', 0) as f:
            while True: written += f.write(bytes(100_000))
    except OSError as error: pass
print(written)
"""
    limits = Limits(disk_bytes=5_000_000)
    result = python(sandboxes, tier, code, limits=limits)
    assert 4_000_000 < int(result.stdout) <= 5_100_000, result


@needs_root
@every_tier
def test_terminals_are_few(small: Sandboxes, tier: Tier) -> None:
    if tier is Tier.GVISOR:
        pytest.skip("gVisor's own kernel has terminals of its own; the host's are not touched")
    code = "import os\nmade = 0\ntry:\n  while True: os.openpty(); made += 1\nexcept OSError: print(made)"
    assert python(small, tier, code).stdout == b"3\n"


@needs_root
def test_what_is_mounted_below_tmp_is_seen_at_its_place_in_the_local_tier(sandboxes: Sandboxes, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "f").write_text("seen")
    for folder in (tmp_path / "data", tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    (tmp_path / "other").write_text("not lent")
    code = f"import os; print(open('{tmp_path}/data/f').read(), os.path.exists('{tmp_path}/other'))"
    mounts = (Mount(tmp_path / "data", str(tmp_path / "data")),)
    assert python(sandboxes, Tier.LOCAL, code, mounts=mounts).stdout == b"seen False\n"


@needs_root
@every_tier
def test_files_still_go_in_and_out(sandboxes: Sandboxes, tier: Tier) -> None:
    given = (InFile("a", b"1"),)
    result = python(sandboxes, tier, "open('b', 'w').write(open('a').read() * 2)", files=given, collect=("b",))
    assert [item.content for item in result.files] == [b"11"], result.stderr


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """A small image in podman's store, made of the host's shell."""
    if os.geteuid() != 0 or shutil.which("podman") is None:
        pytest.skip("needs root and podman")
    name = f"localhost/choir-test-{os.getpid()}:1"
    listed = subprocess.run(["ldd", "/usr/bin/dash", "/usr/bin/id"], capture_output=True, text=True, check=True).stdout
    libraries = {word for word in listed.split() if word.startswith("/") and not word.endswith(":")}
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as made:
        for source, target in (
            ("/usr/bin/dash", "bin/sh"),
            ("/usr/bin/id", "bin/id"),
            *((x, x[1:]) for x in libraries),
        ):
            made.add(Path(source).resolve(), target)
    subprocess.run(["podman", "import", "-", name], input=tar.getvalue(), capture_output=True, check=True)
    yield name
    subprocess.run(["podman", "rmi", name], capture_output=True, check=True)


def test_an_image_by_its_name_runs_by_podman_and_leaves_nothing(sandboxes: Sandboxes, image: str) -> None:
    script = "id -u; echo a >/tmp/a && echo b >/dev/shm/b && echo c >/work/c; echo d >/run/d; exit 3"
    result = sandboxes.run(Spec(argv=("sh", "-c", script), image=image, collect=("c",)))
    assert (result.tier, result.exit_code) == (Tier.CONTAINER, 3), result.stderr
    assert result.engine.startswith("podman")
    assert int(result.stdout) >= sandboxes.policy.uid_first
    assert [item.content for item in result.files] == [b"c\n"]
    assert b"Read-only" in result.stderr
    left = subprocess.run(["podman", "ps", "--all", "--quiet"], capture_output=True, check=True)
    assert left.stdout == b""
    with pytest.raises(TierMissing):
        sandboxes.run(Spec(argv=("true",), image="localhost/no-such-image:1"))
