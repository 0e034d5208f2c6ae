"""The example of the how-to page does what the page says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from choir.bazaar.workers.shop import Workshop
from tests.sandbox.conftest import needs_groups

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
