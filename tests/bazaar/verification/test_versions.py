"""The verifier's version follows what it does."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import choir.bazaar
from choir.bazaar.verification.versions import sources_hash, verifier_version

BAZAAR = Path(choir.bazaar.__file__).parent


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(BAZAAR, tmp_path / "bazaar", ignore=shutil.ignore_patterns("__pycache__")))


def test_the_same_sources_have_the_same_version_wherever_they_lie(copied: Path) -> None:
    assert sources_hash(copied) == sources_hash(BAZAAR)
    assert verifier_version().partition("+")[2] == sources_hash(BAZAAR)[:16]
    (copied / "settlement" / "pricing.py").write_text("# what does not judge")
    assert sources_hash(copied) == sources_hash(BAZAAR)


@pytest.mark.parametrize(
    "name",
    [
        "verification/changes.py",
        "verification/inside/reporter.py",
        "contracts/paths.py",
        "trajectories/reader.py",
        "verification/inspection.py",
    ],
)
def test_a_change_of_what_judges_is_another_version(copied: Path, name: str) -> None:
    with (copied / name).open("a") as file:
        file.write("\n")
    assert sources_hash(copied) != sources_hash(BAZAAR)


def test_files_that_come_go_or_move_are_another_version(copied: Path) -> None:
    folder = copied / "verification"
    (folder / "new.py").write_text("")
    added = sources_hash(copied)
    (folder / "new.py").rename(folder / "newer.py")
    moved = sources_hash(copied)
    (folder / "newer.py").unlink()
    (folder / "texts.py").unlink()
    assert len({sources_hash(BAZAAR), added, moved, sources_hash(copied)}) == 4
