"""The page of deliveries says what the tests show."""

from __future__ import annotations

from pathlib import Path

from tests.bazaar.verification.groups import GROUPS
from tests.bazaar.verification.table import render

PAGE = Path(__file__).resolve().parents[3] / "docs" / "security" / "deliveries.md"


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(GROUPS), "run: python tools/generate_deliveries_table.py"


def test_names_are_not_used_twice() -> None:
    names = [case.name for _, cases in GROUPS for case in cases]
    assert len(set(names)) == len(names)
