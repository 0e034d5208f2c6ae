"""Citations over HTTP and in the SDK: an article cites another, that pays, and everybody can see why."""

from __future__ import annotations

import pytest

from choir.commons.citations.model import CitesItself, NotSaid, UnknownCitation
from choir.foundation.errors import Invalid
from choir.sdk import Client
from tests.doors.http.reading_room import PROSE, SAID, USDC, Book, ReadingRoom, reading_room
from tests.doors.http.visitors import Browser, done, refused
from tests.operations.nodes import NodeUnderTest, until

NO_ARTICLE = "article_" + "0" * 26
NO_CITATION = "citation_" + "0" * 26


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> ReadingRoom:
    return reading_room(served)


@pytest.fixture(scope="module")
def reader(served: NodeUnderTest) -> ReadingRoom:
    """Somebody whose citations may pay: they spent $100 for good, and there is something to pay with."""
    with served.client() as operator:
        operator.treasury.fund(100 * USDC, reason="a test")
    return reading_room(served, spends_usdc=100)


@pytest.fixture(scope="module")
def book(author: ReadingRoom) -> Book:
    return author.book(PROSE[0])


@pytest.fixture(scope="module")
def cited(author: ReadingRoom, reader: ReadingRoom, book: Book) -> str:
    """The article that cites it, promoted and settled."""
    made = reader.book(PROSE[1], cites=book.id)
    until(lambda: made.id in [item["citing"] for item in author.citations(book.id)])
    return made.id


def test_a_citation_pays_and_says_why(author: ReadingRoom, reader: ReadingRoom, book: Book, cited: str) -> None:
    [found] = author.citations(book.id)
    assert (found["citing"], found["cited"], found["independence_ppm"]) == (cited, book.id, 1_000_000)
    assert (found["state"], found["amount"], found["reasons"]) == ("paid", found["rate"], [])
    assert done(reader.http.get(f"/v1/citations/{found['id']}")) == found
    earned = done(author.http.get("/v1/earnings"))
    [mine] = [item for item in earned["items"] if item["article"] == book.id]
    assert (mine["citations"], mine["independent"], mine["citation_amount"]) == (1, 1, found["amount"])
    dollars = int(found["amount"]) / USDC
    assert mine["line"].startswith(f"You wrote '{book.title}'; 1 article cited it; you earned ${dollars:.2f}")
    assert earned["citation"] == {"amount": found["amount"], "vested": "0", "taken_back": "0"}
    theirs = done(reader.http.get("/v1/earnings"))
    assert theirs["allowance"] | {"month": ""} == {
        "month": "",
        "total": str(52 * USDC),  # $2 and half of what was spent
        "used": found["amount"],
        "spent": str(100 * USDC),
        "income": "0",
        "vouched": False,
    }


def test_ones_own_citation_and_one_without_allowance_pay_nothing(
    served: NodeUnderTest, author: ReadingRoom, book: Book, cited: str
) -> None:
    poor = reading_room(served)
    made = {who: who.book(prose, cites=book.id).id for who, prose in ((author, PROSE[2]), (poor, PROSE[2]))}
    until(lambda: set(made.values()) <= {item["citing"] for item in author.citations(book.id)})
    found = {item["citing"]: item for item in author.citations(book.id)}
    own, unpaid = found[made[author]], found[made[poor]]
    assert (own["independence_ppm"], own["amount"], own["state"]) == (0, "0", "unpaid")
    assert "by one identity" in own["reasons"][0]
    assert (unpaid["independence_ppm"], unpaid["amount"], unpaid["state"]) == (1_000_000, "0", "unpaid")
    [why] = unpaid["reasons"]
    assert why.startswith("the citing author has no allowance in ")
    assert found[cited]["state"] == "paid"


def test_pages(author: ReadingRoom, book: Book, cited: str) -> None:
    whole = author.citations(book.id)
    seen, cursor = [], ""
    while True:
        params = {"limit": 1, "cursor": cursor}
        page = done(author.http.get(f"/v1/articles/{book.id}/citations", params=params))  # type: ignore[arg-type]
        seen += page["items"]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert seen == whole
    first = done(author.http.get("/v1/earnings", params={"limit": 1}))
    second = done(author.http.get("/v1/earnings", params={"limit": 1, "cursor": first["next"]}))
    assert first["items"] != second["items"]
    for odd in ("x", NO_ARTICLE, "9" * 300, "'", "💥"):
        refused(author.http.get(f"/v1/articles/{book.id}/citations", params={"cursor": odd}), 422, "invalid")
    for limit in ("0", "-1", "x", "9" * 30):
        refused(author.http.get("/v1/earnings", params={"limit": limit}), 422, "invalid")


