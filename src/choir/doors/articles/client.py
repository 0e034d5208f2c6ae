"""Articles, as a program asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from choir.doors.articles.shapes import (
    ArticleOut,
    ArticlePage,
    AssertionOut,
    BoostOut,
    DiffOut,
    DraftList,
    DraftOut,
    PublicationList,
    PublicationOut,
    QuoteOut,
    RenderedOut,
    RevisionOut,
    RevisionPage,
)
from choir.doors.sdk.calls import Call, R, Room, call, key_or_new, pages, path


def _body(text: str, title: str | None, topics: Sequence[str] | None, **more: Any) -> dict[str, Any]:
    return {"text": text, "title": title, "topics": None if topics is None else list(topics), **more}


class ArticlesClient(Room[R]):
    """Articles: draft, quote, publish, read, revise, boost, retract."""

    @call
    def create(
        self, text: str, *, title: str | None = None, topics: Sequence[str] | None = None, key: str | None = None
    ) -> Call[ArticleOut]:
        """Create an article with its first draft."""
        return Call("POST", "/v1/articles", ArticleOut, _body(text, title, topics), key=key_or_new(key))

    @pages
    def all(self, *, mine: bool = False, limit: int = 100) -> Call[ArticlePage]:
        """Iterate over promoted articles, or your own, newest first."""
        return Call("GET", "/v1/articles", ArticlePage, params={"mine": mine, "limit": limit})

    @call
    def get(self, article: str) -> Call[ArticleOut]:
        """Get an article."""
        return Call("GET", path("/v1/articles/{id}", id=article), ArticleOut)

    @call
    def save(
        self,
        article: str,
        text: str,
        *,
        title: str | None = None,
        topics: Sequence[str] | None = None,
        base: int | None = None,
    ) -> Call[ArticleOut]:
        """Save a draft; with `base`, only if that is still the newest."""
        return Call(
            "PUT", path("/v1/articles/{id}/draft", id=article), ArticleOut, _body(text, title, topics, base=base)
        )

    @call
    def drafts(self, article: str) -> Call[DraftList]:
        """List saved drafts."""
        return Call("GET", path("/v1/articles/{id}/drafts", id=article), DraftList)

    @call
    def draft(self, article: str, n: int) -> Call[DraftOut]:
        """Get a saved draft."""
        return Call("GET", path("/v1/articles/{id}/drafts/{n}", id=article, n=str(n)), DraftOut)

    @call
    def diff(self, article: str, a: str, b: str) -> Call[DiffOut]:
        """Compare two drafts or versions, such as "d1" and "v1"."""
        return Call("GET", path("/v1/articles/{id}/diff", id=article), DiffOut, params={"a": a, "b": b})

    @call
    def quote(self, article: str, *, draft: int | None = None) -> Call[QuoteOut]:
        """Get what publishing would cost and whether it would pass."""
        return Call("POST", path("/v1/articles/{id}/quote", id=article), QuoteOut, {"draft": draft}, again=True)

    @call
    def publish(self, article: str, *, draft: int | None = None, key: str | None = None) -> Call[PublicationOut]:
        """Publish a draft; takes stake and fee."""
        where = path("/v1/articles/{id}/publications", id=article)
        return Call("POST", where, PublicationOut, {"draft": draft}, key=key_or_new(key))

    @call
    def versions(self, article: str) -> Call[PublicationList]:
        """List published versions, newest first."""
        return Call("GET", path("/v1/articles/{id}/versions", id=article), PublicationList)

    @call
    def read(self, article: str, *, version: int | None = None) -> Call[RenderedOut]:
        """Get a published version as safe HTML and Markdown."""
        return Call("GET", path("/v1/articles/{id}/rendered", id=article), RenderedOut, params={"version": version})

    @call
    def bundle(self, article: str, *, version: int | None = None) -> Call[bytes]:
        """Export a version with all its evidence as a ZIP file."""
        return Call("GET", path("/v1/articles/{id}/bundle", id=article), bytes, params={"version": version})

    @call
    def retract(self, article: str, reason: str) -> Call[PublicationOut]:
        """Retract the newest version."""
        return Call("POST", path("/v1/articles/{id}/retraction", id=article), PublicationOut, {"reason": reason})

    @call
    def revise(
        self,
        article: str,
        text: str,
        summary: str,
        *,
        title: str | None = None,
        topics: Sequence[str] | None = None,
        key: str | None = None,
    ) -> Call[RevisionOut]:
        """Propose a revision of somebody else's article; takes a fee."""
        body = _body(text, title, topics, summary=summary)
        return Call("POST", path("/v1/articles/{id}/revisions", id=article), RevisionOut, body, key=key_or_new(key))

    @pages
    def revisions(self, article: str, *, limit: int = 100) -> Call[RevisionPage]:
        """Iterate over proposed revisions, newest first."""
        return Call("GET", path("/v1/articles/{id}/revisions", id=article), RevisionPage, params={"limit": limit})

    @call
    def revision(self, revision: str) -> Call[RevisionOut]:
        """Get a proposed revision."""
        return Call("GET", path("/v1/revisions/{id}", id=revision), RevisionOut)

    @call
    def vote(self, revision: str, *, accepts: bool) -> Call[RevisionOut]:
        """Vote on a revision of your article; the first vote stands."""
        where = path("/v1/revisions/{id}/votes", id=revision)
        return Call("POST", where, RevisionOut, {"accepts": accepts}, again=True)

    @call
    def boost(self, article: str, *, key: str | None = None) -> Call[BoostOut]:
        """Pay for a labelled sponsored place."""
        return Call("POST", path("/v1/articles/{id}/boosts", id=article), BoostOut, key=key_or_new(key))

    @call
    def assert_text(self, text: str) -> Call[AssertionOut]:
        """Get which sentences of a text stand on promoted bindings."""
        return Call("POST", "/v1/assertions", AssertionOut, {"text": text}, again=True)

    @call
    def assert_article(self, article: str, *, version: int | None = None) -> Call[AssertionOut]:
        """Get which sentences of an article stand on promoted bindings."""
        return Call("POST", "/v1/assertions", AssertionOut, {"article": article, "version": version}, again=True)
