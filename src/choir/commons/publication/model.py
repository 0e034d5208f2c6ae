"""What a publication is: one version of an article on its way through stake, review and window."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from choir.commons.novelty.model import NoveltyQuote
from choir.commons.stakes.rules import Contribution
from choir.commons.verifiers.model import Level, Verification
from choir.foundation.canonical import ObjectHash
from choir.foundation.errors import NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class PublicationState(StrEnum):
    """How far a version has come."""

    IN_REVIEW = "in_review"
    IN_WINDOW = "in_window"
    PROMOTED = "promoted"
    REFUSED = "refused"  # the review failed
    DEMOTED = "demoted"  # a challenge was won on a minor ground
    RETRACTED = "retracted"  # a challenge was won, or its authors took it back


LIVE = frozenset({PublicationState.IN_REVIEW, PublicationState.IN_WINDOW})
STANDING = frozenset({PublicationState.IN_WINDOW, PublicationState.PROMOTED})  # what can be challenged


class RiskTier(StrEnum):
    """How long the window is."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class Risk:
    """The risk of an article, and what it came from, in basis points."""

    total_bps: int
    tier: RiskTier
    parts: dict[str, int]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an article would not pass its review."""

    code: str  # such as "density" or "copied"
    words: str
    label: str | None = None  # of the claim that it is about
    data: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CheckedBinding:
    """A line of evidence and what the verifiers say of it."""

    label: str
    claim: str
    pointer: str
    relation: str
    verification: Verification

    @property
    def level(self) -> Level | None:
        return self.verification.verified


@dataclass(frozen=True, slots=True)
class Quote:
    """What publishing a draft would cost and whether it would pass, before anything is staked."""

    stake: int
    fee: int
    contribution: Contribution | None  # None: there is too little
    too_little: str
    risk: Risk
    window_s: int
    words: int
    bindings: tuple[CheckedBinding, ...]
    verified: int  # bindings that count for the evidence density
    needed: int  # how many must
    high_impact: tuple[str, ...]  # labels of claims that need a disclosed hyperthesis
    publishes: tuple[str, ...]  # sources that become readable to everybody
    novelty: NoveltyQuote
    problems: tuple[Problem, ...]

    @property
    def would_pass(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class Publication:
    """One version on its way. Amounts are units of CHIP."""

    id: UUID
    article: UUID
    version: int
    draft: int
    synthesis: int
    owner: str
    actor: str
    key: str
    state: PublicationState
    stake: UUID
    fee: int
    risk_bps: int
    tier: RiskTier
    receipt: ObjectHash
    review: ObjectHash | None
    submitted_us: int
    reviewed_us: int | None
    window_until_us: int | None
    promoted_us: int | None
    stake_due_us: int | None
    ended_us: int | None


def publication_id(value: UUID) -> str:
    return show_id("publication", value)


def parse_publication_id(text: str) -> UUID:
    return parse_id("publication", text)


class UnknownPublication(NotFound):
    code = "commons.publication_unknown"
    sentence = "The article {article} has no version {version}."


class NotPublishable(Refusal):
    code = "commons.not_publishable"
    sentence = "The draft cannot be published: {why}."
    hint = "`choir publish ARTICLE --quote` lists all problems; nothing was staked."


class NothingToRetract(Refusal):
    code = "commons.nothing_to_retract"
    sentence = "The article {article} is {state}; there is nothing to retract."


class NotYoursToRetract(NotAllowed):
    code = "commons.not_yours_to_retract"
    sentence = "The newest version of {article} is {state}; its first author can retract it, and you are not that."
    hint = "In its window, who published it can too. Or publish a corrected version, or challenge a claim."


class ChallengeOpen(Refusal):
    code = "commons.challenge_open"
    sentence = "A challenge to the article {article} is open; this has to wait until it is decided."
