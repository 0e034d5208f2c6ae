"""People at a real node, over HTTP, with a software authenticator where a phone would be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.identity.authenticator import Authenticator
from tests.operations.nodes import PLAIN, NodeUnderTest, new_node


@contextmanager
def public_node(**extra: str) -> Iterator[NodeUnderTest]:
    """A running node that knows its own address, as passkeys and signed requests need; a busy machine does not make
    a passkey that was shown stale."""
    with new_node(**{"CHOIR_POLICY__PEOPLE__FRESH_S": "3600"} | extra) as node:
        node.extra["CHOIR_PUBLIC_URL"] = public_url(node)
        yield node.up()


def public_url(node: NodeUnderTest) -> str:
    return f"http://localhost:{node.port}"


@dataclass
class Neighbour:
    """A person with a browser session."""

    node: NodeUnderTest
    handle: str
    owner: str = ""
    authenticator: Authenticator = field(default_factory=Authenticator)

    def __post_init__(self) -> None:
        origin = {"Origin": public_url(self.node)}
        self.http = httpx.Client(
            base_url=f"{self.node.url}/v1", headers=origin, timeout=60, trust_env=False, verify=PLAIN
        )

    def sign_up(self) -> Neighbour:
        begun = self.post("/sign-up/begin", handle=self.handle)
        answer = self.authenticator.create(begun["options"], origin=public_url(self.node))
        done = self.post("/sign-up/finish", ceremony=begun["ceremony"], answer=answer, name="phone")
        self.owner = done["person"]["owner"]
        return self

    def post(self, path: str, **body: Any) -> Any:
        answer = self.http.post(path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def token(self, *scopes: str, delegation: str | None = None, days: int = 7) -> str:
        made = self.post("/tokens", name="a test", scopes=list(scopes), days=days, delegation=delegation)
        return str(made["secret"])

    def agent(self, name: str = "helper") -> str:
        return str(self.post("/agents", name=name)["id"])

    def delegation(self, agent: str, *scopes: str, caps: list[dict[str, str]] | None = None) -> str:
        return str(self.post("/delegations", agent=agent, scopes=list(scopes), caps=caps or [], days=30)["id"])

    def close(self) -> None:
        self.http.close()


@contextmanager
def neighbour(node: NodeUnderTest, handle: str) -> Iterator[Neighbour]:
    made = Neighbour(node, handle).sign_up()
    try:
        yield made
    finally:
        made.close()
