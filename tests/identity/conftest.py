"""A town of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from choir.identity.policy import PeoplePolicy
from choir.storage.database import Database
from tests.identity.agency import Agency
from tests.identity.town import Citizen, Town


@pytest.fixture
def town(database: Database) -> Iterator[Town]:
    town = Town(database)
    yield town
    town.close()


@pytest.fixture
def ada(town: Town) -> Citizen:
    return town.sign_up("ada")


@pytest.fixture
def town_with(database: Database) -> Iterator[Callable[..., Town]]:
    """Towns under other numbers."""
    made: list[Town] = []

    def make(**numbers: int) -> Town:
        made.append(Town(database, policy=PeoplePolicy(**numbers)))
        return made[-1]

    yield make
    for town in made:
        town.close()


@pytest.fixture
def agency(database: Database) -> Agency:
    """Agents and delegations, on a database without people."""
    made = Agency(database)
    made.open_books()
    return made
