"""People and agents, for each test its own."""

from __future__ import annotations

import pytest

from choir.storage.database import Database
from tests.identity.agency import Agency


@pytest.fixture
def agency(database: Database) -> Agency:
    """Services on a database without people."""
    made = Agency(database)
    made.open_books()
    return made
