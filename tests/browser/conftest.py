"""One node for a worker, one browser for a module; each test has windows and people of its own."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.desk import Desk, desk
from tests.operations.nodes import NodeUnderTest, new_node

_ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
_MISSING = "chromium is not installed; run: sudo apt-get install chromium"
# All tests come from one place, which would be too many people for it.
ROOM = {
    "CHOIR_POLICY__PEOPLE__SIGN_UPS_PER_PLACE": "1000",
    "CHOIR_POLICY__PEOPLE__CEREMONIES_PER_PLACE": "10000",
    "CHOIR_POLICY__PEOPLE__RECOVERY_TRIES_PER_PLACE": "1000",
    "CHOIR_POLICY__PEOPLE__FRESH_S": "3600",  # a slow machine does not make a passkey stale
    "CHOIR_POLICY__DELEGATIONS__LOGINS_PER_PLACE": "1000",
    "CHOIR_POLICY__PROVIDERS__QUALIFICATION_REQUIRED": "0",  # else nobody could sell before the node has tried them
}


@pytest.fixture(scope="module")  # while its driver runs, nothing else in this process can have an event loop
def chromium() -> Iterator[Browser]:
    """Debian's browser. Without root it may be missing; with root the set-up has installed it."""
    path = shutil.which("chromium")
    if path is None:
        if os.geteuid() == 0:
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def town() -> Iterator[NodeUnderTest]:
    """A running node under the address that its passkeys are bound to."""
    with new_node(**ROOM) as made:
        made.extra["CHOIR_PUBLIC_URL"] = f"http://localhost:{made.port}"
        yield made.up()


NewDesk = Callable[..., Desk]


@pytest.fixture
def new_desk(chromium: Browser, town: NodeUnderTest) -> Iterator[NewDesk]:
    """Makes windows that have nothing to do with each other."""
    with ExitStack() as stack:

        def make(**options: Any) -> Desk:
            return stack.enter_context(desk(chromium, town, **options))

        yield make


@pytest.fixture
def ada(new_desk: NewDesk) -> Desk:
    """Somebody with an authenticator who has not signed up."""
    made = new_desk()
    made.plug()
    return made
