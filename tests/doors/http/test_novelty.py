"""Novelty over HTTP and in the SDK: a draft is measured for its authors, a version's score is there for everybody."""

from __future__ import annotations

import pytest

from choir.commons.articles.model import UnknownArticle
from choir.commons.publication.model import UnknownPublication
from choir.foundation.errors import Invalid
from choir.sdk import Client
from tests.doors.http.reading_room import PROSE, Book, ReadingRoom, new_mark, reading_room
from tests.doors.http.visitors import Browser, done, refused
from tests.operations.nodes import NodeUnderTest, until

NO_ARTICLE = "article_" + "0" * 26


@pytest.fixture(scope="module")
def room(served: NodeUnderTest) -> ReadingRoom:
    return reading_room(served)


@pytest.fixture(scope="module")
def book(room: ReadingRoom) -> Book:
    return room.book(PROSE[3])


def test_what_a_draft_would_score(room: ReadingRoom) -> None:
    article = room.draft_of(PROSE[4])
    found = done(room.http.post(f"/v1/articles/{article}/novelty", json={}))
    assert 0 < found["score"] <= 100
    assert found["words"] > 100
    assert found["reasons"]
    assert found["nearest"]
    assert int(found["reward"]) >= 0
    assert (found["refused"], found["model"] != "", found["calibration"] != "") == (False, True, True)
    distances = [item["distance_ppm"] for item in found["nearest"]]
    assert distances == sorted(distances)
    assert done(room.http.post(f"/v1/articles/{article}/quote", json={}))["novelty"] == found
    assert done(room.http.post(f"/v1/articles/{article}/novelty", json={"draft": 1})) == found


def test_a_version_keeps_its_score_and_a_copy_has_none(served: NodeUnderTest, room: ReadingRoom, book: Book) -> None:
    kept = done(room.http.get(f"/v1/articles/{book.id}/novelty"))
    assert (kept["version"], kept["score"] > 0) == (1, True)
    assert done(room.http.get(f"/v1/articles/{book.id}/novelty", params={"version": 1})) == kept
    until(lambda: done(room.http.get(f"/v1/articles/{book.id}/novelty"))["granted"] is not None)
    granted = done(room.http.get(f"/v1/articles/{book.id}/novelty"))
    assert int(granted["granted"]) == int(kept["reward"])
    assert granted["month"]
    other = reading_room(served)
    copied = done(other.http.post(f"/v1/articles/{other.draft_of(PROSE[3])}/novelty", json={}))
    assert copied["score"] == 0
    assert (copied["nearest"][0]["kind"], copied["nearest"][0]["name"]) == ("article", book.id)
    assert done(other.http.get(f"/v1/articles/{book.id}/novelty"))["score"] == kept["score"]


def test_a_draft_is_nobody_elses_business(served: NodeUnderTest, room: ReadingRoom, book: Book, bob: Browser) -> None:
    draft = room.draft_of(f"{PROSE[2]} {new_mark()}")
    refused(bob.http.post(f"/v1/articles/{draft}/novelty", json={}), 404, "commons.article_unknown")
    refused(bob.http.get(f"/v1/articles/{draft}/novelty"), 404, "commons.article_unknown")
    refused(bob.http.post(f"/v1/articles/{book.id}/novelty", json={}), 403, "commons.not_an_author")
    with served.http() as operator:  # an operator is no author either
        assert operator.post(f"/v1/articles/{draft}/novelty", json={}).status_code == 403


def test_what_there_is_no_score_of(room: ReadingRoom, book: Book) -> None:
    refused(room.http.get(f"/v1/articles/{room.draft}/novelty"), 404, "commons.publication_unknown")
    refused(room.http.get(f"/v1/articles/{book.id}/novelty?version=9"), 404, "commons.publication_unknown")
    for odd in ("0", "-1", "x", "9" * 20):
        refused(room.http.get(f"/v1/articles/{book.id}/novelty?version={odd}"), 422, "invalid")
        refused(room.http.post(f"/v1/articles/{book.id}/novelty", json={"draft": odd}), 422, "invalid")
    for other in ("citation_" + "0" * 26, "person_" + "0" * 26, "article_x", "💥"):
        assert room.http.get(f"/v1/articles/{other}/novelty").status_code in (404, 422)
    refused(room.http.post(f"/v1/articles/{room.draft}/novelty", json={"draft": 99}), 404, "commons.draft_unknown")


def test_texts_of_every_script_are_measured(room: ReadingRoom) -> None:
    for text in (
        "# x\n\n…",
        "# 水\n\n" + "水の流れ。" * 200,
        "# a\n\n" + "e\u0301\u200d" * 500,
        "# n\n\n" + "9 " * 900,
    ):
        article = room.create(text)["id"]
        found = done(room.http.post(f"/v1/articles/{article}/novelty", json={}))
        assert 0 <= found["score"] <= 100


def test_the_sdk(served: NodeUnderTest, room: ReadingRoom, book: Book, ada: Browser) -> None:
    with Client(served.url, ada.make_token("read", "research")["secret"]) as client:
        assert client.novelty.get(book.id).score == client.novelty.get(book.id, version=1).score
        with pytest.raises(UnknownPublication):
            client.novelty.get(book.id, version=2)
        with pytest.raises(UnknownArticle):
            client.novelty.measure(NO_ARTICLE)
        with pytest.raises(Invalid):
            client.novelty.get("article_x")
        mine = client.articles.create(f"# Mine\n\n{PROSE[2]}")
        assert client.novelty.measure(mine.id) == client.novelty.measure(mine.id, draft=1)
