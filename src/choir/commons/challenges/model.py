"""What a challenge is: a staked objection to an atom that is pending or promoted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from choir.commons.atoms.model import Act, Kind
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class Ground(StrEnum):
    """What is wrong."""

    HASH = "hash"  # the source is not what its hashes say
    SPAN = "span"  # the extract is not in the source
    NUMBER = "number"  # a number, date or unit differs
    NAME = "name"  # a name differs
    NEGATION = "negation"  # one says what the other denies
    COPIED = "copied"  # a run of words is copied from a source
    FALLEN = "fallen"  # it rests on something that was retracted or demoted
    CONTRADICTED = "contradicted"  # other evidence says the opposite
    MISLEADING = "misleading"  # true in its words, false in what it makes believe
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class GroundRule:
    """What follows when a challenge on a ground is won, and who can decide it."""

    act: Act
    kinds: frozenset[Kind]  # of atoms that it can be raised against
    checks: frozenset[str]  # of the verifiers that decide it; none: people do
    pointers_min: int = 0


_BINDING = frozenset({Kind.BINDING})
_ANY = frozenset(Kind)

GROUNDS: dict[Ground, GroundRule] = {
    Ground.HASH: GroundRule(Act.RETRACT, frozenset({Kind.SOURCE, Kind.BINDING}), frozenset({"snapshot", "reading"})),
    Ground.SPAN: GroundRule(Act.RETRACT, frozenset({Kind.EXTRACT, Kind.BINDING}), frozenset({"span"})),
    Ground.NUMBER: GroundRule(Act.RETRACT, _BINDING, frozenset({"numbers", "dates"})),
    Ground.NAME: GroundRule(Act.RETRACT, _BINDING, frozenset({"names", "attribution"})),
    Ground.NEGATION: GroundRule(Act.RETRACT, _BINDING, frozenset({"negation"})),
    Ground.COPIED: GroundRule(Act.DEMOTE, frozenset({Kind.SYNTHESIS}), frozenset({"copied"}), pointers_min=1),
    Ground.FALLEN: GroundRule(Act.DEMOTE, frozenset({Kind.SYNTHESIS}), frozenset({"footing"})),
    Ground.CONTRADICTED: GroundRule(Act.RETRACT, _ANY, frozenset(), pointers_min=1),
    Ground.MISLEADING: GroundRule(Act.DEMOTE, _ANY, frozenset()),
    Ground.OTHER: GroundRule(Act.DEMOTE, _ANY, frozenset()),
}


class ChallengeState(StrEnum):
    """Where a challenge is."""

    OPEN = "open"  # the referee looks at it
    UNDER_REVIEW = "under_review"  # it awaits a ruling
    WON = "won"
    LOST = "lost"
    VOID = "void"  # what it was about fell on another ground meanwhile


UNDECIDED = frozenset({ChallengeState.OPEN, ChallengeState.UNDER_REVIEW})


@dataclass(frozen=True, slots=True)
class Challenge:
    """An objection. What it is about is an atom that a publication brought."""

    id: UUID
    publication: UUID
    atom: int
    ground: Ground
    basis: str  # nobody is heard twice on the same ground and basis
    statement: str
    pointers: tuple[str, ...]
    challenger: str
    actor: str
    stake: UUID
    state: ChallengeState
    finding: dict[str, Any] | None
    reasoning: str | None
    opened_us: int
    decided_us: int | None


@dataclass(frozen=True, slots=True)
class ChallengeRuling:
    """What an operator decided."""

    operator: str
    upheld: bool
    reasoning: str


def challenge_id(value: UUID) -> str:
    return show_id("challenge", value)


def parse_challenge_id(text: str) -> UUID:
    return parse_id("challenge", text)


class UnknownChallenge(NotFound):
    code = "commons.challenge_unknown"
    sentence = "There is no challenge {challenge}."


class NotChallengeable(Refusal):
    code = "commons.not_challengeable"
    sentence = "The atom {atom} cannot be challenged: {why}."


class GroundTaken(Refusal):
    code = "commons.ground_taken"
    sentence = "The atom {atom} was challenged on the ground '{ground}' with the same argument: {challenge}, {state}."
    hint = "Challenge it on another ground or with other evidence, or wait for that one."


class BadGround(Invalid):
    code = "commons.bad_ground"
    sentence = "The ground '{ground}' does not fit: {why}."


class OwnArticle(NotAllowed):
    code = "commons.own_article"
    sentence = "Authors cannot challenge their own article."
    hint = "Retract it instead: `choir article retract`."


class ChallengeOver(Refusal):
    code = "commons.challenge_over"
    sentence = "The challenge {challenge} is {state} and can no longer be changed."


class TooManyChallenges(Refusal):
    code = "commons.too_many_challenges"
    sentence = "You already have {limit} open challenges, which is the limit."


class RulersOnly(NotAllowed):
    code = "commons.rulers_only"
    sentence = "Only an operator can rule on a challenge."
