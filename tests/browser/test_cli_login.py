"""`choir login` in a terminal, approved by its person in the browser."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.desk import Desk, new_handle
from tests.operations.nodes import CHOIR, NodeUnderTest


def terminal(folder: Path) -> dict[str, str]:
    """The environment of somebody who has nothing of the node's on this machine."""
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "CHOIR_HOME": str(folder / "none"), "COLUMNS": "200"}


def run(town: NodeUnderTest, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CHOIR, *command, "--node", town.url],
        env=terminal(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=folder,
    )


def test_log_the_command_line_in(ada: Desk, town: NodeUnderTest, tmp_path: Path) -> None:
    handle = new_handle()
    ada.sign_up(handle)
    with subprocess.Popen(
        [*CHOIR, "login", "--no-browser", "--node", town.url],
        env=terminal(tmp_path),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as login:
        assert login.stderr is not None
        assert login.stderr.readline().startswith("Open this URL")
        said = dict(login.stderr.readline().split() for _ in ("URL", "code"))
        ada.page.goto(said["URL"])
        expect(ada.page.get_by_role("main")).to_contain_text(said["code"])
        ada.press("The codes match: approve")
        expect(ada.page.get_by_role("heading", name="Login approved")).to_be_focused()
        out, err = login.communicate(timeout=120)
        assert login.returncode == 0, err
        assert handle in out
        assert "It may be used to: read." in out
    who = run(town, tmp_path, "whoami")
    assert (who.returncode, handle in who.stdout) == (0, True), who.stderr
    ada.open("/tokens")
    ada.row("Your tokens", "choir on").get_by_role("button", name="Revoke").click()
    ada.hears("The token is revoked.")
    assert run(town, tmp_path, "whoami").returncode == 4
