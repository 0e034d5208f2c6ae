"""Search and the feed over HTTP and in the SDK: what is promoted is found and explains its place, and nothing else."""

from __future__ import annotations

import asyncio

import pytest

from choir.foundation.errors import Invalid
from choir.sdk import AsyncClient, Client
from tests.doors.http.reading_room import PROSE, Book, ReadingRoom, new_mark, reading_room
from tests.doors.http.visitors import Browser, client, done, key, refused
from tests.operations.nodes import NodeUnderTest, until

TOPIC = "lighthouses"


@pytest.fixture(scope="module")
def room(served: NodeUnderTest) -> ReadingRoom:
    return reading_room(served)


@pytest.fixture(scope="module")
def book(room: ReadingRoom) -> Book:
    return room.book(PROSE[0], topics=[TOPIC])


def test_a_result_says_why_it_stands_where_it_stands(room: ReadingRoom, book: Book) -> None:
    found = room.find(book.mark)
    [result] = [item for item in found["results"] if item["article"] == book.id]
    assert found["results"][0] == result
    assert (result["title"], result["topics"], result["author"]) == (book.title, [TOPIC], room.owner)
    assert book.mark in result["excerpt"]
    names = [item["name"] for item in result["why"]]
    assert names[:4] == ["relevance", "confidence", "reuse", "survival"]
    assert result["points"] == sum(item["points"] for item in result["why"])
    assert "1st by words" in result["why"][0]["why"]
    assert found["recency"] is False
    points = [item["points"] for item in found["results"]]
    assert points == sorted(points, reverse=True)


def test_recency_counts_where_it_is_asked_for(room: ReadingRoom, book: Book) -> None:
    for params, expected in (({}, False), ({"new": True}, True), ({"new": False}, False)):
        found = room.find(book.mark, **params)
        assert found["recency"] is expected
        assert ("recency" in [item["name"] for item in found["results"][0]["why"]]) is expected
    assert room.find(f"latest {book.mark}")["recency"] is True
    assert room.find(f"latest {book.mark}", new=False)["recency"] is False


def test_by_sense_too(room: ReadingRoom, book: Book) -> None:
    found = room.find("grandmother wound the lamp of her lighthouse and wrote down ships", limit=5)
    assert book.id in [item["article"] for item in found["results"]]


def test_topics_and_the_feed(room: ReadingRoom, book: Book, bob: Browser) -> None:
    assert room.find(book.mark, topic=TOPIC)["results"][0]["article"] == book.id
    for odd in ("sourdough", "a'b", 'a"b', "{a,b}", "%", "\\", "💥", "\0", TOPIC.upper()):
        assert room.find(book.mark, topic=odd)["results"] == []
        assert done(bob.http.get("/v1/feed", params={"topic": odd}))["new"] == []
    feed = done(bob.http.get("/v1/feed", params={"topic": TOPIC}))
    assert book.id in [item["article"] for item in feed["new"]]
    assert book.id not in [item["article"] for item in feed["cited"]]
    times = [item["promoted_at"] for item in done(bob.http.get("/v1/feed"))["new"]]
    assert times == sorted(times, reverse=True)


def test_drafts_and_what_was_retracted_are_not_found(room: ReadingRoom, bob: Browser) -> None:
    mark = new_mark()
    draft = room.draft_of(f"{PROSE[1]} {mark}", f"On {mark}")
    assert draft not in [item["article"] for item in room.find(mark)["results"]]
    gone = room.book(PROSE[2])
    done(room.http.post(f"/v1/articles/{gone.id}/retraction", json={"reason": "a test"}))
    room.wait(gone.id, "retracted")

    def found() -> bool:
        return gone.id in [
            item["article"] for item in done(bob.http.get("/v1/search", params={"q": gone.mark}))["results"]
        ]

    until(lambda: not found())
    assert gone.id not in [item["article"] for item in done(bob.http.get("/v1/feed"))["new"]]


def test_a_boost_is_labelled_and_stands_apart(room: ReadingRoom, book: Book, bob: Browser) -> None:
    before = [item["article"] for item in room.find(book.mark)["results"]]
    done(room.http.post(f"/v1/articles/{book.id}/boosts", headers=key()), 201)
    found = room.find(book.mark)
    assert [item["article"] for item in found["results"]] == before
    assert ("sponsored", book.id) in [(item["label"], item["article"]) for item in found["sponsored"]]
    feed = done(bob.http.get("/v1/feed", params={"topic": TOPIC}))
    assert book.id in [item["article"] for item in feed["sponsored"]]


def test_lists_are_bounded(room: ReadingRoom, book: Book) -> None:
    assert len(room.find("bridges", limit=1)["results"]) == 1
    assert len(room.find("bridges", limit=500)["results"]) <= 100
    for limit in ("0", "-1", "501", "x", "9" * 30):
        refused(room.http.get("/v1/search", params={"q": "x", "limit": limit}), 422, "invalid")


def test_queries_of_every_kind(room: ReadingRoom, book: Book) -> None:
    for odd in (
        "'; drop table article_index; --",
        '"an open quote',
        "-",
        "- - -",
        "& | ! ( ) : * <->",
        "a:* & b",
        "or or or",
        "the of and",
        "\0x",
        "\ud7ff\ufdd0",
        "\u202e\u200b x",
        "e" + "\u0301" * 200,
        "💥" * 100,
        "水の流れ",
        "%s %(x)s %",
        "\\",
        "{}[]",
        "x" * 500,
        "a " * 249,
    ):
        assert isinstance(room.find(odd)["results"], list), odd
    for empty in ("", " ", "\t\n", "x" * 501, "x" * 10_001):
        refused(room.http.get("/v1/search", params={"q": empty}), 422, "invalid")
    refused(room.http.get("/v1/search"), 422, "invalid")
    refused(room.http.get("/v1/search", params={"q": "x", "topic": "t" * 101}), 422, "invalid")
    assert room.http.get("/v1/search?q=%ff%fe").status_code in (200, 400, 422)
    assert room.find(book.mark)["results"][0]["article"] == book.id


def test_anyone_searches_and_a_wrong_credential_does_not(served: NodeUnderTest, book: Book) -> None:
    with client(served) as nobody, served.http() as operator:
        for caller in (nobody, operator):
            assert done(caller.get("/v1/search", params={"q": book.mark}))["results"]
            assert done(caller.get("/v1/feed"))["new"]
        wrong = {"Authorization": "Bearer nonsense"}
        refused(nobody.get("/v1/search", params={"q": "x"}, headers=wrong), 401, "unauthenticated")


def test_the_sdk(served: NodeUnderTest, book: Book, ada: Browser) -> None:
    token = ada.make_token("read")["secret"]
    with Client(served.url, token) as waiting:
        found = waiting.search.find(book.mark, topic=TOPIC, limit=3)
        assert found.results[0].article == book.id
        assert waiting.search.find(book.mark, new=True).recency
        assert book.id in [item.article for item in waiting.search.feed(topic=TOPIC).new]
        with pytest.raises(Invalid):
            waiting.search.find(" ")

    async def ask() -> None:
        async with AsyncClient(served.url, token) as awaiting:
            assert await awaiting.search.find(book.mark, topic=TOPIC, limit=3) == found

    asyncio.run(ask())
