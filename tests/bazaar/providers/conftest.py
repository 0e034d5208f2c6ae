"""A market of its own for each test."""

from __future__ import annotations

import pytest

from choir.storage.database import Database
from tests.bazaar.providers.stalls import Stalls


@pytest.fixture
def stalls(database: Database) -> Stalls:
    return Stalls(database)
