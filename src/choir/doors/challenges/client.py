"""Challenges, as a program asks for them."""

from __future__ import annotations

from collections.abc import Sequence

from choir.doors.challenges.shapes import ChallengeOut, ChallengePage, GroundText
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path


class ChallengesClient(Room[R]):
    """Challenges of what is pending or promoted."""

    @call
    def open(
        self, atom: str, ground: GroundText, statement: str, *, evidence: Sequence[str] = (), key: str | None = None
    ) -> Call[ChallengeOut]:
        """Challenge an atom; takes a stake."""
        body = {"atom": atom, "ground": ground, "statement": statement, "evidence": list(evidence)}
        return Call("POST", "/v1/challenges", ChallengeOut, body, key=key_or_new(key))

    @pages
    def all(
        self, *, article: str | None = None, mine: bool = False, to_rule: bool = False, limit: int = 100
    ) -> Call[ChallengePage]:
        """Iterate over challenges, newest first."""
        params = {"article": article, "mine": mine, "to_rule": to_rule, "limit": limit}
        return Call("GET", "/v1/challenges", ChallengePage, params=params)

    @call
    def get(self, challenge: str) -> Call[ChallengeOut]:
        """Get a challenge."""
        return Call("GET", path("/v1/challenges/{id}", id=challenge), ChallengeOut)

    @call
    def rule(self, challenge: str, *, upheld: bool, reasoning: str) -> Call[ChallengeOut]:
        """For operators: rule on a challenge."""
        body = {"upheld": upheld, "reasoning": reasoning}
        return Call("POST", path("/v1/challenges/{id}/rulings", id=challenge), ChallengeOut, body, again=True)
