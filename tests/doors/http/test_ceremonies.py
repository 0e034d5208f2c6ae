"""Passkeys, sessions and cookies over HTTP: what is replayed, stolen or sent from elsewhere is refused."""

from __future__ import annotations

import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from http.cookies import SimpleCookie
from typing import Any

import httpx
import psycopg
import pytest

from tests.doors.http.visitors import (
    Browser,
    Json,
    balance,
    client,
    done,
    new_handle,
    origin,
    program,
    refused,
    serve,
)
from tests.identity.authenticator import Authenticator
from tests.operations.nodes import NodeUnderTest, new_node

BAD = "identity.bad_credential"


def make_stale(browser: Browser) -> None:
    """Let the passkey have been shown long ago."""
    with psycopg.connect(browser.node.dsn()) as owner:
        owner.execute(
            "update sessions s set asserted_us = 0 from people p where p.id = s.person and p.handle = %s",
            (browser.handle,),
        )


# A whole life


def test_a_person_signs_up_in_and_out_and_starts_with_the_gift(served: NodeUnderTest) -> None:
    ada = Browser(served)
    handle = new_handle()
    answer = ada.http.post("/v1/sign-up/finish", json=ada.made(ada.begin("sign-up", handle=handle)))
    shown = done(answer, 201)
    owner = shown["person"]["owner"]
    assert shown["person"] == {"handle": handle, "owner": owner, "since": shown["person"]["since"], "vouches": 0}
    assert len(set(shown["recovery_codes"])) == 10
    assert [(gift["asset"], gift["amount"]) for gift in shown["gifts"]] == [("CREDIT", "50000"), ("CHIP", "50000000")]
    for gift in shown["gifts"]:
        assert balance(served, gift["account"]) == int(gift["amount"])
    me = done(ada.http.get("/v1/me"))
    assert (me["role"], me["handle"], me["owner"], me["credential"]) == ("person", handle, owner, "session")
    done(ada.http.post("/v1/sign-out"), 204)
    refused(ada.http.get("/v1/me"), 401, "unauthenticated")
    assert done(ada.sign_in().http.get("/v1/me"))["owner"] == owner
    acts = [act["act"] for act in done(ada.http.get("/v1/me/audit"))["items"]]
    assert acts[:3] == ["session.started", "session.ended", "recovery.codes_made"]


def test_a_handle_is_had_once(ada: Browser, served: NodeUnderTest) -> None:
    refused(Browser(served).http.post("/v1/sign-up/begin", json={"handle": ada.handle}), 409, "identity.handle_taken")


def test_sign_ups_from_one_place_are_limited_and_it_says_when_to_come_back() -> None:
    with new_node() as node:
        serve(node, CHOIR_POLICY__PEOPLE__SIGN_UPS_PER_PLACE="1", CHOIR_POLICY__PEOPLE__CEREMONIES_PER_PLACE="3")
        Browser(node).sign_up()
        late = Browser(node)
        begun = late.begin("sign-up", handle=new_handle())
        answer = late.http.post("/v1/sign-up/finish", json=late.made(begun))
        shown = refused(answer, 429, "identity.too_many_tries")
        assert int(answer.headers["retry-after"]) == shown["fields"]["retry_s"] > 0
        late.begin("sign-in")
        refused(late.http.post("/v1/sign-in/begin"), 429, "identity.too_many_tries")


# The gift is given once


def test_a_gift_cannot_be_had_twice_by_racing_one_answer(served: NodeUnderTest) -> None:
    ada = Browser(served)
    body = ada.made(ada.begin("sign-up", handle=new_handle()))

    def finish(_: int) -> httpx.Response:
        with client(served, Origin=origin(served)) as http:
            return http.post("/v1/sign-up/finish", json=body)

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(finish, range(16)))
    assert sorted(answer.status_code for answer in answers) == [201] + [401] * 15
    gifts = next(answer.json()["gifts"] for answer in answers if answer.status_code == 201)
    assert [balance(served, gift["account"]) for gift in gifts] == [50_000, 50_000_000]
    refused(ada.http.post("/v1/sign-up/finish", json=body), 401, BAD)
    assert [balance(served, gift["account"]) for gift in gifts] == [50_000, 50_000_000]


def test_of_many_who_race_for_a_handle_one_gets_it_with_one_gift(served: NodeUnderTest) -> None:
    handle = new_handle()
    browsers = [Browser(served) for _ in range(8)]
    bodies = [browser.made(browser.begin("sign-up", handle=handle)) for browser in browsers]

    def finish(n: int) -> int:
        return browsers[n].http.post("/v1/sign-up/finish", json=bodies[n]).status_code

    issued = balance(served, "system:gifts/issuance/CREDIT")
    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(finish, range(8))) == [201] + [409] * 7
    assert balance(served, "system:gifts/issuance/CREDIT") == issued - 50_000


