"""After a run nothing is left, and what a killed node leaves is gone at the next start."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from choir.sandbox import cgroups
from choir.sandbox.egress.model import Egress, EgressRule
from choir.sandbox.model import InFile, Limits, Spec, StartFailed, Tier, Trust
from choir.sandbox.runs import RunFolder, processes_of
from choir.sandbox.service import Sandboxes

TIERS = [Tier.LOCAL, Tier.BUBBLEWRAP, Tier.CONTAINER, Tier.GVISOR]


def groups_of(run: str) -> list[Path]:
    found = cgroups.discover()
    return [folder for folder in cgroups.Group(found, run).folders if folder.exists()]


def mounts() -> set[str]:
    return {line for line in Path("/proc/self/mounts").read_text().splitlines() if "choir" in line}


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.label)
def test_a_run_leaves_nothing(fresh: Sandboxes, tier: Tier) -> None:
    if not fresh.capabilities(tier).works:
        pytest.skip(f"{tier.label} does not work here")
    before, open_before = mounts(), descriptors()
    egress = None if tier is Tier.LOCAL else Egress((EgressRule("example.org"),))
    mark = f"31.{os.getpid()}{tier.value}"
    for wall in (20.0, 0.4):  # one that ends by itself, one that is stopped
        spec = Spec(
            argv=("sh", "-c", f"setsid sleep {mark} & sleep {0.05 if wall > 1 else 32}"),
            tier=tier,
            trust=Trust.OWN,
            limits=Limits(wall_s=wall),
            files=(InFile("a", b"x"),),
            collect=("a",),
            egress=egress,
        )
        result = fresh.run(spec)
        assert groups_of(result.run) == []
    fresh.close()
    assert fresh.ls() == []
    assert not list(fresh.host.runs.path.iterdir())
    assert mounts() == before
    assert descriptors() <= open_before
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(p)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


_ADOPTER = """
    import ctypes, os, sys
    from pathlib import Path
    from choir.sandbox.model import Limits, Spec, Tier, Trust
    from choir.sandbox.service import Sandboxes
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # as the first process of a container: orphans become ours
    with Sandboxes(Path(sys.argv[1])) as service:
        tier = Tier.parse(sys.argv[2])
        for wall, last in ((0.7, "sleep 5"), (20, "true")):
            command = ("sh", "-c", f"setsid sleep 5 & {last}")
            service.run(Spec(argv=command, tier=tier, trust=Trust.OWN, limits=Limits(wall_s=wall)))
            try:
                print(os.waitpid(-1, os.WNOHANG))
            except ChildProcessError:
                print("nobody")
"""


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.label)
def test_a_node_that_is_the_first_process_is_left_with_no_zombies(
    sandboxes: Sandboxes, tmp_path: Path, tier: Tier
) -> None:
    if not sandboxes.capabilities(tier).works:
        pytest.skip(f"{tier.label} does not work here")
    command = [sys.executable, "-c", textwrap.dedent(_ADOPTER), str(tmp_path / "state"), tier.label]
    done = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert done.stdout.split() == [b"nobody", b"nobody"], done.stderr


def test_a_start_that_fails_leaves_nothing(fresh: Sandboxes, tmp_path: Path) -> None:
    fresh.capabilities(Tier.BUBBLEWRAP)
    with pytest.raises(StartFailed):
        fresh.run(Spec(argv=("true",), root=tmp_path))  # an image without a program
    assert not list(fresh.host.runs.path.iterdir())


_NODE = """
    import sys, threading
    from pathlib import Path
    from choir.sandbox.model import InFile, Limits, Spec, Tier, Trust
    from choir.sandbox.service import Sandboxes
    service = Sandboxes(Path(sys.argv[1]))
    spec = Spec(argv=("sh", "-c", "setsid sleep 77.25 & echo up; sleep 77.5"), tier=Tier.parse(sys.argv[2]),
                trust=Trust.OWN, files=(InFile("a", b"x"),), limits=Limits(wall_s=60))
    service.run(spec, on_output=lambda name, piece: print(piece.decode(), flush=True))
"""


@pytest.mark.parametrize("tier", TIERS, ids=lambda tier: tier.label)
def test_what_a_killed_node_leaves_is_gone_at_the_next_start(sandboxes: Sandboxes, tmp_path: Path, tier: Tier) -> None:
    if not sandboxes.capabilities(tier).works:
        pytest.skip(f"{tier.label} does not work here")
    state = tmp_path / "state"
    command = [sys.executable, "-c", textwrap.dedent(_NODE), str(state), tier.label]
    node = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert node.stdout is not None
    assert node.stdout.readline().strip() == b"up"
    [file] = list((state / "runs").glob("*.run"))
    facts = json.loads(file.read_text())
    assert RunFolder(state).clean(None).runs == ()  # a live run is not touched
    node.send_signal(signal.SIGKILL)
    node.wait()
    node.stdout.close()
    with Sandboxes(state) as again:
        assert again.cleaned.runs == (facts["run"],)
        assert again.ls() == []
        if facts["uid"] is not None:
            assert processes_of(facts["uid"]) == []
    assert [folder for folder in facts["cgroups"] if Path(folder).exists()] == []
    assert not list((state / "runs").iterdir())


def test_the_reaper_touches_only_what_is_provably_ours(tmp_path: Path) -> None:
    runs = RunFolder(tmp_path)
    victim = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        for name, facts in {
            "run_a": {"run": "run_other"},
            "run_b": {"run": "run_b", "cgroups": ["/sys/fs/cgroup/memory"]},
            "run_c": {"run": "run_c", "cgroups": ["/tmp/choir-run-run_c"]},
            "run_d": {"run": "run_d", "cgroups": ["/sys/fs/cgroup/../../../tmp/choir-run-run_d"]},
            "run_e": {"run": "run_e", "leader": victim.pid, "leader_started": 1},  # the pid was given to another
        }.items():
            (runs.path / f"{name}.run").write_text(json.dumps(facts))
        cleaned = runs.clean(None)
        assert cleaned.runs == ("run_e",)
        assert len(cleaned.kept) == 4
        time.sleep(0.05)
        assert victim.poll() is None
    finally:
        victim.kill()
        victim.wait()


def test_half_made_files_are_dropped_only_when_old(tmp_path: Path) -> None:
    runs = RunFolder(tmp_path)
    for name, age in (("new", 0), ("old", 3600)):
        path = runs.path / f".{name}.new"
        path.touch()
        os.utime(path, (time.time() - age, time.time() - age))
    runs.clean(None)
    assert [path.name for path in runs.path.iterdir()] == [".new.new"]
