"""The same for an ordinary user: what works, and what is honestly missing."""

from __future__ import annotations

import ctypes
import encodings.idna  # noqa: F401 - loaded while this process may still read it
import os
import pickle
import shutil
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import choir.sandbox.egress.service
import choir.sandbox.landlock  # noqa: F401 - loaded while this process may still read it
from choir.foundation.errors import Invalid
from choir.sandbox import cgroups
from choir.sandbox.egress.model import Egress, EgressRule
from choir.sandbox.inside import source
from choir.sandbox.model import EndReason, InFile, LimitMissing, Limits, Spec, Tier, Trust
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes

PROGRAMS = [source(name) for name in ("launcher", "forwarder")]  # read while this process may
NOBODY = 1_879_999_998  # no name, no files, below the sandboxes' own ids


@pytest.fixture
def state() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="choir-user-"))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def as_user(action: Callable[[], Any]) -> Any:
    """Do something in a child without root's rights; its result or error comes back."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
                ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # readable to itself again, as any program is
            answer = ("ok", action())
        except BaseException as error:
            answer = ("error", f"{error!r}\n{traceback.format_exc()}")
        with os.fdopen(write, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        kind, value = pickle.load(pipe)  # noqa: S301 - from our own child
    os.waitpid(child, 0)
    assert kind == "ok", value
    return value


def test_the_default_tier_works_and_says_what_it_lacks(state: Path) -> None:
    def action() -> Any:
        with Sandboxes(state / "s", hierarchy=cgroups.NONE) as sandboxes:
            known = sandboxes.capabilities(Tier.BUBBLEWRAP)
            if not known.works:
                return known, None, None
            spec = Spec(
                argv=("sh", "-c", "cat a; id -u; echo out > b"),
                trust=Trust.OWN,
                files=(InFile("a", b"in "),),
                collect=("b",),
            )
            result = sandboxes.run(spec)
            try:
                sandboxes.run(Spec(argv=("true",)))
            except LimitMissing as refusal:
                return known, result, str(refusal)
            return known, result, None

    known, result, refusal = as_user(action)
    if not known.works:
        pytest.skip(f"bubblewrap does not work for an ordinary user here: {known.why}")
    assert result.stdout == b"in 1000\n"
    assert result.files[0].content == b"out\n"
    assert {"memory", "cpu", "cores"} <= set(result.missing)
    assert result.out_of_memory is None
    assert result.usage.memory_source == "largest process"
    assert refusal is not None
    assert "memory" in refusal
    assert any("same user" in note for note in known.notes)


def test_limits_that_remain_hold(state: Path) -> None:
    hogs = {
        "memory": "x = bytearray(300_000_000)",
        "memfd": "import os; os.memfd_create('x')",
        "processes": "import os, time\nfor _ in range(100):\n if os.fork() == 0: time.sleep(5); os._exit(0)",
        "disk": "open('x', 'wb').write(bytes(30_000_000))",
    }
    limits = Limits(memory_bytes=100_000_000, processes=16, disk_bytes=10_000_000, wall_s=20)

    def action() -> Any:
        with Sandboxes(state / "s", hierarchy=cgroups.NONE) as sandboxes:
            if not sandboxes.capabilities(Tier.BUBBLEWRAP).works:
                return None
            specs = {
                name: Spec(argv=("python3", "-c", code), trust=Trust.OWN, limits=limits) for name, code in hogs.items()
            }
            return {name: sandboxes.run(spec).exit_code for name, spec in specs.items()}

    codes = as_user(action)
    if codes is None:
        pytest.skip("bubblewrap does not work for an ordinary user here")
    assert all(code != 0 for code in codes.values()), codes


def test_no_loader_runs_before_the_limits_are_set(state: Path) -> None:
    def action() -> Any:
        with Sandboxes(state / "s", hierarchy=cgroups.NONE) as sandboxes:
            if not sandboxes.capabilities(Tier.BUBBLEWRAP).works:
                return None
            spec = Spec(argv=("true",), trust=Trust.OWN, environment={"LD_PRELOAD": "/work/own.so"})
            try:
                sandboxes.run(spec)
            except Invalid as refusal:
                return str(refusal)
            return "it ran"

    said = as_user(action)
    if said is None:
        pytest.skip("bubblewrap does not work for an ordinary user here")
    assert "could undo the limits" in said


def test_the_other_tiers_say_what_an_ordinary_user_cannot_have(state: Path) -> None:
    def action() -> Any:
        with Sandboxes(state / "s") as sandboxes:
            local = sandboxes.capabilities(Tier.LOCAL)
            leftover = Spec(argv=("sh", "-c", "setsid sleep 44.5 & echo started"), tier=Tier.LOCAL, trust=Trust.OWN)
            result = sandboxes.run(leftover) if local.works else None
            return local, result, sandboxes.capabilities(Tier.CONTAINER), sandboxes.capabilities(Tier.GVISOR)

    local, result, container, gvisor = as_user(action)
    assert not container.works
    assert "root" in container.why
    assert not gvisor.works
    if local.works:
        assert result.stdout == b"started\n"
        assert {"network", "disk"} <= set(result.missing)
        left = [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x0044.5" in p.read_bytes()]
        assert left == []


_BOMB = """
import os
while True:
    try: os.fork()
    except OSError: pass
