"""Folders that hostile code has filled are removed whole, and nothing else is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from choir.sandbox.removal import remove_tree
from tests.sandbox.test_ordinary_user import NOBODY, as_user


def deep(folder: Path, levels: int) -> None:
    here = os.getcwd()  # noqa: PTH109
    os.chdir(folder)
    for _ in range(levels):
        os.mkdir("d")  # noqa: PTH102
        Path("file").write_text("x")
        os.chdir("d")
    os.chdir(here)


@pytest.mark.deep
def test_nesting_deeper_than_any_stack_or_path(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    deep(folder, 3_000)
    assert remove_tree(folder)
    assert not folder.exists()


def test_closed_folders_do_not_stop_their_owner(tmp_path: Path) -> None:
    def action() -> bool:
        folder = Path(os.environ["CHOIR_TEST_FOLDER"])
        (folder / "a" / "b").mkdir(parents=True)
        (folder / "a" / "b" / "file").write_text("x")
        (folder / "a" / "b").chmod(0)
        (folder / "a").chmod(0)
        return remove_tree(folder)

    folder = tmp_path / "run"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        for parent in (tmp_path, *tmp_path.parents[:-2]):
            parent.chmod(0o777)
    os.environ["CHOIR_TEST_FOLDER"] = str(folder)
    assert as_user(action)


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "kept").mkdir(parents=True)
    folder = tmp_path / "run"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "link").symlink_to(outside)
    (folder / "0").mkdir()  # a name that is used for what is moved
    (folder / "inner" / "x" / "y").mkdir(parents=True)
    assert remove_tree(folder)
    assert (outside / "kept").is_dir()
    (tmp_path / "link").symlink_to(outside)
    assert not remove_tree(tmp_path / "link")
    assert remove_tree(tmp_path / "not there")
    assert (outside / "kept").is_dir()
