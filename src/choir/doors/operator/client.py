"""Operators' browser sessions, as a program asks for them."""

from __future__ import annotations

from choir.doors.operator.shapes import OperatorCodeOut
from choir.doors.operator.work_shapes import WorkOut
from choir.doors.sdk.calls import Call, R, Room, call


class OperatorClient(Room[R]):
    """For operators: the way into the browser, and what the node is at."""

    @call
    def code(self) -> Call[OperatorCodeOut]:
        """Get a URL with a one-time code that starts an operator's browser session."""
        return Call("POST", "/v1/operator/codes", OperatorCodeOut)

    @call
    def work(self, *, limit: int = 20) -> Call[WorkOut]:
        """See background tasks, subscribers of events, jobs by state and providers online, so many of each."""
        return Call("GET", "/v1/operator/work", WorkOut, params={"limit": limit})
