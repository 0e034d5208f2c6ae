"""A workshop with a real sandbox for each test process, and a buyer's repository."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.workers.shop import Workshop
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import Repository
from tests.sandbox.conftest import started

POLICY = WorkersPolicy(hand_in_s=0, command_memory_bytes=500_000_000, analysis_memory_bytes=500_000_000)


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    with started(tmp_path_factory.mktemp("sandbox")) as service:
        yield service
        assert service.ls() == []


@pytest.fixture(scope="session")
def shop(sandboxes: Sandboxes, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with Workshop(sandboxes, tmp_path_factory.mktemp("shop"), POLICY, sandbox=sandboxes.policy) as found:
        yield found


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.make(tmp_path_factory.mktemp("buyer"))
