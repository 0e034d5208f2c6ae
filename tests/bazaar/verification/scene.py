"""A buyer's repository with a fault in it, and the means to make deliveries against it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from choir.bazaar.contracts import HiddenChecks, PatchGenRequest, PatchGenResult, Terms
from choir.bazaar.jobs.model import JobType
from choir.bazaar.verification.model import Delivery, Order
from choir.foundation.canonical import bytes_hash

GIT_ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
GIT_ENVIRONMENT |= {f"GIT_{who}_{what}": "x@y.z" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
GIT_ENVIRONMENT |= {f"GIT_{who}_DATE": "2026-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")}
TERMS = Terms(10_000_000, 900, "key")

CALC = "def add(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a * b\n"
FIXED = CALC.replace("a - b", "a + b")
FILES = {
    "calc.py": CALC,
    "words.py": "from calc import mul\n\n\ndef count(text):\n    return len(text.split())\n\n\ndef twice(number):\n"
    "    return mul(number, 2)\n",
    "pyproject.toml": '[project]\nname = "calculator"\nversion = "1.0"\n\n[tool.pytest.ini_options]\n'
    'addopts = "--strict-markers"\n',
    "README.md": "# Calculator\n\nAdds numbers.\n",
    "run_checks.py": "import sys\n\nfrom calc import add\n\nsys.exit(0 if add(1, 2) == 3 else 1)\n",
    "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef two():\n    return 2\n",
    "tests/helpers.py": "TOTAL = 3\n",
    "tests/test_calc.py": "import pytest\n\nfrom calc import add, mul\n\n\n"
    '@pytest.mark.parametrize(("a", "b", "total"), [(1, 2, 3), (2, 2, 4), (0, 0, 0)])\n'
    "def test_add(a, b, total):\n    assert add(a, b) == total\n\n\n"
    "def test_mul(two):\n    assert mul(two, 3) == 6\n\n\n"
    "class TestMore:\n    def test_negative(self):\n        assert add(-1, 1) == 0\n",
    "tests/test_words.py": "from words import count, twice\n\n\ndef test_count():\n    assert count('a b c') == 3\n\n\n"
    "def test_twice():\n    assert twice(4) == 8\n",
}
HIDDEN_TEST = b"from calc import add\n\n\ndef test_large():\n    assert add(123, 877) == 1000\n"


def git(folder: Path, *words: str, given: bytes | None = None) -> bytes:
    done = subprocess.run(
        ["git", *words], cwd=folder, env=GIT_ENVIRONMENT, input=given, capture_output=True, check=True
    )
    return done.stdout


@dataclass(frozen=True)
class Repository:
    """A repository with one commit, and its bundle."""

    folder: Path
    bundle: Path
    commit: str

    @classmethod
    def make(cls, folder: Path, files: Mapping[str, str | bytes] = FILES) -> Repository:
        home = folder / "repository"
        home.mkdir(parents=True)
        git(home, "init", "-q", "-b", "main")
        write(home, files)
        git(home, "add", "-A", "-f")
        git(home, "commit", "-q", "-m", "base")
        git(home, "bundle", "create", "-q", str(folder / "bundle"), "HEAD")
        return cls(home, folder / "bundle", git(home, "rev-parse", "HEAD").decode().strip())

    def diff(self, edits: Mapping[str, str | bytes | None], scratch: Path) -> bytes:
        """What git says of some edits; None deletes."""
        copy = scratch / "edited"
        shutil.copytree(self.folder, copy, symlinks=True)
        write(copy, edits)
        git(copy, "add", "-A", "-f")
        return git(copy, "diff", "--cached", "--binary", "--no-renames", "HEAD")

    def request(self, **changes: object) -> PatchGenRequest:
        request = PatchGenRequest(
            title="Addition is wrong",
            body="add(1, 2) gives -1.",
            base_commit=self.commit,
            test_command="python3 -m pytest -q tests/test_calc.py",
            terms=TERMS,
        )
        return replace(request, **changes)  # type: ignore[arg-type]

    def order(self, hidden: HiddenChecks | None = None, **changes: object) -> Order:
        commitment = None if hidden is None else hidden.commitment
        request = self.request(**{"hidden": commitment} | changes)
        return Order(JobType.PATCH_GEN, request, self.bundle, hidden=hidden)

    def delivery(self, diff: bytes) -> Delivery:
        return Delivery(diff, bytes_hash(diff), PatchGenResult(self.commit))


def write(folder: Path, files: Mapping[str, str | bytes | None]) -> None:
    for name, content in files.items():
        path = folder / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
