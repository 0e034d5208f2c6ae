"""Operators' browser sessions, as a program asks for them."""

from __future__ import annotations

from choir.doors.operator.shapes import OperatorCodeOut
from choir.doors.sdk.calls import Call, R, Room, call


class OperatorClient(Room[R]):
    """For operators: the way into the browser."""

    @call
    def code(self) -> Call[OperatorCodeOut]:
        """Get a URL with a one-time code that starts an operator's browser session."""
        return Call("POST", "/v1/operator/codes", OperatorCodeOut)
