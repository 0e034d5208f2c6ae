"""Reading over plain HTTP: anyone reads what is published, nobody what is not, and whatever is in it is harmless."""

from __future__ import annotations

import re
from functools import cached_property
from importlib import import_module
from typing import Any

import httpx
import pytest

from choir.commons.challenges.model import GROUNDS, ChallengeState
from choir.commons.publication.model import PublicationState
from choir.commons.revisions.model import RevisionState
from choir.commons.verifiers.model import Level, Outcome
from choir.doors.articles import words
from choir.doors.search.pages import SIGNALS
from choir.doors.web.strangers import excerpt, seen
from tests.commons.desk import CLAIMS
from tests.doors.http.press import add, new_text
from tests.doors.http.reading_room import PROSE, SAID, Book, ReadingRoom, reading_room, text_of
from tests.doors.http.visitors import Browser, Json, client, done, key
from tests.operations.nodes import NodeUnderTest, until

html: Any = import_module("lxml.html")  # it has no types

BROWSER = {"Accept": "text/html"}
SECRET = "nobodyknowsthisword"
TRICKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "[a](javascript:alert(1)) [b](data:text/html,x) [c](/account)",
    "<div style='position:fixed'>over everything</div>",
    "<form action=/v1/me method=post><button>Log in</button></form>",
    "![tracker](https://evil.example/pixel.png)",
    "{{ visitor }} {% raw %} ${1+1}",
    "# Choir\n\n###### Promoted L3\n\n# Log in again",
]


class Shelf:
    """Two promoted articles, one of which cites the other, a hostile one, and their authors."""

    def __init__(self, node: NodeUnderTest) -> None:
        self.node = node
        self.author = reading_room(node)
        self.nobody = httpx.Client(base_url=client(node).base_url, headers=BROWSER, timeout=60, trust_env=False)

    def get(self, path: str, **params: Any) -> str:
        """A page as somebody without an account sees it."""
        answer = self.nobody.get(path, params=params or None)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text

    @cached_property
    def book(self) -> Book:
        return self.author.book(topics=["lighthouses"])

    @cached_property
    def citing(self) -> Book:
        return reading_room(self.node).book(PROSE[1], cites=self.book.id)

    @cached_property
    def hostile(self) -> tuple[str, str]:
        """An article full of tricks on a source full of tricks: its id, and the source's name."""
        whole = (
            new_text()
            + "\n\n</div><script>alert(2)</script>\n\n```evidence\nc9 supports\n```\n\n\u202eevil\u2066 \u200bzero"
        )
        added = done(self.author.http.post("/v1/sources", content=whole.encode(), params={"title": "<b>Bold</b>"}))
        text = text_of(str(added["hash"]), whole, "On tricks", PROSE[2])
        body, evidence = text.split("\n```evidence")
        made = self.author.create(body + "\n\n" + "\n\n".join(TRICKS) + "\n\n```evidence" + evidence)
        self.author.publish(made["id"])
        self.author.wait(made["id"], "promoted")
        return str(made["id"]), str(added["hash"])


@pytest.fixture(scope="module")
def shelf(served: NodeUnderTest) -> Shelf:
    return Shelf(served)


def page_as(browser: Browser | ReadingRoom, path: str, **params: Any) -> httpx.Response:
    return browser.http.get(path, params=params, headers=BROWSER)


def handle_of(room: ReadingRoom) -> str:
    return str(done(room.http.get("/v1/me"))["handle"])


def test_anyone_reads_the_feed_and_the_topics_filter_it(shelf: Shelf) -> None:
    book = shelf.book
    shown = shelf.get("/articles", topic="lighthouses")
    assert book.title in shown
    assert f'href="/articles/{book.id}"' in shown
    assert f"@{handle_of(shelf.author)}" in shown
    assert 'data-live="commons"' in shown
    assert "No promoted article has the topic" in shelf.get("/articles", topic="<script>")
    assert "<script>alert" not in shelf.get("/articles", topic="<script>alert(1)</script>")


