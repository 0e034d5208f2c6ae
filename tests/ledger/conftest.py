"""A ledger with a few accounts, for each test its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from choir.storage.database import Database
from tests.ledger.books import EVERYONE, Books
from tests.ledger.owing import settle


@pytest.fixture
def empty_books(database: Database) -> Iterator[Books]:
    """A ledger in which nothing happened yet."""
    books = Books(database).sign_from_now()
    yield books
    books.close()


@pytest.fixture
def books(empty_books: Books) -> Books:
    """A ledger with open accounts and no entries."""
    empty_books.open(*EVERYONE)
    return empty_books


@pytest.fixture
def town(books: Books) -> Books:
    """People, an agent and the treasury; holds of all of them, some over, some open."""
    return settle(books)
