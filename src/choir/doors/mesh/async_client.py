"""`MeshClient` for one event loop: the same code in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from choir.doors.mesh.client import MeshClient
from choir.doors.mesh.model import Handle, Outcome

if TYPE_CHECKING:
    from choir.doors.sdk.client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")


class AsyncMeshClient:
    """The same methods as `MeshClient`, to be awaited; each runs in a thread. Cancelling a wait ends its thread."""

    def __init__(self, client: AsyncClient | Client, *, node_key: str | None = None) -> None:
        self._twin = client.twin()
        self.mesh = MeshClient(self._twin, node_key=node_key)
        self.request_patch = _in_thread(self.mesh.request_patch)
        self.request_review = _in_thread(self.mesh.request_review)
        self.request_index = _in_thread(self.mesh.request_index)
        self.run = _in_thread(self.mesh.run)
        self.text = _in_thread(self.mesh.text)
        self.handle = _in_thread(self.mesh.handle)
        self.cancel = _in_thread(self.mesh.cancel)
        self.dispute = _in_thread(self.mesh.dispute)

    async def await_and_verify(self, handle: Handle, timeout_s: float | None = None, rerun: bool = False) -> Outcome:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(self.mesh.await_and_verify, handle, timeout_s, rerun, stop=stop)
        finally:
            stop.set()

    async def close(self) -> None:
        """Close the connections."""
        await asyncio.to_thread(self.mesh.close)
        await asyncio.to_thread(self._twin.close)


def _in_thread(method: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    async def called(*args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(method, *args, **options)

    return called
