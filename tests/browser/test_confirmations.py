"""Acts asked for in a terminal and confirmed, or denied, by their person in the browser."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import NewDesk
from tests.browser.desk import Desk, new_handle
from tests.browser.test_cli_login import terminal
from tests.operations.nodes import CHOIR, NodeUnderTest


@contextmanager
def asking(town: NodeUnderTest, folder: Path, token: str, *command: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A command that waits, and the address that it shows."""
    with subprocess.Popen(
        [*CHOIR, *command, "--no-browser", "--node", town.url],
        env=terminal(folder) | {"CHOIR_TOKEN": token},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("Open this URL")
            said = dict(process.stderr.readline().split() for _ in ("URL", "code"))
            yield process, said["URL"]
        finally:
            process.kill()


def own_token(desk: Desk) -> str:
    desk.open("/tokens")
    desk.fill("Name", "terminal")
    desk.page.get_by_role("main").get_by_role("button", name="Create token").click()
    return desk.keeps_secret()[0]


def test_confirm_deny_and_somebody_else(ada: Desk, new_desk: NewDesk, town: NodeUnderTest, tmp_path: Path) -> None:
    handle = new_handle()
    ada.sign_up(handle)
    token = own_token(ada)
    with asking(town, tmp_path, token, "agent", "create", "night librarian") as (process, url):
        stranger = new_desk()
        stranger.plug()
        stranger.sign_up()
        stranger.page.goto(url)
        expect(stranger.page.get_by_role("heading", name="Nothing to confirm")).to_be_visible()
        ada.page.goto(url)
        expect(ada.page.get_by_role("main")).to_contain_text("night librarian")
        expect(ada.page.get_by_role("main")).to_contain_text(f"@{handle}")
        ada.press("The codes match: confirm")
        expect(ada.page.get_by_role("heading", name="Confirmed")).to_be_focused()
        out, err = process.communicate(timeout=120)
        assert (process.returncode, "night librarian" in out) == (0, True), err
    ada.open("/agents")
    expect(ada.page.get_by_role("main")).to_contain_text("night librarian")
    with asking(town, tmp_path, token, "token", "create", "robot", "--scope", "buy") as (process, url):
        ada.page.goto(url)
        expect(ada.page.get_by_role("main")).to_contain_text("Without a cap")
        ada.press("Deny")
        expect(ada.page.get_by_role("heading", name="Denied")).to_be_focused()
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (4, ""), err
    ada.page.reload()
    expect(ada.page.get_by_role("heading", name="Denied")).to_be_visible()
