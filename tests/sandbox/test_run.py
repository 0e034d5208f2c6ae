"""What a caller can rely on from one run in the default tier."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from choir.foundation.errors import Invalid
from choir.sandbox.model import (
    EndReason,
    InFile,
    LimitMissing,
    Limits,
    Mount,
    Result,
    Spec,
    SpecTooLarge,
    Tier,
    TierMissing,
    TierTooWeak,
    TooLittleMemory,
    Trust,
    UnsafeEntry,
)
from choir.sandbox.runs import processes_of
from choir.sandbox.service import Sandboxes
from tests.sandbox.conftest import needs_groups


def shell(sandboxes: Sandboxes, script: str, **more: object) -> Result:
    return sandboxes.run(Spec(argv=("sh", "-c", script), **more))  # type: ignore[arg-type]


def test_a_run_returns_output_exit_code_and_the_tier_that_ran(sandboxes: Sandboxes) -> None:
    result = shell(sandboxes, "cat; echo oops >&2; exit 7", stdin=b"hello")
    assert (result.exit_code, result.stdout, result.stderr) == (7, b"hello", b"oops\n")
    assert result.tier is Tier.BUBBLEWRAP
    assert result.engine.startswith("bubblewrap")
    assert result.ended is EndReason.EXITED
    assert not result.ok


@needs_groups
def test_use_is_measured(sandboxes: Sandboxes) -> None:
    result = sandboxes.run(Spec(argv=("python3", "-c", "x = bytearray(60_000_000); sum(range(2_000_000))")))
    assert result.ok, result.stderr
    assert result.usage.memory_peak_bytes > 60_000_000
    assert 0.01 < result.usage.cpu_s <= result.usage.wall_s * 2
    assert set(result.applied) | set(result.missing) >= {"memory", "processes", "cpu", "disk", "wall", "output"}


def test_a_signal_is_reported_as_a_shell_would(sandboxes: Sandboxes) -> None:
    assert shell(sandboxes, "kill -TERM $$").exit_code == 128 + 15
    assert shell(sandboxes, "no-such-program").exit_code == 127


def test_a_program_that_is_not_there_is_a_result_not_a_crash(sandboxes: Sandboxes) -> None:
    result = sandboxes.run(Spec(argv=("/no/such/program",)))
    assert result.exit_code == 127
    assert b"/no/such/program" in result.stderr


def test_wall_time_ends_a_run(sandboxes: Sandboxes) -> None:
    result = shell(sandboxes, "echo before; sleep 60", limits=Limits(wall_s=0.5))
    assert result.ended is EndReason.TIMEOUT
    assert result.timed_out
    assert result.stdout == b"before\n"
    assert result.usage.wall_s < 5


@needs_groups
def test_cpu_time_ends_a_run(sandboxes: Sandboxes) -> None:
    result = shell(sandboxes, "(while :; do :; done) & while :; do :; done", limits=Limits(cpu_s=1, wall_s=30))
    assert result.ended is EndReason.CPU
    assert result.usage.wall_s < 20


def test_output_beyond_the_limit_is_cut_and_said(sandboxes: Sandboxes) -> None:
    result = shell(sandboxes, "head -c 100000 /dev/zero; echo fine >&2", limits=Limits(output_bytes=1000))
    assert len(result.stdout) == 1000
    assert result.stdout_truncated
    assert not result.stderr_truncated
    assert result.ended is EndReason.EXITED


def test_a_run_can_be_cancelled(sandboxes: Sandboxes) -> None:
    stop = threading.Event()
    threading.Timer(0.3, stop.set).start()
    result = sandboxes.run(Spec(argv=("sleep", "60")), cancelled=stop.is_set)
    assert result.ended is EndReason.CANCELLED


def test_output_is_streamed_while_it_runs(sandboxes: Sandboxes) -> None:
    seen: list[tuple[str, bytes, float]] = []
    began = time.monotonic()
    shell_spec = Spec(argv=("sh", "-c", "echo one; sleep 0.6; echo two >&2"))
    sandboxes.run(shell_spec, on_output=lambda name, piece: seen.append((name, piece, time.monotonic() - began)))
    assert [(name, piece) for name, piece, _ in seen] == [("stdout", b"one\n"), ("stderr", b"two\n")]
    assert seen[1][2] - seen[0][2] > 0.4


def test_files_go_in_and_come_out(sandboxes: Sandboxes, tmp_path: Path) -> None:
    (tmp_path / "tree" / "deep").mkdir(parents=True)
    (tmp_path / "tree" / "deep" / "a.txt").write_text("a")
    (tmp_path / "tree" / "run.sh").write_text("#!/bin/sh\necho ran > ran.txt\n")
    (tmp_path / "tree" / "run.sh").chmod(0o755)
    (tmp_path / "big").write_bytes(b"x" * 300_000)
    result = shell(
        sandboxes,
        "./run.sh && cat given/b deep/a.txt && wc -c < big && mkdir out && echo 1 > out/one && ln -s /etc/passwd out/l",
        folder=tmp_path / "tree",
        files=(InFile("given/b", b"b"), InFile("big", source=tmp_path / "big")),
        collect=("out", "ran.txt", "absent"),
    )
    assert result.stdout == b"ba300000\n", result.stderr
    assert {item.path: item.content for item in result.files} == {"out/one": b"1\n", "ran.txt": b"ran\n"}
    assert len(result.files_refused) == 2
    assert any("out/l" in why for why in result.files_refused)


@pytest.mark.parametrize("path", ["../x", "/etc/x", "a/../../x", "", ".", "a\0b", "a/" * 200 + "x"])
def test_a_file_cannot_be_put_outside_the_workspace(sandboxes: Sandboxes, path: str) -> None:
    with pytest.raises(UnsafeEntry):
        sandboxes.run(Spec(argv=("true",), files=(InFile(path, b"x"),)))


def test_a_link_as_source_is_not_followed(sandboxes: Sandboxes, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/hostname")
    with pytest.raises((UnsafeEntry, OSError)):
        sandboxes.run(Spec(argv=("true",), files=(InFile("x", source=tmp_path / "link"),)))


def test_mounts_are_read_only_unless_said(sandboxes: Sandboxes, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "f").write_text("seen")
    result = shell(sandboxes, "cat /data/f; echo x > /data/f", mounts=(Mount(tmp_path / "data", "/data"),))
    assert result.stdout == b"seen"
    assert result.exit_code != 0
    assert (tmp_path / "data" / "f").read_text() == "seen"


@needs_groups
def test_a_writable_mount_has_no_disk_limit_and_says_so(sandboxes: Sandboxes, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data").chmod(0o777)
    mounts = (Mount(tmp_path / "data", "/data", writable=True),)
    with pytest.raises(LimitMissing):
        shell(sandboxes, "true", mounts=mounts)
    result = shell(sandboxes, "echo x > /data/new", mounts=mounts, trust=Trust.OWN)
    assert result.ok, result.stderr
    assert "disk" in result.missing
    assert (tmp_path / "data" / "new").read_text() == "x\n"


@pytest.mark.parametrize("target", ["/", "/proc", "/proc/x", "/dev", "relative", "/a/../b", "/run/choir/x"])
def test_a_mount_cannot_cover_what_the_sandbox_relies_on(sandboxes: Sandboxes, tmp_path: Path, target: str) -> None:
    with pytest.raises(Invalid):
        shell(sandboxes, "true", mounts=(Mount(tmp_path, target),))


def test_a_missing_tier_is_an_error_and_never_a_step_down(sandboxes: Sandboxes) -> None:
    with pytest.raises(TierMissing):
        shell(sandboxes, "true", tier=Tier.MICROVM)
    with pytest.raises(TierMissing):
        shell(sandboxes, "true", tier_min=Tier.MICROVM)
    with pytest.raises(TierTooWeak):
        shell(sandboxes, "true", tier=Tier.BUBBLEWRAP, tier_min=Tier.GVISOR)
    with pytest.raises(TierTooWeak):
        shell(sandboxes, "true", tier=Tier.LOCAL)


def test_more_than_the_policy_gives_is_refused(sandboxes: Sandboxes) -> None:
    for limits in (
        Limits(memory_bytes=10**13),
        Limits(wall_s=10**6),
        Limits(processes=10**6),
        Limits(disk_bytes=10**13),
    ):
        with pytest.raises(SpecTooLarge):
            shell(sandboxes, "true", limits=limits)
    with pytest.raises(Invalid):
        sandboxes.run(Spec(argv=()))
    with pytest.raises(Invalid):
        shell(sandboxes, "true", environment={"A=B": "x"})


def test_each_run_of_root_has_a_user_id_of_its_own(sandboxes: Sandboxes) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give each sandbox its own user id")
    seen: list[int] = []

    def look(_name: str, _piece: bytes) -> None:
        [uid] = [found.facts["uid"] for found in sandboxes.ls()]
        assert processes_of(uid)
        seen.append(uid)

    for _ in range(3):
        sandboxes.run(Spec(argv=("sh", "-c", "echo; sleep 1")), on_output=look)
    assert len(set(seen)) == 3
    assert min(seen) >= sandboxes.policy.uid_first


def test_an_image_is_used_as_root(sandboxes: Sandboxes, tmp_path: Path) -> None:
    image = tmp_path / "image"
    (image / "opt").mkdir(parents=True)
    (image / "opt" / "hello").write_text("from the image")
    (image / "evil").symlink_to("/root")
    for name in ("usr",):
        (image / name).mkdir()
    for name in ("bin", "lib", "lib64"):
        (image / name).symlink_to(f"usr/{name}")
    usr = Mount(Path("/usr"), "/usr")
    result = shell(sandboxes, "cat /opt/hello; ls /evil/ 2>&1", root=image, mounts=(usr,))
    assert result.stdout.startswith(b"from the image"), result.stderr
    assert b"No such file" in result.stdout


def test_sparse_files_cannot_bloat_the_host(sandboxes: Sandboxes) -> None:
    """A file may claim to be far larger than the workspace that holds it."""
    script = "for n in 1 2 3 4 5 6 7 8; do truncate -s 40M f$n; done; echo done"
    result = shell(sandboxes, script, collect=(".",), limits=Limits(disk_bytes=50_000_000))
    assert result.stdout == b"done\n", result.stderr
    assert sum(len(item.content) for item in result.files) <= 50_000_000
    assert result.files_refused


@needs_groups
@pytest.mark.parametrize("tier", [Tier.BUBBLEWRAP, Tier.CONTAINER, Tier.GVISOR], ids=lambda tier: tier.label)
def test_a_tier_that_cannot_start_in_so_little_memory_says_so(sandboxes: Sandboxes, tier: Tier) -> None:
    if not sandboxes.capabilities(tier).works:
        pytest.skip(f"{tier.label} does not work here")
    with pytest.raises(TooLittleMemory):
        sandboxes.run(Spec(argv=("true",), tier=tier, trust=Trust.OWN, limits=Limits(memory_bytes=1)))


@needs_groups
@pytest.mark.parametrize("tier", [Tier.LOCAL, Tier.BUBBLEWRAP, Tier.CONTAINER], ids=lambda tier: tier.label)
def test_a_run_out_of_memory_is_a_result_and_no_failed_start(sandboxes: Sandboxes, tier: Tier) -> None:
    """Also where the tier's own programs are killed along with the payload."""
    if not sandboxes.capabilities(tier).works:
        pytest.skip(f"{tier.label} does not work here")
    hog = "import os\nfor _ in range(20):\n if os.fork() == 0: break\nx = []\nwhile True: x.append(bytearray(100_000))"
    spec = Spec(
        argv=("/usr/bin/python3", "-c", hog), tier=tier, trust=Trust.OWN, limits=Limits(memory_bytes=60_000_000)
    )
    result = sandboxes.run(spec)
    assert (result.exit_code, result.out_of_memory) == (137, True)
    assert b"unshare" not in result.stderr
