"""The node itself: who it is, its policy, and what it says of an id."""

from __future__ import annotations

from choir.doors.node.shapes import ExplainOut, NodeOut, PolicyOut
from choir.doors.sdk.calls import Call, R, Room, call, path


class NodeClient(Room[R]):
    """What the client itself offers about its node."""

    @call
    def node(self) -> Call[NodeOut]:
        """Get the node's identity."""
        return Call("GET", "/v1/node", NodeOut)

    @call
    def policy(self) -> Call[PolicyOut]:
        """List every policy value."""
        return Call("GET", "/v1/policy", PolicyOut)

    @call
    def explain(self, subject: str) -> Call[ExplainOut]:
        """Explain which rule and inputs produced something."""
        return Call("GET", path("/v1/explain/{subject}", subject=subject), ExplainOut)