def test_sponsored_places_are_labelled_and_apart(shelf: Shelf) -> None:
    done(shelf.author.http.post(f"/v1/articles/{shelf.book.id}/boosts", headers=key()), 201)
    tree = html.fromstring(shelf.get("/articles", topic="lighthouses"))
    [aside] = tree.xpath('//aside[@class="sponsored"]')
    assert shelf.book.title in aside.text_content()
    assert "Sponsored" in aside.text_content()
    assert not aside.xpath(".//ol")


def test_an_article_shows_its_evidence_and_where_it_stands(shelf: Shelf) -> None:
    tree = html.fromstring(shelf.get(f"/articles/{shelf.book.id}"))
    [text] = tree.xpath('//article[contains(@class,"article")]')
    assert [link.get("href") for link in text.xpath('.//sup[@class="mark"]/a')] == [
        f"#evidence-{label}" for label in CLAIMS
    ]
    for label, (claim, quote) in CLAIMS.items():
        [entry] = tree.xpath(f"//*[@id='evidence-{label}']")
        said = entry.text_content()
        assert claim in said
        assert quote in said
        assert "supports the claim" in said
        assert "90 %" in said
        assert entry.xpath('.//p[starts-with(@class,"context")]/mark')[0].text_content() == quote
        assert entry.xpath('.//a[starts-with(@href,"/sources/sha256:")]')
        assert entry.xpath(f".//a[@href='#claim-{label}']")
    whole = tree.text_content()
    for words_ in ("Promoted", "of 100", "What the marks mean", "undecided", f"choir cite add {shelf.book.id}"):
        assert words_ in whole
    assert f"@{handle_of(shelf.author)}" in whole
    assert "UUID(" not in whole
    assert shelf.author.owner not in whole  # names, not ids
    assert len(tree.xpath("//h1")) == 1


def test_citations_lead_both_ways(shelf: Shelf) -> None:
    citing = shelf.citing
    until(lambda: shelf.author.citations(shelf.book.id))
    assert citing.title in shelf.get(f"/articles/{shelf.book.id}")
    assert f'href="/articles/{shelf.book.id}"' in shelf.get(f"/articles/{citing.id}")


def test_the_bundle_is_a_plain_link_for_anyone(shelf: Shelf) -> None:
    tree = html.fromstring(shelf.get(f"/articles/{shelf.book.id}"))
    [link] = [item.get("href") for item in tree.xpath("//a[@download]")]
    got = shelf.nobody.get(link)
    assert (got.status_code, got.content[:2]) == (200, b"PK")


def test_search_says_why_and_says_when_nothing_is_found(shelf: Shelf) -> None:
    shown = shelf.get("/search", q=shelf.book.mark)
    assert shelf.book.title in shown
    for label in ("Relevance by words and meaning", "Independent reuse", "Survival"):
        assert label in shown
    assert shelf.book.title in shelf.get("/search", q=shelf.book.mark, age="7", topic="lighthouses")
    assert "Nothing was found" in shelf.get("/search", q=shelf.book.mark, topic="elsewhere")
    assert 'role="alert"' in shelf.get("/search", q="x" * 5_000)
    assert "Results" not in shelf.get("/search", q=" ", age="no number")
    assert '"><script>' not in shelf.get("/search", q='"><script>alert(1)</script>', topic='"><script>')


def test_a_source_shows_its_cited_span_and_no_more_than_a_part(shelf: Shelf) -> None:
    long = "A line of the middle part.\n" * 3_000
    whole = f"{new_text()}\n\n{long}"
    source = str(add(shelf.author.http, whole)["hash"])
    article = shelf.author.create(text_of(source, whole, "On length", PROSE[3]))["id"]
    assert shelf.nobody.get(f"/sources/{source}").status_code == 404
    shelf.author.publish(article)
    shelf.author.wait(article, "promoted")
    quote = CLAIMS["c1"][1]
    start = whole.index(quote)
    tree = html.fromstring(shelf.get(f"/sources/{source}", span=f"{start}-{start + len(quote)}"))
    assert tree.xpath('//mark[@id="span"]')[0].text_content() == quote
    seen_chars = 0
    path, pages = f"/sources/{source}?span={start}-{start + len(quote)}", 0
    while path and pages < 20:
        tree = html.fromstring(shelf.get(path))
        part = tree.xpath('//div[starts-with(@class,"source-text")]')[0].text_content()
        assert len(part) <= 12_000
        seen_chars += len(part)
        pages += 1
        path = next((link.get("href") for link in tree.xpath('//a[@rel="next"]')), "")
    assert 3 < pages < 20
    for span in ("5-3", "0-999999999", "x", "1-2-3"):
        assert "The text has no span" in shelf.get(f"/sources/{source}", span=span)
    assert shelf.nobody.get(f"/sources/{source}", params={"start": "-1"}).status_code == 404
    assert shelf.nobody.get("/sources/sha256:zz").status_code == 404


