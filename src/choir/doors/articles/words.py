"""What states, levels, grounds and outcomes mean, for readers who do not know our names for them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from choir.commons.articles.rendering import FAILED, NONE, OWN
from choir.commons.challenges.model import ChallengeState, Ground
from choir.commons.publication.model import Publication, PublicationState
from choir.commons.revisions.model import RevisionState
from choir.commons.verifiers.model import Level, Outcome


@dataclass(frozen=True, slots=True)
class Said:
    """A state in a word and in a sentence; `kind` is the colour that repeats it."""

    word: str
    means: str
    kind: str = ""


STATES: dict[PublicationState, Said] = {
    PublicationState.IN_REVIEW: Said(
        "In review", "The node's referee checks every line of its evidence. It cannot be cited yet.", "badge-mind"
    ),
    PublicationState.IN_WINDOW: Said(
        "In its window",
        "It passed its review. Until the window ends anybody may challenge it. It cannot be cited yet.",
        "badge-mind",
    ),
    PublicationState.PROMOTED: Said(
        "Promoted", "It passed its review and its window. Others can cite it. It can still be challenged.", "badge-good"
    ),
    PublicationState.REFUSED: Said(
        "Refused", "It did not pass its review. It is kept as history and cannot be cited.", "badge-bad"
    ),
    PublicationState.DEMOTED: Said(
        "Demoted", "A challenge to it was won on a minor ground. It cannot be cited any more.", "badge-bad"
    ),
    PublicationState.RETRACTED: Said(
        "Retracted",
        "Its authors took it back, or a challenge to it was won. It is kept as history and can never be cited again.",
        "badge-bad",
    ),
}
CHALLENGED = Said(
    "Challenged",
    "Somebody put a stake on the statement that something here is wrong. Until that is decided, nothing of it is"
    " promoted and no stake goes back.",
    "badge-mind",
)


def standing(publication: Publication, challenged: Collection[UUID]) -> list[Said]:
    """Where a version stands, and whether the article is challenged just now."""
    return [STATES[publication.state], *([CHALLENGED] if publication.article in challenged else [])]


LEVELS: dict[Level, tuple[str, str]] = {
    Level.L0: ("the source", "The source is the very bytes that its name says, and its text follows from them."),
    Level.L1: ("the quote", "The quote is in that text, character for character."),
    Level.L2: (
        "the wording",
        "Numbers, dates, units, names, denials and the rest of the wording agree with the quote.",
    ),
    Level.L3: ("the meaning", "A named judge model finds that the claim follows from the quote."),
}
MARKS: dict[str, Said] = {
    **{level.value: Said(f"{level} · {LEVELS[level][0]}", LEVELS[level][1], "badge-good") for level in Level},
    OWN: Said("own", "The author's own statement. It names no evidence."),
    NONE: Said("unverified", "Evidence is named, but no level was reached.", "badge-mind"),
    FAILED: Said("failed", "A check found that the evidence does not say this.", "badge-bad"),
}
OUTCOMES: dict[Outcome, Said] = {
    Outcome.PASS: Said("passed", "The check found what the level asks for.", "badge-good"),
    Outcome.FAIL: Said("failed", "The check found the opposite of what the level asks for.", "badge-bad"),
    Outcome.UNDECIDED: Said(
        "undecided",
        "The check could not tell. That is not counted against the claim, and it does not count as verified either.",
        "badge-mind",
    ),
    Outcome.NOT_JUDGED: Said("not judged", "Nobody was asked: this node has no judge for this level."),
}
RELATIONS = {
    "supports": "supports the claim",
    "contradicts": "contradicts the claim",
    "qualifies": "qualifies the claim",
}

GROUNDS_SAID: dict[Ground, str] = {
    Ground.NUMBER: "A number, date or unit differs from the source",
    Ground.NAME: "A name differs from the source",
    Ground.NEGATION: "One says what the other denies",
    Ground.SPAN: "The quote is not in the source",
    Ground.HASH: "The source is not what its hash says",
    Ground.COPIED: "A run of words is copied from a source",
    Ground.FALLEN: "It rests on something that was retracted or demoted",
    Ground.CONTRADICTED: "Other evidence says the opposite",
    Ground.MISLEADING: "True in its words, false in what it makes believe",
    Ground.OTHER: "Another ground",
}
CHALLENGES: dict[ChallengeState, Said] = {
    ChallengeState.OPEN: Said("Open", "The referee looks at it.", "badge-mind"),
    ChallengeState.UNDER_REVIEW: Said("Awaits a ruling", "The referee cannot decide it; people do.", "badge-mind"),
    ChallengeState.WON: Said("Won", "The challenger was right. What was challenged fell.", "badge-bad"),
    ChallengeState.LOST: Said("Lost", "The challenger was wrong. The article survived it.", "badge-good"),
    ChallengeState.VOID: Said("Void", "What it was about fell on another ground meanwhile."),
}
REVISIONS: dict[RevisionState, str] = {
    RevisionState.OPEN: "Open",
    RevisionState.ACCEPTED: "Accepted",
    RevisionState.REFUSED: "Refused",
    RevisionState.SPLIT: "Split vote",
    RevisionState.EXPIRED: "Expired",
    RevisionState.VOID: "Void",
}
