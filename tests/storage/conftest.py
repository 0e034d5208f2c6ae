"""Homes for servers; each is checked for leftovers at the end."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.storage.servers import IS_ROOT, ordinary_uid, remove_home


@pytest.fixture
def home() -> Iterator[Path]:
    """A home below a folder that is closed to every other account, like /root."""
    with tempfile.TemporaryDirectory(prefix="choir-test-", dir="/tmp") as closed:
        place = Path(closed, "home")
        yield place
        remove_home(place)


@pytest.fixture
def user_home() -> Iterator[Path]:
    """A home that belongs to an ordinary user."""
    place = Path(tempfile.mkdtemp(prefix="choir-test-", dir="/tmp"))
    if IS_ROOT:
        os.chown(place, ordinary_uid(), ordinary_uid())
    yield place
    remove_home(place)
