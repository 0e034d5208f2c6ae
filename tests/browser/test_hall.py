"""The hall in a browser: looking without an account, ordering with wrong turns, following a job live, sharing it."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import FilePayload, expect

from choir.bazaar.contracts import RunOutput
from choir.bazaar.jobs.model import Level
from tests.browser.desk import Desk, desk, new_handle
from tests.browser.test_looks import faults
from tests.doors.http import market
from tests.doors.http.market import Inside, Seller, verdict
from tests.doors.http.visitors import fund, serve
from tests.operations.nodes import NodeUnderTest, new_node

_DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a = 1\n+a = 2\n"


@pytest.fixture(scope="module")
def bazaar() -> Iterator[NodeUnderTest]:
    """A node where providers need not qualify, and tests say who has money."""
    with new_node() as made:
        yield serve(made)


@pytest.fixture(scope="module")
def hands(bazaar: NodeUnderTest) -> Iterator[Inside]:
    with market.inside(bazaar) as found:
        yield found


@pytest.fixture(scope="module")
def stall(bazaar: NodeUnderTest) -> Seller:
    """The one provider, so that every order comes to it."""
    return market.seller(bazaar)


@pytest.fixture
def desks(chromium: Chromium, bazaar: NodeUnderTest) -> Iterator[tuple[Desk, Desk]]:
    """A buyer's window, and a stranger's."""
    with ExitStack() as stack:
        ada, nobody = (stack.enter_context(desk(chromium, bazaar)) for _ in range(2))
        ada.plug()
        ada.sign_up(new_handle())
        yield ada, nobody


def _owner(at: Desk) -> str:
    return str(_json(at, "/v1/me")["owner"])


def _json(at: Desk, path: str) -> dict[str, object]:
    answer = at.page.request.get(at.address + path)
    assert answer.ok, answer.text()
    found: dict[str, object] = answer.json()
    return found


def _job(at: Desk) -> str:
    """The job whose page is open, once it is."""
    at.page.wait_for_url("**/jobs/job_*")
    return at.page.url.rpartition("/")[2]


def _work(hands: Inside, stall: Seller, at: Desk, job: str, output: bytes) -> None:
    stall.beat()
    expect(at.page.locator(".stages .now")).to_have_text("Work")  # so somebody is at work
    attempts = _json(at, f"/v1/jobs/{job}")["attempts"]
    assert isinstance(attempts, list)
    strengths = {"hidden": {"outside": 2, "none": 1}}
    found = replace(verdict(), level=Level.V3, strengths=strengths, signs=("<b>a sign</b>",), lines_added=3)
    hands.work(stall, attempts[0]["id"], found, artifact=RunOutput(0, output).to_bytes())


def test_from_the_hall_to_a_public_job(
    desks: tuple[Desk, Desk], bazaar: NodeUnderTest, hands: Inside, stall: Seller
) -> None:
    ada, nobody = desks
    nobody.open("/hall")
    expect(nobody.page.get_by_role("heading", name="All jobs")).to_be_visible()
    nobody.page.get_by_role("link", name="Log in to order work").click()
    expect(nobody.page).to_have_url(f"{nobody.address}/sign-in?next=/hall/order")

    ada.open("/hall")
    ada.page.get_by_role("link", name="Order work").click()
    ada.page.get_by_role("link", name="Choose run").click()
    ada.press("Order")
    ada.reads("Please fill this in.")
    ada.fill("Command", "echo '<b>hello</b>'")
    ada.fill("Budget in SAT", "a lot")
    ada.press("Order")
    ada.reads("is not an amount")
    ada.fill("Budget in SAT", "1000")
    ada.press("Order")
    ada.reads("SAT, and this needs")
    fund(bazaar, _owner(ada), 10**9)
    stall.beat()
    ada.press("Order")
    job = _job(ada)
    ada.hears("The job is ordered.")
    expect(ada.page.get_by_role("heading", level=1)).to_contain_text("<b>hello</b>")
    _work(hands, stall, ada, job, b"<b>hello</b>\n")
    expect(ada.page.locator("#job-top .badge").first).to_have_text("Paid")  # by itself
    expect(ada.page.get_by_text("3 hidden tests, 2 of them with values that never entered")).to_be_visible()
    expect(ada.page.get_by_text("Signs to look at, no reason to refuse")).to_be_visible()
    expect(ada.section("Output")).to_have_text("<b>hello</b>")
    expect(ada.section("Checks of attempt 1")).to_contain_text("Passed")

    nobody.open(f"/jobs/{job}")
    expect(nobody.page.get_by_role("heading", name="Not found")).to_be_visible()
    ada.press("Make public")
    ada.agrees("Make public")
    ada.hears("Your side of the job is public.")
    nobody.page.reload()
    expect(nobody.section("Output")).to_have_text("<b>hello</b>")
    expect(nobody.button("Make private")).to_have_count(0)
    nobody.open("/hall")
    expect(nobody.section("Public jobs").get_by_role("link", name="echo")).not_to_have_count(0)
    assert [fault for path in ("/hall", f"/jobs/{job}") for fault in faults(nobody, path)] == []
    assert [fault for path in ("/hall", f"/jobs/{job}", "/hall/bought") for fault in faults(ada, path)] == []
    ada.open(f"/jobs/{job}")
    ada.press("Make private")
    ada.hears("Your side of the job is private.")
    nobody.open(f"/jobs/{job}")
    expect(nobody.page.get_by_role("heading", name="Not found")).to_be_visible()


def test_disputing_and_answering(
    chromium: Chromium, desks: tuple[Desk, Desk], bazaar: NodeUnderTest, hands: Inside, stall: Seller
) -> None:
    ada, _ = desks
    fund(bazaar, _owner(ada), 10**9)
    stall.beat()
    ada.open("/hall/order?type=run")
    ada.fill("Command", "true")
    ada.press("Order")
    job = _job(ada)
    _work(hands, stall, ada, job, b"")
    ada.page.get_by_text("Dispute this attempt").click()
    ada.press("Open a dispute")
    ada.reads("Please fill this in.")
    ada.page.get_by_label("Reason", exact=True).select_option("output_irrelevant")
    ada.fill("Statement", "It says <i>nothing</i>.")
    ada.press("Open a dispute")
    ada.agrees("Open dispute")
    ada.hears("The dispute is open.")
    expect(ada.section("Disputes")).to_contain_text("It says <i>nothing</i>.")
    expect(ada.page.get_by_text("Dispute this attempt")).to_have_count(0)
    assert faults(ada, f"/jobs/{job}") == []
    with desk(chromium, bazaar) as provider:
        for name, value in stall.browser.http.cookies.items():
            provider.context.add_cookies([{"name": name, "value": value, "url": provider.address}])
        provider.open(f"/jobs/{job}")
        provider.fill("Your answer", "The order asked for nothing.")
        provider.press("Answer")
        provider.hears("Your answer is recorded.")
        expect(provider.section("Disputes")).to_contain_text("The order asked for nothing.")


def test_ordering_a_patch_with_an_archive(desks: tuple[Desk, Desk], bazaar: NodeUnderTest) -> None:
    ada, _ = desks
    fund(bazaar, _owner(ada), 10**9)
    ada.open("/hall/order")
    ada.fill("Title", "Make f return 2")
    ada.press("Order")
    ada.reads("Please fill this in.")
    ada.page.get_by_label("Repository").set_input_files(_file("notes.zip", b"these are notes"))
    ada.press("Order")
    ada.reads("The file is no repository")
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("repo/f.py", "def f():\n    return 1\n")
        archive.writestr("repo/test_f.py", "from f import f\n\ndef test_f():\n    assert f() == 2\n")
        archive.writestr("repo/.env", "TOKEN=1\n")
    ada.page.get_by_label("Repository").set_input_files(_file("repo.zip", made.getvalue()))
    ada.page.get_by_label("Level of the verdict").select_option("V3")
    ada.page.get_by_label("Mutation").check()
    ada.press("Order")
    ada.reads("V3 needs hidden tests.")
    more = "from f import f\n\ndef test_more():\n    assert f() + 1 == 3\n"
    ada.page.get_by_label("Hidden test files").set_input_files(_file("test_more.py", more.encode()))
    ada.press("Order")
    name = _job(ada)
    ada.hears("Left out of the repository: .env.")
    job = _json(ada, f"/v1/jobs/{name}")
    assert job["hidden"] is not None
    assert job["extras"] == "700000"  # level V3 and mutation
    ada.press("Cancel this job")
    ada.agrees("Cancel job")
    ada.hears("The job is cancelled.")
    expect(ada.page.locator(".stages .failed")).to_have_text("Cancelled")


def test_ordering_a_review_of_a_pasted_diff(desks: tuple[Desk, Desk], bazaar: NodeUnderTest) -> None:
    ada, _ = desks
    fund(bazaar, _owner(ada), 10**9)
    ada.open("/hall/order?type=review")
    assert [fault for kind in ("patch", "review", "run") for fault in faults(ada, f"/hall/order?type={kind}")] == []
    ada.open("/hall/order?type=review")
    ada.press("Order")
    ada.reads("Choose a file or paste a diff.")
    ada.fill("Or paste the diff", _DIFF)
    ada.page.get_by_label("Public").check()
    ada.press("Order")
    _job(ada)
    expect(ada.section("Who can read this")).to_contain_text("Everybody can read the order")


def _file(name: str, content: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/zip", "buffer": content}
