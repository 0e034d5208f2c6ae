"""A repository, a sandbox and a verifier for each test process; base trees and their results are reused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification.service import Verifier
from choir.sandbox.service import Sandboxes
from tests.bazaar.verification.scene import Repository
from tests.sandbox.conftest import started

STRICT = VerificationPolicy(test_wall_s=8, test_output_bytes_max=1_000_000)


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    with started(tmp_path_factory.mktemp("verification")) as service:
        yield service
        assert service.ls() == []


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.make(tmp_path_factory.mktemp("repository"))


@pytest.fixture(scope="session")
def verifier(sandboxes: Sandboxes) -> Iterator[Verifier]:
    with Verifier(sandboxes) as service:
        yield service


@pytest.fixture(scope="session")
def strict_verifier(sandboxes: Sandboxes) -> Iterator[Verifier]:
    """With short limits, for what runs into them."""
    with Verifier(sandboxes, STRICT) as service:
        yield service
