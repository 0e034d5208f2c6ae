"""What verifies and what works, on real sandboxes. Preparing them takes longer than a test; no test changes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.policy import WorkersPolicy
from choir.bazaar.verification.service import Verifier
from choir.bazaar.workers.shop import Workshop
from tests.sandbox.conftest import started


@dataclass(frozen=True)
class Machines:
    """A node's verifier and a provider's workshop."""

    verifier: Verifier
    shop: Workshop


@contextmanager
def machines_in(folder: Path) -> Iterator[Machines]:
    (folder / "shop").mkdir()
    with started(folder / "sandbox") as sandboxes, Verifier(sandboxes, folder=folder) as verifier:
        policy = WorkersPolicy(hand_in_s=0)
        with Workshop(sandboxes, folder / "shop", policy, sandbox=sandboxes.policy) as shop:
            yield Machines(verifier, shop)
        assert sandboxes.ls() == []
