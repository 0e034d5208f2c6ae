"""The ledger, the treasury and one's own money in a browser: proofs that it computes itself, and sending by mistake."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk, new_handle
from tests.operations.nodes import NodeUnderTest

PROVEN = "Proven: the journal that the node signed contains this entry."


def sign(town: NodeUnderTest) -> None:
    """A checkpoint over all that happened, without waiting for the next one."""
    with town.http() as operator:
        assert operator.post("/v1/checkpoints", headers={"Idempotency-Key": "k"}).status_code == 201


def result(desk: Desk) -> Any:
    return desk.page.locator("#proof-result")


def step(desk: Desk, title: str) -> Any:
    return desk.page.get_by_role("list", name="Steps of the proof").get_by_role("listitem").filter(has_text=title)


def test_the_browser_proves_an_entry(new_desk: NewDesk, ada: Desk, town: NodeUnderTest) -> None:
    ada.sign_up()
    sign(town)
    nobody = new_desk()
    nobody.open("/ledger")
    nobody.page.get_by_role("region", name="Entries, newest first").get_by_role("link").first.click()
    expect(result(nobody)).to_have_text(PROVEN)
    expect(step(nobody, "The node signed the checkpoint")).to_contain_text("Passed")
    expect(step(nobody, "The content has the hash")).to_contain_text("Not checked")
    ada.open("/account/statement")
    ada.page.get_by_role("region", name="Movements, newest first").get_by_role("link").first.click()
    expect(result(ada)).to_have_text(PROVEN)
    expect(step(ada, "The content has the hash")).to_contain_text("Passed")
    nobody.page.get_by_role("link", name="read", exact=True).click()
    expect(nobody.page.locator("body")).to_contain_text("RFC 9162")


def flipped(text: str) -> str:
    """With another first character, which stays in its alphabet."""
    return ("b" if text[0] == "a" else "a") + text[1:]


def alter(told: dict[str, Any], what: str) -> None:
    leaf = told["leaf"]
    if what == "amount":
        told["text"] = told["text"].replace('"amount":"', '"amount":"9', 1)
    elif what in ("prev", "hash", "content"):
        leaf[what] = flipped(leaf[what])
    elif what == "time":
        leaf["at_us"] = str(int(leaf["at_us"]) + 1)
    elif what == "size":
        origin, size, *rest = told["checkpoint"].split("\n")
        told["checkpoint"] = "\n".join([origin, str(int(size) + 1), *rest])
    elif what == "root":
        origin, size, root, *rest = told["checkpoint"].split("\n")
        told["checkpoint"] = "\n".join([origin, size, flipped(root), *rest])
    elif what == "signature":
        head, _, signature = told["checkpoint"].rstrip("\n").rpartition(" ")
        told["checkpoint"] = f"{head} {signature[:20]}{flipped(signature[20:])}\n"
    elif what == "key":
        name, id_, key = told["key"].split("+", 2)
        told["key"] = f"{name}+{id_}+{key[:5]}{flipped(key[5:])}"
    elif what == "proof":
        told["proof"] = [flipped(each) for each in told["proof"]] or ["A" * 43 + "="]


@pytest.mark.parametrize(
    ("what", "title"),
    [
        ("amount", "The content has the hash"),
        ("content", "The entry has the hash"),
        ("prev", "The proof is about this entry"),
        ("hash", "The entry has the hash"),
        ("time", "The entry has the hash"),
        ("proof", "under the checkpoint"),
        ("root", "The node signed the checkpoint"),
        ("size", "The node signed the checkpoint"),
        ("signature", "The node signed the checkpoint"),
        ("key", "The key is the node's"),
    ],
)
def test_a_proof_that_was_altered_fails(ada: Desk, town: NodeUnderTest, what: str, title: str) -> None:
    ada.sign_up()
    ada.open("/account/statement")
    link = (
        ada.page.get_by_role("region", name="Movements, newest first").get_by_role("link").first.get_attribute("href")
    )
    assert link is not None
    sign(town)

    def answer(route: Route) -> None:
        got = route.fetch()
        told = got.json()
        alter(told, what)
        route.fulfill(response=got, body=json.dumps(told))

    ada.page.route("**/inclusion", answer)
    ada.open(link)
    expect(result(ada)).to_contain_text("The proof failed.")
    if what != "size":  # a proof for a tree of another size may not even be readable to its end
        expect(step(ada, title)).to_contain_text("Failed")
    ada.page.unroute("**/inclusion")
    ada.press("Check again")
    expect(result(ada)).to_have_text(PROVEN)


def test_a_browser_without_ed25519_checks_the_hashes_and_says_so(
    new_desk: NewDesk, ada: Desk, town: NodeUnderTest
) -> None:
    ada.sign_up()
    sign(town)
    nobody = new_desk()
    nobody.page.add_init_script(
        "crypto.subtle.importKey = () => Promise.reject(new DOMException('no', 'NotSupportedError'))"
    )
    nobody.open("/ledger/entries/1")
    expect(result(nobody)).to_contain_text("The hashes fit.")
    expect(result(nobody)).to_contain_text("this browser cannot check Ed25519 signatures")


def test_wrong_turns_in_the_ledger(new_desk: NewDesk, ada: Desk) -> None:
    ada.sign_up()
    made = new_desk()
    made.open("/ledger")
    made.page.get_by_label("Id or number of an entry").fill("99999999")
    made.press("Find")
    expect(made.page.get_by_role("heading", level=1)).to_have_text("No such entry")
    made.page.get_by_label("Id or number of an entry").fill("1")
    made.press("Find")
    expect(made.page.get_by_role("heading", level=1)).to_have_text("Entry 1")
    made.open("/treasury")
    assert made.page.request.get(f"{made.address}/v1/treasury/rate").ok
    made.open("/treasury")
    expect(made.page.get_by_text("A citation of full weight pays").first).to_be_visible()
    made.page.get_by_text("Numbers").last.click()
    expect(made.page.get_by_role("region", name="Numbers of: USDC for a citation")).to_be_visible()


def test_send_money_once_however_often_one_presses(ada: Desk, new_desk: NewDesk) -> None:
    bob, handle = new_desk(), new_handle()
    bob.plug()
    bob.sign_up(handle)
    ada.sign_up()
    ada.page.get_by_role("link", name="Send money").click()
    ada.fill("Handle", "nobody-of-this-name")
    ada.press("Continue")
    ada.reads("There is nobody with the handle")
    ada.fill("Handle", f"@{handle}")
    ada.press("Continue")
    for amount, words in (
        ("", "fill this in"), ("ten", "is not an amount"), ("12,5", "is not an amount"), ("1,2500", "is not an amount"),
        ("0.0001", "at most 3 decimals"),
    ):  # fmt: skip
        ada.fill("Amount", amount)
        ada.button("Send").click()
        if amount:
            ada.page.get_by_role("dialog").get_by_role("button", name="Send").click()
        ada.reads(words)
    ada.fill("Amount", "999,999,999")  # as pages write it
    ada.button("Send").click()
    ada.agrees("Send 999,999,999 SAT")
    ada.reads("and this needs 999999999 SAT")
    assert "person:" not in ada.page.get_by_role("alert").inner_text()
    ada.fill("Amount", "12.5")
    ada.fill("Memo (optional)", "for the notes")
    ada.button("Send").click()
    expect(ada.page.get_by_role("dialog")).to_contain_text(f"Send 12.5 SAT to @{handle}?")
    ada.page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    ada.button("Send").dblclick()
    ada.page.get_by_role("dialog").get_by_role("button", name="Send 12.5 SAT").dblclick()
    ada.is_at("/account/statement")
    ada.hears(f"Sent to @{handle}.")
    bob.open("/account/statement?kind=transfer")
    sent = bob.page.get_by_role("region", name="Movements, newest first").get_by_role("row")
    expect(sent).to_have_count(2)  # the heading and one transfer
    expect(sent.nth(1)).to_contain_text("+12.5 SAT")
    expect(sent.nth(1)).to_contain_text("for the notes")


def test_a_statement_is_downloaded(ada: Desk) -> None:
    ada.sign_up()
    ada.page.get_by_role("link", name="Statement").click()
    with ada.page.expect_download() as downloaded:
        ada.page.get_by_role("link", name="As CSV").click()
    assert downloaded.value.suggested_filename == "statement.csv"
    lines = downloaded.value.path().read_text().splitlines()
    assert lines[0].startswith("number,entry,time,account,asset")
    assert len(lines) == 4
