"""A town of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from choir.identity.people import rules
from choir.identity.policy import PeoplePolicy
from choir.storage.database import Database
from tests.identity.agency import Agency
from tests.identity.town import Citizen, Town


@pytest.fixture(autouse=True, scope="package")
def quick_hashes() -> Iterator[None]:
    """What stands for a handle is slow to compute by intent, twice in each sign-up. Whole nodes are tested so."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(rules, "_SCRYPT_N", 2)
        yield


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
