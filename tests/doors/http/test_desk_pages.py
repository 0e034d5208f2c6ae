"""The writer's desk over plain HTTP: who may see what, escaping, wrong input, paging; and looking costs nothing."""

from __future__ import annotations

import html
import re

import httpx
import pytest

from tests.doors.http.press import WritersDesk, add, new_text, writer
from tests.doors.http.visitors import Browser, Json, balance, done
from tests.operations.nodes import NodeUnderTest

PAGE = {"Accept": "text/html"}
NO_ARTICLE = "article_" + "0" * 26
HOSTILE = "</textarea><img src=x onerror=alert(1)> & \"quoted\" 'words'"


@pytest.fixture(scope="module")
def author(served: NodeUnderTest) -> Browser:
    return writer(served, 1_000)


@pytest.fixture(scope="module")
def desk(author: Browser) -> WritersDesk:
    return WritersDesk(author)


def see(who: Browser, path: str, status: int = 200) -> str:
    """A page as this person sees it."""
    answer = who.http.get(path, headers=PAGE)
    assert answer.status_code == status, answer.text[:2_000]
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    return answer.text


def test_a_draft_is_its_authors_alone(bob: Browser, desk: WritersDesk, author: Browser) -> None:
    secret = desk.create("# A secret plan\n\nNobody knows.")["id"]
    for path in ("", "/drafts", "/check"):
        assert "A secret plan" in see(author, f"/desk/{secret}{path}")
        assert "A secret plan" not in see(bob, f"/desk/{secret}{path}", 404)
    assert "A secret plan" not in see(bob, "/desk")
    private = add(author.http, new_text(), title="A private survey")["hash"]
    assert "A private survey" not in see(bob, f"/desk/new?source={private}")
    assert "A private survey" not in see(bob, "/desk/sources")
    assert see(author, f"/desk/new?source={private}").count(f'value="{private}" selected') == 1


def test_what_others_published_is_read_and_not_edited(bob: Browser, desk: WritersDesk) -> None:
    see(bob, f"/desk/{desk.published}", 403)
    see(bob, f"/desk/{desk.published}/check", 403)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/desk/{NO_ARTICLE}", 404),
        (f"/desk/{NO_ARTICLE}/check", 404),
        ("/desk/nothing", 404),
        ("/desk?before=sources", 404),
        ("/desk?before=<script>", 404),
        ("/desk/sources?before=-1", 404),
        ("/desk/new?source=sha256:1", 200),
        ("/desk/new?source=" + "x" * 81, 404),
    ],
)
def test_wrong_addresses(ada: Browser, path: str, status: int) -> None:
    see(ada, path, status)


def test_drafts_that_are_not_there(desk: WritersDesk, author: Browser) -> None:
    for asked in ("?draft=2", "?draft=0", "/drafts?a=7", "/drafts?a=x", "/check?draft=9"):
        see(author, f"/desk/{desk.draft}{asked}", 404)


def test_what_strangers_wrote_is_escaped(desk: WritersDesk, author: Browser) -> None:
    source = add(author.http, new_text(), title=HOSTILE)["hash"]
    article = desk.create(f"# Plain\n\n{HOSTILE}\n\n{{{{extract {source}@0-20}}}}\n", title=HOSTILE)["id"]
    pages = ("/desk", "/desk/sources", "/desk/new", *(f"/desk/{article}{part}" for part in ("", "/drafts", "/check")))
    for path in pages:
        page = see(author, path)
        assert "<img" not in page
        assert "&lt;img src=x" in page


def test_an_invisible_change_is_seen(desk: WritersDesk, author: Browser) -> None:
    article = desk.create("# Signs\n\nPay ten.")["id"]
    body = {"text": "# Signs\n\nPay \u202eten\u2066.", "base": 1}
    done(author.http.put(f"/v1/articles/{article}/draft", json=body))
    shown = see(author, f"/desk/{article}/drafts")
    assert '<span class="plus" dir="auto">+Pay \ufffdten\ufffd.</span>' in shown


