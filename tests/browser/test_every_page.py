"""Every page of a node on which much has happened: the story of `choir demo`, seen by a stranger and by a person.

Each page is sound, has no serious finding of axe, says nothing in the console, and holds in Firefox as well.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from tests.browser.axe import serious
from tests.browser.conftest import ROOM
from tests.browser.desk import Desk, desk
from tests.browser.firefox import firefox
from tests.browser.test_looks import PRIVATE, PUBLIC, faults
from tests.operations.nodes import NodeUnderTest, new_node

pytestmark = pytest.mark.deep

_TITLES = "() => [...document.querySelectorAll('h1')].filter((title) => title.checkVisibility()).length"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the story made; filled by `town`."""
    return {}


@pytest.fixture(scope="module")
def town(told: dict[str, Any]) -> Iterator[NodeUnderTest]:
    with new_node(**ROOM) as made:
        made.extra["CHOIR_PUBLIC_URL"] = f"http://localhost:{made.port}"
        played = made.run("demo", "--exit", "--json")
        assert played.code == 0, played.err
        told |= played.json
        yield made.up()


@pytest.fixture(scope="module")
def pages(town: NodeUnderTest, told: dict[str, Any]) -> list[str]:
    """The addresses that the story ends with, and those that every node has."""
    linked = [_path(link) for link in told["links"].values()]
    articles = [path for path in linked if path.startswith("/articles/")]
    return sorted({*PUBLIC, *linked, *(f"{path}/history" for path in articles)})


def _path(link: str) -> str:
    parts = urlsplit(link)
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _found(made: Desk, paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        found += faults(made, path)
        found += [f"{path}: {finding}" for finding in serious(made.page)]
    return found


def test_every_public_page_is_sound(chromium: Browser, town: NodeUnderTest, pages: list[str]) -> None:
    with desk(chromium, town) as made:
        assert _found(made, pages) == []


def test_every_page_of_a_person_is_sound(chromium: Browser, town: NodeUnderTest, pages: list[str]) -> None:
    with desk(chromium, town) as made:
        made.plug()
        made.sign_up()
        assert _found(made, sorted({*PRIVATE, *pages} - {"/sign-up", "/sign-in"})) == []


def test_every_public_page_holds_in_firefox(town: NodeUnderTest, pages: list[str], tmp_path: Path) -> None:
    program = shutil.which("firefox-esr")
    if program is None:
        pytest.skip("firefox-esr is not installed")
    with firefox(program, tmp_path / "profile") as made:
        for path in pages:
            for width in (1280, 320):
                made.size(width, 800)
                made.open(f"http://localhost:{town.port}{path}")
                wide = made.evaluate("() => document.documentElement.scrollWidth - innerWidth")
                assert wide <= 0, f"{path} is {wide} px too wide at {width}"
                assert made.evaluate(_TITLES) == 1, path
        assert made.errors == []
