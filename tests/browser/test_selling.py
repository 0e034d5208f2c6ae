"""Selling in a browser: how to begin, what is at work, prices with wrong turns, and what others see of it."""

from __future__ import annotations

from typing import Any

import httpx
from playwright.sync_api import Locator, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk
from tests.doors.http.market import registration, run_request
from tests.operations.nodes import PLAIN, NodeUnderTest


def session(town: NodeUnderTest, desk: Desk) -> httpx.Client:
    """The same person's programs: requests with the cookie of the window."""
    cookies = {item["name"]: item["value"] for item in desk.context.cookies()}
    headers = {"Origin": desk.address}
    return httpx.Client(base_url=town.url, headers=headers, cookies=cookies, timeout=60, trust_env=False, verify=PLAIN)


def done(answer: httpx.Response) -> Any:
    assert answer.is_success, answer.text
    return answer.json()


def open_stall(http: httpx.Client, name: str) -> str:
    """What `choir provider serve` does first."""
    body = registration(done(http.get("/v1/me"))["owner"]) | {"name": name}
    made: str = done(http.post("/v1/providers", json=body))["id"]
    done(http.put("/v1/providers/me/capabilities", json={"types": ["sandbox_run", "text_gen"], "capacity": 2}))
    done(http.post("/v1/providers/me/heartbeat", json={"free_slots": 2}))
    return made


def fold(desk: Desk, word: str) -> Locator:
    """The prices of one kind of job, opened."""
    found = desk.section("Prices").locator("details").filter(has_text=f"Publish prices for {word}")
    found.locator("summary").click()
    return found


def test_begin_work_drain_and_come_back(ada: Desk, new_desk: NewDesk, town: NodeUnderTest) -> None:
    ada.sign_up()
    ada.page.get_by_role("link", name="Selling").click()
    expect(ada.section("How to begin")).to_contain_text("choir provider serve")
    ada.page.get_by_role("link", name="See who sells work here").click()
    ada.is_at("/providers")
    with session(town, ada) as http:
        provider = open_stall(http, "Night shift")
    ada.open("/selling")
    expect(ada.section("Queue")).to_contain_text("Nothing is at work.")
    bob = new_desk()
    bob.plug()
    bob.sign_up()
    with session(town, bob) as http:
        strategy = {"kind": "pinned", "provider": provider}
        done(http.post("/v1/jobs", json={"type": "sandbox_run", "request": run_request(), "strategy": strategy}))
    expect(ada.row("Queue", "echo hello")).to_contain_text("Assigned")  # by itself
    ada.press("Take no new jobs")
    ada.hears("Your provider is draining")
    bob.open(f"/providers/{provider}")
    expect(bob.page.get_by_role("heading", level=1)).to_have_text("Night shift")
    expect(bob.page.get_by_role("main")).to_contain_text("It finishes its jobs and takes no new ones.")
    assert bob.page.get_by_role("link", name="Manage it").count() == 0
    ada.press("Take jobs again")
    ada.hears("Your provider takes jobs again.")
    ada.page.get_by_role("link", name="By week").click()
    expect(ada.section("Earnings")).to_contain_text("Earned per week")


def test_prices_are_tried_refused_and_published(ada: Desk, town: NodeUnderTest) -> None:
    ada.sign_up()
    with session(town, ada) as http:
        provider = open_stall(http, "Day shift")
    ada.open("/selling")
    run = fold(ada, "run")
    base, publish = run.get_by_label("Base price"), run.get_by_role("button", name="Publish prices for run")
    for amount, words in [("ten", "is not an amount"), ("0.1234", "at most 3 decimals")]:
        base.fill(amount)
        publish.click()
        expect(run.get_by_role("alert")).to_contain_text(words)
        expect(base).to_be_focused()
    base.fill("201")
    expect(run).to_contain_text("above 200.000 SAT")  # while it is typed
    publish.click()
    expect(run.get_by_role("alert")).to_contain_text("above 200.000 SAT, the maximum at tier 0")
    base.fill("100")
    expect(run).to_contain_text("At these prices a job of 60 CPU seconds would cost 130 SAT; you would get 117 SAT.")
    run.get_by_label("In force from (UTC)").fill("2020-01-01T00:00")
    publish.click()
    expect(run.get_by_role("alert")).to_contain_text("that time is in the past")
    run.get_by_label("In force from (UTC)").fill("")
    base.fill("0")
    publish.click()
    ada.hears("New prices for run are published.")
    expect(ada.section("Prices")).to_contain_text("Run: 0 SAT + 0.5 SAT per CPU second, at most 5,000 SAT")
    ada.open(f"/providers/{provider}?type=run")
    expect(ada.page.get_by_role("region", name="Prices of a run").get_by_role("row")).to_have_count(3)
    ada.page.get_by_role("link", name="Manage it").click()
    ada.is_at("/selling")


def test_the_order_for_a_kind_of_job_works_without_scripts(ada: Desk, new_desk: NewDesk, town: NodeUnderTest) -> None:
    ada.sign_up()
    with session(town, ada) as http:
        open_stall(http, "Writer <b>")
    made = new_desk(java_script_enabled=False)
    made.open("/providers")
    made.page.get_by_label("Job", exact=True).select_option("text")
    made.page.get_by_label("Size", exact=True).fill("5")
    made.press("Show the order")
    made.is_at("/providers?type=text&units=5")
    order = made.page.get_by_role("region", name="Order of providers for a text of 5 thousand tokens")
    expect(order.get_by_role("link", name="Writer <b>")).to_be_visible()
    expect(order.get_by_role("row").first).to_contain_text("Reputation")
    order.get_by_role("link", name="Writer <b>").click()
    expect(made.page.get_by_role("heading", level=1)).to_have_text("Writer <b>")
    made.open("/providers?type=review")
    expect(made.page.get_by_text("Nobody can take a review now. No provider sells them yet.")).to_be_visible()
