"""A hall of its own for each test."""

from __future__ import annotations

import pytest

from choir.storage.database import Database
from tests.bazaar.hall import Hall


@pytest.fixture
def hall(database: Database) -> Hall:
    return Hall(database)
