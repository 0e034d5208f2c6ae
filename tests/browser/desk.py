"""Somebody at a browser: one window, the authenticators plugged in, and everything that went wrong in it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, CDPSession, ConsoleMessage, Locator, Page, expect

from tests.operations.nodes import NodeUnderTest

_handles = itertools.count()
_REFUSED = "Failed to load resource: the server responded with a status of 4"  # refusals, which pages are to show
_WAIT_MS = 20_000
expect.set_options(timeout=_WAIT_MS)


def new_handle() -> str:
    return f"person-{next(_handles)}"


@dataclass
class Desk:
    """A window of its own: no other desk's cookies, storage or passkeys."""

    address: str
    context: BrowserContext
    page: Page
    cdp: CDPSession
    errors: list[str] = field(default_factory=list)

    # Authenticators

    def plug(self, transport: str = "internal", credentials: list[dict[str, Any]] | None = None) -> str:
        """Plug in an authenticator that says yes to everything; the other ones say nothing from now on."""
        options = {
            "protocol": "ctap2", "transport": transport, "hasResidentKey": True, "hasUserVerification": True,
            "isUserVerified": True, "automaticPresenceSimulation": True,
        }  # fmt: skip
        made: str = self.cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]
        for credential in credentials or []:
            self.cdp.send("WebAuthn.addCredential", {"authenticatorId": made, "credential": credential})
        return made

    def answers(self, authenticator: str, *, yes: bool) -> None:
        """Whether somebody touches the authenticator when it is asked."""
        change = {"authenticatorId": authenticator, "enabled": yes}
        self.cdp.send("WebAuthn.setAutomaticPresenceSimulation", change)

    def credentials(self, authenticator: str) -> list[dict[str, Any]]:
        """What is on an authenticator, so that another one can have it too, as synced passkeys do."""
        found = self.cdp.send("WebAuthn.getCredentials", {"authenticatorId": authenticator})["credentials"]
        assert isinstance(found, list)
        return found

    # Getting about

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        return self.page

    def button(self, name: str) -> Locator:
        return self.page.get_by_role("button", name=name)

    def press(self, name: str) -> None:
        self.button(name).click()

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label, exact=True).fill(text)

    def section(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=name)

    def row(self, section: str, text: str) -> Locator:
        """The line of a list that is about this."""
        return self.section(section).get_by_role("listitem").filter(has_text=text)

    def is_at(self, path: str) -> None:
        expect(self.page).to_have_url(self.address + path)

    def hears(self, text: str) -> None:
        """The page says that it is done."""
        expect(self.page.get_by_role("status")).to_contain_text(text)

    def reads(self, text: str) -> None:
        """The page says what is wrong."""
        expect(self.page.get_by_role("alert")).to_contain_text(text)

    def agrees(self, name: str) -> None:
        self.page.get_by_role("dialog").get_by_role("button", name=name).click()

    def keeps_secret(self) -> list[str]:
        """Read what is shown once and say that it is kept."""
        shown = self.page.locator("#reveal-body")
        expect(shown).not_to_be_empty()
        lines = shown.locator("li")
        secret = lines.all_inner_texts() or [shown.inner_text()]
        self.press("I have saved this")
        return secret

    # Whole ways

    def sign_up(self, handle: str | None = None) -> list[str]:
        """From nobody to a person on the account page; gives the recovery codes."""
        self.open("/sign-up")
        self.fill("Handle", handle or new_handle())
        self.press("Create a passkey and sign up")
        codes = self.keeps_secret()
        self.is_at("/account")
        return codes

    def sign_in(self, goal: str = "/account") -> None:
        self.open("/sign-in")
        self.press("Log in with a passkey")
        self.is_at(goal)

    def add_passkey(self, name: str, transport: str, before: str) -> str:
        """Plug in another authenticator and make a passkey on it; the one before keeps still meanwhile."""
        made = self.plug(transport)
        self.answers(before, yes=False)
        self.fill("Name of a new passkey", name)
        self.press("Add a passkey")
        self.hears("The passkey is added.")
        return made

    def _saw(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not message.text.startswith(_REFUSED):
            self.errors.append(f"{self.page.url}: {message.text}")


@contextmanager
def desk(browser: Browser, node: NodeUnderTest, address: str = "", **options: Any) -> Iterator[Desk]:
    """A window; afterwards nothing may have gone wrong in it: no script error, no violation of the rules for pages."""
    address = address or f"http://localhost:{node.port}"
    context = browser.new_context(locale="en-GB", **options)
    page = context.new_page()
    page.set_default_timeout(_WAIT_MS)
    cdp = context.new_cdp_session(page)
    cdp.send("WebAuthn.enable")
    made = Desk(address, context, page, cdp)
    page.on("console", made._saw)
    page.on("pageerror", lambda error: made.errors.append(f"{page.url}: {error}"))
    try:
        yield made
        assert made.errors == []
    finally:
        context.close()