# Answers that must not count


def test_an_answer_counts_once_and_only_for_what_it_was_made_for(ada: Browser, bob: Browser) -> None:
    begun = ada.begin("sign-in")
    body = ada.shown(begun)
    done(ada.http.post("/v1/sign-in/finish", json=body))
    refused(ada.http.post("/v1/sign-in/finish", json=body), 401, BAD)  # replayed
    other = ada.begin("sign-in")
    refused(ada.http.post("/v1/sign-in/finish", json=body | {"ceremony": other["ceremony"]}), 401, BAD)
    confirming = ada.begin("me/confirm")
    refused(ada.http.post("/v1/sign-in/finish", json=ada.shown(confirming)), 401, BAD)  # for another purpose
    stolen = ada.shown(ada.begin("me/confirm"))
    refused(bob.http.post("/v1/me/confirm/finish", json=stolen), 401, BAD)  # by somebody else's session


@pytest.mark.parametrize(
    "spoiled",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://localhost"},
        {"rp_id": "evil.example"},
        {"flags": 0x01},
        {"challenge": b"\x00" * 32},
        {"type_": "webauthn.create"},
        {"client_data": {"crossOrigin": True}},
    ],
    ids=lambda spoiled: next(iter(spoiled)) + str(next(iter(spoiled.values())))[:12],
)
def test_an_answer_from_elsewhere_is_refused_and_uses_its_challenge_up(ada: Browser, spoiled: dict[str, Any]) -> None:
    begun = ada.begin("sign-in")
    shown = refused(ada.http.post("/v1/sign-in/finish", json=ada.shown(begun, **spoiled)), 401, BAD)
    assert shown["detail"] == "The credential is not valid: the passkey could not be verified."
    refused(ada.http.post("/v1/sign-in/finish", json=ada.shown(begun)), 401, BAD)


def test_what_is_no_answer_at_all_is_refused_like_any_other(ada: Browser) -> None:
    garbage: list[Json] = [{}, {"id": 1}, {"id": "x", "rawId": "x", "response": []}, {"response": {"a": "b" * 30_000}}]
    for answer in garbage:
        body = {"ceremony": ada.begin("sign-in")["ceremony"], "answer": answer}
        refused(ada.http.post("/v1/sign-in/finish", json=body), 401, BAD)


# Sessions


def test_the_cookie_is_for_this_host_and_no_script(served: NodeUnderTest) -> None:
    ada = Browser(served)
    answer = ada.http.post("/v1/sign-up/finish", json=ada.made(ada.begin("sign-up", handle=new_handle())))
    [cookie] = SimpleCookie(answer.headers["set-cookie"]).values()
    assert cookie.key == "choir_session"  # plain HTTP on one's own machine
    assert (cookie["path"], cookie["samesite"], cookie["domain"]) == ("/", "strict", "")
    assert cookie["httponly"]
    assert not cookie["secure"]
    assert answer.headers["cache-control"] == "no-store"
    assert ada.token not in answer.text
    gone = SimpleCookie(ada.http.post("/v1/sign-out").headers["set-cookie"])["choir_session"]
    assert (gone.value, gone["max-age"]) == ("", "0")


def test_over_tls_the_cookie_is_bound_to_the_host() -> None:
    with new_node() as node:
        serve(node)
        node.stop()
        node.extra["CHOIR_PUBLIC_URL"] = "https://localhost"  # behind a proxy
        node.up()
        ada = Browser(node)
        ada.http.headers["Origin"] = "https://localhost"
        begun = ada.begin("sign-up", handle=new_handle())
        answer = ada.http.post("/v1/sign-up/finish", json=ada.made(begun, origin="https://localhost"))
        for each in (answer, ada.http.get("/"), ada.http.get("/nowhere")):
            assert each.headers["strict-transport-security"] == "max-age=31536000"
        [cookie] = SimpleCookie(answer.headers["set-cookie"]).values()
        assert cookie.key == "__Host-choir_session"
        assert cookie["secure"]
        assert (cookie["path"], cookie["domain"]) == ("/", "")
        plain = {"Cookie": f"choir_session={cookie.value}"}  # another site on a sibling port cannot plant it
        assert httpx.get(f"{node.url}/v1/me", headers=plain, trust_env=False).status_code == 401


