"""Who calls a node over HTTP in tests: browsers with an authenticator, programs with tokens, signed requests."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

import coincurve
import httpx

from choir.identity.keys.nostr_keys import public_of
from choir.identity.keys.secret_values import SecretKey
from choir.nostr.events import NostrEvent, event_id, event_json
from tests.identity.authenticator import Authenticator
from tests.operations.nodes import PLAIN, NodeUnderTest

Json = dict[str, Any]
# What one machine that is all visitors at once needs more of than policy gives to one place.
GENEROUS = {
    "CHOIR_POLICY__PEOPLE__SIGN_UPS_PER_PLACE": "100000",
    "CHOIR_POLICY__PEOPLE__CEREMONIES_PER_PLACE": "1000000",
    "CHOIR_POLICY__PEOPLE__CEREMONIES_PER_PERSON": "1000000",
    "CHOIR_POLICY__PEOPLE__CEREMONIES_GLOBAL": "16000000",
    "CHOIR_POLICY__PEOPLE__RECOVERY_TRIES_PER_PLACE": "10000",
    "CHOIR_POLICY__PEOPLE__FRESH_S": "3600",  # a slow machine does not make a passkey stale
    "CHOIR_POLICY__DELEGATIONS__LOGINS_PER_PLACE": "1000000",
    "CHOIR_POLICY__DELEGATIONS__STANDS_PER_PLACE": "1000000",
    "CHOIR_POLICY__OPERATORS__ENTERS_PER_PLACE": "1000000",
    "CHOIR_POLICY__OPERATORS__ENTERS_GLOBAL": "16000000",
    "CHOIR_POLICY__PEOPLE__GIFT_PLAY_SAT": "0",  # tests of money say themselves who has some
    "CHOIR_POLICY__PROVIDERS__QUALIFICATION_REQUIRED": "0",  # else nobody could sell before the node has tried them
}
_handles = itertools.count()


def new_handle() -> str:
    return f"p{os.getpid()}_{next(_handles)}"


def key() -> dict[str, str]:
    return {"Idempotency-Key": uuid.uuid4().hex}


def origin(node: NodeUnderTest) -> str:
    return f"http://localhost:{node.port}"


def serve(node: NodeUnderTest, **extra: str) -> NodeUnderTest:
    """Start a node whose own address is the one it is reached at."""
    node.extra |= {"CHOIR_PUBLIC_URL": origin(node), **GENEROUS, **extra}
    return node.up()


def client(node: NodeUnderTest, **headers: str) -> httpx.Client:
    return httpx.Client(base_url=node.url, headers=headers, timeout=60, trust_env=False, verify=PLAIN)


def done(answer: httpx.Response, *statuses: int) -> Any:
    """What came back, if it went well."""
    assert answer.status_code in (statuses or (200, 201, 204)), f"{answer.status_code} {answer.text}"
    return answer.json() if answer.content else None


def refused(answer: httpx.Response, status: int, code: str) -> Json:
    assert answer.status_code == status, f"{answer.status_code} {answer.text}"
    assert answer.headers["content-type"] == "application/problem+json"
    shown: Json = answer.json()
    assert shown["code"] == code, shown
    return shown


@dataclass
class Browser:
    """A browser on the node's own pages, with an authenticator beside it."""

    node: NodeUnderTest
    authenticator: Authenticator = field(default_factory=Authenticator)
    handle: str = ""
    owner: str = ""
    codes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.http = client(self.node, Origin=origin(self.node))

    @property
    def token(self) -> str:
        found = self.http.cookies.get("choir_session")
        assert found
        return found

    def begin(self, what: str, **body: Any) -> Json:
        begun: Json = done(self.http.post(f"/v1/{what}/begin", json=body or None))
        return begun

    def made(self, begun: Json, name: str = "phone", **spoiled: Any) -> Json:
        """The body that finishes a ceremony with a new passkey."""
        spoiled.setdefault("origin", origin(self.node))
        answer = self.authenticator.create(begun["options"], **spoiled)
        return {"ceremony": begun["ceremony"], "answer": answer, "name": name}

    def shown(self, begun: Json, **spoiled: Any) -> Json:
        """The body that finishes a ceremony with a passkey that exists."""
        spoiled.setdefault("origin", origin(self.node))
        return {"ceremony": begun["ceremony"], "answer": self.authenticator.get(begun["options"], **spoiled)}

    def sign_up(self, handle: str = "") -> Browser:
        self.handle = handle or new_handle()
        body = self.made(self.begin("sign-up", handle=self.handle))
        answer = done(self.http.post("/v1/sign-up/finish", json=body), 201)
        self.owner, self.codes = answer["person"]["owner"], answer["recovery_codes"]
        return self

    def sign_in(self) -> Browser:
        done(self.http.post("/v1/sign-in/finish", json=self.shown(self.begin("sign-in"))))
        return self

    def another(self) -> Browser:
        """The same person in another browser, signed in with the same authenticator."""
        return Browser(self.node, self.authenticator, self.handle, self.owner).sign_in()

    def add_passkey(self, authenticator: Authenticator, name: str = "second") -> str:
        begun = self.begin("me/passkeys")
        answer = authenticator.create(begun["options"], origin=origin(self.node))
        body = {"ceremony": begun["ceremony"], "answer": answer, "name": name}
        return str(done(self.http.post("/v1/me/passkeys/finish", json=body), 201)["id"])

    def agent(self, name: str = "helper") -> Json:
        made: Json = done(self.http.post("/v1/agents", json={"name": name}), 201)
        return made

    def grant(self, agent: Json, *scopes: str, caps: list[Json] | None = None) -> Json:
        body = {"agent": agent["id"], "scopes": list(scopes), "caps": caps or [], "days": 2}
        granted: Json = done(self.http.post("/v1/delegations", json=body), 201)
        return granted

    def make_token(self, *scopes: str, delegation: Json | None = None, name: str = "a program") -> Json:
        body: Json = {"name": name, "scopes": list(scopes)}
        if delegation is None:
            body["days"] = 1
        else:
            body |= {"delegation": delegation["id"], "expires_at": delegation["expires_at"]}
        made: Json = done(self.http.post("/v1/tokens", json=body), 201)
        return made

    def program(self, *scopes: str, delegation: Json | None = None) -> httpx.Client:
        return program(self.node, self.make_token(*scopes, delegation=delegation)["secret"])


