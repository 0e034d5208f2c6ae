"""Revisions and boosts over HTTP: who proposes, who sees and votes, what a key and a fee do, and what is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.doors.http.market import all_pages
from tests.doors.http.press import CHIP, WritersDesk, writer
from tests.doors.http.visitors import Browser, Json, balance, client, done, key, refused
from tests.operations.nodes import NodeUnderTest

TEXT = "# Why bridges hum\n\nA shorter text."


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> Browser:
    return writer(served, 10_000)


@pytest.fixture(scope="module")
def desk(author: Browser) -> WritersDesk:
    return WritersDesk(author)


@pytest.fixture
def article(desk: WritersDesk) -> str:
    """One that is promoted."""
    made = str(desk.article(topics=["engineering"])["id"])
    desk.publish(made)
    desk.wait(made, "promoted")
    return made


@pytest.fixture
def proposer(served: NodeUnderTest) -> Browser:
    return writer(served, 500)


def propose(who: Browser, article: str, text: str = TEXT, summary: str = "shorter") -> Json:
    body = {"text": text, "summary": summary}
    made: Json = done(who.http.post(f"/v1/articles/{article}/revisions", json=body, headers=key()), 201)
    return made


def chip_of(node: NodeUnderTest, who: Browser) -> int:
    return balance(node, f"{who.owner}/available/CHIP") + balance(node, f"{who.owner}/available.starter/CHIP")


def test_a_revision_that_all_authors_accept(
    served: NodeUnderTest, author: Browser, proposer: Browser, article: str
) -> None:
    before = chip_of(served, proposer)
    where, once = f"/v1/articles/{article}/revisions", key()

    def send(summary: str = "shorter") -> httpx.Response:
        return proposer.http.post(where, json={"text": TEXT, "summary": summary}, headers=once)

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: send(), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    opened = answers[0].json()
    assert (opened["state"], opened["proposer"], opened["base"], opened["votes"]) == ("open", proposer.owner, 1, {})
    assert before - chip_of(served, proposer) == 50 * CHIP
    refused(send("another"), 409, "identity.key_reused")
    second = proposer.http.post(where, json={"text": TEXT, "summary": "again"}, headers=key())
    refused(second, 409, "commons.revision_open")

    votes = f"/v1/revisions/{opened['id']}/votes"
    refused(proposer.http.post(votes, json={"accepts": True}), 403, "commons.not_an_author")
    decided = done(author.http.post(votes, json={"accepts": True}))
    assert (decided["state"], decided["votes"]) == ("accepted", {author.owner: True})
    refused(author.http.post(votes, json={"accepts": False}), 409, "commons.revision_over")
    shown = done(proposer.http.get(f"/v1/articles/{article}"))
    assert (shown["authors"], shown["draft"], shown["state"]) == ([author.owner, proposer.owner], 2, "promoted")
    assert done(proposer.http.get(f"/v1/articles/{article}/drafts/2"))["text"] == TEXT
    own = proposer.http.post(where, json={"text": TEXT, "summary": "mine now"})
    refused(own, 403, "commons.own_revision")


def test_a_revision_that_is_refused_goes_back_less_a_tenth(
    served: NodeUnderTest, author: Browser, proposer: Browser, article: str
) -> None:
    before = chip_of(served, proposer)
    opened = propose(proposer, article)
    assert done(author.http.post(f"/v1/revisions/{opened['id']}/votes", json={"accepts": False}))["state"] == "refused"
    assert before - chip_of(served, proposer) == 5 * CHIP
    assert propose(proposer, article)["state"] == "open"  # another one can be proposed then


def test_only_the_two_sides_and_operators_see_a_proposal(
    served: NodeUnderTest, author: Browser, proposer: Browser, article: str
) -> None:
    stranger = writer(served, 500)
    mine, theirs = propose(proposer, article), propose(stranger, article, summary="other")
    for who in (author, proposer):
        assert done(who.http.get(f"/v1/revisions/{mine['id']}"))["text"] == TEXT
    with served.http() as operator:
        assert done(operator.get(f"/v1/revisions/{mine['id']}"))["id"] == mine["id"]
        assert len(done(operator.get(f"/v1/articles/{article}/revisions"))["items"]) == 2
    refused(stranger.http.get(f"/v1/revisions/{mine['id']}"), 404, "commons.revision_unknown")
    refused(
        stranger.http.post(f"/v1/revisions/{mine['id']}/votes", json={"accepts": True}), 404, "commons.revision_unknown"
    )
    where = f"/v1/articles/{article}/revisions"
    assert [item["id"] for item in all_pages(author.http, where, 1)] == [theirs["id"], mine["id"]]
    assert [item["id"] for item in all_pages(proposer.http, where, 1)] == [mine["id"]]  # behind one of somebody else's
    assert [item["id"] for item in all_pages(stranger.http, where, 1)] == [theirs["id"]]
    assert done(writer(served, 0).http.get(where))["items"] == []
    with client(served) as nobody:
        refused(nobody.get(where), 401, "unauthenticated")


def test_what_cannot_be_proposed(served: NodeUnderTest, author: Browser, proposer: Browser, article: str) -> None:
    where = f"/v1/articles/{article}/revisions"

    def send(**body: Any) -> httpx.Response:
        return proposer.http.post(where, json={"text": TEXT, "summary": "x", **body})

    refused(author.http.post(where, json={"text": TEXT, "summary": "x"}), 403, "commons.own_revision")
    refused(send(text="no title"), 422, "commons.bad_article")
    refused(send(text="# T\n\na\0b"), 422, "commons.bad_article")
    for summary in ("", "\0", "\u200b", "x" * 501, 5):
        refused(send(summary=summary), 422, "invalid")
    refused(send(text="# T\n\n" + "word " * 50_000), 413, "commons.article_too_large")
    with proposer.program("read", "research") as program:
        refused(program.post(where, json={"text": TEXT, "summary": "x"}), 403, "identity.scope_missing")
    poor = writer(served, 0)
    refused(poor.http.post(f"/v1/articles/{article}/boosts", headers=key()), 409, "ledger.insufficient_funds")
    done(author.http.post(f"/v1/articles/{article}/retraction", json={"reason": "a mistake"}))
    refused(send(), 409, "commons.not_revisable")
    for odd in ("revision_x", "x" * 99):
        refused(author.http.get(f"/v1/revisions/{odd}"), 422, "invalid")
        refused(author.http.post(f"/v1/revisions/{odd}/votes", json={"accepts": True}), 422, "invalid")
    refused(author.http.post("/v1/revisions/revision_x/votes", json={"accepts": "maybe"}), 422, "invalid")


def test_a_summary_is_one_visible_line(proposer: Browser, article: str) -> None:
    assert propose(proposer, article, summary="two\nlines\u202e and\0 more")["summary"] == "two lines and more"


def test_a_boost_is_paid_once_and_a_further_one_begins_behind_it(
    served: NodeUnderTest, author: Browser, proposer: Browser, article: str
) -> None:
    where, once = f"/v1/articles/{article}/boosts", key()
    before = balance(served, f"{proposer.owner}/available/CHIP")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: proposer.http.post(where, headers=once), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    first = answers[0].json()
    assert before - balance(served, f"{proposer.owner}/available/CHIP") == 25 * CHIP == int(first["amount"])
    assert done(author.http.get(f"/v1/articles/{article}"))["boosted_until"] == first["until"]
    second = done(author.http.post(where, headers=key()), 201)
    assert second["from_at"] == first["until"]
    refused(proposer.http.post(where), 422, "invalid")  # a key is needed
    draft = WritersDesk(proposer).draft
    refused(proposer.http.post(f"/v1/articles/{draft}/boosts", headers=once), 409, "identity.key_reused")
    refused(proposer.http.post(f"/v1/articles/{draft}/boosts", headers=key()), 409, "commons.not_boostable")
