"""Searching bought indexes, as a program asks for it."""

from __future__ import annotations

from choir.doors.indexes.shapes import IndexSearchOut
from choir.doors.sdk.calls import Call, R, Room, call, path


class IndexesClient(Room[R]):
    """Indexes that were paid for."""

    @call
    def search(
        self, job: str, word: str, *, kind: str = "", refs: bool = False, limit: int = 50
    ) -> Call[IndexSearchOut]:
        """Look a name up in the index that a job was paid for."""
        params = {"q": word, "kind": kind, "refs": refs, "limit": limit}
        return Call("GET", path("/v1/indexes/{id}", id=job), IndexSearchOut, params=params)