def test_a_page_of_another_site_cannot_use_the_session(ada: Browser) -> None:
    evil: list[dict[str, str]] = [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{ada.node.port}"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {},
    ]
    cookie = {"Cookie": f"choir_session={ada.token}"}
    for headers in evil:
        with client(ada.node, **cookie, **headers) as http:
            refused(http.post("/v1/agents", json={"name": "theirs"}), 403, "identity.cross_site")
            refused(http.delete("/v1/me"), 403, "identity.cross_site")
            refused(http.post("/v1/sign-out"), 403, "identity.cross_site")
            assert http.get("/v1/me").status_code == 200  # reading changes nothing, and they cannot see it
    with client(ada.node, **cookie, **{"Sec-Fetch-Site": "same-origin"}) as http:
        done(http.post("/v1/agents", json={"name": "mine"}), 201)


def test_nobody_can_be_signed_in_as_somebody_else_from_another_site(ada: Browser) -> None:
    """Else a page could make its visitor act, unknowingly, in an account of the page's author."""
    body = ada.shown(ada.begin("sign-in"))
    with client(ada.node, Origin="https://evil.example") as victim:
        refused(victim.post("/v1/sign-in/finish", json=body), 403, "identity.cross_site")
        assert "set-cookie" not in victim.post("/v1/sign-in/finish", json=body).headers


def test_what_a_form_of_another_site_can_send_is_not_read(ada: Browser) -> None:
    answer = ada.http.post("/v1/agents", content=b'{"name":"x"}', headers={"Content-Type": "text/plain"})
    assert answer.status_code == 422


def test_a_session_does_not_survive_its_passkey(ada: Browser) -> None:
    second = Authenticator()
    ada.add_passkey(second)
    elsewhere = Browser(ada.node, second).sign_in()
    first, added = [item["id"] for item in done(ada.http.get("/v1/me/passkeys"))["items"]]
    done(ada.http.delete(f"/v1/me/passkeys/{added}"), 204)
    refused(elsewhere.http.get("/v1/me"), 401, BAD)
    refused(
        elsewhere.http.post("/v1/sign-in/finish", json=elsewhere.shown(elsewhere.begin("sign-in"))), 401, BAD
    )  # the ended session's cookie is no obstacle, the removed passkey is
    refused(ada.http.delete(f"/v1/me/passkeys/{first}"), 409, "identity.last_passkey")
    assert done(ada.http.get("/v1/me"))["handle"] == ada.handle


@pytest.mark.parametrize("end", ["signed out", "passkey removed", "token revoked"])
def test_a_credential_that_ends_while_the_body_arrives_does_nothing(ada: Browser, end: str) -> None:
    other = ada.another()
    made = ada.make_token("buy", "read")
    by_token = end == "token revoked"
    path, body = "/v1/tokens", b'{"name": "late", "scopes": ["read"], "days": 1}'
    who = f"Cookie: choir_session={other.token}\r\nOrigin: {origin(ada.node)}"
    if by_token:
        path, body = "/v1/transfers", json.dumps({"to": ada.owner, "asset": "SAT", "amount": "1"}).encode()
        who = f"Authorization: Bearer {made['secret']}\r\nIdempotency-Key: late"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n{who}\r\n"
    with socket.create_connection(("127.0.0.1", ada.node.port), timeout=20) as late:
        late.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:5])
        time.sleep(0.5)  # so that it was let in
        if by_token:
            done(ada.http.delete(f"/v1/tokens/{made['token']['id']}"), 204)
        elif end == "signed out":
            done(other.http.post("/v1/sign-out"), 204)
        else:
            ada.add_passkey(Authenticator())
            [first, _] = done(ada.http.get("/v1/me/passkeys"))["items"]
            done(ada.http.delete(f"/v1/me/passkeys/{first['id']}"), 204)
        time.sleep(1.5)
        late.sendall(body[5:])
        assert late.makefile("rb").readline().split()[1] == b"401"


@pytest.mark.parametrize("name", [b"\xa0choir_session", b"\x85choir_session", b"choir_session\xa0", b"Choir_session"])
def test_a_cookie_of_nearly_the_same_name_is_no_session(ada: Browser, bob: Browser, name: bytes) -> None:
    own, planted = f"choir_session={ada.token}".encode(), name + b"=" + bob.token.encode()
    with client(ada.node) as http:
        refused(http.get("/v1/me", headers={b"Cookie": planted}), 401, "unauthenticated")
        for cookies in (own + b"; " + planted, planted + b"; " + own):
            assert done(http.get("/v1/me", headers={b"Cookie": cookies}))["owner"] == ada.owner


