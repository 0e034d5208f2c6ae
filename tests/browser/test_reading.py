"""Reading in a browser: from the feed to a claim, its evidence and its source; citing, challenging, voting; tricks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import expect

from tests.browser.desk import Desk, desk
from tests.browser.test_looks import faults
from tests.commons.desk import CLAIMS
from tests.doors.http.conftest import NOTHING_NEW, SHORT_WINDOWS
from tests.doors.http.reading_room import PROSE, SAID, ReadingRoom, reading_room
from tests.doors.http.test_reading_pages import Shelf
from tests.doors.http.visitors import done, key, serve
from tests.operations.nodes import NodeUnderTest, new_node

pytestmark = pytest.mark.slow
QUOTE = CLAIMS["c1"][1]


@pytest.fixture(scope="module")
def library() -> Iterator[NodeUnderTest]:
    """A node whose windows are short, so that articles are promoted at once."""
    with new_node() as node:
        yield serve(node, **SHORT_WINDOWS, **NOTHING_NEW)


@pytest.fixture(scope="module")
def shelf(library: NodeUnderTest) -> Shelf:
    return Shelf(library)


@pytest.fixture
def visitor(chromium: Chromium, library: NodeUnderTest) -> Iterator[Desk]:
    """Somebody without an account."""
    with desk(chromium, library) as made:
        yield made


def signed_in(made: Desk, room: ReadingRoom) -> Desk:
    """The window of somebody who has logged in already."""
    token = room.http.cookies.get("choir_session")
    assert token
    made.context.add_cookies([{"name": "choir_session", "value": token, "url": made.address}])
    return made


def test_from_the_search_line_to_the_words_of_the_source(visitor: Desk, shelf: Shelf) -> None:
    book, page = shelf.book, visitor.page
    visitor.open("/articles")
    page.get_by_label("Search promoted articles").fill("qqqqxyzzyqq")
    page.get_by_role("main").get_by_role("button", name="Search").click()
    expect(page.get_by_text("Nothing was found")).to_be_visible()
    page.get_by_label("What to look for").fill(book.mark)
    page.get_by_role("main").get_by_role("button", name="Search").click()
    page.get_by_text("Why it stands here").first.click()
    expect(page.get_by_role("rowheader", name="Relevance by words and meaning")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name=book.title).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(book.title)
    page.get_by_role("link", name="evidence of c1").focus()
    page.keyboard.press("Enter")
    assert page.url.endswith("#evidence-c1")
    entry = page.locator("#evidence-c1")
    expect(entry).to_be_in_viewport()
    entry.get_by_text("In its context").focus()
    page.keyboard.press("Enter")
    expect(entry.locator(".context mark")).to_have_text(QUOTE)
    entry.get_by_role("link", name="A survey").first.click()
    expect(page.locator("mark#span")).to_have_text(QUOTE)
    expect(page.locator("mark#span")).to_be_in_viewport()


def test_reading_works_without_scripts(chromium: Chromium, shelf: Shelf, library: NodeUnderTest) -> None:
    with desk(chromium, library, java_script_enabled=False) as made:
        made.open(f"/articles/{shelf.book.id}")
        made.page.locator("#evidence-c2").get_by_text("What the checks found").click()
        expect(made.page.locator("#evidence-c2 .findings")).to_be_visible()
        made.page.get_by_text("What the marks mean").click()
        expect(made.page.get_by_text("That is not counted against the claim")).to_be_visible()
        expect(made.button("Copy the command")).to_be_hidden()
        made.open("/search?q=" + shelf.book.mark)
        expect(made.page.get_by_role("link", name=shelf.book.title).first).to_be_visible()


def test_the_feed_stays_current(visitor: Desk, shelf: Shelf) -> None:
    assert shelf.book
    visitor.open("/articles")
    new = reading_room(shelf.node).book(PROSE[3])
    expect(visitor.page.get_by_role("link", name=new.title).first).to_be_visible()


def test_cite_in_a_draft(visitor: Desk, shelf: Shelf) -> None:
    room = reading_room(shelf.node)
    draft = room.draft_of(PROSE[1], "A draft of mine")
    made = signed_in(visitor, room)
    made.open(f"/articles/{shelf.book.id}")
    made.fill("What you claim", SAID.rstrip("."))
    made.fill("Words of this article that say so", "Words that it does not say.")
    made.press("Cite in this draft")
    made.reads("does not say these words")
    made.fill("Words of this article that say so", SAID)
    made.press("Cite in this draft")
    made.hears("The claim and its evidence are in your draft.")
    text = done(room.http.get(f"/v1/articles/{draft}/drafts/2"))["text"]
    assert SAID.rstrip(".") in text


def test_challenge_an_article(visitor: Desk, shelf: Shelf) -> None:
    article = shelf.author.draft_of(PROSE[2], "On being wrong")
    shelf.author.publish(article)
    shelf.author.wait(article, "promoted")
    made = signed_in(visitor, reading_room(shelf.node))
    page = made.open(f"/articles/{article}")
    page.get_by_text("Challenge it", exact=True).click()
    made.fill("What is wrong with it", "It leaves out the winter.")
    page.get_by_label("On which ground").select_option("contradicted")
    page.get_by_role("button", name="Challenge", exact=True).click()
    made.agrees("Challenge")
    made.reads("ground")
    page.get_by_label("On which ground").select_option("misleading")
    page.get_by_role("button", name="Challenge", exact=True).click()
    made.agrees("Challenge")
    made.hears("The challenge is open.")
    expect(page.locator("#challenge-list")).to_contain_text("It leaves out the winter.")
    expect(page.locator("#standing")).to_contain_text("Challenged")


def test_vote_on_a_revision(visitor: Desk, shelf: Shelf) -> None:
    article = shelf.author.draft_of(PROSE[0], "On votes")
    shelf.author.publish(article)
    shelf.author.wait(article, "promoted")
    proposer = reading_room(shelf.node)
    text = done(proposer.http.get(f"/v1/articles/{article}/rendered"))["text"]
    body = {"text": text.replace("every four hours", "every six hours"), "summary": "six, not four"}
    done(proposer.http.post(f"/v1/articles/{article}/revisions", json=body, headers=key()), 201)
    made = signed_in(visitor, shelf.author)
    page = made.open(f"/articles/{article}/history")
    page.get_by_role("link", name="What it changes").click()
    expect(page.locator(".listing ins")).to_have_text("six")
    made.press("Accept six, not four")
    made.agrees("Cancel")
    made.press("Accept six, not four")
    made.agrees("Accept")
    made.hears("Your vote counts.")
    expect(made.section("Proposed revisions")).to_contain_text("Accepted")


def test_tricks_do_nothing_in_a_browser(visitor: Desk, shelf: Shelf) -> None:
    article, source = shelf.hostile
    asked: list[str] = []
    opened: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    visitor.page.on("dialog", lambda dialog: opened.append(dialog.message))
    for path in (f"/articles/{article}", f"/articles/{article}/history", f"/sources/{source}", "/search?q=tricks"):
        visitor.open(path)
        expect(visitor.page.get_by_role("heading", level=1)).to_be_visible()
    assert opened == []
    assert [url for url in asked if not url.startswith(visitor.address)] == []


def test_pages_are_sound(visitor: Desk, shelf: Shelf) -> None:
    article, source = shelf.hostile
    paths = [
        "/articles", f"/articles/{shelf.book.id}", f"/articles/{article}", f"/articles/{article}/history",
        f"/sources/{source}?span=0-40", f"/search?q={shelf.book.mark}", "/search", "/articles?topic=" + "w" * 90,
    ]  # fmt: skip
    assert [fault for path in paths for fault in faults(visitor, path)] == []
    signed_in(visitor, reading_room(shelf.node))
    assert [fault for path in paths for fault in faults(visitor, path)] == []
