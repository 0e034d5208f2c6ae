"""Citations and earnings, as a program asks for them."""

from __future__ import annotations

from choir.doors.citations.shapes import CitationOut, CitationPage, CiteOut, EarningsOut, GrantPage
from choir.doors.sdk.calls import Call, R, Room, call, pages, path


class CitationsClient(Room[R]):
    """Who cites whom, and what that earns."""

    @call
    def cite_article(
        self,
        draft: str,
        article: str,
        *,
        claim: str,
        quote: str,
        relation: str = "supports",
        confidence_bps: int | None = None,
    ) -> Call[CiteOut]:
        """Add to the draft of your article a claim that rests on words of another, promoted article."""
        body = {
            "article": article,
            "claim": claim,
            "quote": quote,
            "relation": relation,
            "confidence_bps": confidence_bps,
        }
        return Call("POST", path("/v1/articles/{id}/citations", id=draft), CiteOut, body)

    @pages
    def of_article(self, article: str, *, limit: int = 100) -> Call[CitationPage]:
        """Iterate over the citations of an article, newest first."""
        return Call("GET", path("/v1/articles/{id}/citations", id=article), CitationPage, params={"limit": limit})

    @call
    def get(self, citation: str) -> Call[CitationOut]:
        """Get a citation."""
        return Call("GET", path("/v1/citations/{id}", id=citation), CitationOut)

    @call
    def earnings(self, *, cursor: str = "", limit: int = 100) -> Call[EarningsOut]:
        """What your articles earned."""
        return Call("GET", "/v1/earnings", EarningsOut, params={"cursor": cursor, "limit": limit})

    @pages
    def grants(self, *, limit: int = 100) -> Call[GrantPage]:
        """Iterate over everything that was granted to you, newest first."""
        return Call("GET", "/v1/earnings/grants", GrantPage, params={"limit": limit})
