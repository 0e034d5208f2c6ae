"""The whole story in a browser, with nothing in between: two people and a provider's process.

A writer publishes; a buyer orders a run that the provider does and is paid for; the buyer reads the article once it is
promoted, sends its writer money, and has the browser prove that entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import ROOM
from tests.browser.desk import Desk, desk, new_handle
from tests.browser.test_books import result, sign
from tests.browser.test_writing import add_source, write_bound
from tests.commons.desk import TEXT
from tests.doors.mesh.processes import serving
from tests.operations.nodes import NodeUnderTest, new_node

pytestmark = pytest.mark.deep

_WINDOW_S = 4 * 86_400


@pytest.fixture(scope="module")
def town() -> Iterator[NodeUnderTest]:
    quick = {"CHOIR_POLICY__COMMONS__LOOK_EVERY_S": "1", "CHOIR_POLICY__BAZAAR__LOOK_EVERY_S": "1"}
    own = {name: value for name, value in ROOM.items() if "QUALIF" not in name}  # this provider has to show its work
    with new_node(**own | quick) as made:
        made.extra["CHOIR_PUBLIC_URL"] = f"http://localhost:{made.port}"
        yield made.up()


def test_two_people_and_a_provider(chromium: Browser, town: NodeUnderTest, tmp_path: Path) -> None:
    with desk(chromium, town) as ada, desk(chromium, town) as bob, serving(town, tmp_path / "provider", "run"):
        writer = new_handle()
        ada.plug()
        ada.sign_up(writer)
        article = publish(ada)
        bob.plug()
        bob.sign_up()
        order(bob)
        assert town.run("clock", "--advance", str(_WINDOW_S), "--yes").code == 0
        read(bob, article, writer)
        bob.open("/account/send")  # days have passed, so the session has ended
        bob.press("Log in with a passkey")
        send(bob, writer)
        sign(town)
        bob.page.get_by_role("region", name="Movements, newest first").get_by_role("link").first.click()
        expect(result(bob)).to_contain_text("Proven")
        ada.sign_in()
        ada.open("/account/statement?kind=transfer")
        expect(ada.page.get_by_role("region", name="Movements, newest first")).to_contain_text("+12.5 SAT")


def publish(ada: Desk) -> str:
    article = write_bound(ada, add_source(ada, TEXT))
    ada.press("Check and publish")
    ada.press("Publish for 50 CHIP")
    ada.agrees("Publish")
    ada.is_at(f"/articles/{article}")
    return article


def order(bob: Desk) -> None:
    """A run, which the provider does; the page follows it by itself."""
    bob.open("/hall/order?type=run")
    bob.fill("Command", "echo six times seven is $((6*7))")
    bob.press("Order")
    bob.page.wait_for_url("**/jobs/job_*")
    expect(bob.page.locator("#job-top .badge").first).to_have_text("Paid", timeout=60_000)
    expect(bob.section("Output")).to_contain_text("six times seven is 42")


def read(bob: Desk, article: str, writer: str) -> None:
    """Found by search once it is promoted, with its evidence a click away."""
    bob.open("/search?q=survey+of+bridges")
    link = bob.page.get_by_role("link", name="What the survey says")
    for _ in range(30):
        if link.count():
            break
        bob.page.wait_for_timeout(1_000)  # promotion is the node's own work
        bob.page.reload()
    link.first.click()
    bob.is_at(f"/articles/{article}")
    expect(bob.page.get_by_role("main")).to_contain_text(f"@{writer}")
    expect(bob.page.get_by_role("main")).to_contain_text("Wind caused vibration in 45 of the 120 bridges")


def send(bob: Desk, writer: str) -> None:
    bob.is_at("/account/send")
    bob.fill("Handle", f"@{writer}")
    bob.press("Continue")
    bob.fill("Amount", "12.5")
    bob.button("Send").click()
    bob.agrees("Send 12.5 SAT")
    bob.is_at("/account/statement")
