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
        """For operators: compute and sign the liabilities after all entries so far.

        With many accounts the answer only says that it is in progress. `publication.published` waits for it.
        """
        return Call("POST", "/v1/liabilities", PublishAnswer, again=True)

    @call
    def latest(self) -> Call[LiabilitiesOut]:
        """Get the last signed liabilities."""
        return Call("GET", "/v1/liabilities/latest", LiabilitiesOut)

    @call
    def get(self, size: int) -> Call[LiabilitiesOut]:
        """Get the liabilities signed after this many entries."""
        return Call("GET", f"/v1/liabilities/{int(size)}", LiabilitiesOut)

    @call
    def prove(self, size: int | None = None) -> Call[LiabilitiesProofOut]:
        """Get a self-contained proof that the signed liabilities include what the caller is owed."""
        return Call("GET", "/v1/me/liabilities", LiabilitiesProofOut, params={"size": size})
