"""Buying work: uploads, jobs, what came of them, and disputes.

These rooms are the requests one by one. `choir.doors.sdk.mesh` puts them together: order, wait, verify.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from choir.bazaar.disputes.model import Trigger, Winner
from choir.bazaar.model import JobType
from choir.doors import wire
from choir.doors.sdk.calls import Call, R, Room, call, pages, path


class Uploads(Room[R]):
    """Bytes that are too many for one request, in parts. Every step can be repeated."""

    @call
    def begin(self, size: int, hash_: str) -> Call[wire.UploadOut]:
        """Announce bytes by their number and hash; the same announcement again gives the same upload."""
        return Call("POST", "/v1/uploads", wire.UploadOut, {"bytes": size, "hash": hash_}, again=True)

    @call
    def get(self, upload: str) -> Call[wire.UploadOut]:
        """What has arrived so far."""
        return Call("GET", path("/v1/uploads/{id}", id=upload), wire.UploadOut)

    @call
    def put_part(self, upload: str, n: int, data: bytes) -> Call[None]:
        """Send a part; sending it again replaces it."""
        return Call("PUT", path("/v1/uploads/{id}/parts/{n}", id=upload, n=str(n)), type(None), content=data)

    @call
    def finish(self, upload: str) -> Call[wire.UploadOut]:
        """Make it an object, if all is there and hashes to what was announced."""
        return Call("POST", path("/v1/uploads/{id}/finish", id=upload), wire.UploadOut, again=True)

    @call
    def drop(self, upload: str) -> Call[None]:
        """Give up an upload."""
        return Call("DELETE", path("/v1/uploads/{id}", id=upload), type(None), again=True)


class Jobs(Room[R]):
    """Orders: one's own, and those one was asked to work on."""

    @call
    def open(
        self,
        type_: JobType | str,
        request: Mapping[str, Any],
        *,
        inputs: Mapping[str, Mapping[str, str]] | None = None,
        strategy: Mapping[str, Any] | None = None,
        criteria: Mapping[str, Any] | None = None,
    ) -> Call[wire.JobOut]:
        """Order work; the budget is held. The key inside the request makes it one job, however often it is sent."""
        body = {
            "type": str(type_),
            "request": dict(request),
            "inputs": {name: dict(value) for name, value in (inputs or {}).items()},
            "strategy": dict(strategy or {}),
            "criteria": dict(criteria or {}),
        }
        return Call("POST", "/v1/jobs", wire.JobOut, body, again=True)

    @call
    def select(
        self, type_: JobType | str, max_price: int, criteria: Mapping[str, Any] | None = None
    ) -> Call[wire.SelectionOut]:
        """Who would be asked now, and why; nothing is ordered."""
        body = {"type": str(type_), "max_price": str(max_price), "criteria": dict(criteria or {})}
        return Call("POST", "/v1/selections", wire.SelectionOut, body, again=True)

    @pages
    def mine(self, *, limit: int = 100) -> Call[wire.JobPage]:
        """One's own orders, newest first; how many attempts there were, but not each of them."""
        return Call("GET", "/v1/jobs", wire.JobPage, params={"limit": limit})

    @call
    def get(self, job: str) -> Call[wire.JobOut]:
        """A job with its attempts, as far as one may see them."""
        return Call("GET", path("/v1/jobs/{id}", id=job), wire.JobOut)

    @call
    def steps(self, job: str) -> Call[wire.JobStepList]:
        """Every step of its life."""
        return Call("GET", path("/v1/jobs/{id}/steps", id=job), wire.JobStepList)

    @call
    def request(self, job: str) -> Call[wire.RequestOut]:
        """What was ordered."""
        return Call("GET", path("/v1/jobs/{id}/request", id=job), wire.RequestOut)

    @call
    def input_part(self, job: str, name: str, n: int = 0) -> Call[bytes]:
        """A part of an input, numbered from 0; behind the last one nothing comes."""
        return Call("GET", path("/v1/jobs/{id}/inputs/{name}", id=job, name=name), bytes, params={"part": n})

    @call
    def artifact_part(self, job: str, n: int = 0) -> Call[bytes]:
        """A part of what was paid for."""
        return Call("GET", path("/v1/jobs/{id}/artifact", id=job), bytes, params={"part": n})

    @call
    def cancel(self, job: str) -> Call[wire.JobOut]:
        """Call it off; what was handed in before is still checked."""
        return Call("POST", path("/v1/jobs/{id}/cancel", id=job), wire.JobOut, again=True)

    @call
    def disputes(self, job: str) -> Call[wire.DisputePage]:
        """All disputes about a job."""
        return Call("GET", path("/v1/jobs/{id}/disputes", id=job), wire.DisputePage)

    @call
    def dispute(
        self, job: str, trigger: Trigger | str, statement: str, *, attempt: str | None = None
    ) -> Call[wire.DisputeOut]:
        """Doubt what was decided; takes a deposit. Opening it again gives the same dispute."""
        body = {"trigger": str(trigger), "statement": statement, "attempt": attempt}
        return Call("POST", path("/v1/jobs/{id}/disputes", id=job), wire.DisputeOut, body, again=True)


class Ids(Room[R]):
    """Ids by their beginning."""

    @call
    def find(self, prefix: str) -> Call[wire.IdOut]:
        """The one job, dispute or provider that one may look at whose id begins so."""
        return Call("GET", path("/v1/ids/{prefix}", prefix=prefix), wire.IdOut)


class Disputes(Room[R]):
    """Disputes, for both sides and for operators."""

    @call
    def get(self, dispute: str) -> Call[wire.DisputeOut]:
        return Call("GET", path("/v1/disputes/{id}", id=dispute), wire.DisputeOut)

    @pages
    def waiting(self, *, limit: int = 100) -> Call[wire.DisputePage]:
        """For operators: disputes that wait for a ruling, oldest first."""
        return Call("GET", "/v1/disputes", wire.DisputePage, params={"limit": limit})

    @call
    def respond(self, dispute: str, response: str) -> Call[wire.DisputeOut]:
        """The other side's answer; the first one stands."""
        where = path("/v1/disputes/{id}/response", id=dispute)
        return Call("POST", where, wire.DisputeOut, {"response": response}, again=True)

    @call
    def rule(self, dispute: str, winner: Winner | str, reasoning: str) -> Call[wire.DisputeOut]:
        """For operators: who was right."""
        body = {"winner": str(winner), "reasoning": reasoning}
        return Call("POST", path("/v1/disputes/{id}/rulings", id=dispute), wire.DisputeOut, body, again=True)