_GREENHOUSE = (
    "The botanical garden heats its oldest glass house with the warmth of a bakery next door, which is pumped through"
    " lead pipes that nobody dares to replace. Each night a student walks the rows with a torch, reads nine"
    " thermometers every four hours, and writes the figures on a slate by the orchids. Twice a winter the ovens stop,"
    " and then the whole staff carries blankets, candles and jam jars of hot water to the cacti, because those came"
    " by ship and have no heirs. A visitor once asked why the garden does not simply buy a boiler. The head gardener"
    " answered that a boiler needs a chimney, a chimney needs a permit, and a permit needs a council that has not met"
    " about anything green since the tram depot burned. So the bread decides which fern survives. Customers know it:"
    " when frost is forecast they order more rye than they can eat, freeze the loaves, and call that their membership"
    " fee. The ledger of the garden has a column for it, headed crumbs, which auditors do not ask about."
    " Last spring a fig tree ripened in April, and the baker hung its first fruit in the shop window with a small label"
    " in Latin."
)


def test_history_compares_versions(shelf: Shelf) -> None:
    article = shelf.author.draft_of(_GREENHOUSE, "On change")  # nobody else's: a revision may not become that
    shelf.author.publish(article)
    shelf.author.wait(article, "promoted")
    text = done(shelf.author.http.get(f"/v1/articles/{article}/rendered"))["text"]
    changed = text.replace("every four hours", "every five hours")
    done(shelf.author.http.put(f"/v1/articles/{article}/draft", json={"text": changed}))
    assert "five" not in shelf.get(f"/articles/{article}/history")  # a draft
    shelf.author.publish(article)
    until(lambda: shelf.author.version(article)["version"] == 2)
    tree = html.fromstring(shelf.get(f"/articles/{article}/history", a=1, b=2))
    assert [item.text_content() for item in tree.xpath("//ins | //del")] == ["four", "five"]
    assert "They do not differ." in shelf.get(f"/articles/{article}/history", a=1, b=1)
    assert "Version 2" in shelf.get(f"/articles/{article}/history")
    for wrong in ({"a": 9}, {"a": "x"}, {"b": 0}, {"revision": "revision_" + "0" * 26}, {"revision": "nonsense"}):
        assert shelf.nobody.get(f"/articles/{article}/history", params=wrong).status_code == 404, wrong


# What is not published


def test_nobody_sees_drafts_and_private_sources(shelf: Shelf) -> None:
    author = shelf.author
    draft = author.create(f"# A secret\n\nThe word is {SECRET}.")["id"]
    source = add(author.http, f"A private document about {SECRET}.")["hash"]
    stranger = reading_room(shelf.node)
    for path in (f"/articles/{draft}", f"/articles/{draft}/history", f"/sources/{source}"):
        assert shelf.nobody.get(path).status_code == 404, path
        assert page_as(stranger, path).status_code == 404, path
    assert page_as(author, f"/sources/{source}").status_code == 200
    for path in (
        f"/v1/articles/{draft}", f"/v1/articles/{draft}/rendered", f"/v1/articles/{draft}/bundle",
        f"/v1/articles/{draft}/versions", f"/v1/articles/{draft}/diff?a=d1&b=d1", f"/v1/articles/{draft}/novelty",
        f"/v1/articles/{draft}/citations", f"/v1/sources/{source}", f"/v1/sources/{source}/text",
        f"/v1/sources/{source}/document", f"/v1/atoms/{source}",
    ):  # fmt: skip
        assert shelf.nobody.get(path).status_code == 404, path
    for path in (f"/v1/articles/{draft}/drafts", "/v1/sources", "/v1/spans?q=x", "/v1/articles?mine=true",
                 "/v1/challenges?mine=true", "/v1/atoms?kind=CLAIM", f"/v1/articles/{draft}/revisions"):  # fmt: skip
        assert shelf.nobody.get(path).status_code == 401, path
    for page in (shelf.get("/articles"), shelf.get("/search", q=SECRET)):
        assert SECRET not in page.replace(f'value="{SECRET}"', "").replace(f"Search: {SECRET}", "")


