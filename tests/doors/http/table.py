"""Who gets what: every route, and what each kind of caller is answered.

The columns are: nobody, another person, an agent without the scope, an agent with the scopes read and buy,
the owner, the operator. Both people have just shown a passkey; both agents act for the owner. 401 and 403 say
"who are you" and "not you"; 404 says that for this caller there is no such thing; 422 and 409 say that the
caller was let in and the request was judged by its content.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import httpx

from choir.doors.web.assets import address
from choir.foundation.canonical import bytes_hash
from choir.foundation.clock import MICROSECONDS, SystemEntropy, format_time
from choir.identity.keys.phrases import new_phrase
from tests.doors.http.market import Seller, order, seller
from tests.doors.http.press import WritersDesk
from tests.doors.http.visitors import (
    Browser,
    Json,
    begin_login,
    cap,
    client,
    done,
    fund,
    key,
    new_handle,
    new_nostr_key,
    new_verifier,
    origin,
)
from tests.operations.nodes import NodeUnderTest

CALLERS = ("nobody", "other", "unscoped", "scoped", "owner", "operator")


class Scene:
    """An owner with an agent under two delegations, somebody else, and what rows ask about.

    The owner is a provider, and the buyer of a job that a third person's provider was asked to do.
    """

    def __init__(self, node: NodeUnderTest) -> None:
        self.node = node
        self.owner = Browser(node).sign_up()
        self.other = Browser(node).sign_up()
        self.agent = self.owner.agent()
        self.unscoped_delegation = self.owner.grant(self.agent, "research")
        self.scoped_delegation = self.owner.grant(self.agent, "read", "buy", caps=[cap(10**9)])
        fund(node, self.owner.owner, 10**9)

    @cached_property
    def callers(self) -> dict[str, httpx.Client]:
        return {
            "nobody": client(self.node, Origin=origin(self.node)),
            "other": self.other.http,
            "unscoped": self.owner.program("research", delegation=self.unscoped_delegation),
            "scoped": self.owner.program("read", "buy", delegation=self.scoped_delegation),
            "owner": self.owner.http,
            "operator": self.node.http(),
        }

    @cached_property
    def job(self) -> Json:
        return order(self.owner, seller(self.node))

    @cached_property
    def attempt(self) -> str:
        return str(self.job["attempts"][0]["id"])

    @cached_property
    def stall(self) -> Seller:
        return Seller(self.owner).open_stall()

    @cached_property
    def desk(self) -> WritersDesk:
        return WritersDesk(self.owner)

    @cached_property
    def upload(self) -> str:
        body = {"bytes": 5, "hash": bytes_hash(b"hello")}
        return str(done(self.owner.http.post("/v1/uploads", json=body))["id"])

    @cached_property
    def liabilities(self) -> int:
        """After how many entries the node said what it owes."""
        made = self.callers["operator"].post("/v1/liabilities")
        assert made.status_code in (200, 201)
        return int(made.json()["size"])

    def own(self, path: str) -> Any:
        return done(self.owner.http.get(path))

    def passkey(self) -> str:
        return str(self.own("/v1/me/passkeys")["items"][0]["id"])

    def session(self) -> str:
        self.owner.another()
        return next(str(item["id"]) for item in self.own("/v1/me/sessions")["items"] if not item["current"])

    def delegation(self) -> str:
        """One that no caller acts by."""
        return str(self.owner.grant(self.owner.agent(), "read")["id"])

    def token(self) -> str:
        return str(self.owner.make_token("read")["token"]["id"])

    def key(self) -> str:
        return str(done(self.owner.http.post("/v1/keys", json={}))["key"]["public"])

    def confirmation(self) -> str:
        """An act that the owner is asked to confirm."""
        return str(done(self.owner.http.post("/v1/confirmations", json=_confirmation_body(self)))["login"])

    def login(self) -> str:
        return str(begin_login(self.node, new_verifier()[1])["login"])


Make = Callable[[Scene], Any]


@dataclass(frozen=True)
class Row:
    """A route, what is asked of it, and the answers in the order of the columns."""

    method: str
    route: str
    answers: tuple[int, ...]
    path: Make | None = None  # None: the route as it stands
    body: Make | None = None
    params: Json = field(default_factory=dict)
    alone: bool = False  # it changes who the callers are, so each has a scene of its own

    @property
    def name(self) -> str:
        return f"{self.method} {self.route}"


EVERYBODY = (200,) * 6
LET_IN = (422,) * 6
PEOPLE = (401, 200, 403, 403, 200, 403)


def operator(status: int) -> tuple[int, ...]:
    return (401, 403, 403, 403, 403, status)


def people(status: int) -> tuple[int, ...]:
    return (401, status, 403, 403, status, 403)


def always(value: Any) -> Make:
    return lambda _: value


_BOGUS_NEW = always({"ceremony": "x", "answer": {}, "name": "phone"})
_BOGUS_SHOWN = always({"ceremony": "x", "answer": {}})
_ACCOUNT = "person:table/available/CREDIT"
_LEGS = [{"from": _ACCOUNT, "to": "person:nobody/available/CREDIT", "amount": "1"}]
_ISSUED = {"from": "system:table/issuance/CHIP", "to": "person:nobody/available/CHIP", "amount": "1"}
_ENTRY = {"reason": "a test", "legs": _LEGS}
_NO_ID = "entry_" + "0" * 26
_NO_HOLD = "hold_" + "0" * 26
_NO_ISSUANCE = "issuance_" + "0" * 26


def _hold(_: Scene) -> Json:
    soon_us = (int(time.time()) + 3600) * MICROSECONDS
    payer = "person:nobody/available/CREDIT"
    return {"payer": payer, "amount": "1", "expires_at": format_time(soon_us), "reason": "a test"}


def _delegation_body(scene: Scene) -> Json:
    return {"agent": scene.agent["id"], "scopes": ["read"], "days": 1}


def _own_account(scene: Scene) -> Json:
    return {"account": f"{scene.owner.owner}/available/SAT"}


def _transfer(scene: Scene) -> Json:
    return {"from": scene.owner.owner, "to": scene.owner.agent()["owner"], "asset": "SAT", "amount": "1"}


def _after_an_entry(scene: Scene) -> str:
    fund(scene.node, scene.owner.owner, 1)
    return "/v1/liabilities"


def _after_publishing(scene: Scene) -> str:
    assert scene.liabilities
    return "/v1/liabilities/latest"


def _login_body(_: Scene) -> Json:
    return {"challenge": new_verifier()[1], "name": "a terminal", "scopes": ["read"], "days": 1}


def _confirmation_body(_: Scene) -> Json:
    return {"challenge": new_verifier()[1], "name": "a terminal", "agent": {"name": "helper"}}


NODE = [
    Row("GET", "/healthz", EVERYBODY),
    Row("GET", "/readyz", EVERYBODY),
    Row("GET", "/metrics", EVERYBODY),
    Row("GET", "/v1/openapi.json", EVERYBODY),
    Row("GET", "/v1/node", EVERYBODY),
    Row("GET", "/v1/policy", EVERYBODY),
    Row("GET", "/v1/events", (401, 200, 403, 200, 200, 200), params={"follow": "false"}),
    Row("POST", "/v1/operator/codes", operator(201)),
    Row("POST", "/v1/operator/enter", (401,) * 6, body=always({"code": "none"})),
    Row("POST", "/v1/operator/leave", operator(204)),
    Row("GET", "/v1/operator/work", operator(200)),
    Row("GET", "/v1/explain/{subject}", operator(404), path=always(f"/v1/explain/{_NO_ID}")),
]

LEDGER = [
    Row("POST", "/v1/accounts", operator(201), body=always({"name": _ACCOUNT})),
    Row("GET", "/v1/accounts", operator(200)),
    Row(
        "POST",
        "/v1/accounts/{act}",
        operator(404),
        path=always("/v1/accounts/freeze"),
        body=always({"name": "person:nobody/stake/SAT", "reason": "a test"}),
    ),
    Row("POST", "/v1/entries", operator(404), body=always(_ENTRY)),
    Row("POST", "/v1/entries/batch", operator(200), body=always({"entries": [_ENTRY | {"key": "k"}]})),
    Row("GET", "/v1/entries", operator(200)),
    Row("GET", "/v1/entries/{entry}", operator(404), path=always(f"/v1/entries/{_NO_ID}")),
    Row("GET", "/v1/entries/{entry}/proof", operator(404), path=always(f"/v1/entries/{_NO_ID}/proof")),
    Row("GET", "/v1/entries/{entry}/inclusion", (404,) * 6, path=always(f"/v1/entries/{_NO_ID}/inclusion")),
    Row("POST", "/v1/holds", operator(404), body=_hold),
    Row("GET", "/v1/holds/{hold}", operator(404), path=always(f"/v1/holds/{_NO_HOLD}")),
    Row(
        "POST",
        "/v1/holds/{hold}/capture",
        operator(404),
        path=always(f"/v1/holds/{_NO_HOLD}/capture"),
        body=always({"legs": [{"to": _ACCOUNT, "amount": "1"}], "reason": "a test"}),
    ),
    Row(
        "POST",
        "/v1/holds/{hold}/release",
        operator(404),
        path=always(f"/v1/holds/{_NO_HOLD}/release"),
        body=always({"reason": "a test"}),
    ),
    Row("POST", "/v1/issuances", operator(409), body=always({"reason": "a test", "legs": [_ISSUED]})),
    Row("GET", "/v1/issuances", operator(200)),
    Row("GET", "/v1/issuances/{issuance}", operator(404), path=always(f"/v1/issuances/{_NO_ISSUANCE}")),
    Row(
        "POST", "/v1/issuances/{issuance}/approve", operator(404), path=always(f"/v1/issuances/{_NO_ISSUANCE}/approve")
    ),
    Row(
        "POST",
        "/v1/issuances/{issuance}/withdraw",
        operator(404),
        path=always(f"/v1/issuances/{_NO_ISSUANCE}/withdraw"),
    ),
    Row("GET", "/v1/trial-balance", operator(200)),
    Row("POST", "/v1/checkpoints", operator(201)),
    Row("GET", "/v1/checkpoints/latest", EVERYBODY),
    Row("GET", "/v1/checkpoints/{size}", (404,) * 6, path=always("/v1/checkpoints/999999999")),
    Row("GET", "/v1/consistency", operator(404), params={"size1": "999999999"}),
    Row("POST", "/v1/liabilities", operator(201), path=_after_an_entry),
    Row("GET", "/v1/liabilities/latest", EVERYBODY, path=_after_publishing),
    Row("GET", "/v1/liabilities/{size}", EVERYBODY, path=lambda s: f"/v1/liabilities/{s.liabilities}"),
    Row("POST", "/v1/fund", operator(201), body=always({"account": _ACCOUNT.replace("table", "t2"), "amount": "1"})),
]

PEOPLE_ROWS = [
    Row("POST", "/v1/sign-up/begin", EVERYBODY, body=lambda _: {"handle": new_handle()}),
    Row("POST", "/v1/sign-up/finish", LET_IN, body=_BOGUS_NEW),
    Row("POST", "/v1/sign-in/begin", EVERYBODY),
    Row("POST", "/v1/sign-in/finish", LET_IN, body=_BOGUS_SHOWN),
    Row("POST", "/v1/recovery/begin", (401,) * 6, body=lambda s: {"handle": s.owner.handle, "code": "wrong"}),
    Row("POST", "/v1/recovery/finish", LET_IN, body=_BOGUS_NEW),
    Row("POST", "/v1/sign-out", people(204), alone=True),
    Row("POST", "/v1/me/confirm/begin", PEOPLE),
    Row("POST", "/v1/me/confirm/finish", people(422), body=_BOGUS_SHOWN),
    Row("GET", "/v1/me/sessions", PEOPLE),
    Row("DELETE", "/v1/me/sessions", PEOPLE),
    Row(
        "DELETE",
        "/v1/me/sessions/{session}",
        (401, 404, 403, 403, 204, 403),
        path=lambda s: f"/v1/me/sessions/{s.session()}",
    ),
    Row("GET", "/v1/people/{handle}", EVERYBODY, path=lambda s: f"/v1/people/{s.owner.handle}"),
    Row("DELETE", "/v1/people/{handle}", operator(204), path=lambda s: f"/v1/people/{s.owner.handle}", alone=True),
    Row("PUT", "/v1/people/{handle}/vouch", people(409), path=lambda s: f"/v1/people/{s.owner.handle}/vouch"),
    Row("DELETE", "/v1/people/{handle}/vouch", people(204), path=lambda s: f"/v1/people/{s.owner.handle}/vouch"),
    Row("GET", "/v1/me", (401, 200, 200, 200, 200, 200)),
    Row("DELETE", "/v1/me", people(204), alone=True),
    Row("GET", "/v1/me/recovery-codes", PEOPLE),
    Row("POST", "/v1/me/recovery-codes", people(201)),
    Row("PUT", "/v1/me/home", (401, 204, 204, 204, 204, 422), body=always({"home": "5f" * 32})),
    Row("GET", "/v1/me/audit", PEOPLE),
    Row("GET", "/v1/clusters", operator(200), params={"owner": "person:01j9zq4n8ve5trx0k2m3b4c5d6"}),
    Row("GET", "/v1/me/passkeys", PEOPLE),
    Row("POST", "/v1/me/passkeys/begin", PEOPLE),
    Row("POST", "/v1/me/passkeys/finish", people(422), body=_BOGUS_NEW),
    Row(
        "PATCH",
        "/v1/me/passkeys/{passkey}",
        (401, 404, 403, 403, 204, 403),
        path=lambda s: f"/v1/me/passkeys/{s.passkey()}",
        body=always({"name": "old phone"}),
    ),
    Row(
        "DELETE",
        "/v1/me/passkeys/{passkey}",
        (401, 404, 403, 403, 409, 403),
        path=lambda s: f"/v1/me/passkeys/{s.passkey()}",
    ),
]

AGENTS = [
    Row("GET", "/v1/agents", (401, 200, 403, 200, 200, 403)),
    Row("POST", "/v1/agents", people(201), body=always({"name": "helper"})),
    Row("POST", "/v1/agents/stand", (401, 403, 403, 403, 403, 403), body=always({})),
    Row("GET", "/v1/agents/{agent}", (401, 404, 403, 200, 200, 403), path=lambda s: f"/v1/agents/{s.agent['id']}"),
    Row(
        "PATCH",
        "/v1/agents/{agent}",
        (401, 404, 404, 404, 200, 404),
        path=lambda s: f"/v1/agents/{s.agent['id']}",
        body=always({"name": "another name"}),
    ),
    Row(
        "DELETE",
        "/v1/agents/{agent}",
        (401, 404, 404, 404, 204, 404),
        path=lambda s: f"/v1/agents/{s.owner.agent()['id']}",
    ),
    Row("GET", "/v1/delegations", (401, 200, 403, 200, 200, 403)),
    Row("POST", "/v1/delegations", people(201), body=_delegation_body),
    Row(
        "GET",
        "/v1/delegations/{delegation}",
        (401, 404, 403, 200, 200, 403),
        path=lambda s: f"/v1/delegations/{s.scoped_delegation['id']}",
    ),
    Row(
        "POST",
        "/v1/delegations/{delegation}/narrow",
        (401, 404, 404, 201, 201, 404),
        path=lambda s: f"/v1/delegations/{s.scoped_delegation['id']}/narrow",
        body=_delegation_body,
    ),
    Row(
        "DELETE",
        "/v1/delegations/{delegation}",
        (401, 404, 404, 404, 204, 404),
        path=lambda s: f"/v1/delegations/{s.delegation()}",
    ),
    Row("GET", "/v1/tokens", PEOPLE),
    Row("POST", "/v1/tokens", people(201), body=always({"name": "laptop", "scopes": ["read"], "days": 1})),
    Row("DELETE", "/v1/tokens/{token}", (401, 404, 404, 404, 204, 404), path=lambda s: f"/v1/tokens/{s.token()}"),
    Row("GET", "/v1/keys", PEOPLE),
    Row("POST", "/v1/keys", people(201), body=always({})),
    Row("POST", "/v1/keys/restore", people(201), body=lambda _: {"phrase": new_phrase(SystemEntropy()).reveal()}),
    Row("POST", "/v1/keys/bring", people(201), body=lambda _: {"secret": new_nostr_key().reveal().hex()}),
    Row("DELETE", "/v1/keys/{public}", (401, 404, 403, 403, 204, 403), path=lambda s: f"/v1/keys/{s.key()}"),
    Row("POST", "/v1/logins", (201,) * 6, body=_login_body),
    Row(
        "POST",
        "/v1/logins/{login}/token",
        (401,) * 6,
        path=lambda s: f"/v1/logins/{s.login()}/token",
        body=lambda _: {"verifier": new_verifier()[0]},
    ),
    Row("POST", "/v1/confirmations", people(201), body=_confirmation_body),
    Row(
        "POST",
        "/v1/confirmations/{login}/result",
        (401,) * 6,
        path=lambda s: f"/v1/confirmations/{s.confirmation()}/result",
        body=lambda _: {"verifier": new_verifier()[0]},
    ),
    Row("GET", "/v1/logins/{login}", PEOPLE, path=lambda s: f"/v1/logins/{s.login()}"),
    Row("POST", "/v1/logins/{login}/approve", PEOPLE, path=lambda s: f"/v1/logins/{s.login()}/approve"),
    Row("POST", "/v1/logins/{login}/deny", PEOPLE, path=lambda s: f"/v1/logins/{s.login()}/deny"),
]

MONEY = [
    Row("GET", "/v1/me/accounts", (401, 200, 403, 200, 200, 200)),
    Row(
        "GET",
        "/v1/me/liabilities",
        (401, 200, 403, 200, 200, 403),
        path=lambda s: f"/v1/me/liabilities?size={s.liabilities}",
    ),
    Row("GET", "/v1/balance", (401, 404, 403, 200, 200, 200), params={"account": "own"}),
    Row("GET", "/v1/statement", (401, 404, 403, 200, 200, 200), params={"account": "own"}),
    Row("POST", "/v1/transfers", (401, 403, 403, 201, 201, 403), body=_transfer),
]

# Pages are for people with a browser: other credentials count for nothing there.
_NEWCOMERS = (200, 303, 200, 200, 303, 200)
_OWN_ARTICLE = (401, 403, 401, 401, 200, 401)
_VISITORS = (401, 200, 401, 401, 200, 401)
PAGES = [
    Row("GET", "/relay", EVERYBODY),
    Row("GET", "/", EVERYBODY),
    Row("GET", "/sign-up", _NEWCOMERS),
    Row("GET", "/sign-in", _NEWCOMERS),
    Row("GET", "/recover", EVERYBODY),
    Row("GET", "/account", _VISITORS),
    Row("GET", "/account/statement", _VISITORS),
    Row("GET", "/account/statement.{format_}", _VISITORS, path=always("/account/statement.csv")),
    Row("GET", "/account/holds", _VISITORS),
    Row("GET", "/account/spending", _VISITORS),
    Row("GET", "/account/send", _VISITORS),
    Row("GET", "/ledger", EVERYBODY),
    Row("GET", "/ledger/entries", (303,) * 6),
    Row("GET", "/ledger/entries/{entry}", EVERYBODY, path=always("/ledger/entries/1")),
    Row("GET", "/treasury", EVERYBODY),
    Row("GET", "/agents", _VISITORS),
    Row("GET", "/agents/{id_}", (401, 404, 401, 401, 200, 401), path=lambda s: f"/agents/{s.agent['id']}"),
    Row("GET", "/tokens", _VISITORS),
    Row("GET", "/hall", EVERYBODY),
    Row("GET", "/hall/figures", EVERYBODY),
    Row("GET", "/hall/public", EVERYBODY),
    Row("GET", "/hall/bought", _VISITORS),
    Row("GET", "/hall/sold", _VISITORS),
    Row("GET", "/hall/order", _VISITORS),
    Row("GET", "/jobs/{job}", (404, 404, 404, 404, 200, 404), path=lambda s: f"/jobs/{s.job['id']}"),
    Row("GET", "/indexes/{job}", (401, 404, 401, 401, 404, 401), path=lambda s: f"/indexes/{s.job['id']}"),
    Row("GET", "/providers", EVERYBODY),
    Row("GET", "/providers/{id_}", EVERYBODY, path=lambda s: f"/providers/{s.stall.id}"),
    Row("GET", "/skills", EVERYBODY),
    Row("GET", "/skills/{skill}", (404,) * 6, path=lambda _: "/skills/none@1"),
    Row("GET", "/selling", _VISITORS),
    Row("GET", "/login/{id_}", _VISITORS, path=lambda s: f"/login/{s.login()}"),
    Row("GET", "/articles", EVERYBODY),
    Row("GET", "/articles/{article}", EVERYBODY, path=lambda s: f"/articles/{s.desk.published}"),
    Row("GET", "/articles/{article}/history", EVERYBODY, path=lambda s: f"/articles/{s.desk.published}/history"),
    Row("GET", "/search", EVERYBODY, params={"q": "bridges"}),
    Row("GET", "/sources/{source}", (404, 404, 404, 404, 200, 404), path=lambda s: f"/sources/{s.desk.source}"),
    Row("GET", "/desk", _VISITORS),
    Row("GET", "/desk/new", _VISITORS),
    Row("GET", "/desk/sources", _VISITORS),
    Row("GET", "/desk/{article}", _OWN_ARTICLE, path=lambda s: f"/desk/{s.desk.published}"),
    Row("GET", "/desk/{article}/check", _OWN_ARTICLE, path=lambda s: f"/desk/{s.desk.published}/check"),
    Row("GET", "/desk/{article}/drafts", _OWN_ARTICLE, path=lambda s: f"/desk/{s.desk.published}/drafts"),
    Row("GET", "/docs", EVERYBODY),
    Row("GET", "/docs/search", EVERYBODY, params={"q": "hold"}),
    Row("GET", "/docs/{name:path}", EVERYBODY, path=lambda _: "/docs/reference/settings"),
    Row("GET", "/live", LET_IN),  # it wants topics; tests/doors/test_web_data.py has the rest
    Row("GET", "/confirm/{id_}", (401, 404, 401, 401, 200, 401), path=lambda s: f"/confirm/{s.confirmation()}"),
    Row("GET", "/operator/enter", EVERYBODY),
    Row("GET", "/operator", (401,) * 6),
    Row("GET", "/operator/work", (401,) * 6),
    Row("GET", "/operator/jobs", (401,) * 6),
    Row("GET", "/operator/jobs/{job}", (401,) * 6, path=always("/operator/jobs/job_x")),
    Row("GET", "/operator/rulings", (401,) * 6),
    Row("GET", "/operator/money", (401,) * 6),
    Row("GET", "/operator/people", (401,) * 6),
    Row("GET", "/operator/takedowns", (401,) * 6),
    Row("GET", "/operator/environments", (401,) * 6),
    Row("GET", "/static/{hash_}/{name}", EVERYBODY, path=lambda _: address("main.js")),
]

ROWS = [*NODE, *LEDGER, *PEOPLE_ROWS, *AGENTS, *MONEY, *PAGES]  # those of the bazaar and the commons are beside this


def ask(row: Row, scene: Scene, caller: str, **further: str) -> httpx.Response:
    """Send a row's request as one of the callers, with further parameters."""
    path = row.route if row.path is None else row.path(scene)
    params = _own_account(scene) if row.params.get("account") == "own" else row.params
    body = None if row.body is None else row.body(scene)
    return scene.callers[caller].request(row.method, path, params=params | further, json=body, headers=key())