"""


def _running(word: bytes) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if word in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def test_a_fork_bomb_in_the_local_tier_is_gone_with_its_run(state: Path) -> None:
    mark = f"bomb-{os.getpid()}"

    def action() -> Any:
        with Sandboxes(state / "s", hierarchy=cgroups.NONE) as sandboxes:
            if not (sandboxes.capabilities(Tier.LOCAL).works and sandboxes.host.machine.own_namespaces):
                return None
            limits = Limits(wall_s=1, processes=100)
            command = ("/usr/bin/python3", "-c", _BOMB, mark)
            return sandboxes.run(Spec(argv=command, tier=Tier.LOCAL, trust=Trust.OWN, limits=limits)).ended

    ended = as_user(action)
    if ended is None:
        pytest.skip("there are no user namespaces for an ordinary user here")
    left = _running(mark.encode())
    for pid in left:
        os.kill(pid, 9)
    assert (ended, left) == (EndReason.TIMEOUT, [])


def test_the_local_tier_leaves_no_files_and_no_shared_memory(state: Path) -> None:
    code = """
import ctypes, os
libc = ctypes.CDLL(None)
print(libc.shmget(0x7357, 4096, 0o1666) , libc.semget(0x7357, 1, 0o1666), libc.msgget(0x7357, 0o1666))
os.makedirs("closed/inner"); os.chmod("closed/inner", 0); os.chmod("closed", 0)
for _ in range(2_000): os.mkdir("d"); os.chdir("d")
"""

    def action() -> Any:
        with Sandboxes(state / "s", hierarchy=cgroups.NONE) as sandboxes:
            if not sandboxes.capabilities(Tier.LOCAL).works:
                return None
            machine = sandboxes.host.machine
            for kind in (machine, replace(machine, own_namespaces=False)):
                sandboxes.host = replace(sandboxes.host, machine=kind)
                spec = Spec(argv=("/usr/bin/python3", "-c", code), tier=Tier.LOCAL, trust=Trust.OWN)
                assert sandboxes.run(spec).ok
            return [str(path) for path in sandboxes.host.runs.path.iterdir()]

    left = as_user(action)
    if left is None:
        pytest.skip("the local tier does not work here")
    assert left == []
    for kind in ("shm", "sem", "msg"):
        assert str(0x7357) not in [line.split()[0] for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()]


def test_egress_works_for_an_ordinary_user(state: Path) -> None:
    def action() -> Any:
        with Sandboxes(state / "s", SandboxPolicy()) as sandboxes:
            if not sandboxes.capabilities(Tier.BUBBLEWRAP).works:
                return None
            rule = EgressRule("127.0.0.1", (9,), private=True)
            spec = Spec(argv=("curl", "-sS", "http://127.0.0.1:9/"), trust=Trust.OWN, egress=Egress((rule,)))
            return sandboxes.run(spec)

    result = as_user(action)
    if result is None:
        pytest.skip("bubblewrap does not work for an ordinary user here")
    said = result.stdout + result.stderr
    assert [record.outcome for record in result.requests] == ["failed"], said  # nobody listens, but it got there
