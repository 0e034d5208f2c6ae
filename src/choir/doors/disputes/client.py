"""Disputes, as a program asks for them."""

from __future__ import annotations

from choir.bazaar.disputes.model import Winner
from choir.doors.disputes.shapes import DisputeOut, DisputePage
from choir.doors.sdk.calls import Call, R, Room, call, pages, path


class DisputesClient(Room[R]):
    """Disputes, for both sides and for operators."""

    @call
    def get(self, dispute: str) -> Call[DisputeOut]:
        return Call("GET", path("/v1/disputes/{id}", id=dispute), DisputeOut)

    @pages
    def waiting(self, *, limit: int = 100) -> Call[DisputePage]:
        """For operators: list disputes that await a ruling, oldest first."""
        return Call("GET", "/v1/disputes", DisputePage, params={"limit": limit})

    @call
    def respond(self, dispute: str, response: str) -> Call[DisputeOut]:
        """Answer a dispute as the other side; the first answer stands."""
        where = path("/v1/disputes/{id}/response", id=dispute)
        return Call("POST", where, DisputeOut, {"response": response}, again=True)

    @call
    def rule(self, dispute: str, winner: Winner | str, reasoning: str) -> Call[DisputeOut]:
        """For operators: rule on a dispute."""
        body = {"winner": str(winner), "reasoning": reasoning}
        return Call("POST", path("/v1/disputes/{id}/rulings", id=dispute), DisputeOut, body, again=True)
