"""The example of the how-to page does what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from choir.bazaar.workers.shop import Workshop
from choir.doors.provider import trial as trying
from choir.sandbox.model import Tier
from choir.sandbox.service import Sandboxes
from tests.sandbox.conftest import needs_groups
from tests.sandbox.test_ordinary_user import as_user

ROOT = Path(__file__).parents[3]


@needs_groups
def test_a_worker_can_be_tried_without_a_node(shop: Workshop) -> None:
    assert shop.runner is not None  # the machine has a sandbox, or this is skipped
    words = ["examples/workers/try_worker.py", "examples/workers/simple_fixer.py", "examples/broken-calculator"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "how-to" / "sell-work-with-your-own-agent.md").read_text()
    for line in ("t:Verify id=call_3 python3 -m pytest -q → [passed] sha256=", "+    return left / right"):
        assert line in page
        assert line in done.stdout
    assert done.stdout.count("diff --git") == 1


def test_an_ordinary_user_tries_a_worker_too() -> None:
    """Without a control group of their own, as `choir provider serve` does; what is not limited is said."""
    worker, folder = (str(ROOT / "examples" / name) for name in ("workers/simple_fixer.py", "broken-calculator"))

    def action() -> tuple[str, str, str] | None:
        os.environ["HOME"] = "/nonexistent"  # in a child of its own; root's is not theirs to look into
        with tempfile.TemporaryDirectory() as state, Sandboxes(Path(state)) as sandboxes:
            if not sandboxes.capabilities(Tier.BUBBLEWRAP).works:
                return None
        trial = trying.try_worker(worker, folder)
        return trial.diff, str(trial.error or ""), trial.loose

    found = as_user(action)
    if found is None:
        pytest.skip("bubblewrap does not work for an ordinary user here")
    diff, error, loose = found
    assert error == ""
    assert "+    return left / right" in diff
    assert "memory" in loose


def test_examples_need_nothing_but_the_sdk() -> None:
    for path in sorted((ROOT / "examples").rglob("*.py")):
        found = {line for line in path.read_text().splitlines() if line.startswith(("from choir", "import choir"))}
        assert all(line.startswith("from choir.sdk import ") for line in found), path
