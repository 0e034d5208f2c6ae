"""Pages about providers over plain HTTP: who may see what, what strangers wrote, wrong input, and page after page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

import coincurve
import httpx
import pytest

from choir.bazaar.jobs.model import JobType
from choir.bazaar.settlement import store as settlement_store
from choir.foundation.clock import MICROSECONDS
from tests.doors.http import market
from tests.doors.http.market import PRICE, Inside, Seller, key_proof, order, run_request, verdict
from tests.doors.http.visitors import Browser, Json, client, done, refused
from tests.operations.nodes import NodeUnderTest

HOSTILE = '"><script>alert(1)</script> & co'
PAGE = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def inside(served: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(served) as found:
        yield found


@pytest.fixture(scope="module")
def buyer(served: NodeUnderTest) -> Browser:
    return market.buyer(served)


@pytest.fixture
def stranger(served: NodeUnderTest) -> httpx.Client:
    """Somebody without an account."""
    return client(served)


def shown(http: httpx.Client, path: str, **params: str) -> str:
    """A page as it is sent."""
    answer = http.get(path, params=params or None, headers=PAGE)
    assert answer.status_code == 200, answer.text
    return answer.text


def words(text: str) -> str:
    """What a reader sees of a page."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", text)))


def rename(seller: Seller, name: str) -> None:
    claims = {"name": name, "region": "eu-west", "model": name, "isolation": "bubblewrap"}
    done(seller.browser.http.put("/v1/providers/me/claims", json=claims))


def ranked(page: str) -> list[str]:
    """The providers of the order, as the page links them."""
    return re.findall(r'<th scope="row"><a href="/providers/(provider_\w+)">', page)


# The market


def test_anybody_reads_the_market_and_names_are_only_text(served: NodeUnderTest, stranger: httpx.Client) -> None:
    seller = market.seller(served)
    rename(seller, HOSTILE)
    for name in ("a\u202eb", "a\u200bb", "a\nb", "x" * 61):  # nothing that turns text around or cannot be seen
        claims = {"name": name, "region": "eu-west", "isolation": "local"}
        refused(seller.browser.http.put("/v1/providers/me/claims", json=claims), 422, "bazaar.bad_claim")
    own = shown(stranger, f"/providers/{seller.id}")
    for page in [*all_listing_pages(stranger), own]:
        assert "<script>alert" not in page
    assert f'<bdi class="wrap">{html.escape(HOSTILE, quote=False).replace(chr(34), "&#34;")}</bdi>' in own
    assert f"@{seller.browser.handle}" in own
    assert seller.browser.owner not in own


def all_listing_pages(http: httpx.Client) -> list[str]:
    """Every page of the listing, by its own links."""
    pages = [shown(http, "/providers")]
    while found := re.search(r'href="(/providers\?[^"]+)" rel="next"', pages[-1]):
        pages.append(shown(http, html.unescape(found[1])))
    return pages


def test_the_listing_goes_on_page_by_page(served: NodeUnderTest, stranger: httpx.Client) -> None:
    own = {market.seller(served, "text_gen").id for _ in range(27)}
    pages = all_listing_pages(stranger)
    assert len(pages) > 1
    listed = [re.findall(r'row-title"><a href="/providers/(provider_\w+)"', page) for page in pages]
    every = [id_ for page in listed for id_ in page]
    assert every == sorted(set(every))
    assert own <= set(every)
    assert max(len(page) for page in listed) == 25


def test_the_order_is_the_selections_own_and_adds_up(
    served: NodeUnderTest, stranger: httpx.Client, inside: Inside
) -> None:
    seller = market.seller(served, "code_review")
    prices = {"type": "code_review", "base": "1", "per_unit": "1", "cap": "9"}
    done(seller.browser.http.post("/v1/providers/me/books", json=prices), 201)
    other = market.seller(served, "code_review")
    page = shown(stranger, "/providers", type="review", units="7")
    found = ranked(page)
    assert found.index(seller.id) < found.index(other.id)
    asked = {"type": "code_review", "max_price": str(10**12), "criteria": {"units_milli": 7000}}
    told = done(stranger.post("/v1/selections", json=asked))["explanation"]
    scores = {item["provider"]: item for item in told["candidates"]}
    text = words(page)
    for id_ in (seller.id, other.id):  # those of other tests may come and go meanwhile
        assert f"{scores[id_]['total']:,}" in text
        assert sum(part["points"] for part in scores[id_]["components"]) == scores[id_]["total"]
        for part in scores[id_]["components"]:
            assert f"{part['score']:,} × {part['weight_bps'] // 100} %" in text
    assert "a review of 7 files" in text


