"""What a revision is: a text that somebody proposes for an article, with a fee. And what a boost is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from choir.foundation.errors import NotAllowed, NotFound, Refusal
from choir.foundation.ids import parse_id, show_id


class RevisionState(StrEnum):
    """What became of it."""

    OPEN = "open"
    ACCEPTED = "accepted"  # by all authors: its proposer is one of them now
    REFUSED = "refused"  # by all authors
    EXPIRED = "expired"  # not all authors answered in time
    SPLIT = "split"  # authors disagree
    VOID = "void"  # the article or its proposer has gone


@dataclass(frozen=True, slots=True)
class Revision:
    """A proposed text."""

    id: UUID
    article: UUID
    proposer: str
    actor: str
    base: int
    title: str
    topics: tuple[str, ...]
    text: str
    summary: str
    stake: UUID
    state: RevisionState
    opened_us: int
    until_us: int
    decided_us: int | None


@dataclass(frozen=True, slots=True)
class Boost:
    """A labelled sponsored place for a while."""

    id: UUID
    article: UUID
    owner: str
    amount: int
    from_us: int
    until_us: int


def revision_id(value: UUID) -> str:
    return show_id("revision", value)


def parse_revision_id(text: str) -> UUID:
    return parse_id("revision", text)


def boost_id(value: UUID) -> str:
    return show_id("boost", value)


class UnknownRevision(NotFound):
    code = "commons.revision_unknown"
    sentence = "There is no revision {revision}, or you may not read it."


class RevisionOpen(Refusal):
    code = "commons.revision_open"
    sentence = "You already have an open proposal for the article {article}: {revision}."


class OwnRevision(NotAllowed):
    code = "commons.own_revision"
    sentence = "Authors save drafts of their own article; a revision is proposed by others."
    hint = "Save it: `choir article save`."


class NotRevisable(Refusal):
    code = "commons.not_revisable"
    sentence = "The article {article} cannot be revised: {why}."


class RevisionOver(Refusal):
    code = "commons.revision_over"
    sentence = "The revision {revision} is {state} and can no longer be voted on."


class RevisionStale(Refusal):
    code = "commons.revision_stale"
    sentence = "The revision {revision} was made from draft {base}, and the article is at draft {newest} now."
    hint = "Accepting it would drop what was saved since. Refuse it, and have it proposed anew."


class NotBoostable(Refusal):
    code = "commons.not_boostable"
    sentence = "The article {article} is {state}; only a promoted article can be boosted."
