"""The Python SDK.

from choir.sdk import Client

with Client() as choir:
    choir.open_account("person:ada/available/CREDIT")
    print(choir.balance("person:ada/available/CREDIT").balance)

`AsyncClient` has the same methods, to be awaited. `MeshClient` buys work: it orders, waits and verifies.
"""

from choir.doors.sdk.auth import NostrKey
from choir.doors.sdk.calls import new_key
from choir.doors.sdk.client import AsyncClient, Client, NoNode
from choir.doors.sdk.delegating import (
    Complexity,
    DelegateToMesh,
    DelegationPolicy,
    HandleLocally,
    Task,
    should_delegate,
)
from choir.doors.sdk.events import Event
from choir.doors.sdk.mesh import MeshClient
from choir.doors.sdk.mesh_async import AsyncMeshClient
from choir.doors.sdk.mesh_model import Handle, JobFailed, NotDoneYet, Outcome
from choir.doors.sdk.progress import Progress
from choir.foundation.errors import ChoirError
from choir.foundation.money import Asset

__all__ = [
    "Asset",
    "AsyncClient",
    "AsyncMeshClient",
    "ChoirError",
    "Client",
    "Complexity",
    "DelegateToMesh",
    "DelegationPolicy",
    "Event",
    "Handle",
    "HandleLocally",
    "JobFailed",
    "MeshClient",
    "NoNode",
    "NostrKey",
    "NotDoneYet",
    "Outcome",
    "Progress",
    "Task",
    "new_key",
    "should_delegate",
]
