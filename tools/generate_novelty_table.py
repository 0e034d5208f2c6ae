"""Writes docs/reference/novelty-attacks.md: every attack on novelty that the tests know, and what it earns."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "novelty-attacks.md"


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.commons.novelty.attacks import render

    PAGE.write_text(render())


if __name__ == "__main__":
    main()