def test_where_nobody_can_be_asked_the_page_says_why(served: NodeUnderTest, stranger: httpx.Client) -> None:
    silent = market.seller(served, "code_review")
    done(silent.browser.http.put("/v1/providers/me/draining", json={"draining": True}))
    assert silent.id not in ranked(shown(stranger, "/providers", type="code_review"))
    assert "Draining" in words(shown(stranger, f"/providers/{silent.id}"))


@pytest.mark.parametrize("units", ["0", "-1", "x", "1.5", "9" * 19, "²", "1000001"])
def test_a_size_that_is_none_is_told_and_the_usual_one_shown(stranger: httpx.Client, units: str) -> None:
    text = words(shown(stranger, "/providers", units=units))
    assert f"“ {units} ” is not a size." in text
    assert "a run of 60 CPU seconds" in text


@pytest.mark.parametrize(
    "path",
    [
        "/providers?type=poem",
        "/providers?type=",
        "/providers?cursor=me",
        "/providers/someone",
        "/providers/provider_" + "0" * 26,
        "/providers/me",
    ],
)
def test_addresses_of_nothing(stranger: httpx.Client, path: str) -> None:
    answer = stranger.get(path, headers=PAGE)
    assert (answer.status_code, "Not found" in answer.text) == (404, True)


# One provider


