"""Disputes over HTTP: who opens, answers and decides, in which order, and what cannot be disputed."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.doors.http import market
from tests.doors.http.market import PRICE, Inside, Seller, all_pages, order, verdict
from tests.doors.http.visitors import Browser, Json, balance, done, refused
from tests.operations.nodes import NodeUnderTest

DOUBT = {"trigger": "output_irrelevant", "statement": "It answers another question."}
RULING = {"winner": "split", "reasoning": "Both have a point."}


@pytest.fixture(scope="module")
def inside(served: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(served) as found:
        yield found


@pytest.fixture(scope="module")
def buyer(served: NodeUnderTest) -> Browser:
    return market.buyer(served)


@pytest.fixture
def seller(served: NodeUnderTest) -> Seller:
    return market.seller(served)


def judged(buyer: Browser, seller: Seller, inside: Inside, *, passed: bool = True) -> Json:
    job = order(buyer, seller, strategy={**seller.pinned, "attempts": 1})
    inside.work(seller, job["attempts"][0]["id"], verdict(visible=passed))
    return job


def test_a_dispute_from_the_doubt_to_the_ruling(
    served: NodeUnderTest, buyer: Browser, seller: Seller, inside: Inside
) -> None:
    job = judged(buyer, seller, inside)
    where = f"/v1/jobs/{job['id']}/disputes"
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: buyer.http.post(where, json=DOUBT), range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1
    opened = answers[0].json()
    assert (opened["side"], opened["opener"], opened["attempt"]) == ("buyer", buyer.owner, job["attempts"][0]["id"])
    dispute = f"/v1/disputes/{opened['id']}"
    assert done(buyer.http.get(f"/v1/jobs/{job['id']}"))["state"] == "disputed"

    refused(buyer.http.post(f"{dispute}/response", json={"response": "no"}), 404, "bazaar.dispute_unknown")
    answer = done(seller.browser.http.post(f"{dispute}/response", json={"response": "It is what was asked."}))
    again = done(seller.browser.http.post(f"{dispute}/response", json={"response": "Or maybe not."}))
    assert answer["response"] == again["response"] == "It is what was asked."

    operator = served.http()
    inside.under_review(opened["id"], verdict())
    waiting = [item["id"] for item in all_pages(operator, "/v1/disputes", 1)]
    assert opened["id"] in waiting
    assert waiting == sorted(waiting)
    before = balance(served, f"{buyer.owner}/available/SAT")
    ruled = done(operator.post(f"{dispute}/rulings", json=RULING))
    assert (ruled["state"], ruled["winner"], ruled["refund"]) == ("resolved", "split", str(PRICE // 2))
    assert [(item["operator"], item["winner"]) for item in ruled["rulings"]] == [("operator", "split")]
    assert balance(served, f"{buyer.owner}/available/SAT") == before + PRICE // 2 + int(opened["deposit"])
    refused(operator.post(f"{dispute}/rulings", json=RULING), 409, "bazaar.dispute_over")
    late = seller.browser.http.post(f"{dispute}/response", json={"response": "But wait."})
    refused(late, 409, "bazaar.dispute_over")
    assert done(buyer.http.get(f"/v1/jobs/{job['id']}"))["state"] == "resolved"
    assert opened["id"] not in [item["id"] for item in done(operator.get("/v1/disputes"))["items"]]


def test_an_operator_ends_no_hold_of_a_job_or_dispute_that_is_not_over(
    served: NodeUnderTest, buyer: Browser, seller: Seller, inside: Inside
) -> None:
    operator = served.http()
    job = order(buyer, seller, strategy={**seller.pinned, "attempts": 1})
    taken = {"legs": [{"to": f"{seller.browser.owner}/available/SAT", "amount": "1"}], "reason": "mine"}

    def end(hold: str, code: str) -> None:
        for act, body in (("release", {"reason": "mine"}), ("capture", taken)):
            key = {"Idempotency-Key": f"{act} {hold} {code}"}
            refused(operator.post(f"/v1/holds/{hold}/{act}", json=body, headers=key), 409, code)

    budget = inside.hold("jobs", job["id"])
    end(budget, "bazaar.hold_of_job")
    inside.work(seller, job["attempts"][0]["id"], verdict())
    assert done(buyer.http.get(f"/v1/jobs/{job['id']}"))["state"] == "paid"  # nobody has lost anything by that
    end(budget, "ledger.hold.closed")
    opened = done(buyer.http.post(f"/v1/jobs/{job['id']}/disputes", json=DOUBT), 201)
    deposit = inside.hold("disputes", opened["id"])
    end(deposit, "bazaar.hold_of_dispute")
    inside.under_review(opened["id"], verdict())
    assert done(operator.post(f"/v1/disputes/{opened['id']}/rulings", json=RULING))["state"] == "resolved"
    end(deposit, "ledger.hold.closed")


def test_a_provider_doubts_a_failure(served: NodeUnderTest, buyer: Browser, seller: Seller, inside: Inside) -> None:
    job = judged(buyer, seller, inside, passed=False)
    where = f"/v1/jobs/{job['id']}/disputes"
    refused(buyer.http.post(where, json=DOUBT), 409, "bazaar.not_disputable")  # nothing was paid for it
    opened = done(seller.browser.http.post(where, json=DOUBT | {"attempt": job["attempts"][0]["id"]}), 201)
    assert (opened["side"], opened["opener"]) == ("provider", seller.browser.owner)
    inside.under_review(opened["id"], verdict(visible=False))
    decided = done(seller.browser.http.get(f"/v1/disputes/{opened['id']}"))  # what fails again needs nobody's ruling
    assert (decided["state"], decided["winner"], decided["refund"]) == ("resolved", "buyer", "0")
    ruling = {"winner": "provider", "reasoning": "I know better."}
    refused(served.http().post(f"/v1/disputes/{opened['id']}/rulings", json=ruling), 409, "bazaar.dispute_over")


def test_what_cannot_be_disputed_or_is_written_wrongly(
    served: NodeUnderTest, buyer: Browser, seller: Seller, inside: Inside
) -> None:
    fresh = order(buyer, seller)
    refused(buyer.http.post(f"/v1/jobs/{fresh['id']}/disputes", json=DOUBT), 409, "bazaar.not_disputable")
    job = judged(buyer, seller, inside)
    where = f"/v1/jobs/{job['id']}/disputes"
    refused(seller.browser.http.post(where, json=DOUBT), 409, "bazaar.not_disputable")  # it did not fail
    other = DOUBT | {"attempt": fresh["attempts"][0]["id"]}
    refused(buyer.http.post(where, json=other), 404, "bazaar.job_unknown")
    refused(market.buyer(served).http.post(where, json=DOUBT), 404, "bazaar.job_unknown")
    for change, code in (
        ({"trigger": "bad_mood"}, "invalid"),
        ({"statement": ""}, "invalid"),
        ({"statement": "x" * 4_001}, "bazaar.bad_statement"),
        ({"statement": "a\u0000b"}, "bazaar.bad_statement"),
        ({"attempt": "attempt_x"}, "invalid"),
    ):
        refused(buyer.http.post(where, json=DOUBT | change), 422, code)
    poor = market.buyer(served, PRICE * 5)
    job = judged(poor, seller, inside)
    refused(poor.http.post(f"/v1/jobs/{job['id']}/disputes", json=DOUBT), 409, "ledger.insufficient_funds")
    assert done(poor.http.get(f"/v1/jobs/{job['id']}/disputes"))["items"] == []


def test_sides_need_the_scope_of_their_side(buyer: Browser, seller: Seller, inside: Inside) -> None:
    job = judged(buyer, seller, inside)
    where = f"/v1/jobs/{job['id']}/disputes"
    refused(buyer.program("read", "sell").post(where, json=DOUBT), 403, "identity.scope_missing")
    opened = done(buyer.program("read", "buy").post(where, json=DOUBT), 201)
    answer = {"response": "It is what was asked."}
    dispute = f"/v1/disputes/{opened['id']}/response"
    refused(seller.browser.program("read", "buy").post(dispute, json=answer), 403, "identity.scope_missing")
    done(seller.browser.program("sell").post(dispute, json=answer))
