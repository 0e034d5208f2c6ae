"""A treasury for each test that asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from choir.storage.database import Database
from tests.treasury.vault import Vault


@pytest.fixture
def vault(database: Database, tmp_path: Path) -> Vault:
    return Vault(database, tmp_path / "home")


@pytest.fixture
def public_vault(database: Database, tmp_path: Path) -> Vault:
    """On a production node, where no operator decides alone."""
    return Vault(database, tmp_path / "home", mode="production")
