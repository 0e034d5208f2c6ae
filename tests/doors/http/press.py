"""Writers at a running node: people with CHIP, their documents, drafts and published articles."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import httpx

from tests.commons.desk import TEXT, markdown
from tests.doors.http.visitors import Browser, Json, done, fund, key
from tests.operations.nodes import NodeUnderTest, until

CHIP = 1_000_000
_numbers = itertools.count()


def writer(node: NodeUnderTest, chip: int = 1_000) -> Browser:
    """A new person with CHIP of their own."""
    made = Browser(node).sign_up()
    if chip:
        fund(node, made.owner, chip * CHIP, "CHIP")
    return made


def new_text() -> str:
    """A document that nobody has added before, with what articles here claim."""
    return f"{TEXT}\n\nThis is copy number {next(_numbers)} of the survey."


def add(http: httpx.Client, data: bytes | str, **params: str) -> Json:
    """A document as a source."""
    sent = data.encode() if isinstance(data, str) else data
    found: Json = done(http.post("/v1/sources", content=sent, params={"title": "A survey", **params}))
    return found


class WritersDesk:
    """Things of one writer, each made when it is first asked for."""

    def __init__(self, browser: Browser) -> None:
        self.http = browser.http
        self.owner = browser.owner
        self._node = browser.node

    @cached_property
    def source(self) -> str:
        return str(add(self.http, new_text())["hash"])

    @cached_property
    def claim(self) -> str:
        return self.new_claim()

    @cached_property
    def draft(self) -> str:
        return str(self.create("# A draft\n\nNothing is claimed here.")["id"])

    @cached_property
    def published(self) -> str:
        """An article that everybody may read; its evidence is of a source of its own."""
        fund(self._node, self.owner, 100 * CHIP, "CHIP")
        article = self.article()
        self.publish(article["id"])
        return str(article["id"])

    def new_claim(self) -> str:
        text = f"This is claim number {next(_numbers)} of {self.owner}."
        return str(done(self.http.post("/v1/atoms/claims", json={"text": text}))["hash"])

    def create(self, text: str, **more: Any) -> Json:
        found: Json = done(self.http.post("/v1/articles", json={"text": text, **more}, headers=key()), 201)
        return found

    def article(self, **more: Any) -> Json:
        """A draft that would pass its review, on a new document."""
        text = new_text()
        return self.create(markdown(add(self.http, text)["hash"], text), **more)

    def publish(self, article: str, **body: Any) -> Json:
        found: Json = done(self.http.post(f"/v1/articles/{article}/publications", json=body, headers=key()), 201)
        return found

    def version(self, article: str) -> Json:
        """The newest version."""
        found: Json = done(self.http.get(f"/v1/articles/{article}/versions"))["items"][0]
        return found

    def wait(self, article: str, state: str) -> Json:
        """The newest version, once it has come so far."""
        until(lambda: self.version(article)["state"] == state)
        return self.version(article)
