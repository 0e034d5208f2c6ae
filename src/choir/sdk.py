"""The Python SDK.

from choir.sdk import Client

with Client() as choir:
    choir.open_account("person:ada/available/SAT")
    print(choir.balance("person:ada/available/SAT").balance)

`AsyncClient` has the same methods, to be awaited. `MeshClient` buys work: it orders, waits and verifies. `try_worker`
tries a worker that is to sell some. What is not here is not meant for programs outside this project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from choir.bazaar.contracts import HiddenCheck, OutsideCheck, RunOutput, StructuredReview
from choir.bazaar.jobs.model import Level
from choir.bazaar.policy import BazaarPolicy
from choir.doors.events.client import Event
from choir.doors.liabilities.publication import published
from choir.doors.mesh.async_client import AsyncMeshClient
from choir.doors.mesh.bundles import Bundle, bundle
from choir.doors.mesh.client import MeshClient
from choir.doors.mesh.delegation import (
    Complexity,
    DelegateToMesh,
    DelegationPolicy,
    HandleLocally,
    Task,
    should_delegate,
)
from choir.doors.mesh.model import Check, Handle, JobFailed, NotDoneYet, Outcome
from choir.doors.mesh.progress import Progress
from choir.doors.mesh.proof import proof_of
from choir.doors.sdk.auth import NostrKey
from choir.doors.sdk.calls import new_key
from choir.doors.sdk.client import AsyncClient, Client, NoNode
from choir.doors.sdk.deadlines import within
from choir.doors.sdk.policies import policy_of
from choir.foundation.errors import (
    Broken,
    ChoirError,
    Invalid,
    NotAllowed,
    NotFound,
    Refusal,
    Unauthenticated,
    Unavailable,
)
from choir.foundation.money import Asset

if TYPE_CHECKING:
    from pathlib import Path

    from choir.doors.provider.trial import Trial

__all__ = [
    "Asset",
    "AsyncClient",
    "AsyncMeshClient",
    "BazaarPolicy",
    "Broken",
    "Bundle",
    "Check",
    "ChoirError",
    "Client",
    "Complexity",
    "DelegateToMesh",
    "DelegationPolicy",
    "Event",
    "Handle",
    "HandleLocally",
    "HiddenCheck",
    "Invalid",
    "JobFailed",
    "Level",
    "MeshClient",
    "NoNode",
    "NostrKey",
    "NotAllowed",
    "NotDoneYet",
    "NotFound",
    "Outcome",
    "OutsideCheck",
    "Progress",
    "Refusal",
    "RunOutput",
    "StructuredReview",
    "Task",
    "Unauthenticated",
    "Unavailable",
    "bundle",
    "new_key",
    "policy_of",
    "proof_of",
    "published",
    "should_delegate",
    "try_worker",
    "within",
]


def try_worker(worker: str, folder: Path | str, test_command: str = "python3 -m pytest -q") -> Trial:
    """Run your worker on a folder's tests in the sandbox, without a node and without money.

    `worker` is the name of a built-in one or a preset, or the path of a .py or .toml file.
    """
    from choir.doors.provider import trial

    return trial.try_worker(worker, folder, test_command)