def program(node: NodeUnderTest, token: str) -> httpx.Client:
    return client(node, Authorization=f"Bearer {token}")


def cap(amount: int, asset: str = "SAT", period: str = "day") -> Json:
    return {"asset": asset, "period": period, "cap": str(amount)}


def fund(node: NodeUnderTest, owner: str, amount: int, asset: str = "SAT") -> None:
    body = {"account": f"{owner}/available/{asset}", "amount": str(amount)}
    with node.http() as http:
        done(http.post("/v1/fund", json=body, headers=key()))


def balance(node: NodeUnderTest, account: str) -> int:
    with node.http() as http:
        return int(done(http.get("/v1/balance", params={"account": account}))["balance"])


# Logins of programs


def new_verifier() -> tuple[str, str]:
    """A verifier and its challenge."""
    verifier = base64.urlsafe_b64encode(os.urandom(32)).rstrip(b"=").decode()
    return verifier, base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def begin_login(node: NodeUnderTest, challenge: str, *scopes: str) -> Json:
    body = {"challenge": challenge, "name": "a terminal", "scopes": list(scopes) or ["read"], "days": 3}
    with client(node) as http:
        begun: Json = done(http.post("/v1/logins", json=body), 201)
        return begun


# Signed requests


def new_nostr_key() -> SecretKey:
    return SecretKey(coincurve.PrivateKey().secret)


def event_header(secret: SecretKey, method: str, url: str, body: bytes = b"", *tags: tuple[str, str]) -> str:
    """`Authorization` for one request (NIP-98)."""
    # Without the nonce, two equal requests of one second would be one event, and the second refused.
    all_tags: list[tuple[str, ...]] = [("u", url), ("method", method), ("nonce", uuid.uuid4().hex), *tags]
    if body:
        all_tags.append(("payload", hashlib.sha256(body).hexdigest()))
    public, at_s = public_of(secret), int(time.time())
    id_ = event_id(public, at_s, 27235, tuple(all_tags), "")
    signature = coincurve.PrivateKey(secret.reveal()).sign_schnorr(id_)
    event = NostrEvent(id_, public, at_s, 27235, tuple(all_tags), "", signature)
    return "Nostr " + base64.b64encode(json.dumps(event_json(event)).encode()).decode()


def signed(
    node: NodeUnderTest, secret: SecretKey, method: str, path: str, body: Json | None = None, *tags: tuple[str, str]
) -> httpx.Response:
    """Send one request that a key signs."""
    content = b"" if body is None else json.dumps(body).encode()
    header = event_header(secret, method, origin(node) + path, content, *tags)
    with client(node, Authorization=header) as http:
        return http.request(method, path, content=content or None, headers={"Content-Type": "application/json"})
