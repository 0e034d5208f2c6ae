"""A worker on a folder of one's own, without a node and without money.

Guarantees: the worker works as it would for a buyer, in a sandbox of the tier that a provider offers, and under the
rule that `choir provider serve` has on one's own machine: firm limits where the machine has them, and where it has
none, it works all the same, because this is one's own code on one's own files. Nothing is left afterwards.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from choir.bazaar.contracts import PatchGenRequest, Terms
from choir.bazaar.jobs.model import JobType
from choir.bazaar.policy import VerificationPolicy, WorkersPolicy
from choir.bazaar.workers.catalogue import workers
from choir.bazaar.workers.fulfilment import FulfilledOrder, fulfil
from choir.bazaar.workers.model import WorkOrder
from choir.bazaar.workers.shop import Workshop
from choir.doors.mesh import bundles
from choir.doors.provider.machine import check_isolation, policy_here
from choir.doors.provider.model import NoSuchWork, short_type
from choir.foundation.clock import SystemClock
from choir.foundation.errors import ChoirError, Invalid
from choir.foundation.policy import Policy
from choir.foundation.settings import load_settings
from choir.identity.keys.nostr_keys import checked_secret
from choir.sandbox.model import Tier
from choir.sandbox.policy import SandboxPolicy
from choir.sandbox.service import Sandboxes

TEST = "python3 -m pytest -q"
_TERMS = Terms(1_000_000, 600, "trial")


@dataclass(frozen=True, slots=True)
class Trial:
    """What a worker would hand in."""

    trajectory: str
    diff: str  # empty where nothing would be handed in
    error: ChoirError | None
    loose: str  # what the worker had no firm limit of here; empty where all was limited

    @property
    def is_done(self) -> bool:
        return self.error is None


def try_worker(worker: str, folder: Path | str, test_command: str = TEST) -> Trial:
    """Have a worker make a folder's tests pass. `worker` is a built-in one, a preset, or a .py or .toml file."""
    if not Path(folder).is_dir():
        raise Invalid(what=f"The folder {folder}", why="there is none of this name")
    policy = policy_here(load_settings(), play=True)
    with tempfile.TemporaryDirectory(prefix="choir-trial-") as name:
        scratch = Path(name)
        copy = shutil.copytree(folder, scratch / "files", ignore=shutil.ignore_patterns(".git"))
        with (
            bundles.bundle(copy) as sent,
            Sandboxes(scratch / "sandbox", policy.of(SandboxPolicy)) as sandboxes,
        ):
            check_isolation(sandboxes, Tier.BUBBLEWRAP, policy.of(SandboxPolicy))
            request = PatchGenRequest("Make the tests pass", "", sent.commit, test_command, _TERMS)
            order = WorkOrder("job_trial", JobType.PATCH_GEN, request, sent.file)
            found = _fulfilled(order, worker, sandboxes, scratch / "shop", policy)
            loose = sandboxes.unlimited()
    return Trial(found.trajectory.decode(), found.artifact.decode("utf-8", "replace"), found.error, loose)


def _fulfilled(order: WorkOrder, name: str, sandboxes: Sandboxes, folder: Path, policy: Policy) -> FulfilledOrder:
    key = checked_secret(secrets.token_bytes(32))  # a provider keeps one; a trial needs none that lasts
    with Workshop(
        sandboxes, folder, policy.of(WorkersPolicy), policy.of(VerificationPolicy), policy.of(SandboxPolicy)
    ) as shop:
        made = workers([name], shop, os.environ)
        able = [item for item in made if order.type in item.types]
        if not able:
            types = sorted({kind for item in made for kind in item.types})
            raise NoSuchWork(type=short_type(order.type), able=", ".join(short_type(kind) for kind in types))
        return fulfil(order, able[0], key, SystemClock(), policy.of(WorkersPolicy), lambda: False)
