"""Signing up, signing in, adding and removing passkeys, recovering: with real ceremonies of a real browser."""

from __future__ import annotations

import re

import httpx
import psycopg
from playwright.sync_api import Request, expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk, new_handle
from tests.operations.nodes import NodeUnderTest

CODE = re.compile(r"(?:[0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}")


def test_sign_up_gives_codes_gifts_and_a_session(ada: Desk) -> None:
    handle = new_handle()
    codes = ada.sign_up(handle)
    assert len(set(codes)) == 10
    assert all(CODE.fullmatch(code) for code in codes)
    ada.hears("You are signed up and logged in.")
    expect(ada.page.get_by_role("heading", level=1)).to_have_text(f"@{handle}")
    balances = ada.section("Balances")
    expect(balances).to_contain_text("500.00 CREDIT")
    expect(balances).to_contain_text("50.000000 CHIP")
    expect(ada.section("Recovery codes")).to_contain_text("10 unused codes")
    expect(ada.section("Recent activity")).to_contain_text("You signed up")
    ada.open("/")
    expect(ada.page.get_by_role("main")).to_contain_text(f"logged in as @{handle}")
    ada.open("/sign-up")  # somebody who is signed in has nothing to do there
    ada.is_at("/account")


def test_a_handle_is_refused_beside_its_field(ada: Desk, new_desk: NewDesk) -> None:
    taken = new_handle()
    ada.sign_up(taken)
    bob = new_desk()
    bob.plug()
    bob.open("/sign-up")
    for handle, words in [("", "Please fill this in."), ("x", "3 to 30 characters"), (taken, "is taken")]:
        bob.fill("Handle", handle)
        bob.press("Create a passkey and sign up")
        bob.reads(words)
        field = bob.page.get_by_label("Handle", exact=True)
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-invalid", "true")
    bob.fill("Handle", new_handle())
    bob.press("Create a passkey and sign up")
    bob.keeps_secret()
    bob.is_at("/account")


def test_sign_out_and_in_again(ada: Desk) -> None:
    ada.sign_up()
    ada.press("Log out")
    ada.is_at("/")
    ada.hears("You are logged out.")
    ada.open("/tokens")
    ada.is_at("/sign-in?next=%2Ftokens")
    ada.press("Log in with a passkey")
    ada.is_at("/tokens")  # back to where one wanted to be


def test_who_signs_up_on_the_way_gets_to_where_they_were_going(ada: Desk) -> None:
    ada.open("/hall/order")
    ada.is_at("/sign-in?next=%2Fhall%2Forder")
    ada.page.get_by_role("main").get_by_role("link", name="Sign up").click()
    ada.fill("Handle", new_handle())
    ada.press("Create a passkey and sign up")
    ada.keeps_secret()
    ada.is_at("/hall/order")
    ada.hears("You are signed up and logged in.")


def test_a_passkey_that_nobody_shows_is_told_in_plain_words(new_desk: NewDesk) -> None:
    desk = new_desk()
    authenticator = desk.plug()
    desk.cdp.send("WebAuthn.setUserVerified", {"authenticatorId": authenticator, "isUserVerified": False})
    desk.open("/sign-up")
    desk.fill("Handle", new_handle())
    desk.press("Create a passkey and sign up")
    desk.reads("No passkey was used.")
    expect(desk.button("Create a passkey and sign up")).not_to_have_attribute("aria-busy", "true")


def test_a_captured_answer_is_worth_nothing(ada: Desk, town: NodeUnderTest) -> None:
    ada.sign_up()
    ada.press("Log out")
    ada.is_at("/")
    sent: list[Request] = []
    ada.page.on("request", lambda request: sent.append(request) if request.url.endswith("/finish") else None)
    ada.sign_in()
    answer = httpx.post(
        sent[0].url,
        content=sent[0].post_data or "",
        headers={"Content-Type": "application/json", "Origin": ada.address},
        trust_env=False,
    )
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers


def test_passkeys_do_not_work_at_another_address(new_desk: NewDesk, town: NodeUnderTest) -> None:
    desk = new_desk(address=town.url)  # by number, while its passkeys are bound to the name
    desk.plug()
    desk.open("/sign-up")
    notice = desk.page.get_by_text("Passkeys do not work here.")
    expect(notice).to_be_visible()
    desk.fill("Handle", new_handle())
    desk.press("Create a passkey and sign up")
    expect(desk.page.get_by_role("alert")).not_to_be_empty()
    desk.page.get_by_role("link", name="Go there").click()
    expect(desk.page).to_have_url(f"http://localhost:{town.port}/sign-up")
    expect(notice).to_be_hidden()