def test_a_newer_draft_of_a_published_article_stays_private(shelf: Shelf) -> None:
    article = shelf.author.draft_of(PROSE[1], "On two texts")
    shelf.author.publish(article)
    shelf.author.wait(article, "promoted")
    text = done(shelf.author.http.get(f"/v1/articles/{article}/rendered"))["text"]
    body = {"text": text.replace("# On two texts", f"# {SECRET}"), "topics": [SECRET]}
    done(shelf.author.http.put(f"/v1/articles/{article}/draft", json=body))
    for path in (f"/articles/{article}", f"/articles/{article}/history", "/articles", f"/v1/articles/{article}"):
        assert SECRET not in shelf.get(path), path
    assert shelf.nobody.get(f"/v1/articles/{article}/diff?a=v1&b=d2").status_code == 403


def test_a_credential_that_may_not_read_sees_what_nobody_sees(shelf: Shelf) -> None:
    person = Browser(shelf.node).sign_up()
    draft = done(person.http.post("/v1/articles", json={"text": "# Mine\n\nText."}, headers=key()), 201)["id"]
    program = person.program("research")
    assert program.get(f"/v1/articles/{draft}").status_code == 404
    assert program.get(f"/v1/articles/{shelf.book.id}").status_code == 200


def test_a_proposal_is_seen_by_its_proposer_and_the_authors_alone(shelf: Shelf) -> None:
    article = shelf.author.draft_of(PROSE[3], "On proposals")
    shelf.author.publish(article)
    shelf.author.wait(article, "promoted")
    proposer, other = reading_room(shelf.node), reading_room(shelf.node)
    text = done(proposer.http.get(f"/v1/articles/{article}/rendered"))["text"]
    body = {"text": text.replace("Old maps", f"Older maps {SECRET}"), "summary": "<b>older</b>"}
    made: Json = done(proposer.http.post(f"/v1/articles/{article}/revisions", json=body, headers=key()), 201)
    history = f"/articles/{article}/history"
    assert "<b>older" not in page_as(shelf.author, history).text
    for room, sees in ((shelf.author, True), (proposer, True), (other, False)):
        assert ("&lt;b&gt;older&lt;/b&gt;" in page_as(room, history).text) is sees
        answer = page_as(room, history, revision=made["id"])
        assert answer.status_code == (200 if sees else 404)
        assert (SECRET in answer.text) is sees
    assert shelf.nobody.get(history, params={"revision": made["id"]}).status_code == 404
    assert SECRET not in shelf.get(history)
    assert f"/v1/revisions/{made['id']}/votes" in page_as(shelf.author, history).text
    assert "/votes" not in page_as(proposer, history).text
    assert page_as(shelf.author, f"/articles/{shelf.book.id}/history", revision=made["id"]).status_code == 404


# Acts


def test_a_challenge_is_shown_with_its_outcome(shelf: Shelf) -> None:
    article = shelf.author.draft_of(PROSE[2], "On doubts")
    shelf.author.publish(article)
    version = shelf.author.wait(article, "promoted")
    assert 'data-call="POST /v1/challenges"' not in shelf.get(f"/articles/{article}")
    assert 'data-call="POST /v1/challenges"' not in page_as(shelf.author, f"/articles/{article}").text
    doubter = reading_room(shelf.node)
    form = html.fromstring(page_as(doubter, f"/articles/{article}").text).xpath(
        '//form[contains(@data-call,"challenges")]'
    )[0]
    atoms = [item.get("value") for item in form.xpath('.//select[@name="atom"]/option')]
    assert atoms[0] == version["synthesis"]
    assert len(atoms) == 1 + len(CLAIMS)
    body = {"atom": atoms[0], "ground": "misleading", "statement": "<i>It</i> \u202emisleads."}
    done(doubter.http.post("/v1/challenges", json=body, headers=key()), 201)
    until(lambda: "Awaits a ruling" in shelf.get(f"/articles/{article}"))
    shown = shelf.get(f"/articles/{article}")
    assert "<i>It</i>" not in shown
    assert "\u202e" not in shown
    assert "Challenged" in shelf.get("/search", q="doubts tram drivers bell")


