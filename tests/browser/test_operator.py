"""An operator's way through their pages: in, about, an act, and out again; and the wrong turns."""

from __future__ import annotations

import psycopg
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk
from tests.browser.test_looks import _FAULTS
from tests.operations.nodes import NodeUnderTest

PAGES = [
    "/operator",
    "/operator/work",
    "/operator/jobs",
    "/operator/rulings",
    "/operator/money",
    "/operator/takedowns",
    "/operator/environments",
    "/operator/people",
]


def enter(desk: Desk, town: NodeUnderTest) -> str:
    url = str(town.run("operator", "open", "--json").json["url"])
    desk.page.goto(url)
    desk.is_at("/operator")
    return url


def test_in_an_act_and_out(ada: Desk, new_desk: NewDesk, town: NodeUnderTest) -> None:
    ada.open("/operator")
    expect(ada.page.get_by_role("heading", name="For operators")).to_be_visible()
    ada.open("/operator/enter")
    expect(ada.page.get_by_role("heading", name="No code")).to_be_focused()
    url = enter(ada, town)
    assert ada.page.evaluate("document.cookie") == ""  # no script can read it
    ada.hears("You are logged in as an operator.")
    other = new_desk()
    other.page.goto(url)
    expect(other.page.get_by_role("heading", name="Not entered")).to_be_focused()
    assert "#" not in other.page.url
    ada.open("/operator/money")
    ada.press("Sign a new report")
    ada.hears("The liabilities are being counted and signed.")
    fund = ada.page.locator("form[data-issue=fund]")
    fund.get_by_label("Owner who gets it").fill("nonsense")
    fund.get_by_label("Amount").fill("12.5")
    fund.get_by_role("button", name="Fund account").click()
    expect(ada.page.get_by_role("alert")).to_be_visible()
    ada.open("/operator/takedowns")
    ada.fill("Article or source", "sha256:" + "0" * 64)
    ada.fill("Reason", "a test")
    ada.press("Take down")
    ada.agrees("Take it down")
    ada.reads("There is no source")
    ada.press("Log out as operator")
    ada.is_at("/")
    ada.open("/operator/money")
    expect(ada.page.get_by_role("heading", name="For operators")).to_be_visible()


def test_what_the_node_is_at(ada: Desk, town: NodeUnderTest) -> None:
    ada.open("/operator/work")
    expect(ada.page.get_by_role("heading", name="For operators")).to_be_visible()
    assert "outbox.forget" not in ada.page.content()
    enter(ada, town)
    with psycopg.connect(town.dsn()) as owner:
        owner.execute(
            "insert into tasks (name, key, due_us, attempts, last_error) values ('test.broken', 'leaf', %s, 3, %s)",
            [2**53, "OSError: postgresql://choir:hunter2@db/choir is away"],
        )
    try:
        ada.open("/operator")
        ada.page.get_by_role("link", name="Work").click()
        ada.is_at("/operator/work")
        failing = ada.page.get_by_role("region", name="Failing tasks")
        expect(failing).to_contain_text("test.broken")
        expect(failing).to_contain_text("failed 3 times")
        expect(failing).to_contain_text("postgresql://…@db/choir is away")
        expect(ada.page.get_by_role("region", name="Events")).to_contain_text("Up to date")
        ada.page.get_by_role("region", name="Jobs").get_by_role("link", name="Open").click()
        expect(ada.page.get_by_role("heading", name="Jobs")).to_be_visible()
        ada.page.get_by_label("State").select_option("paid")
        ada.press("Show")
        expect(ada.page.get_by_label("State")).to_have_value("paid")
        told = town.run("operator", "work", "--json").json
        assert told["failing"][0]["error"] == "OSError: postgresql://…@db/choir is away"
        assert told["job_counts"]["open"] == 0
        assert town.run("operator", "work").code == 0
    finally:
        with psycopg.connect(town.dsn()) as owner:
            owner.execute("delete from tasks where name = 'test.broken'")


@pytest.mark.parametrize("width", [1280, 320])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_they_look_right(new_desk: NewDesk, town: NodeUnderTest, width: int, scheme: str) -> None:
    desk = new_desk(viewport={"width": width, "height": 900}, color_scheme=scheme)
    desk.open("/operator")
    assert desk.page.evaluate(_FAULTS) == []
    desk.open("/operator/enter")
    expect(desk.page.get_by_role("heading", name="No code")).to_be_focused()
    assert desk.page.evaluate(_FAULTS) == []
    enter(desk, town)
    for path in PAGES:
        desk.open(path)
        assert desk.page.evaluate(_FAULTS) == [], path
