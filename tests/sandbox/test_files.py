"""Files across the border, against a tree that changes under our hands."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from choir.sandbox import files
from choir.sandbox.model import InFile, TooMuch, UnsafeEntry
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.syscalls import open_beneath

POLICY = SandboxPolicy()


def opened(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY)


def test_a_tree_that_swaps_folders_for_links_never_leads_out(tmp_path: Path) -> None:
    """A swapper exchanges a folder for a link to the secret's folder as fast as it can while we collect."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("secret")
    tree = tmp_path / "tree"
    (tree / "folder").mkdir(parents=True)
    (tree / "folder" / "file").write_text("harmless")
    (tree / "link").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            for first, second in (("folder", "spare"), ("link", "folder"), ("folder", "link"), ("spare", "folder")):
                try:
                    (tree / first).rename(tree / second)
                except OSError:
                    continue

    swapper = threading.Thread(target=swap)
    swapper.start()
    root = opened(tree)
    try:
        for _ in range(300):
            found = files.collect(root, (".", "folder/file"), files.Allowance.of(POLICY))
            assert all(item.content == b"harmless" for item in found.files)
    finally:
        stop.set()
        swapper.join()
        os.close(root)


def test_open_beneath_refuses_every_way_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / "in" / "absolute").symlink_to(tmp_path / "secret")
    (tmp_path / "in" / "up").symlink_to("../secret")
    (tmp_path / "in" / "magic").symlink_to("/proc/self/root")
    root = opened(tmp_path / "in")
    try:
        for path in ("../secret", "absolute", "up", "magic/etc/passwd", "/etc/passwd", "a/../../secret"):
            with pytest.raises(OSError):
                open_beneath(root, path, os.O_RDONLY)
    finally:
        os.close(root)


def test_counts_and_sizes_are_limited(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"f{number}").write_bytes(b"x" * 100)
    deep = tmp_path / "d"
    for _ in range(10):
        deep = deep / "d"
    deep.mkdir(parents=True)
    root = opened(tmp_path)
    try:
        few = files.collect(root, (".",), files.Allowance(10, 10_000, 1000, 64))
        assert len(few.files) < 20
        assert "number of files" in few.refused[-1]
        small = files.collect(root, (".",), files.Allowance(1000, 550, 1000, 64))
        assert len(small.files) == 5
        tiny = files.collect(root, ("f1",), files.Allowance(1000, 10_000, 99, 64))
        assert tiny.files == []
        flat = files.collect(root, (".",), files.Allowance(1000, 10_000, 1000, 5))
        assert any("nesting" in why for why in flat.refused)
    finally:
        os.close(root)


def test_a_growing_file_is_read_only_up_to_the_limit(tmp_path: Path) -> None:
    """The size is what was read, not what stat said before."""
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(UnsafeEntry):
        files.put_file(
            files.Target(opened(tmp_path)), InFile("x", source=tmp_path / "zero"), files.Allowance.of(POLICY)
        )
    with pytest.raises((UnsafeEntry, TooMuch)):
        files.put_file(
            files.Target(opened(tmp_path)), InFile("x", source=Path("/dev/zero")), files.Allowance.of(POLICY)
        )


def test_names_that_are_no_text_are_left_out(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(str(tmp_path)) + b"/bad\xff"))).write_text("x")
    root = opened(tmp_path)
    try:
        found = files.collect(root, (".",), files.Allowance.of(POLICY))
    finally:
        os.close(root)
    assert found.files == []
    assert "UTF-8" in found.refused[0]


@pytest.mark.parametrize(
    ("path", "leads_to", "inside"),
    [
        ("a/link", "b", True),
        ("a/link", "../b", True),
        ("a/link", "../../b", False),
        ("link", "..", False),
        ("link", "/etc", False),
        ("a/b/link", "../../c/d", True),
        ("a/b/link", "../../c/../d", False),  # if c is a link to the top, this leads out
        ("link", "a/b/up/../../../secret", False),
        ("link", "a/../../b", False),
        ("link", ".git/config", False),
        ("link", ".GIT/config", False),
    ],
)
def test_links_that_stay_inside(path: str, leads_to: str, inside: bool) -> None:
    assert files.stays_inside(path, leads_to) is inside


def test_a_pipe_in_the_place_of_a_file_is_neither_waited_for_nor_written_to(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in")
    root = opened(tmp_path)
    try:
        with pytest.raises(UnsafeEntry):
            files.put_file(files.Target(root), InFile("in", b"x"), files.Allowance.of(POLICY))
        reader = os.open(tmp_path / "in", os.O_RDONLY | os.O_NONBLOCK)
        with pytest.raises(UnsafeEntry):
            files.put_file(files.Target(root), InFile("in", b"x"), files.Allowance.of(POLICY))
        os.close(reader)
    finally:
        os.close(root)


def test_no_half_of_a_file_is_left_where_results_go(tmp_path: Path) -> None:
    """A sparse file costs its maker nothing."""
    (tmp_path / "from").mkdir()
    (tmp_path / "into").mkdir()
    (tmp_path / "from" / "b").write_bytes(b"x" * 5_000)
    for name, size in (("a", 10**12), ("c", 3_000_000)):
        with (tmp_path / "from" / name).open("wb") as file:
            file.truncate(size)
    allowance = files.Allowance(files=100, bytes=1_000_000, file_bytes=10_000_000, depth=8)
    source, target = opened(tmp_path / "from"), opened(tmp_path / "into")
    try:
        found = files.collect(source, (".",), allowance, files.Target(target))
    finally:
        os.close(source)
        os.close(target)
    assert [path.name for path in (tmp_path / "into").iterdir()] == ["b"]
    assert [item.path for item in found.files] == ["b"]
    assert "'a'" in found.refused[0]
    assert "'c'" in found.refused[1]
