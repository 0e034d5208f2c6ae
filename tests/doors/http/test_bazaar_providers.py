"""Providers over HTTP: registration, prices, signs of life, what is known of them, and what they earned."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import coincurve
import pytest

from choir.bazaar.jobs.model import JobType
from choir.bazaar.settlement import earnings as earning
from choir.bazaar.settlement import store as settlement_store
from choir.bazaar.settlement.earnings import Period
from choir.foundation.clock import MICROSECONDS
from tests.doors.http import market
from tests.doors.http.market import FEE, PRICE, Inside, Seller, all_pages, key_proof, order, registration, verdict
from tests.doors.http.visitors import Browser, Json, balance, done, refused
from tests.operations.nodes import NodeUnderTest


@pytest.fixture(scope="module")
def inside(served: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(served) as found:
        yield found


@pytest.fixture(scope="module")
def buyer(served: NodeUnderTest) -> Browser:
    return market.buyer(served)


def test_registering_once_and_coming_back(served: NodeUnderTest) -> None:
    who = Browser(served).sign_up()
    body = registration(who.owner)
    refused(who.http.get("/v1/providers/me"), 404, "bazaar.provider_unknown")
    refused(who.http.delete("/v1/providers/me"), 404, "bazaar.provider_unknown")
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: who.http.post("/v1/providers", json=body), range(4)))
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    refused(who.http.post("/v1/providers", json=body), 409, "bazaar.provider_exists")
    made = done(who.http.get("/v1/providers/me"))
    assert made == done(who.http.get(f"/v1/providers/{made['id']}"))
    assert (made["owner"], made["online"], made["tier"], made["offers"]) == (who.owner, False, 0, [])
    for _ in range(2):
        done(who.http.delete("/v1/providers/me"), 204)
    assert done(who.http.get("/v1/providers/me"))["retired_at"] is not None
    claims = {"name": "x", "region": "eu-west", "isolation": "local"}
    refused(who.http.put("/v1/providers/me/claims", json=claims), 409, "bazaar.provider_retired")
    assert done(who.http.post("/v1/providers/me/heartbeat", json={"free_slots": 1}))["attempts"] == []
    back = done(who.http.post("/v1/providers", json=body), 201)
    assert (back["id"], back["retired_at"]) == (made["id"], None)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": ""}, "invalid"),
        ({"name": "   "}, "bazaar.bad_claim"),
        ({"name": "a\u0000b"}, "bazaar.bad_claim"),
        ({"name": "x" * 61}, "bazaar.bad_claim"),
        ({"region": "Somewhere Else"}, "bazaar.bad_claim"),
        ({"isolation": "hope"}, "invalid"),
        ({"capacity": 0}, "invalid"),
        ({"capacity": 10**30}, "invalid"),
        ({"result_key": "ff" * 32}, "identity.bad_nostr_key"),
        ({"result_key": "00"}, "invalid"),
        ({"proof": "00" * 64}, "bazaar.result_key_unproven"),
    ],
)
def test_a_registration_that_is_written_wrongly(ada: Browser, change: Json, code: str) -> None:
    answer = ada.http.post("/v1/providers", json=registration(ada.owner) | change)
    refused(answer, 422, code)
    refused(ada.http.get("/v1/providers/me"), 404, "bazaar.provider_unknown")


def test_a_key_is_proven_and_nobody_elses(served: NodeUnderTest, ada: Browser, bob: Browser) -> None:
    first = Seller(ada).open_stall()
    body = registration(bob.owner, first.secret)
    refused(bob.http.post("/v1/providers", json=body), 409, "bazaar.result_key_taken")
    second = Seller(bob).open_stall()
    refused(
        bob.http.put("/v1/providers/me/key", json=key_proof(bob.owner, first.secret)), 409, "bazaar.result_key_taken"
    )
    refused(
        bob.http.put("/v1/providers/me/key", json=key_proof(ada.owner, coincurve.PrivateKey())),
        422,
        "bazaar.result_key_unproven",
    )
    fresh = key_proof(bob.owner, coincurve.PrivateKey())
    assert done(bob.http.put("/v1/providers/me/key", json=fresh))["result_key"] == fresh["result_key"]
    assert done(ada.http.get(f"/v1/providers/{second.id}"))["result_key"] == fresh["result_key"]


def test_prices_are_published_in_versions(ada: Browser) -> None:
    stall = Seller(ada).open_stall("sandbox_run")
    http = ada.http
    prices: Json = {"type": "sandbox_run", "base": "100000", "per_unit": "400", "cap": "1000000"}
    second = done(http.post("/v1/providers/me/books", json=prices), 201)
    later = done(http.post("/v1/providers/me/books", json=prices | {"effective_at": "2099-01-01T00:00:00Z"}), 422)
    assert later["code"] == "bazaar.bad_effective_time"
    assert (second["version"], second["unit"], second["base"]) == (2, "cpu_second", "100000")
    shown = done(http.get(f"/v1/providers/{stall.id}"))["offers"]
    assert [offer["book"]["version"] for offer in shown] == [2]
    where, type_ = f"/v1/providers/{stall.id}/books", {"type": "sandbox_run"}
    page = done(http.get(where, params=type_ | {"limit": 1}))
    assert [book["version"] for book in page["items"]] == [2]
    rest = done(http.get(where, params=type_ | {"cursor": page["next"]}))
    assert [book["version"] for book in rest["items"]] == [1]
    assert done(http.get(where, params={"type": "text_gen"}))["items"] == []
    assert http.get(where, params={"type": "poem"}).status_code == 422
    refused(http.post("/v1/providers/me/books", json=prices | {"base": "9" * 17}), 409, "bazaar.price_above_limit")
    for wrong in ({"base": "-1"}, {"base": "01"}, {"base": "9" * 19}, {"base": 5}, {"effective_at": "soon"}):
        assert http.post("/v1/providers/me/books", json=prices | wrong).status_code == 422, wrong


def test_what_is_declared_and_said_shows(ada: Browser) -> None:
    Seller(ada).open_stall("sandbox_run")
    http = ada.http
    declared = done(http.put("/v1/providers/me/capabilities", json={"types": ["text_gen"], "capacity": 2}))
    assert {offer["type"]: offer["offered"] for offer in declared["offers"]} == {"sandbox_run": False, "text_gen": True}
    assert declared["slots"] == declared["capacity"] == 2
    claims = {"name": "night shift", "region": "us-east", "model": "a model", "isolation": "microvm"}
    assert done(http.put("/v1/providers/me/claims", json=claims))["claimed"] == claims
    assert done(http.put("/v1/providers/me/draining", json={"draining": True}))["draining"] is True
    beat = done(http.post("/v1/providers/me/heartbeat", json={"free_slots": 1, "healthy": False, "version": "2.0"}))
    shown = beat["provider"]
    assert (shown["online"], shown["healthy"], shown["version"], shown["slots"]) == (True, False, "2.0", 1)
    for wrong in ({"free_slots": -1}, {"free_slots": 10**20}, {"free_slots": 1, "version": "\u0000"}):
        assert http.post("/v1/providers/me/heartbeat", json=wrong).status_code == 422


def test_everybody_is_listed_page_by_page(served: NodeUnderTest, ada: Browser) -> None:
    own = [market.seller(served).id for _ in range(3)]
    found = [item["id"] for item in all_pages(ada.http, "/v1/providers", 2)]
    assert found == sorted(set(found))
    assert set(own) <= set(found)
    refused(ada.http.get("/v1/providers/provider_" + "0" * 26), 404, "bazaar.provider_unknown")
    refused(ada.http.get("/v1/providers/provider_" + "0" * 26 + "/outcomes"), 404, "bazaar.provider_unknown")
    assert ada.http.get("/v1/providers/someone").status_code == 422


def test_outcomes_name_jobs_to_the_owner_only(buyer: Browser, served: NodeUnderTest, inside: Inside) -> None:
    seller = market.seller(served)
    jobs = []
    for passed in (True, False, True):
        job = order(buyer, seller)
        inside.work(seller, job["attempts"][0]["id"], verdict(visible=passed))
        jobs.append(job["id"])
    where = f"/v1/providers/{seller.id}/outcomes"
    own = done(seller.browser.http.get(where))["items"]
    assert [(item["job"], item["passed"], item["price"]) for item in own] == [
        (jobs[2], True, str(PRICE)),
        (jobs[1], False, "0"),
        (jobs[0], True, str(PRICE)),
    ]
    assert [item["job"] for item in done(served.http().get(where))["items"]] == jobs[::-1]
    assert [item["job"] for item in done(buyer.http.get(where))["items"]] == [None] * 3
    # Page by page nothing is lost, also where two ended at the same time.
    with inside.node.unit_of_work() as tx:
        tx.run("update provider_outcomes set at_us = 5 where reason = '' and price > 0 and job in"
               " (select id from jobs where buyer = %s)", buyer.owner)  # fmt: skip
    seen = [item["job"] for item in all_pages(seller.browser.http, where, 1)]
    assert sorted(seen) == sorted(jobs)
    for bad in ("x", "1", "1-", "-1-1", "9" * 19 + "-0"):
        assert seller.browser.http.get(where, params={"cursor": bad}).status_code == 422


def test_earnings_are_what_the_ledger_says(served: NodeUnderTest, buyer: Browser, inside: Inside) -> None:
    seller = market.seller(served)
    http, account = seller.browser.http, f"{seller.browser.owner}/available/SAT"
    before = balance(served, account)
    assert done(http.get("/v1/providers/me/earnings"))["lines"] == []
    verdicts = [verdict(), verdict(visible=False), verdict(hidden=False), verdict()]
    jobs = []
    for found in verdicts:
        jobs.append(order(buyer, seller))
        inside.work(seller, jobs[-1]["attempts"][0]["id"], found)
    earned = balance(served, account) - before
    part = PRICE // 5  # what a buyer pays when only hidden checks failed
    assert earned == 2 * (PRICE - FEE) + part - max(part // 10, 10_000)
    week = done(http.get("/v1/providers/me/earnings"))
    [line] = week["lines"]
    assert (line["type"], line["jobs"], line["passed"]) == ("sandbox_run", 4, 2)
    assert (int(line["earned"]), week["earned"], week["jobs"]) == (earned, str(earned), 4)
    assert int(week["earned"]) + int(week["fees"]) == 2 * PRICE + part
    for period in ("day", "month", "all"):
        other = done(http.get("/v1/providers/me/earnings", params={"period": period}))
        assert (other["lines"], other["since"] is None) == (week["lines"], period == "all")
    assert http.get("/v1/providers/me/earnings", params={"period": "decade"}).status_code == 422

    # A buyer who is found right gets it back, and it was not earned.
    body = {"trigger": "output_irrelevant", "statement": "It is the output of another program."}
    dispute = done(buyer.http.post(f"/v1/jobs/{jobs[0]['id']}/disputes", json=body), 201)
    inside.under_review(dispute["id"], verdict())
    ruling = {"winner": "buyer", "reasoning": "It is."}
    ruled = done(served.http().post(f"/v1/disputes/{dispute['id']}/rulings", json=ruling))
    assert (ruled["state"], ruled["refund"], ruled["owed"]) == ("resolved", str(PRICE), "0")
    after = done(http.get("/v1/providers/me/earnings"))
    assert int(after["earned"]) == earned - (PRICE - FEE) == balance(served, account) - before
    assert int(after["fees"]) == int(week["fees"]) - FEE


def test_periods_begin_where_the_calendar_says() -> None:
    def at(text: str) -> int:
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * MICROSECONDS

    sunday = at("2026-03-01T23:59:59")
    assert earning.since_us(Period.DAY, sunday) == at("2026-03-01T00:00:00")
    assert earning.since_us(Period.WEEK, sunday) == at("2026-02-23T00:00:00")
    assert earning.since_us(Period.MONTH, sunday) == at("2026-03-01T00:00:00")
    assert earning.since_us(Period.WEEK, at("2026-03-02T00:00:00")) == at("2026-03-02T00:00:00")
    assert earning.since_us(Period.ALL, sunday) is None


def test_earnings_of_other_days_are_not_of_this_one(served: NodeUnderTest, inside: Inside) -> None:
    seller = market.seller(served)
    now_us = inside.node.clock.now_us()
    day_us = 86_400 * MICROSECONDS
    with inside.node.unit_of_work() as tx:
        own = inside.node.bazaar.providers.of(tx, market.principal(seller.browser)).id
        for days in (0, 40, 400):
            settlement_store.note_earnings(
                tx, own, JobType.TEXT_GEN, now_us - days * day_us, jobs=1, passed=1, earned=10 ** days.bit_length()
            )
    sums = {
        period: done(seller.browser.http.get("/v1/providers/me/earnings", params={"period": period}))["earned"]
        for period in ("day", "all")
    }
    assert sums == {"day": "1", "all": str(1 + 10**6 + 10**9)}


def test_attempts_are_listed_newest_first(served: NodeUnderTest, buyer: Browser) -> None:
    seller = market.seller(served)
    own = [order(buyer, seller)["attempts"][0]["id"] for _ in range(3)]
    http = seller.browser.http
    done(http.post(f"/v1/attempts/{own[1]}/give-back", json={}))
    live = done(http.get("/v1/attempts"))["items"]
    assert [item["id"] for item in live][-2:] == [own[2], own[0]]
    seen = [item["id"] for item in all_pages(http, "/v1/attempts", 2, live="false")]
    assert seen[-3:] == own[::-1]
    first = done(http.get("/v1/attempts", params={"limit": 1}))
    assert done(http.get("/v1/attempts", params={"limit": 1, "cursor": first["next"]}))["items"] != first["items"]
