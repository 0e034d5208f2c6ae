"""Thousands of damaged files are written and read once each, so they need no disk."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import throw_away


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Instead of pytest's own."""
    with tempfile.TemporaryDirectory(prefix="choir-test-", dir=throw_away()) as name:
        yield Path(name)