def test_citing_adds_a_claim_to_the_newest_draft(reader: ReadingRoom, book: Book) -> None:
    draft = reader.draft_of(PROSE[2])
    added = reader.cite(draft, book.id, relation="qualifies", confidence_bps=5_000)
    assert (added["article"], added["draft"], added["label"], added["quote"]) == (draft, 2, "c4", SAID)
    assert added["evidence"] == f"c4 qualifies {added['pointer']} confidence=0.5"
    text = done(reader.http.get(f"/v1/articles/{draft}/drafts/2"))["text"]
    assert f"[{SAID.rstrip('.')}]{{#c4}}." in text
    assert added["evidence"] in text
    assert reader.cite(draft, book.id)["label"] == "c5"


def test_what_cannot_be_cited(author: ReadingRoom, reader: ReadingRoom, book: Book, bob: Browser) -> None:
    draft = reader.draft_of(PROSE[2])
    where = f"/v1/articles/{draft}/citations"
    right = {"article": book.id, "claim": "Dampers were tuned", "quote": SAID}
    refused(reader.http.post(where, json=right | {"article": draft}), 409, "commons.cites_itself")
    refused(reader.http.post(where, json=right | {"article": author.draft}), 404, "commons.article_unknown")
    refused(reader.http.post(where, json=right | {"article": NO_ARTICLE}), 404, "commons.article_unknown")
    refused(reader.http.post(where, json=right | {"quote": "It never says this."}), 409, "commons.not_said")
    refused(bob.http.post(where, json=right), 404, "commons.article_unknown")
    refused(reader.http.post(f"/v1/articles/{book.id}/citations", json=right), 403, "commons.not_an_author")
    for odd in (
        {"article": NO_CITATION},
        {"article": "x" * 10_000},
        {"claim": ""},
        {"claim": "x" * 10_001},
        {"quote": ""},
        {"quote": "x" * 10_001},
        {"relation": "adores"},
        {"confidence_bps": 0},
        {"confidence_bps": 10_001},
        {"surprise": 1},
    ):
        refused(reader.http.post(where, json=right | odd), 422, "invalid")
    for claim in ("]{#c1}", "```", "a\nb", "\u202e\u200b", "[x](javascript:1)", "a]{#c9}. [b"):
        assert reader.http.post(where, json=right | {"claim": claim}).status_code in (201, 409, 422)
    assert done(reader.http.get(f"/v1/articles/{draft}"))["state"] == "draft"


def test_what_there_is_no_citation_of(author: ReadingRoom, bob: Browser) -> None:
    refused(bob.http.get(f"/v1/citations/{NO_CITATION}"), 404, "commons.citation_unknown")
    for odd in (NO_ARTICLE, "citation_x", "x", "💥"):
        assert bob.http.get(f"/v1/citations/{odd}").status_code in (404, 422)
    refused(bob.http.get(f"/v1/articles/{author.draft}/citations"), 404, "commons.article_unknown")
    refused(bob.http.get(f"/v1/articles/{NO_ARTICLE}/citations"), 404, "commons.article_unknown")
    assert done(bob.http.get("/v1/earnings"))["items"] == []


def test_the_sdk(served: NodeUnderTest, reader: ReadingRoom, book: Book, cited: str, ada: Browser) -> None:
    with Client(served.url, ada.make_token("read", "research")["secret"]) as client:
        found = [item for item in client.citations.of_article(book.id, limit=1) if item.citing == cited]
        assert [client.citations.get(item.id) for item in found] == found
        assert len(found) == 1
        mine = client.articles.create("# Mine\n\nNothing yet.")
        assert client.citations.cite_article(mine.id, book.id, claim="They were tuned", quote=SAID).label == "c1"
        with pytest.raises(NotSaid):
            client.citations.cite_article(mine.id, book.id, claim="x", quote="Never said.")
        with pytest.raises(CitesItself):
            client.citations.cite_article(mine.id, mine.id, claim="x", quote="Nothing yet.")
        with pytest.raises(UnknownCitation):
            client.citations.get(NO_CITATION)
        with pytest.raises(Invalid):
            client.citations.get(book.id)
        assert client.citations.earnings().allowance.total == "0"
