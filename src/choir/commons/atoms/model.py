"""What an atom is: an immutable object named by the hash of its canonical JSON, with a state beside it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal


class Kind(StrEnum):
    """What an atom says."""

    SOURCE = "SOURCE"
    EXTRACT = "EXTRACT"
    CLAIM = "CLAIM"
    BINDING = "BINDING"
    OMISSION = "OMISSION"
    HYPERTHESIS = "HYPERTHESIS"
    CONJECTURE = "CONJECTURE"
    SYNTHESIS = "SYNTHESIS"


class State(StrEnum):
    """How far an atom may be relied on."""

    UNTRUSTED = "UNTRUSTED"  # private to whoever made it
    QUARANTINED = "QUARANTINED"  # open to everybody's eyes; may be reasoned with, not cited
    PENDING = "PROMOTION-PENDING"  # a stake is posted and may be challenged
    PROMOTED = "PROMOTED"  # citable
    RETRACTED = "RETRACTED"  # kept in history, never citable again


class Act(StrEnum):
    """What changes a state."""

    OFFER = "offer"
    STAKE = "stake"
    REFUSE = "refuse"
    WITHDRAW = "withdraw"
    PROMOTE = "promote"
    DEMOTE = "demote"
    RETRACT = "retract"


class Actor(StrEnum):
    """In which role somebody acts on an atom."""

    STRANGER = "stranger"
    MAKER = "maker"  # one of those who made it, or an author of the article that brings it
    PROMOTER = "promoter"  # who posts a stake for it
    REFEREE = "referee"  # the node's deterministic checks
    OPERATOR = "operator"  # by a ruling
    CLOCK = "clock"  # a time is over


class Condition(StrEnum):
    """What must be shown for a transition."""

    CHECKED = "checked"  # schema, provenance and NO-COPY pass
    STAKED = "staked"  # a stake is held on the ledger
    ATTESTED = "attested"  # each binding of the bundle has a valid attestation
    WINDOW_OVER = "window over"
    UNCHALLENGED = "unchallenged"  # no challenge is open
    REVIEW_FAILED = "review failed"
    CHALLENGE_WON = "challenge won"
    OWN_WISH = "own wish"  # the authors themselves want it


@dataclass(frozen=True, slots=True)
class Atom:
    """An atom as the node knows it, without its content."""

    id: int
    hash: ObjectHash
    kind: Kind
    state: State
    made_us: int
    flagged: bool  # something that it rests on was retracted or demoted


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of state, as the log keeps it."""

    n: int
    atom: ObjectHash
    before: State | None  # None: it was made
    after: State
    act: str
    actor: Actor
    by: str
    reason: str
    evidence: dict[str, Any]
    at_us: int


class UnknownAtom(NotFound):
    code = "commons.atom_unknown"
    sentence = "There is no atom {atom}, or you may not read it."


class WrongKind(Invalid):
    code = "commons.atom_wrong_kind"
    sentence = "The atom {atom} is a {kind}; a {wanted} is needed."


class NoTransition(Refusal):
    code = "commons.no_transition"
    sentence = "An atom that is {state} cannot be changed by the act '{act}'."


class NotYourAct(NotAllowed):
    code = "commons.not_your_act"
    sentence = "A {actor} cannot do the act '{act}' on an atom that is {state}."


class ConditionMissing(Refusal):
    code = "commons.condition_missing"
    sentence = "The act '{act}' on an atom that is {state} needs: {missing}."


class BadAtom(Invalid):
    code = "commons.bad_atom"
    sentence = "The atom is not valid: {why}."
