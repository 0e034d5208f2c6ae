"""The hall, as a program asks for it; no credential is needed."""

from __future__ import annotations

from choir.doors.hall.shapes import FigurePage, HallOut, PublicJobOut
from choir.doors.jobs.shapes import ReceiptFileOut
from choir.doors.sdk.calls import Call, R, Room, call, pages, path


class HallClient(Room[R]):
    """Figures of all jobs, and what parties made public."""

    @call
    def totals(self) -> Call[HallOut]:
        """Get what was cleared today (UTC), and in all."""
        return Call("GET", "/v1/hall", HallOut)

    @pages
    def figures(self, *, limit: int = 100) -> Call[FigurePage]:
        """Iterate over all jobs as figures, newest first."""
        return Call("GET", "/v1/hall/figures", FigurePage, params={"limit": limit})

    @pages
    def jobs(self, *, limit: int = 100) -> Call[FigurePage]:
        """Iterate over public jobs, newest first."""
        return Call("GET", "/v1/hall/jobs", FigurePage, params={"limit": limit})

    @call
    def job(self, job: str) -> Call[PublicJobOut]:
        """Get a public job."""
        return Call("GET", path("/v1/hall/jobs/{id}", id=job), PublicJobOut)

    @call
    def artifact_part(self, job: str, n: int = 0) -> Call[bytes]:
        """Get a part of the artifact that a public job was paid for."""
        return Call("GET", path("/v1/hall/jobs/{id}/artifact", id=job), bytes, params={"part": n})

    @call
    def trajectory_part(self, attempt: str, n: int = 0) -> Call[bytes]:
        """Get a part of a public trajectory."""
        return Call("GET", path("/v1/hall/attempts/{id}/trajectory", id=attempt), bytes, params={"part": n})

    @call
    def receipt_file(self, attempt: str) -> Call[ReceiptFileOut]:
        """Get the receipt of an attempt at a public job with all that is needed to verify it."""
        return Call("GET", path("/v1/hall/attempts/{id}/receipt/file", id=attempt), ReceiptFileOut)
