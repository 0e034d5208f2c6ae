"""Writes docs/security/deliveries.md from the table of deliveries that the tests verify.

python tools/generate_deliveries_table.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "security" / "deliveries.md"


def page() -> str:
    """The page as the table is now."""
    sys.path.insert(0, str(ROOT))
    from tests.bazaar.verification.groups import GROUPS
    from tests.bazaar.verification.table import render

    return render(GROUPS)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
