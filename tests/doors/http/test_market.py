"""Skills, referrals, bids, bonds, retention and second reviews over HTTP, by the SDK and as pages."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from choir.doors.sdk.client import Client
from choir.foundation.clock import MICROSECONDS, SystemClock, format_time
from tests.doors.http import market
from tests.doors.http.market import FEE, PRICE, Inside, inline, order, run_request, seller, verdict
from tests.doors.http.visitors import Browser, Json, balance, done, fund, key, new_handle, refused
from tests.operations.nodes import NodeUnderTest

SKILL_TEXT = b"# Mend\n\nRead the tests first. <script>alert(1)</script>\n"


@pytest.fixture(scope="module")
def inside(served: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(served) as found:
        yield found


def skill_body(**changed: Any) -> Json:
    files = [{"path": "SKILL.md", "content": base64.b64encode(SKILL_TEXT).decode()}]
    plain = {"name": f"mend-{new_handle()[-8:].lower().replace('_', 'x')}", "version": "1.0", "files": files}
    return plain | {"description": "<b>Mends</b> Python."} | changed


def later(seconds: int) -> str:
    return format_time(SystemClock().now_us() + seconds * MICROSECONDS)


def test_a_skill_from_publishing_to_its_share(served: NodeUnderTest, inside: Inside, ada: Browser) -> None:
    creator = Browser(served).sign_up()
    body = skill_body(share_bps=1_000)
    made = done(creator.http.post("/v1/skills", json=body), 201)
    assert done(creator.http.post("/v1/skills", json=body), 200) == made
    refused(ada.http.post("/v1/skills", json=body | {"version": "2"}), 409, "bazaar.skill_name_taken")
    named = f"{body['name']}@1.0"
    shown = done(ada.http.get(f"/v1/skills/{named}"))
    assert (shown["id"], shown["orders"], shown["paths"]) == (
        made["id"],
        0,
        [{"path": "SKILL.md", "bytes": len(SKILL_TEXT)}],
    )
    assert made["id"] in [item["id"] for item in done(ada.http.get("/v1/skills"))["items"]]
    refused(ada.http.get(f"/v1/skills/{named}/files"), 403, "bazaar.skill_closed")
    [file] = done(creator.http.get(f"/v1/skills/{named}/files"))["files"]
    assert base64.b64decode(file["content"]) == SKILL_TEXT

    stall, buyer = seller(served, "text_gen"), market.buyer(served)
    request = {"prompt": "Say hello.", "max_tokens": 100, "max_cost_msat": "1000000", "time_limit_s": 60}
    request |= {"idempotency_key": key()["Idempotency-Key"], "skill": made["id"]}
    job = done(
        buyer.http.post("/v1/jobs", json={"type": "text_gen", "request": request, "strategy": stall.pinned}), 201
    )
    assert job["inputs"] == {"skill": made["hash"]}
    attempt = job["attempts"][0]["id"]
    got = stall.browser.http.get(f"/v1/jobs/{job['id']}/inputs/skill")
    assert got.status_code == 200
    refused(buyer.http.get(f"/v1/jobs/{job['id']}/inputs/skill"), 403, "bazaar.skill_closed")
    inside.work(stall, attempt, verdict(), artifact=b"hello", result={"status": "success"})
    paid = done(buyer.http.get(f"/v1/jobs/{job['id']}"))
    assert paid["state"] == "paid"

    page = ada.http.get(f"/skills/{made['id']}")
    assert page.status_code == 200
    assert "&lt;b&gt;Mends&lt;/b&gt;" in page.text
    assert "alert(1)" not in page.text  # of files only the names are shown
    assert body["name"] in ada.http.get("/skills").text
    done(creator.http.post(f"/v1/skills/{made['id']}/withdraw"))
    refused(
        buyer.http.post("/v1/jobs", json={"type": "text_gen", "request": request | {"idempotency_key": "another"}}),
        409,
        "bazaar.skill_withdrawn",
    )
    assert "Withdrawn" in ada.http.get(f"/skills/{made['id']}").text


@pytest.mark.parametrize("path", ["../up", "/etc/passwd", "a/../b", ".git/config", "x\u0000y", "a//b", "x" * 600])
def test_paths_of_strangers_are_refused(ada: Browser, path: str) -> None:
    body = skill_body()
    body["files"].append({"path": path, "content": "eA=="})
    assert ada.http.post("/v1/skills", json=body).status_code == 422


def test_a_run_order_takes_no_skill_of_its_own_making(served: NodeUnderTest) -> None:
    buyer = market.buyer(served)
    body = {"type": "sandbox_run", "request": run_request(), "inputs": {"skill": inline(b"{}")}}
    refused(buyer.http.post("/v1/jobs", json=body), 422, "invalid")


def test_a_referrer_is_named_at_the_sign_up_and_never_later(served: NodeUnderTest, inside: Inside) -> None:
    referrer = Browser(served).sign_up()
    newcomer = Browser(served)
    refused(
        newcomer.http.post("/v1/sign-up/begin", json={"handle": new_handle(), "referrer": "nobody-of-that-name"}),
        404,
        "identity.person_unknown",
    )
    newcomer.handle = new_handle()
    begun = newcomer.begin("sign-up", handle=newcomer.handle, referrer=referrer.handle)
    answer = done(newcomer.http.post("/v1/sign-up/finish", json=newcomer.made(begun)), 201)
    newcomer.owner = answer["person"]["owner"]
    me = done(newcomer.http.get("/v1/me"))
    assert (me["referrer"], me["referrer_until"] > me["fresh_until"]) == (referrer.handle, True)
    assert f"@{referrer.handle} brought you here" in newcomer.http.get("/account").text
    assert done(referrer.http.get("/v1/me"))["referrer"] is None
    assert referrer.handle in Browser(served).http.get(f"/sign-up?referrer={referrer.handle}").text

    fund(served, newcomer.owner, 10**9)
    fund(served, referrer.owner, 1_000)
    before = balance(served, f"{referrer.owner}/available/SAT")
    stall = seller(served)
    job = order(newcomer, stall)
    inside.work(stall, job["attempts"][0]["id"], verdict())
    got = balance(served, f"{referrer.owner}/available/SAT") - before
    assert got == PRICE * 500 // 10_000
    assert FEE == PRICE // 10

    done(referrer.http.delete("/v1/me"), 204)  # it goes with either of the two
    assert done(newcomer.http.get("/v1/me"))["referrer"] is None


def test_bids_and_bonds_of_ones_own_provider(served: NodeUnderTest) -> None:
    stall = seller(served)
    http = stall.browser.http
    made = done(http.put("/v1/providers/me/bids/sandbox_run", json={"bid_bps": 1_000, "until": later(600)}))
    assert made["bid_bps"] == 1_000
    [offer] = [item for item in done(http.get("/v1/providers/me"))["offers"] if item["type"] == "sandbox_run"]
    assert offer["bid_bps"] == 1_000
    job = order(market.buyer(served), stall)
    assert job["attempts"][0]["base"] == "180000"
    refused(
        http.put("/v1/providers/me/bids/sandbox_run", json={"bid_bps": 9_500, "until": later(600)}),
        422,
        "bazaar.bad_bid",
    )
    assert done(http.delete("/v1/providers/me/bids/sandbox_run"))["bid_bps"] == 0

    assert done(http.get("/v1/providers/me/bond"))["amount"] == "0"
    once = key()
    for _ in range(2):
        found = done(http.post("/v1/providers/me/bond", json={"amount": "5000000"}, headers=once))
    assert (found["amount"], found["needed"], found["exposed"]) == ("5000000", "10000000", True)
    assert done(http.post("/v1/providers/me/bond/release"))["counted"] == "0"
    assert done(http.delete("/v1/providers/me/bond/release"))["counted"] == "5000000"


def test_how_long_a_job_is_kept_and_what_more_costs(served: NodeUnderTest, inside: Inside) -> None:
    buyer, stall = market.buyer(served), seller(served)
    job = order(buyer, stall)
    path = f"/v1/jobs/{job['id']}"
    assert done(buyer.http.get(f"{path}/retention"))["kept_until"] is None
    refused(buyer.http.post(f"{path}/keep", json={"days": 10}, headers=key()), 409, "bazaar.still_open")
    inside.work(stall, job["attempts"][0]["id"], verdict())
    told = done(buyer.http.get(f"{path}/retention", params={"days": 30}))
    assert told["price"] == "1000"
    had = balance(served, f"{buyer.owner}/available/SAT")
    once = key()
    for _ in range(2):
        kept = done(buyer.http.post(f"{path}/keep", json={"days": 30}, headers=once), 201)
    assert had - balance(served, f"{buyer.owner}/available/SAT") == 1_000
    assert kept["kept_until"] > told["kept_until"]
    refused(buyer.http.post(f"{path}/keep", json={"days": 0}, headers=key()), 422, "invalid")


def test_weights_of_a_buyer_are_explained(served: NodeUnderTest) -> None:
    seller(served)
    with Client(served.url) as client:
        found = client.jobs.select("sandbox_run", 10**9, {"weights": {"price": 1, "capacity": 1}}).explanation
    assert found["own_weights"]
    weights = {part["name"]: part["weight_bps"] for part in found["candidates"][0]["components"]}
    assert weights == {"price": 5_000, "reputation": 0, "capacity": 5_000, "isolation": 0, "geography": 0}
