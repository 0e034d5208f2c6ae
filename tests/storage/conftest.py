"""Homes for servers; each is checked for leftovers at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.places import throw_away
from tests.storage.servers import IS_ROOT, ordinary_uid, remove_home


@pytest.fixture
def place() -> Path:
    """Where homes are made; the tests that kill servers have a disk instead."""
    return throw_away()


@pytest.fixture
def home(place: Path) -> Iterator[Path]:
    """A home below a folder that is closed to every other account, like /root."""
    with tempfile.TemporaryDirectory(prefix="choir-test-", dir=place) as closed:
        made = Path(closed, "home")
        yield made
        remove_home(made)


@pytest.fixture
def user_home(place: Path) -> Iterator[Path]:
    """A home that belongs to an ordinary user."""
    made = Path(tempfile.mkdtemp(prefix="choir-test-", dir=place))
    if IS_ROOT:
        os.chown(made, ordinary_uid(), ordinary_uid())
    yield made
    remove_home(made)
