"""A desk of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from choir.storage.database import Database
from tests.commons.desk import Desk


@pytest.fixture
def desk(database: Database, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(database, tmp_path)
    yield made
    made.close()
