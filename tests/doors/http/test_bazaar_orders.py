"""From an order to what was paid, over HTTP: the way that works, the same again, and two at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from choir.bazaar.contracts import HiddenCheck, HiddenChecks
from choir.foundation.canonical import bytes_hash, canonical_hash
from tests.auditor import verifier
from tests.doors.http import market
from tests.doors.http.market import FEE, PRICE, Inside, Seller, inline, order, run_request, verdict
from tests.doors.http.visitors import Browser, Json, balance, cap, done, refused
from tests.operations.nodes import NodeUnderTest

COMMIT = "a" * 40
BUNDLE = b"a bundle of a repository"
DIFF = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n"
HIDDEN = HiddenChecks("ab" * 16, (HiddenCheck("python3 -m pytest -q hidden_test.py"),))


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


def patch_request(**more: Any) -> Json:
    terms = {key: value for key, value in run_request(10_000_000).items() if key != "argv"}
    return {"title": "mend it", "base_commit": COMMIT, "test_command": "python3 -m pytest -q", **terms, **more}


def review_request(**more: Any) -> Json:
    terms = {key: value for key, value in run_request().items() if key != "argv"}
    return {"diff": bytes_hash(DIFF), **terms, **more}


def test_from_an_order_to_what_was_paid_for(
    served: NodeUnderTest, buyer: Browser, seller: Seller, inside: Inside, tmp_path: Path
) -> None:
    before = balance(served, f"{seller.browser.owner}/available/SAT")
    job = order(buyer, seller)
    assert (job["state"], job["budget"], job["held"], job["buyer"]) == ("assigned", "1000000", "1000000", buyer.owner)
    [attempt] = job["attempts"]
    assert (attempt["provider"], attempt["state"], attempt["base"]) == (seller.id, "assigned", str(PRICE))

    sells = seller.browser.http
    beat = seller.beat()
    assert [item["id"] for item in beat["attempts"]] == [attempt["id"]]
    assert beat["next_s"] == 20
    assert [item["id"] for item in done(sells.get("/v1/attempts"))["items"]] == [attempt["id"]]
    request = done(sells.get(f"/v1/jobs/{job['id']}/request"))
    assert request["hash"] == job["request"] == canonical_hash(request["request"])
    assert request["request"]["argv"] == ["echo", "hello"]
    started = done(sells.post(f"/v1/attempts/{attempt['id']}/start"))
    assert (started["state"], started["order"]) == ("running", None)
    again = done(sells.post(f"/v1/attempts/{attempt['id']}/start?order=true"))
    assert (again["state"], again["order"]) == ("running", {**request, "type": job["type"], "inputs": {}})
    assert done(buyer.http.get(f"/v1/jobs/{job['id']}"))["state"] == "running"

    inside.work(seller, attempt["id"], verdict())
    paid = done(buyer.http.get(f"/v1/jobs/{job['id']}"))
    assert (paid["state"], paid["price"], paid["held"], paid["winner"]) == ("paid", str(PRICE), "0", attempt["id"])
    listed = next(item for item in done(buyer.http.get("/v1/jobs"))["items"] if item["id"] == paid["id"])
    assert listed == {**paid, "attempts": []}
    assert balance(served, f"{seller.browser.owner}/available/SAT") == before + PRICE - FEE

    where = f"/v1/attempts/{attempt['id']}"
    artifact = buyer.http.get(f"/v1/jobs/{job['id']}/artifact")
    assert artifact.content == seller.delivery_bytes
    assert artifact.headers["content-type"] == "application/octet-stream"
    assert artifact.headers["choir-size"] == artifact.headers["content-length"] == str(len(artifact.content))
    assert artifact.headers["choir-hash"] == bytes_hash(artifact.content) == paid["attempts"][0]["artifact"]
    assert artifact.headers["cache-control"] == "no-store"
    assert artifact.headers["content-disposition"] == "attachment"
    behind = buyer.http.get(f"/v1/jobs/{job['id']}/artifact", params={"part": 1})
    assert (behind.status_code, behind.content) == (200, b"")
    found = done(buyer.http.get(f"{where}/verdict"))
    assert found["verdict"]["passed"] is True
    assert list(found["evidence"]) == [found["verdict"]["checks"][0]["evidence"]]
    result = done(buyer.http.get(f"{where}/result"))
    assert (result["value"]["status"], result["signatures"][0]["scheme"]) == ("success", "bip340")
    receipt = done(sells.get(f"{where}/receipt"))
    assert receipt["hash"] == paid["receipt"] == paid["attempts"][0]["receipt"]
    assert (receipt["value"]["spent"]["amount"], receipt["signatures"][0]["scheme"]) == (str(PRICE), "ed25519")
    key = done(served.http().get("/v1/node"))["key"]
    for reader in (buyer.http, sells, served.http()):
        file = tmp_path / "receipt.json"
        file.write_bytes(reader.get(f"{where}/receipt/file").content)
        checked = verifier.run("receipt", file, "--key", key)
        assert checked.code == 0, checked.report
    paid_to = {f"{seller.browser.owner}/available/SAT": str(PRICE - FEE), "system:platform/fees/SAT": str(FEE)}
    assert {item["to"]: item["amount"] for item in checked.report["paid"]} == paid_to
    assert checked.report["keys"]["payee"] == result["signatures"][0]["public"]
    told = [step["what"] for step in done(buyer.http.get(f"/v1/jobs/{job['id']}/steps"))["items"]]
    assert told[0] == "opened"
    assert {"offered", "handed_in", "paid"} <= set(told)


def test_the_same_key_and_order_are_one_job(buyer: Browser, seller: Seller) -> None:
    request = run_request(key="one and the same")
    body = {"type": "sandbox_run", "request": request, "strategy": seller.pinned}
    first = done(buyer.http.post("/v1/jobs", json=body), 201)
    written_otherwise = {**request, "stdin": "", "environment": {}}
    again = done(buyer.http.post("/v1/jobs", json=body | {"request": written_otherwise}), 200)
    assert again["id"] == first["id"]
    changes: list[Json] = [
        {"request": {**request, "argv": ["echo", "another"]}},
        {"strategy": {}},
        {"criteria": {"near": "eu-west"}},
        {"request": {**request, "max_cost_msat": "2000000"}},
    ]
    for changed in changes:
        refused(buyer.http.post("/v1/jobs", json=body | changed), 409, "bazaar.key_of_another_job")
    listed = done(buyer.http.get("/v1/jobs", params={"limit": 1}))
    shown = [(item["id"], item["held"], item["attempts_made"], item["attempts"]) for item in listed["items"]]
    assert shown == [(first["id"], first["budget"], 1, [])]
    following = done(buyer.http.get("/v1/jobs", params={"limit": 1, "cursor": listed["next"]}))
    assert following["items"][0]["id"] < first["id"]


def test_the_same_order_twice_at_once_is_one_job(buyer: Browser, seller: Seller) -> None:
    body = {"type": "sandbox_run", "request": run_request(), "strategy": seller.pinned}
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: buyer.http.post("/v1/jobs", json=body), range(6)))
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201]
    assert len({answer.json()["id"] for answer in answers}) == 1


def test_a_delivery_can_be_sent_again_and_nothing_else_after_it(buyer: Browser, seller: Seller) -> None:
    job = order(buyer, seller)
    where, http = f"/v1/attempts/{job['attempts'][0]['id']}", seller.browser.http
    body = seller.delivery()
    first = done(http.post(f"{where}/hand-in", json=body))
    assert first["delivered_at"] is not None
    assert first["artifact"] == bytes_hash(seller.delivery_bytes)
    again = done(http.post(f"{where}/hand-in", json=body))
    assert again["delivered_at"] == first["delivered_at"]
    refused(http.post(f"{where}/hand-in", json=seller.delivery(b"another")), 409, "bazaar.attempt_over")
    refused(http.post(f"{where}/give-back", json={}), 409, "bazaar.attempt_over")


def test_what_was_given_back_stays_so_and_closes_the_order_to_who_did(buyer: Browser, seller: Seller) -> None:
    job = order(buyer, seller, strategy={**seller.pinned, "attempts": 1})
    where, http = f"/v1/attempts/{job['attempts'][0]['id']}/give-back", seller.browser.http
    for _ in range(2):
        assert done(http.post(where, json={"reason": "it is too warm here"}))["state"] == "withdrawn"
    refused(http.get(f"/v1/jobs/{job['id']}/request"), 403, "bazaar.order_closed")
    steps = done(buyer.http.get(f"/v1/jobs/{job['id']}/steps"))["items"]
    assert [step["data"]["said"] for step in steps if step["what"] == "withdrawn"] == ["it is too warm here"]


def test_a_job_is_cancelled_by_its_buyer_only(buyer: Browser, seller: Seller) -> None:
    job = order(buyer, seller)
    where = f"/v1/jobs/{job['id']}/cancel"
    refused(seller.browser.http.post(where), 404, "bazaar.job_unknown")
    for _ in range(2):
        cancelled = done(buyer.http.post(where))
        assert (cancelled["state"], cancelled["held"]) == ("cancelled", "0")
    refused(seller.browser.http.post(f"/v1/attempts/{job['attempts'][0]['id']}/start"), 409, "bazaar.attempt_over")


def test_who_only_may_buy_sees_what_it_ordered_and_no_more(buyer: Browser, seller: Seller) -> None:
    delegation = buyer.grant(buyer.agent(), "buy", caps=[cap(10**9)])
    agent = buyer.program("buy", delegation=delegation)
    body = {"type": "sandbox_run", "request": run_request(), "strategy": seller.pinned}
    job = done(agent.post("/v1/jobs", json=body), 201)
    assert (job["buyer"], job["held"]) == (buyer.owner, "1000000")
    refused(agent.get(f"/v1/jobs/{job['id']}"), 403, "identity.scope_missing")
    assert done(agent.post(f"/v1/jobs/{job['id']}/cancel"))["state"] == "cancelled"


def test_an_order_has_the_inputs_that_its_type_needs(buyer: Browser) -> None:
    hidden = inline(HIDDEN.to_bytes())
    repository, diff = inline(BUNDLE), inline(DIFF)
    committed = patch_request(hidden=HIDDEN.commitment)
    wrong: list[tuple[str, Json, Json]] = [
        ("patch_gen", patch_request(), {}),
        ("patch_gen", patch_request(), {"diff": diff}),
        ("patch_gen", patch_request(), {"repository": repository, "diff": diff}),
        ("patch_gen", patch_request(), {"repository": repository, "hidden": hidden}),
        ("patch_gen", committed, {"repository": repository}),
        ("patch_gen", patch_request(hidden=bytes_hash(b"x")), {"repository": repository, "hidden": hidden}),
        ("code_review", review_request(), {}),
        ("code_review", review_request(diff=bytes_hash(b"x")), {"diff": diff}),
        ("sandbox_run", run_request(), {"repository": repository}),
    ]
    for type_, request, inputs in wrong:
        body = {"type": type_, "request": request, "inputs": inputs}
        refused(buyer.http.post("/v1/jobs", json=body), 422, "bazaar.bad_inputs")
    right: list[tuple[str, Json, Json]] = [
        ("patch_gen", patch_request(), {"repository": repository}),
        ("patch_gen", committed, {"repository": repository, "hidden": hidden}),
        ("code_review", review_request(), {"diff": diff}),
        ("code_review", review_request(), {"diff": diff, "repository": repository}),
    ]
    for type_, request, inputs in right:
        made = done(buyer.http.post("/v1/jobs", json={"type": type_, "request": request, "inputs": inputs}), 201)
        assert set(made["inputs"]) == set(inputs)
        assert made["hidden"] == (HIDDEN.commitment if "hidden" in inputs else None)
        name = next(iter(inputs))
        sent = buyer.http.get(f"/v1/jobs/{made['id']}/inputs/{name}").content
        assert bytes_hash(sent) == made["inputs"][name]


@pytest.mark.parametrize(
    ("change", "status", "code"),
    [
        ({"type": "poem"}, 422, "invalid"),
        ({"request": {}}, 422, "bazaar.bad_field"),
        ({"request": {"argv": [], "max_cost_msat": "1000000", "idempotency_key": "k"}}, 422, "bazaar.bad_field"),
        ({"request": "a string"}, 422, "invalid"),
        ({"strategy": {"kind": "hope"}}, 422, "bazaar.bad_strategy"),
        ({"strategy": {"kind": ["race"]}}, 422, "bazaar.bad_strategy"),
        ({"strategy": {"attempts": 10**30}}, 422, "bazaar.bad_strategy"),
        ({"criteria": {"near": "\u0000"}}, 422, "bazaar.bad_criteria"),
        ({"criteria": {"units_milli": -1}}, 422, "bazaar.bad_criteria"),
        ({"criteria": {"regions": 7}}, 422, "bazaar.bad_criteria"),
        ({"criteria": {"colour": "red"}}, 422, "bazaar.bad_criteria"),
        ({"inputs": {"anything": {"data": ""}}}, 422, "invalid"),
        ({"inputs": {"repository": {}}}, 422, "bazaar.bad_blob"),
        ({"inputs": {"repository": {"data": "", "hash": bytes_hash(b"")}}}, 422, "bazaar.bad_blob"),
        ({"inputs": {"repository": {"data": "not base64!"}}}, 422, "bazaar.bad_blob"),
        ({"inputs": {"repository": {"hash": "sha256:short"}}}, 422, "invalid"),
        ({"surplus": 1}, 422, "invalid"),
    ],
)
def test_an_order_that_is_written_wrongly_is_refused(buyer: Browser, change: Json, status: int, code: str) -> None:
    body = {"type": "sandbox_run", "request": run_request()} | change
    refused(buyer.http.post("/v1/jobs", json=body), status, code)


@pytest.mark.parametrize("place", ["strategy", "criteria"])
@pytest.mark.parametrize("wrong", ['{"kind": "\\ud800"}', '{"\\ud800": 1}', '{"near": "\\ud800"}'])
def test_half_a_character_is_refused_in_words(buyer: Browser, place: str, wrong: str) -> None:
    body = json.dumps({"type": "sandbox_run", "request": run_request()})[:-1] + f', "{place}": {wrong}}}'
    answer = buyer.http.post("/v1/jobs", content=body.encode(), headers={"Content-Type": "application/json"})
    assert answer.json()["code"] in ("bazaar.bad_strategy", "bazaar.bad_criteria")
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (run_request(budget=0), "bazaar.bad_budget"),
        (run_request(budget=10**17), "bazaar.bad_budget"),
        (run_request(max_cost_msat="-5"), "bazaar.bad_field"),
        (run_request(max_cost_msat=5), "bazaar.bad_field"),
        (run_request(time_limit_s=10**9), "bazaar.bad_field"),
        (run_request(stdin="\ud800"), "canonical.invalid"),
        (run_request(exit_code=float("nan")), "canonical.invalid"),
        (run_request(surplus=1), "bazaar.bad_field"),
        (run_request(idempotency_key="a\u0000b"), "bazaar.bad_field"),
    ],
)
def test_a_request_that_its_contract_does_not_know_is_refused(buyer: Browser, request_: Json, code: str) -> None:
    body = json.dumps({"type": "sandbox_run", "request": request_}).encode()
    answer = buyer.http.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    refused(answer, 422, code)


def test_an_order_beyond_its_size_or_its_money_is_refused(served: NodeUnderTest, buyer: Browser) -> None:
    large = run_request(argv=["echo", *["x" * 40_000] * 8])
    refused(buyer.http.post("/v1/jobs", json={"type": "sandbox_run", "request": large}), 413, "too_large")
    diff = b"x" * 5_000_001
    body = {"type": "code_review", "request": review_request(diff=bytes_hash(diff)), "inputs": {"diff": inline(diff)}}
    refused(buyer.http.post("/v1/jobs", json=body), 413, "too_large")
    poor = Browser(served).sign_up()
    body = {"type": "sandbox_run", "request": run_request()}
    refused(poor.http.post("/v1/jobs", json=body), 409, "ledger.insufficient_funds")
    assert done(poor.http.get("/v1/jobs"))["items"] == []


def test_what_is_handed_in_must_be_readable_and_signed(buyer: Browser, seller: Seller) -> None:
    job = order(buyer, seller)
    where, http = f"/v1/attempts/{job['attempts'][0]['id']}/hand-in", seller.browser.http
    good = seller.delivery()
    wrong: list[tuple[Json, int, str]] = [
        ({"result": {"status": "success"}}, 422, "bazaar.bad_field"),
        ({"result": {"exit_code": 0, "status": "perfect"}}, 422, "bazaar.bad_field"),
        ({"result_signature": "00" * 64}, 422, "signature.bad"),
        ({"trajectory_signature": good["result_signature"]}, 422, "signature.bad"),
        ({"result_signature": "zz"}, 422, "invalid"),
        ({"artifact": {"data": "%%%"}}, 422, "bazaar.bad_blob"),
        ({"artifact": {"hash": bytes_hash(b"somebody else's")}}, 404, "bazaar.not_uploaded"),
        ({"trajectory": inline(b"x" * 16_000_001)}, 413, "too_large"),
    ]
    for change, status, code in wrong:
        refused(http.post(where, json=good | change), status, code)
    assert done(http.get(where.removesuffix("/hand-in")))["state"] == "assigned"
    refused(buyer.http.post(where, json=good), 404, "bazaar.attempt_unknown")


def test_who_would_be_asked_is_told_with_reasons(buyer: Browser, seller: Seller) -> None:
    seller.beat()
    body = {"type": "sandbox_run", "max_price": "1000000", "criteria": {"providers": [seller.id]}}
    found = done(buyer.http.post("/v1/selections", json=body))["explanation"]
    [candidate] = found["candidates"]
    assert candidate["provider"] == seller.id
    assert candidate["total"] == sum(part["points"] for part in candidate["components"])
    nobody = done(buyer.http.post("/v1/selections", json=body | {"max_price": "1"}))["explanation"]
    assert nobody["candidates"] == []
    assert nobody["nobody_because"]
    for wrong in ({"max_price": "-1"}, {"max_price": "1e9"}, {"criteria": {"near": 7}}, {"type": "poem"}):
        assert buyer.http.post("/v1/selections", json=body | wrong).status_code == 422
