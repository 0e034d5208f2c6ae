"""Shapes of search and of the feed."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from choir.commons.articles.model import article_id
from choir.commons.search.model import Feed, FeedItem, Found, Result, Signal, Sponsored
from choir.doors.shapes import Wire, example
from choir.foundation.clock import format_time

_ARTICLE = "article_01j9zq5a1wf6vsy1m3n4c5d6e7"
_AT = "2026-01-02T03:04:05.000000Z"
_SIGNAL: dict[str, Any] = {"name": "relevance", "points": 5800, "value_ppm": 966000, "why": "1st by words"}
_RESULT: dict[str, Any] = {
    "article": _ARTICLE,
    "title": "Why bridges hum",
    "topics": ["engineering"],
    "author": "person:01j9zq5a1wf6vsy1m3n4c5d6e7",
    "promoted_at": _AT,
    "excerpt": "Wind caused vibration in 45 of the 120 bridges.",
    "points": 7200,
    "why": [_SIGNAL],
}
_SPONSORED: dict[str, Any] = {
    "label": "sponsored",
    "article": _ARTICLE,
    "title": "Why bridges hum",
    "topics": ["engineering"],
    "until": _AT,
}
_ITEM: dict[str, Any] = {
    "article": _ARTICLE,
    "title": "Why bridges hum",
    "topics": ["engineering"],
    "author": "person:01j9zq5a1wf6vsy1m3n4c5d6e7",
    "promoted_at": _AT,
    "citations": 3,
}


class SignalOut(Wire, json_schema_extra=example(**_SIGNAL)):
    """One reason for a result's place."""

    name: str
    points: int = Field(description="What it adds to the place, of 10 000; negative: what it takes.")
    value_ppm: int = Field(description="How strong it is, in millionths.")
    why: str

    @classmethod
    def of(cls, item: Signal) -> SignalOut:
        return cls(name=item.name, points=item.points, value_ppm=item.value_ppm, why=item.words)


class ResultOut(Wire, json_schema_extra=example(**_RESULT)):
    """An article in its place, and why it stands there."""

    article: str
    title: str
    topics: list[str]
    author: str
    promoted_at: str
    excerpt: str
    points: int
    why: list[SignalOut]

    @classmethod
    def of(cls, item: Result) -> ResultOut:
        found = item.candidate
        return cls(
            article=article_id(found.article),
            title=found.title,
            topics=list(found.topics),
            author=found.author,
            promoted_at=format_time(found.promoted_us),
            excerpt=found.excerpt,
            points=item.points,
            why=[SignalOut.of(each) for each in item.signals],
        )


class SponsoredOut(Wire, json_schema_extra=example(**_SPONSORED)):
    """A place that somebody pays for, apart from what is ranked."""

    label: str = "sponsored"
    article: str
    title: str
    topics: list[str]
    until: str

    @classmethod
    def of(cls, item: Sponsored) -> SponsoredOut:
        return cls(
            article=article_id(item.article),
            title=item.title,
            topics=list(item.topics),
            until=format_time(item.until_us),
        )


class SearchOut(Wire, json_schema_extra=example(results=[_RESULT], sponsored=[_SPONSORED], recency=False)):
    """What was found, best first; sponsored places apart."""

    results: list[ResultOut]
    sponsored: list[SponsoredOut]
    recency: bool = Field(description="Whether being new counted.")

    @classmethod
    def of(cls, found: Found) -> SearchOut:
        return cls(
            results=[ResultOut.of(item) for item in found.results],
            sponsored=[SponsoredOut.of(item) for item in found.sponsored],
            recency=found.recency,
        )


class FeedItemOut(Wire, json_schema_extra=example(**_ITEM)):
    """An article of the feed."""

    article: str
    title: str
    topics: list[str]
    author: str
    promoted_at: str
    citations: int = Field(description="Independent citations in the window of the feed; 0 in the list of new work.")

    @classmethod
    def of(cls, item: FeedItem) -> FeedItemOut:
        return cls(
            article=article_id(item.article),
            title=item.title,
            topics=list(item.topics),
            author=item.author,
            promoted_at=format_time(item.promoted_us),
            citations=item.citations,
        )


class FeedOut(Wire, json_schema_extra=example(new=[_ITEM], cited=[_ITEM], sponsored=[_SPONSORED])):
    """New and much-cited work; sponsored places apart."""

    new: list[FeedItemOut]
    cited: list[FeedItemOut]
    sponsored: list[SponsoredOut]

    @classmethod
    def of(cls, feed: Feed) -> FeedOut:
        return cls(
            new=[FeedItemOut.of(item) for item in feed.new],
            cited=[FeedItemOut.of(item) for item in feed.cited],
            sponsored=[SponsoredOut.of(item) for item in feed.sponsored],
        )
