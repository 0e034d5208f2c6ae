"""What a search finds, and why each result stands where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Candidate:
    """All that ranking knows of an article. What its authors staked or paid is not among it."""

    article: UUID
    publication: UUID
    title: str
    topics: tuple[str, ...]
    author: str
    promoted_us: int
    words_place: int | None  # in the list by words, from 0; None: not in it
    sense_place: int | None  # in the list by sense
    excerpt: str
    confidence_bps: int  # mean of its verified bindings
    bindings: int
    citations: int
    reuse_ppm: int  # sum of the independence of its citations
    survived: int  # challenges


@dataclass(frozen=True, slots=True)
class Signal:
    """One reason for a place: how strong it is, and what it adds."""

    name: str
    value_ppm: int
    points: int  # of 10 000
    words: str


@dataclass(frozen=True, slots=True)
class Result:
    """An article in its place."""

    candidate: Candidate
    points: int
    signals: tuple[Signal, ...]


@dataclass(frozen=True, slots=True)
class Sponsored:
    """A labelled place that somebody pays for, beside what is ranked."""

    article: UUID
    title: str
    topics: tuple[str, ...]
    until_us: int


@dataclass(frozen=True, slots=True)
class FeedItem:
    """An article of the feed."""

    article: UUID
    publication: UUID
    title: str
    topics: tuple[str, ...]
    author: str
    promoted_us: int
    citations: int  # independent ones, in the window of the feed


@dataclass(frozen=True, slots=True)
class Found:
    """Ranked results and, apart from them, sponsored places."""

    results: tuple[Result, ...]
    sponsored: tuple[Sponsored, ...]
    recency: bool  # whether being new counted


@dataclass(frozen=True, slots=True)
class Feed:
    """New and much-cited work and, apart from it, sponsored places."""

    new: tuple[FeedItem, ...]
    cited: tuple[FeedItem, ...]
    sponsored: tuple[Sponsored, ...]
