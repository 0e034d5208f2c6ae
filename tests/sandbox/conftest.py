"""A sandbox service per test process, with its own state folder and the machine's user ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from choir.sandbox.service import Sandboxes


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    with Sandboxes(tmp_path_factory.mktemp("sandbox")) as service:
        yield service
        assert service.ls() == []


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Sandboxes]:
    """A service of its own, for tests that look at what is left."""
    with Sandboxes(tmp_path / "state") as service:
        yield service
