"""Agents with delegations and caps, tokens, and programs that ask to be let in, through the pages."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk
from tests.operations.nodes import PLAIN, NodeUnderTest


def api(town: NodeUnderTest, token: str = "") -> httpx.Client:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.Client(base_url=f"{town.url}/v1", headers=headers, timeout=60, trust_env=False, verify=PLAIN)


def make_agent(desk: Desk, name: str) -> None:
    desk.open("/agents")
    desk.fill("Name", name)
    desk.press("Create agent")
    expect(desk.page.get_by_role("heading", level=1)).to_have_text(name)


def grant(desk: Desk, name: str, amount: str) -> None:
    desk.page.get_by_role("checkbox", name="buy").check()
    desk.page.get_by_label("Amount").first.fill(amount)
    desk.page.get_by_label("Asset", exact=True).first.select_option("SAT")
    desk.fill("Name (optional)", name)
    desk.press("Grant delegation")
    desk.hears("The delegation is granted.")


def test_make_an_agent_with_a_cap_and_take_it_back(ada: Desk, town: NodeUnderTest) -> None:
    ada.sign_up()
    make_agent(ada, "Night librarian")
    ada.hears("Now set what it may do.")
    grant(ada, "the night shift", "10000.5")
    row = ada.row("Delegations", "the night shift")
    expect(row).to_contain_text("Live")
    expect(row).to_contain_text("0.000 SAT spent")
    expect(row).to_contain_text("of 10,000.5 SAT per day")
    expect(row).to_contain_text("ends in 30 days")

    row.get_by_text("Create a token for a program").click()
    row.get_by_label("Name of the token").fill("attic box")
    row.get_by_role("button", name="Create token").click()
    (token,) = ada.keeps_secret()
    with api(town, token) as program:
        me = program.get("/me").json()
        assert (me["role"], me["scopes"]) == ("agent", ["buy", "read"])
        delegation = program.get(f"/delegations/{me['delegation']}").json()
        assert delegation["caps"] == [{"asset": "SAT", "period": "day", "cap": "10000500", "spent": "0"}]

        row.get_by_role("button", name="Revoke").click()
        ada.hears("It stopped at once.")
        expect(row).to_contain_text("Revoked")
        assert program.get("/me").status_code in (401, 403)
    ada.open("/tokens")
    expect(ada.row("Your tokens", "attic box")).to_contain_text("For Night librarian")
    ada.open("/agents")
    expect(ada.row("Your agents", "Night librarian")).to_contain_text("No live delegation")


def test_caps_are_read_exactly_and_refused_beside_the_field(ada: Desk) -> None:
    ada.sign_up()
    make_agent(ada, "Scout")
    caps = ada.page.get_by_role("group", name="How much of your money may it spend?")
    for amount, words in [("ten", "is not an amount"), ("0.12345", "at most 3 decimals"), ("0", "more than zero")]:
        ada.page.get_by_label("Amount").first.fill(amount)
        ada.press("Grant delegation")
        expect(caps.get_by_role("alert")).to_contain_text(words)
    ada.page.get_by_label("Amount").first.fill("1")
    ada.press("Add another cap")
    expect(ada.page.get_by_label("Amount").nth(1)).to_be_focused()
    ada.page.get_by_label("Amount").nth(1).fill("2")
    ada.press("Grant delegation")
    expect(caps.get_by_role("alert")).to_contain_text("two caps for SAT")
    ada.page.get_by_label("Period").nth(1).select_option("month")
    ada.page.get_by_role("checkbox", name="read").uncheck()
    ada.press("Grant delegation")
    ada.reads("Choose at least one scope")
    ada.page.get_by_role("checkbox", name="read").check()
    ada.press("Grant delegation")
    ada.hears("The delegation is granted.")
    expect(ada.row("Delegations", "Live")).to_contain_text("of 2 SAT per month")


def test_rename_and_retire_an_agent(ada: Desk, new_desk: NewDesk) -> None:
    ada.sign_up()
    make_agent(ada, "Scout")
    grant(ada, "look around", "1")
    page = ada.page.url.removeprefix(ada.address)
    ada.fill("Name of the agent", "Far scout")
    ada.press("Save name")
    expect(ada.page.get_by_role("heading", level=1)).to_have_text("Far scout")
    bob = new_desk()
    bob.plug()
    bob.sign_up()
    bob.open(page)  # somebody else's agent is not there for him
    expect(bob.page.get_by_role("heading", level=1)).to_have_text("Not found")
    ada.press("Retire agent")
    ada.agrees("Retire agent")
    ada.is_at("/agents")
    expect(ada.row("Your agents", "Far scout")).to_contain_text("Retired")
    ada.open(page)
    expect(ada.row("Delegations", "look around")).to_contain_text("Revoked")
    assert ada.page.get_by_role("button", name="Grant delegation").count() == 0


def test_tokens_are_shown_once_seen_in_use_and_revoked(ada: Desk, town: NodeUnderTest) -> None:
    ada.sign_up()
    ada.open("/tokens")
    ada.fill("Name", "laptop")
    ada.page.get_by_label("Ends after").select_option("7")
    ada.page.get_by_role("main").get_by_role("button", name="Create token").click()
    (token,) = ada.keeps_secret()
    row = ada.row("Your tokens", "laptop")
    expect(row).to_contain_text("Never used")
    expect(row).to_contain_text("ends in 7 days")
    assert token not in ada.page.content()
    with api(town, token) as program:
        assert program.get("/me").json()["credential"] == "token"
        ada.page.reload()
        expect(row).to_contain_text("Last used just now")
        row.get_by_role("button", name="Revoke").click()
        ada.hears("The token is revoked.")
        expect(row).to_contain_text("Revoked")
        assert program.get("/me").status_code == 401


# A program asks to be let in


def begin_login(town: NodeUnderTest, name: str = "choir on attic") -> tuple[str, dict[str, Any]]:
    verifier = secrets.token_urlsafe(32)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    body = {"challenge": challenge, "name": name, "scopes": ["read", "buy"], "days": 30}
    with api(town) as program:
        begun = program.post("/logins", json=body)
    assert begun.status_code == 201, begun.text
    return verifier, begun.json()


def fetch(town: NodeUnderTest, login: str, verifier: str) -> httpx.Response:
    with api(town) as program:
        return program.post(f"/logins/{login}/token", json={"verifier": verifier})


@pytest.mark.parametrize("decision", ["approved", "refused"])
def test_let_a_program_in_or_not(ada: Desk, town: NodeUnderTest, decision: str) -> None:
    ada.sign_up()
    ada.press("Log out")
    ada.is_at("/")
    verifier, begun = begin_login(town)
    assert fetch(town, begun["login"], verifier).status_code == 202
    ada.page.goto(begun["url"])  # as the terminal says; it leads over the sign-in
    ada.press("Log in with a passkey")
    ada.is_at(f"/login/{begun['login']}")
    shown = ada.page.get_by_role("main")
    for words in (begun["code"], "choir on attic", "Buy and pay", "30 days"):
        expect(shown).to_contain_text(words)
    if decision == "refused":
        ada.press("Deny")
        expect(ada.page.get_by_role("heading", name="Login denied")).to_be_focused()
        assert fetch(town, begun["login"], verifier).status_code == 403
        return
    ada.press("The codes match: approve")
    expect(ada.page.get_by_role("heading", name="Login approved")).to_be_focused()
    fetched = fetch(town, begun["login"], verifier)
    assert fetched.status_code == 200
    with api(town, fetched.json()["secret"]) as program:
        assert program.get("/me").json()["scopes"] == ["buy", "read"]
    ada.open(f"/login/{begun['login']}")
    expect(ada.page.get_by_role("heading", level=1)).to_have_text("Nothing to approve")
    ada.open("/tokens")
    expect(ada.row("Your tokens", "choir on attic")).to_have_count(1)