def test_a_record_without_buyers(served: NodeUnderTest, stranger: httpx.Client, buyer: Browser, inside: Inside) -> None:
    seller = market.seller(served)
    jobs = []
    for passed in [True, False] + [True] * 20:
        job = order(buyer, seller)
        inside.work(seller, job["attempts"][0]["id"], verdict(visible=passed))
        jobs.append(job["id"])
    page = shown(stranger, f"/providers/{seller.id}")
    text = words(page)
    for said in ("Paid jobs 21", "Failed jobs 1", "22 jobs, 21 passed", "Tier 1 needs all of these", "1, needs 10"):
        assert said in text, said
    assert page.count(">Passed</span>") == 20
    following = re.search(r'href="(/providers/\w+\?cursor=[0-9-]+#outcomes)"', page)
    assert following
    older = shown(stranger, following[1].partition("#")[0])
    assert (older.count(">Passed</span>"), older.count(">Failed</span>")) == (1, 1)
    assert "the artifact does not match its claimed hash" in words(older)
    for secret in (buyer.owner, buyer.handle, *jobs):
        assert secret not in page + older
    standing = done(stranger.get(f"/v1/providers/{seller.id}/standing"))
    assert (standing["tier"], standing["days"][-1]["jobs"], standing["days"][-1]["passed"]) == (0, 22, 21)
    assert [(need["what"], need["met"]) for need in standing["next_tier"]] == [
        ("jobs", False), ("success", True), ("buyers", False), ("bond", False),
    ]  # fmt: skip
    outcomes = done(stranger.get(f"/v1/providers/{seller.id}/outcomes"))["items"]
    times = sorted(item["took_ms"] for item in outcomes if item["passed"])
    assert standing["typical_ms"] == times[(len(times) - 1) // 2]
    assert {item["job"] for item in outcomes} == {None}


def test_price_books_by_version(served: NodeUnderTest, stranger: httpx.Client) -> None:
    seller = market.seller(served, "sandbox_run", "text_gen")
    prices: Json = {"type": "sandbox_run", "base": "1000", "per_unit": "1", "cap": "9000"}
    for number in range(11):
        done(seller.browser.http.post("/v1/providers/me/books", json=prices | {"base": str(number * 1000)}), 201)
    page = shown(stranger, f"/providers/{seller.id}", type="run")
    versions = r'<th scope="row" class="number">(\d+)</th>'
    assert re.findall(versions, page) == [str(number) for number in range(12, 2, -1)]
    following = re.search(r'href="(/providers/\w+\?type=run&amp;before=3)#books"', page)
    assert following
    assert re.findall(versions, shown(stranger, html.unescape(following[1]))) == ["2", "1"]
    assert "Prices of a text" in shown(stranger, f"/providers/{seller.id}", type="text")


# Somebody's own page


def test_who_has_no_provider_is_told_how_to_begin(ada: Browser) -> None:
    text = words(shown(ada.http, "/selling"))
    assert "choir provider serve" in text
    assert "Earnings" not in text


def test_the_own_page_shows_money_queue_and_prices(
    served: NodeUnderTest, buyer: Browser, bob: Browser, inside: Inside
) -> None:
    seller = market.seller(served)
    for passed in (True, False):
        inside.work(seller, order(buyer, seller)["attempts"][0]["id"], verdict(visible=passed))
    inside.work(seller, order(buyer, seller)["attempts"][0]["id"], None)
    request = run_request(argv=["echo", "<b>bold</b>"])
    order(buyer, seller, request=request)
    page = shown(seller.browser.http, "/selling")
    text = words(page)
    for said in (
        "Today 180 SAT 1 of 2 jobs passed",
        "<b>bold</b>",
        "Delivered",
        "Assigned",
        "2 of 5 slots in use",
    ):
        assert said in text, said
    assert "<b>bold</b>" not in page
    assert "A job of 60 CPU seconds costs 230 SAT now: 207 SAT for you, 23 SAT for the platform." in text
    assert 'value="0.5"' in page
    assert buyer.owner not in page
    other = words(shown(bob.http, "/selling"))
    assert "180 SAT" not in other
    assert seller.id not in other


def test_earnings_by_day_week_and_month(served: NodeUnderTest, inside: Inside) -> None:
    seller = market.seller(served)
    http = seller.browser.http
    day_us = 86_400 * MICROSECONDS
    with inside.node.unit_of_work() as tx:
        own = inside.node.bazaar.providers.of(tx, market.principal(seller.browser)).id
        for days, earned in ((0, 5_000), (1, -2_000), (40, 7_000), (3_000, 11_000)):
            at_us = inside.node.clock.now_us() - days * day_us
            settlement_store.note_earnings(tx, own, JobType.TEXT_GEN, at_us, jobs=1, passed=1, earned=earned)
    sums = {}
    for by, steps in (("day", 30), ("week", 26), ("month", 12)):
        series = done(http.get("/v1/providers/me/earnings/series", params={"by": by}))
        assert (series["by"], len(series["steps"])) == (by, steps)
        sums[by] = sum(int(step["earned"]) for step in series["steps"])
        assert f"Earned per {by}, last {steps} {by}s" in words(shown(http, "/selling", by=by))
    assert sums == {"day": 3_000, "week": 10_000, "month": 10_000}
    assert "-2 SAT" in words(shown(http, "/selling"))
    assert http.get("/v1/providers/me/earnings/series", params={"by": "decade"}).status_code == 422
    assert http.get("/selling?by=decade", headers=PAGE).status_code == 404


def test_prices_can_be_tried_before_they_are_published(served: NodeUnderTest, stranger: httpx.Client) -> None:
    seller = market.seller(served, "sandbox_run")
    http = seller.browser.http
    asked = {"type": "sandbox_run", "base": "100000", "per_unit": "400", "cap": "1000000"}
    quote = done(http.get("/v1/providers/me/quote", params=asked))
    assert quote == {"units": 60, "unit": "cpu_second", "price": "124000", "earned": "111600", "fee": "12400"}
    free = done(http.get("/v1/providers/me/quote", params=asked | {"cap": "0"}))
    assert (free["price"], free["earned"], free["fee"]) == ("0", "0", "0")
    above = asked | {"base": "200001"}
    refused(http.get("/v1/providers/me/quote", params=above), 409, "bazaar.price_above_limit")
    refused(http.post("/v1/providers/me/books", json=above), 409, "bazaar.price_above_limit")
    for wrong in ({"base": "-1"}, {"base": "01"}, {"base": "1" * 19}, {"type": "poem"}):
        assert http.get("/v1/providers/me/quote", params=asked | wrong).status_code == 422, wrong
    assert [book["version"] for book in books(stranger, seller.id)] == [1]  # nothing was published by asking


def books(http: httpx.Client, provider: str) -> list[Json]:
    found: list[Json] = done(http.get(f"/v1/providers/{provider}/books", params={"type": "sandbox_run"}))["items"]
    return found


def test_a_provider_of_an_agent_is_shown_as_its_agents(ada: Browser, bob: Browser) -> None:
    agent = ada.agent("Night librarian")
    delegation = ada.grant(agent, "sell", "read")
    with ada.program("sell", "read", delegation=delegation) as program:
        owner = "agent:" + agent["id"].removeprefix("agent_")
        secret = coincurve.PrivateKey()
        body = {"name": "attic", "region": "eu-west", "isolation": "local", "capacity": 1} | key_proof(owner, secret)
        made = done(program.post("/v1/providers", json=body), 201)
    text = words(shown(ada.http, "/selling"))
    assert "Providers of your agents" in text
    assert "attic" in text
    assert "Of your agent Night librarian" in text
    assert "How to begin" in text
    refused(ada.http.put("/v1/providers/me/draining", json={"draining": True}), 404, "bazaar.provider_unknown")
    assert made["id"] not in shown(bob.http, "/selling")


def test_what_was_paid_counts_in_figures(served: NodeUnderTest, buyer: Browser, inside: Inside) -> None:
    seller = market.seller(served)
    inside.work(seller, order(buyer, seller)["attempts"][0]["id"], verdict())
    with client(served) as stranger:
        text = words(shown(stranger, f"/providers/{seller.id}"))
    assert f"Volume {PRICE // 1_000} SAT" in text