def test_add_rename_and_remove_a_passkey(new_desk: NewDesk) -> None:
    ada = new_desk()
    first = ada.plug()
    ada.sign_up()
    assert ada.section("Passkeys").get_by_role("button", name="Remove").count() == 0  # the last one stays
    second = ada.add_passkey("Key ring", "usb", before=first)
    ada.answers(first, yes=True)
    ada.answers(second, yes=False)
    ada.row("Passkeys", "Key ring").get_by_role("button", name="Rename").click()
    ada.fill("New name for Key ring", "Blue key ring")
    ada.press("Save name")
    ada.hears("The passkey is renamed.")
    ada.row("Passkeys", "Blue key ring").get_by_role("button", name="Remove").click()
    ada.agrees("Cancel")
    ada.row("Passkeys", "Blue key ring").get_by_role("button", name="Remove").click()
    ada.agrees("Remove passkey")
    ada.hears("The passkey is removed")
    expect(ada.row("Passkeys", "Blue key ring")).to_have_count(0)
    ada.answers(first, yes=False)
    ada.answers(second, yes=True)
    ada.press("Log out")
    ada.is_at("/")
    ada.open("/sign-in")
    ada.press("Log in with a passkey")
    ada.reads("No account here uses that passkey.")
    ada.is_at("/sign-in")


def test_a_session_does_not_survive_its_passkey(new_desk: NewDesk) -> None:
    ada, phone = new_desk(), new_desk()
    first = ada.plug()
    ada.sign_up()
    second = ada.add_passkey("Phone", "usb", before=first)
    phone.plug(credentials=ada.credentials(second))
    phone.sign_in()
    ada.answers(first, yes=True)
    ada.open("/account")
    expect(ada.row("Sessions", "Another browser")).to_have_count(1)
    ada.row("Passkeys", "Phone").get_by_role("button", name="Remove").click()
    ada.agrees("Remove passkey")
    ada.hears("The passkey is removed")
    expect(ada.row("Sessions", "Another browser")).to_have_count(0)
    phone.press("End all other sessions")  # a page that was open before does nothing any more
    phone.reads("Your session has ended.")
    phone.open("/account")
    phone.is_at("/sign-in?next=%2Faccount")


def test_removing_the_passkey_of_this_session_signs_out(new_desk: NewDesk) -> None:
    ada = new_desk()
    first = ada.plug()
    ada.sign_up()
    ada.add_passkey("Key ring", "usb", before=first)
    ada.answers(first, yes=True)
    ada.row("Passkeys", "Used for this session").get_by_role("button", name="Remove").click()
    expect(ada.page.get_by_role("dialog")).to_contain_text("you are logged out of this browser")
    ada.agrees("Remove passkey")
    ada.is_at("/sign-in?next=%2Faccount")
    ada.hears("The passkey is removed")


def test_recover_with_a_code(ada: Desk, new_desk: NewDesk) -> None:
    handle = new_handle()
    code = ada.sign_up(handle)[0]
    lost = new_desk()
    lost.plug()
    lost.open("/recover")
    for given, words in [
        ("", "Please fill this in."),
        ("AAAAA-AAAAA-AAAAA-AAAAA-AAAAA", "does not belong to this handle"),
    ]:
        lost.fill("Handle", handle)
        lost.fill("Recovery code", given)
        lost.press("Create a new passkey")
        lost.reads(words)
    lost.fill("Recovery code", code.lower().replace("-", " "))
    lost.press("Create a new passkey")
    lost.is_at("/sign-in")
    lost.hears("Your new passkey is created. Ended: 1 passkey, 1 session.")
    lost.press("Log in with a passkey")
    lost.is_at("/account")
    expect(lost.section("Recovery codes")).to_contain_text("9 unused codes")
    ada.open("/account")  # every session from before is over
    ada.is_at("/sign-in?next=%2Faccount")
    lost.open("/recover")  # and the code is used up
    lost.fill("Handle", handle)
    lost.fill("Recovery code", code)
    lost.press("Create a new passkey")
    lost.reads("does not belong to this handle")


def test_a_dangerous_act_asks_for_the_passkey_by_itself(ada: Desk, town: NodeUnderTest) -> None:
    handle = new_handle()
    ada.sign_up(handle)
    _make_stale(town, handle)
    confirmed: list[str] = []
    ada.page.on("request", lambda request: confirmed.append(request.url) if "/me/confirm/" in request.url else None)
    ada.press("Create 10 new codes")
    ada.agrees("Create new codes")
    codes = ada.keeps_secret()
    assert len(codes) == 10
    assert [url.rpartition("/")[2] for url in confirmed] == ["begin", "finish"]


def test_erase_oneself(ada: Desk, new_desk: NewDesk) -> None:
    handle = new_handle()
    ada.sign_up(handle)
    ada.press("Erase my account")
    dialog = ada.page.get_by_role("dialog")
    dialog.get_by_role("button", name="Erase my account").click()  # not without the handle typed
    expect(dialog).to_be_visible()
    dialog.get_by_label(f"Type {handle} to continue").fill(handle)
    dialog.get_by_role("button", name="Erase my account").click()
    ada.is_at("/")
    ada.hears("Your account is erased.")
    ada.open("/sign-in")
    ada.press("Log in with a passkey")
    ada.reads("No account here uses that passkey.")
    ada.open("/sign-up")  # nobody can take the handle
    ada.fill("Handle", handle)
    ada.press("Create a passkey and sign up")
    ada.reads("is taken")


def _make_stale(town: NodeUnderTest, handle: str) -> None:
    """Let it be long ago that this person showed a passkey."""
    with psycopg.connect(town.dsn()) as owner:
        changed = owner.execute(
            "update sessions set asserted_us = 0 where person = (select id from people where handle = %s)", [handle]
        )
        assert changed.rowcount == 1
