"""What a dispute is: who says what about which attempt, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import Invalid, NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class Trigger(StrEnum):
    """Why somebody disputes."""

    FAILS_TO_APPLY = "patch_fails_to_apply"
    TESTS_FAIL = "tests_fail_after_patch"
    HASH_MISMATCH = "hash_mismatch"
    TRAJECTORY_INVALID = "trajectory_invalid"
    TIMEOUT = "timeout"
    IRRELEVANT = "output_irrelevant"
    SECURITY = "security_issue"


# What running the checks again can decide; the others need a person's eyes.
DECIDABLE = frozenset({Trigger.FAILS_TO_APPLY, Trigger.TESTS_FAIL, Trigger.HASH_MISMATCH, Trigger.TRAJECTORY_INVALID})


class Side(StrEnum):
    """Who opened it."""

    BUYER = "buyer"
    PROVIDER = "provider"

    @property
    def other(self) -> Side:
        return Side.PROVIDER if self is Side.BUYER else Side.BUYER


class Winner(StrEnum):
    """Who was right."""

    BUYER = "buyer"
    PROVIDER = "provider"
    SPLIT = "split"


class DisputeState(StrEnum):
    """Where a dispute is."""

    OPEN = "open"  # the checks are being run again
    RESPONDED = "responded"  # the other side has answered before that was done
    UNDER_REVIEW = "under_review"  # waits for the other side and for a ruling
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Dispute:
    """One side's doubt about what was decided on an attempt. Amounts are milli-satoshi."""

    id: UUID
    job: UUID
    attempt: UUID
    side: Side
    opener: str
    trigger: Trigger
    statement: str
    state: DisputeState
    deposit: int
    hold: UUID
    opened_us: int
    respond_by_us: int
    response: str | None = None
    verdict: ObjectHash | None = None
    winner: Winner | None = None
    reasoning: str | None = None
    refund: int = 0
    owed: int = 0
    resolved_us: int | None = None


@dataclass(frozen=True, slots=True)
class Ruling:
    """What an operator decided."""

    operator: str
    winner: Winner
    reasoning: str


def dispute_id(value: UUID) -> str:
    return show_id("dispute", value)


def parse_dispute_id(text: str) -> UUID:
    return parse_id("dispute", text)


class UnknownDispute(NotFound):
    code = "bazaar.dispute_unknown"
    sentence = "There is no dispute {dispute}, or you may not see it."


class NotDisputable(Refusal):
    code = "bazaar.not_disputable"
    sentence = "This cannot be disputed: {why}."


class DisputeOver(Refusal):
    code = "bazaar.dispute_over"
    sentence = "The dispute {dispute} is {state} and can no longer be changed."


class HoldOfDispute(Refusal):
    code = "bazaar.hold_of_dispute"
    sentence = "The hold {hold} is the deposit of the open dispute {dispute}."
    hint = "It ends with the dispute. If a ruling is due: `choir --operator job dispute rule {dispute}`."


class BadStatement(Invalid):
    code = "bazaar.bad_statement"
    sentence = "A statement must have 1 to {limit} characters."


class OperatorsOnly(NotAllowed):
    code = "bazaar.operators_only"
    sentence = "Only an operator can rule on a dispute."