def test_citing_is_offered_to_whoever_has_a_draft(shelf: Shelf) -> None:
    path = f"/articles/{shelf.book.id}"
    assert "citations" not in re.findall(r'data-call="[^"]*"', shelf.get(path))
    writer = reading_room(shelf.node)
    assert "You have no draft" in page_as(writer, path).text
    draft = writer.draft_of(PROSE[0], "My <draft>")
    form = html.fromstring(page_as(writer, path).text).xpath('//form[contains(@data-call,"citations")]')[0]
    assert form.xpath(".//option")[0].get("value") == draft
    assert form.xpath(".//option")[0].text_content() == "My <draft>"
    writer.cite(draft, shelf.book.id, quote=SAID)


# Hostile content


def test_tricks_do_nothing_on_any_page(shelf: Shelf) -> None:
    article, source = shelf.hostile
    for path in (f"/articles/{article}", f"/articles/{article}/history", f"/sources/{source}", "/articles",
                 "/search?q=tricks"):  # fmt: skip
        shown = shelf.get(path)
        tree = html.fromstring(shown)
        assert {item.get("src") for item in tree.xpath("//script")} == {
            item.get("src") for item in tree.xpath('//script[starts-with(@src,"/static/")]')
        }
        for name in ("img", "iframe", "object", "embed", "style", "base"):
            assert tree.xpath(f"//{name}") == [], (path, name)
        for item in tree.iter():
            assert not any(name.startswith("on") or name == "style" for name in item.attrib), (path, item.attrib)
            assert not (item.get("href") or "").lower().startswith(("javascript:", "data:")), path
        assert len(tree.xpath("//h1")) == 1, path
        for sign in ("\u202e", "\u2066", "\u200b"):
            assert sign not in shown, (path, sign)
        assert "over everything" not in [item.text_content() for item in tree.xpath("//div[@style]")]
    [text] = html.fromstring(shelf.get(f"/articles/{article}")).xpath('//article[contains(@class,"article")]')
    assert not text.xpath(".//form | .//button | .//input")
    assert not text.xpath('.//a[@href="/account"]')
    levels = [int(item.tag[1]) for item in text.iter("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels
    assert all(now - last <= 1 for last, now in zip([1, *levels], levels, strict=False))
    assert min(levels) == 2


@pytest.mark.parametrize("path", ["/articles/article_x", "/articles/" + "a" * 200, "/articles/%00", "/sources/..%2f"])
def test_wrong_addresses_are_not_found(shelf: Shelf, path: str) -> None:
    answer = shelf.nobody.get(path)
    assert answer.status_code == 404
    assert "Not found" in answer.text


@pytest.mark.parametrize("params", [{"version": "0"}, {"version": "99"}, {"version": "x"}, {"cited": "'; --"}])
def test_wrong_parameters_are_not_found(shelf: Shelf, params: dict[str, str]) -> None:
    assert shelf.nobody.get(f"/articles/{shelf.book.id}", params=params).status_code == 404


# Words


def test_everything_has_words() -> None:
    assert set(words.STATES) == set(PublicationState)
    assert set(words.LEVELS) == set(Level)
    assert set(words.OUTCOMES) == set(Outcome)
    assert set(words.GROUNDS_SAID) == set(GROUNDS)
    assert set(words.CHALLENGES) == set(ChallengeState)
    assert set(words.REVISIONS) == set(RevisionState)
    assert set(SIGNALS) == {"relevance", "confidence", "reuse", "survival", "recency", "diversity"}


def test_what_strangers_write_is_shown_without_what_cannot_be_seen() -> None:
    assert seen("a\u202eb\u200bc\u2066d\ufeff\n\te") == "abcd\n\te"
    assert seen("\u0645\u06cc\u200c\u062e") == "\u0645\u06cc\u200c\u062e"
    assert len(seen("e" + "\u0301" * 500)) == 5
    assert excerpt("a  b\n" * 100, 10) == "a b a b a…"
