"""A hall of its own for each test; the machines that work and verify are one test process's."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from choir.storage.database import Database
from tests.bazaar.hall import Hall
from tests.bazaar.machines import Machines, machines_in


@pytest.fixture
def hall(database: Database) -> Hall:
    return Hall(database)


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    with machines_in(tmp_path_factory.mktemp("machines")) as made:
        yield made