def test_two_sessions_at_once_are_none(ada: Browser, bob: Browser) -> None:
    with client(ada.node) as http:
        cookies = f"choir_session={ada.token}; choir_session={bob.token}"
        refused(http.get("/v1/me", headers={"Cookie": cookies}), 401, "unauthenticated")
        twice = f"choir_session={ada.token}; other=1; choir_session={ada.token}"
        assert done(http.get("/v1/me", headers={"Cookie": twice}))["owner"] == ada.owner


def test_an_ended_session_does_not_keep_anybody_from_signing_in_again(ada: Browser) -> None:
    stale = ada.token
    done(ada.http.post("/v1/sign-out"), 204)
    ada.http.cookies.set("choir_session", stale)
    refused(ada.http.get("/v1/me"), 401, BAD)
    assert done(Browser(ada.node, ada.authenticator).sign_in().http.get("/v1/me"))["handle"] == ada.handle
    ada.http.cookies.set("choir_session", stale)
    ada.begin("sign-in")


def test_sessions_are_listed_and_ended(ada: Browser) -> None:
    other, third = ada.another(), ada.another()
    items = done(ada.http.get("/v1/me/sessions"))["items"]
    assert [item["current"] for item in items].count(True) == 1
    assert len(items) == 3
    newest = next(item["id"] for item in done(third.http.get("/v1/me/sessions"))["items"] if item["current"])
    done(ada.http.delete(f"/v1/me/sessions/{newest}"), 204)
    refused(third.http.get("/v1/me"), 401, BAD)
    assert done(ada.http.delete("/v1/me/sessions")) == {"ended": 1}
    refused(other.http.get("/v1/me"), 401, BAD)
    assert ada.http.get("/v1/me").status_code == 200


def test_dangerous_acts_take_a_passkey_shown_lately(ada: Browser) -> None:
    make_stale(ada)
    needed = "identity.fresh_assertion_needed"
    agent = ada.agent()
    refused(ada.http.post("/v1/me/passkeys/begin"), 403, needed)
    refused(ada.http.post("/v1/me/recovery-codes"), 403, needed)
    refused(ada.http.post("/v1/tokens", json={"name": "x", "scopes": ["read"], "days": 1}), 403, needed)
    refused(ada.http.post("/v1/delegations", json={"agent": agent["id"], "scopes": ["read"], "days": 1}), 403, needed)
    refused(ada.http.post("/v1/keys", json={}), 403, needed)
    refused(ada.http.delete("/v1/me"), 403, needed)
    done(ada.http.post("/v1/me/confirm/finish", json=ada.shown(ada.begin("me/confirm"))))
    ada.make_token("read")


def test_a_code_recovers_once_and_says_what_it_ended(ada: Browser) -> None:
    lost = Browser(ada.node)
    with ada.program("read") as laptop:
        begun = lost.begin("recovery", handle=ada.handle, code=ada.codes[1])
        kept = done(lost.http.post("/v1/recovery/finish", json=lost.made(begun) | {"keep": True}), 201)
        assert kept["ended"] == {"passkeys": 0, "sessions": 1, "tokens": 0, "delegations": 0}
        done(laptop.get("/v1/me"))
        lost.authenticator = Authenticator()
        begun = lost.begin("recovery", handle=ada.handle, code=ada.codes[0])
        told = done(lost.http.post("/v1/recovery/finish", json=lost.made(begun)), 201)
        assert told["ended"] == {"passkeys": 2, "sessions": 0, "tokens": 1, "delegations": 0}
        refused(laptop.get("/v1/me"), 401, BAD)
    refused(ada.http.get("/v1/me"), 401, BAD)
    assert done(lost.sign_in().http.get("/v1/me"))["handle"] == ada.handle
    assert [item["id"] for item in done(lost.http.get("/v1/me/passkeys"))["items"]] == [told["passkey"]["id"]]
    assert done(lost.http.get("/v1/me/recovery-codes")) == {"unused": 8}
    refused(lost.http.post("/v1/recovery/begin", json={"handle": ada.handle, "code": ada.codes[0]}), 401, BAD)


def test_an_erased_person_is_gone_with_all_their_credentials(ada: Browser) -> None:
    token = ada.make_token("read")["secret"]
    done(ada.http.delete("/v1/me"), 204)
    with client(ada.node) as http:
        refused(http.get(f"/v1/people/{ada.handle}"), 404, "identity.person_unknown")
        refused(http.post("/v1/sign-up/begin", json={"handle": ada.handle}), 409, "identity.handle_taken")
    with program(ada.node, token) as http:
        refused(http.get("/v1/me"), 401, BAD)
    body = ada.shown(ada.begin("sign-in"))
    refused(ada.http.post("/v1/sign-in/finish", json=body), 401, BAD)
