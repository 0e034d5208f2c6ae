"""A sandbox service per test process, with its own state folder and the machine's user ids.

Where the machine has no control groups to give, strangers' code is let in all the same, so that the rest can be
tested; tests of limits that are missing then are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from choir.sandbox import cgroups
from choir.sandbox.model import Tier
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes

HAS_GROUPS = cgroups.discover().version > 0
POLICY = SandboxPolicy(stranger_limits_required=1 if HAS_GROUPS else 0)
needs_groups = pytest.mark.skipif(not HAS_GROUPS, reason="this machine has no control groups to give")


def started(state: Path) -> Sandboxes:
    """A service whose default tier works, or a skipped test that says why not."""
    service = Sandboxes(state, POLICY)
    known = service.capabilities(Tier.BUBBLEWRAP)
    if not known.works:
        service.close()
        pytest.skip(f"bubblewrap does not work here: {known.why}")
    return service


@pytest.fixture(scope="session")
def sandboxes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandboxes]:
    with started(tmp_path_factory.mktemp("sandbox")) as service:
        yield service
        assert service.ls() == []


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Sandboxes]:
    """A service of its own, for tests that look at what is left."""
    with started(tmp_path / "state") as service:
        yield service
