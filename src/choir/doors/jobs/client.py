"""Buying work, request by request: uploads, jobs, and what came of them.

`choir.doors.mesh` puts them together: order, wait, verify.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from choir.bazaar.disputes.model import Trigger
from choir.bazaar.jobs.model import JobType
from choir.doors.disputes.shapes import DisputeOut, DisputePage
from choir.doors.jobs.market_shapes import KeepOut, RetentionOut, SecondReviewList
from choir.doors.jobs.shapes import (
    IdOut,
    JobOut,
    JobPage,
    JobStepList,
    RepositoryOut,
    RequestOut,
    SelectionOut,
    SharingOut,
    UploadOut,
)
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path


class UploadsClient(Room[R]):
    """Bytes that are too many for one request, in parts. Every step can be repeated."""

    @call
    def begin(self, size: int, hash_: str) -> Call[UploadOut]:
        """Begin an upload of bytes with this size and hash. Repeating it returns the same upload."""
        return Call("POST", "/v1/uploads", UploadOut, {"bytes": size, "hash": hash_}, again=True)

    @call
    def get(self, upload: str) -> Call[UploadOut]:
        """Get the state of an upload."""
        return Call("GET", path("/v1/uploads/{id}", id=upload), UploadOut)

    @call
    def put_part(self, upload: str, n: int, data: bytes) -> Call[None]:
        """Send a part; sending it again replaces it."""
        return Call("PUT", path("/v1/uploads/{id}/parts/{n}", id=upload, n=str(n)), type(None), content=data)

    @call
    def finish(self, upload: str) -> Call[UploadOut]:
        """Complete an upload: it becomes an object if all parts are there and the hash matches."""
        return Call("POST", path("/v1/uploads/{id}/finish", id=upload), UploadOut, again=True)

    @call
    def drop(self, upload: str) -> Call[None]:
        """Abort an upload."""
        return Call("DELETE", path("/v1/uploads/{id}", id=upload), type(None), again=True)


class JobsClient(Room[R]):
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
        public: bool = False,
    ) -> Call[JobOut]:
        """Order work; the budget is held. The key in the request makes repeats one job."""
        body = {
            "type": str(type_),
            "request": dict(request),
            "inputs": {name: dict(value) for name, value in (inputs or {}).items()},
            "strategy": dict(strategy or {}),
            "criteria": dict(criteria or {}),
        } | ({"public": True} if public else {})
        return Call("POST", "/v1/jobs", JobOut, body, again=True)

    @call
    def select(
        self, type_: JobType | str, max_price: int, criteria: Mapping[str, Any] | None = None
    ) -> Call[SelectionOut]:
        """Preview which providers would be selected now, and why; nothing is ordered."""
        body = {"type": str(type_), "max_price": str(max_price), "criteria": dict(criteria or {})}
        return Call("POST", "/v1/selections", SelectionOut, body, again=True)

    @pages
    def mine(self, *, limit: int = 100) -> Call[JobPage]:
        """List your own jobs, newest first, with the number of attempts but not the attempts."""
        return Call("GET", "/v1/jobs", JobPage, params={"limit": limit})

    @call
    def get(self, job: str) -> Call[JobOut]:
        """Get a job with the attempts that the caller may see."""
        return Call("GET", path("/v1/jobs/{id}", id=job), JobOut)

    @call
    def steps(self, job: str) -> Call[JobStepList]:
        """List every step of a job."""
        return Call("GET", path("/v1/jobs/{id}/steps", id=job), JobStepList)

    @call
    def request(self, job: str) -> Call[RequestOut]:
        """Get the job's order."""
        return Call("GET", path("/v1/jobs/{id}/request", id=job), RequestOut)

    @call
    def input_part(self, job: str, name: str, n: int = 0) -> Call[bytes]:
        """Get a part of an input, numbered from 0; empty past the end."""
        return Call("GET", path("/v1/jobs/{id}/inputs/{name}", id=job, name=name), bytes, params={"part": n})

    @call
    def artifact_part(self, job: str, n: int = 0) -> Call[bytes]:
        """Get a part of the paid artifact."""
        return Call("GET", path("/v1/jobs/{id}/artifact", id=job), bytes, params={"part": n})

    @call
    def cancel(self, job: str) -> Call[JobOut]:
        """Cancel a job; earlier deliveries are still verified."""
        return Call("POST", path("/v1/jobs/{id}/cancel", id=job), JobOut, again=True)

    @call
    def sharing(self, job: str) -> Call[SharingOut]:
        """Get which of your own sides of a job are public."""
        return Call("GET", path("/v1/jobs/{id}/sharing", id=job), SharingOut)

    @call
    def share(self, job: str) -> Call[SharingOut]:
        """Make your own side of a job public."""
        return Call("PUT", path("/v1/jobs/{id}/sharing", id=job), SharingOut)

    @call
    def unshare(self, job: str) -> Call[SharingOut]:
        """Take back that your own side of a job is public."""
        return Call("DELETE", path("/v1/jobs/{id}/sharing", id=job), SharingOut, again=True)

    @call
    def retention(self, job: str, days: int | None = None) -> Call[RetentionOut]:
        """Get until when a job's bytes are kept; with `days`, also what keeping them so much longer would cost."""
        return Call("GET", path("/v1/jobs/{id}/retention", id=job), RetentionOut, params={"days": days})

    @call
    def keep(self, job: str, days: int, *, key: str | None = None) -> Call[KeepOut]:
        """Keep a closed job's bytes longer, for a price; the same key charges once."""
        return Call("POST", path("/v1/jobs/{id}/keep", id=job), KeepOut, {"days": days}, key=key_or_new(key))

    @call
    def second_reviews(self, job: str) -> Call[SecondReviewList]:
        """List what became of a job's second reviews."""
        return Call("GET", path("/v1/jobs/{id}/second-reviews", id=job), SecondReviewList)

    @call
    def second_review_part(self, job: str, number: int, n: int = 0) -> Call[bytes]:
        """Get a part of a second review."""
        where = path("/v1/jobs/{id}/second-reviews/{number}/review", id=job, number=str(number))
        return Call("GET", where, bytes, params={"part": n})

    @call
    def repository(self, hash_: str) -> Call[RepositoryOut]:
        """Turn an uploaded archive into a git bundle that an order can name."""
        return Call("POST", "/v1/repositories", RepositoryOut, {"hash": hash_}, again=True)

    @call
    def disputes(self, job: str) -> Call[DisputePage]:
        """List all disputes about a job."""
        return Call("GET", path("/v1/jobs/{id}/disputes", id=job), DisputePage)

    @call
    def dispute(
        self, job: str, trigger: Trigger | str, statement: str, *, attempt: str | None = None
    ) -> Call[DisputeOut]:
        """Dispute the outcome of a job; takes a deposit. Opening it again returns the same dispute."""
        body = {"trigger": str(trigger), "statement": statement, "attempt": attempt}
        return Call("POST", path("/v1/jobs/{id}/disputes", id=job), DisputeOut, body, again=True)


class IdsClient(Room[R]):
    """Ids by their beginning."""

    @call
    def find(self, prefix: str) -> Call[IdOut]:
        """Find the one visible job, dispute or provider whose id starts with this."""
        return Call("GET", path("/v1/ids/{prefix}", prefix=prefix), IdOut)