def test_the_way_back_after_adding_a_source_stays_on_the_desk(ada: Browser) -> None:
    for then in ("https://evil.example", "//evil.example", "/account", "/desk/../account\\", "/desk/\n"):
        page = see(ada, str(httpx.URL("/desk/sources", params={"then": then})))
        assert 'data-then=""' in page
    assert f'data-then="/desk/{NO_ARTICLE}"' in see(ada, f"/desk/sources?then=/desk/{NO_ARTICLE}")


def test_lists_go_on(ada: Browser) -> None:
    mine = WritersDesk(ada)
    made = [mine.create(f"# Number {n}\n\nWords.")["id"] for n in range(21)]
    first = see(ada, "/desk")
    link = re.search(r'href="(/desk\?before=[^"]+)" rel="next"', first)
    assert link is not None
    second = see(ada, html.unescape(link[1]))
    found = [re.findall(r'class="row-title"><a href="/desk/(article_\w+)"', page) for page in (first, second)]
    assert (len(found[0]), found[0] + found[1]) == (20, made[::-1])
    assert 'rel="next"' not in second


def test_the_editor_repeats_only_what_the_text_does_not_say(desk: WritersDesk, author: Browser) -> None:
    own = desk.create("---\ntopics: wind\n---\n# Its own title\n\nWords.")["id"]
    given = desk.create("# Its own title\n\nWords.", title="Another title", topics=["wind", "iron"])["id"]
    assert 'name="title" value=""' in see(author, f"/desk/{own}")
    assert 'name="topics" value=""' in see(author, f"/desk/{own}")
    assert 'name="title" value="Another title"' in see(author, f"/desk/{given}")
    assert 'name="topics" value="wind, iron"' in see(author, f"/desk/{given}")


def test_checking_shows_all_and_stakes_nothing(desk: WritersDesk, author: Browser) -> None:
    article = desk.article()["id"]
    before = balance(author.node, f"{author.owner}/available/CHIP")
    page = see(author, f"/desk/{article}/check")
    quote: Json = done(author.http.post(f"/v1/articles/{article}/quote", json={}))
    assert f"{quote['novelty']['score']} of 100" in page
    assert page.count('data-level="L2"') == 6  # each claim in the text, and in the list of evidence
    assert "The review would pass this draft." in page
    assert "Publish for 100 CHIP" in page
    assert "Wind caused vibration in 45 of the 120 bridges." in page
    nearest = quote["novelty"]["nearest"]
    assert nearest
    assert all(item["excerpt"] and html.escape(item["excerpt"], quote=False) in html.unescape(page) for item in nearest)
    assert balance(author.node, f"{author.owner}/available/CHIP") == before


def test_a_published_article_with_what_it_earned_and_staked(ada: Browser) -> None:
    mine = WritersDesk(ada)
    article = mine.published
    mine.wait(article, "promoted")
    page = html.unescape(see(ada, "/desk"))
    assert "0 articles cited it; you earned $0.00" in page
    assert re.search(r"90 CHIP</span>\s*for <a", page)
    assert "Back <time" in page
    editor = see(ada, f"/desk/{article}")
    assert f"POST /v1/articles/{article}/boosts" in editor
    assert f"POST /v1/articles/{article}/retraction" in editor
    score: Json = done(ada.http.get(f"/v1/articles/{article}/novelty"))
    assert {item["excerpt"] for item in score["nearest"]} <= {""}  # others' words are not kept with a score


def test_a_person_without_chip_is_told_so(served: NodeUnderTest) -> None:
    poor = WritersDesk(writer(served, 0))
    article = poor.article()["id"]
    first = poor.http.get(f"/desk/{article}/check", headers=PAGE).text
    assert "Publish for 50 CHIP" in first  # a newcomer's first stake is shared by the treasury
    poor.publish(article)
    second = poor.http.get(f"/desk/{poor.article()['id']}/check", headers=PAGE).text
    assert "You have too little CHIP." in second
    assert "/publications" not in second
