"""What the node owes: the totals it signed, and the proof that what it owes whoever asks is part of them."""

from __future__ import annotations

from pydantic import RootModel

from choir.doors.liabilities.shapes import LiabilitiesOut, LiabilitiesProofOut, LiabilitiesUnderWayOut
from choir.doors.sdk.calls import Call, R, Room, call


class PublishAnswer(RootModel[LiabilitiesOut | LiabilitiesUnderWayOut]):
    """What was signed, or that it is being counted."""


class LiabilitiesClient(Room[R]):
    """What the node owes to people and agents. `choir.doors.liabilities.proof.check` checks a proof."""

    @call
    def publish(self) -> Call[PublishAnswer]:
        """For an operator: have what is owed after all entries so far counted and signed now.

        Many accounts take long: then the answer only says that it is under way. `publishing.published` waits.
        """
        return Call("POST", "/v1/liabilities", PublishAnswer, again=True)

    @call
    def latest(self) -> Call[LiabilitiesOut]:
        """What is owed, as the node last signed it."""
        return Call("GET", "/v1/liabilities/latest", LiabilitiesOut)

    @call
    def get(self, size: int) -> Call[LiabilitiesOut]:
        """What the node signed that it owed after so many entries."""
        return Call("GET", f"/v1/liabilities/{int(size)}", LiabilitiesOut)

    @call
    def prove(self, size: int | None = None) -> Call[LiabilitiesProofOut]:
        """A self-contained proof that what whoever asks is owed is part of the signed totals."""
        return Call("GET", "/v1/me/liabilities", LiabilitiesProofOut, params={"size": size})
