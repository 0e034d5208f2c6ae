"""Programs over HTTP: tokens, logins by the browser, delegations, idempotency keys, requests signed by a Nostr key."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg

from choir.identity.keys.nostr_keys import npub, public_of
from tests.doors.http.visitors import (
    Browser,
    Json,
    balance,
    begin_login,
    cap,
    client,
    done,
    event_header,
    fund,
    key,
    new_nostr_key,
    new_verifier,
    origin,
    program,
    refused,
    serve,
    signed,
)
from tests.operations.nodes import NodeUnderTest, new_node, until

BAD = "identity.bad_credential"


# Credentials


def test_a_bad_credential_is_refused_also_where_none_was_needed(ada: Browser) -> None:
    secret = ada.make_token("read")["secret"]
    bad = {
        f"Bearer {secret[:-1]}": BAD,
        f"Bearer choir_pat_{'0' * 49}": BAD,
        "Bearer x": "unauthenticated",
        "Basic eDp5": "unauthenticated",
        "Nostr e30=": BAD,
    }
    for header, code in bad.items():
        with client(ada.node, Authorization=header) as http:
            for path in ("/v1/me", f"/v1/people/{ada.handle}"):
                answer = http.get(path)
                refused(answer, 401, code)
                assert answer.headers["www-authenticate"] == "Bearer"


def test_a_header_wins_over_a_cookie(ada: Browser) -> None:
    headers = {"Authorization": f"Bearer {ada.make_token('read')['secret']}"}
    assert done(ada.http.get("/v1/me", headers=headers))["credential"] == "token"
    refused(ada.http.get("/v1/me", headers={"Authorization": "Bearer x"}), 401, "unauthenticated")


def test_a_token_reaches_no_further_than_its_scopes_and_does_nothing_dangerous(ada: Browser) -> None:
    with ada.program("read") as http:
        assert done(http.get("/v1/me"))["scopes"] == ["read"]
        done(http.get("/v1/agents"))
        body = {"to": "nobody", "asset": "SAT", "amount": "1"}
        refused(http.post("/v1/transfers", json=body, headers=key()), 403, "identity.scope_missing")
        refused(http.post("/v1/agents", json={"name": "x"}), 403, "identity.person_needed")
        refused(http.delete("/v1/me"), 403, "identity.person_needed")
        refused(http.get("/v1/trial-balance"), 403, "identity.operator_needed")


def test_a_token_can_end_itself_and_then_ends_at_once(ada: Browser) -> None:
    made = ada.make_token("read")
    with program(ada.node, made["secret"]) as http:
        done(http.delete(f"/v1/tokens/{made['token']['id']}"), 204)
        refused(http.get("/v1/me"), 401, BAD)
    [listed] = done(ada.http.get("/v1/tokens"))["items"]
    assert listed["revoked_at"]
    assert listed["last_used_at"]
    assert made["secret"] not in str(listed)


# Idempotency keys


def test_a_key_makes_one_thing_however_often_it_is_sent(ada: Browser) -> None:
    agent = ada.agent()
    requests: list[tuple[str, Json]] = [
        ("/v1/agents", {"name": "twice"}),
        ("/v1/delegations", {"agent": agent["id"], "scopes": ["read"], "days": 3}),
        ("/v1/tokens", {"name": "twice", "scopes": ["read"], "days": 3}),
        ("/v1/keys", {}),
    ]
    for path, body in requests:
        once = key()

        def send(_: int, path: str = path, body: Json = body, once: dict[str, str] = once) -> httpx.Response:
            headers = {"Cookie": f"choir_session={ada.token}", "Origin": origin(ada.node), **once}
            with client(ada.node, **headers) as http:
                return http.post(path, json=body)

        before = len(done(ada.http.get(path))["items"])
        with ThreadPoolExecutor(6) as pool:
            answers = list(pool.map(send, range(6)))
        assert sorted(answer.status_code for answer in answers) == [200] * 5 + [201], path
        assert len(done(ada.http.get(path))["items"]) == before + 1
        secrets = [answer.json().get("secret") or answer.json().get("phrase") for answer in answers]
        if path in ("/v1/tokens", "/v1/keys"):  # what is shown once is shown to the one who made it
            assert [bool(secret) for secret in secrets].count(True) == 1


def test_the_same_key_for_something_else_is_refused(ada: Browser, bob: Browser) -> None:
    once = key()
    made = done(ada.http.post("/v1/agents", json={"name": "one"}, headers=once), 201)
    refused(ada.http.post("/v1/agents", json={"name": "two"}, headers=once), 409, "identity.key_reused")
    body = {"name": "one", "scopes": ["read"], "days": 1}
    refused(ada.http.post("/v1/tokens", json=body, headers=once), 409, "identity.key_reused")
    other = done(bob.http.post("/v1/agents", json={"name": "two"}, headers=once), 201)  # keys are each one's own
    assert other["id"] != made["id"]


def test_a_refused_request_binds_no_key(ada: Browser) -> None:
    once = key()
    refused(ada.http.post("/v1/agents", json={"name": "\u200b"}, headers=once), 422, "identity.bad_name")
    done(ada.http.post("/v1/agents", json={"name": "named"}, headers=once), 201)


# Logins


def test_a_program_gets_its_token_once_after_a_person_approved(ada: Browser) -> None:
    verifier, challenge = new_verifier()
    begun = begin_login(ada.node, challenge, "read", "buy")
    fetch = f"/v1/logins/{begun['login']}/token"
    assert begun["url"] == f"{origin(ada.node)}/login/{begun['login']}"
    with client(ada.node) as http:
        assert done(http.post(fetch, json={"verifier": verifier}), 202) == {"state": "waiting", "interval_s": 2}
        shown = done(ada.http.get(f"/v1/logins/{begun['login']}"))
        assert (shown["code"], shown["scopes"], shown["state"]) == (begun["code"], ["buy", "read"], "waiting")
        assert done(ada.http.post(f"/v1/logins/{begun['login']}/approve"))["state"] == "approved"
        refused(http.post(fetch, json={"verifier": new_verifier()[0]}), 401, BAD)
        refused(ada.http.post(f"/v1/logins/{begun['login']}/approve"), 409, "identity.login_decided")
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: _fetch(ada.node, fetch, verifier), range(8)))
        assert sorted(answer.status_code for answer in answers) == [200] + [404] * 7
        made = next(answer.json() for answer in answers if answer.status_code == 200)
    with program(ada.node, made["secret"]) as http:
        me = done(http.get("/v1/me"))
        assert (me["owner"], me["scopes"]) == (ada.owner, ["buy", "read"])
    acts = [act["act"] for act in done(ada.http.get("/v1/me/audit"))["items"]]
    assert acts[:2] == ["token.made", "login.approved"]


def _fetch(node: NodeUnderTest, path: str, verifier: str) -> httpx.Response:
    with client(node) as http:
        return http.post(path, json={"verifier": verifier})


def test_a_login_can_be_denied_until_its_token_was_fetched(ada: Browser, bob: Browser) -> None:
    verifier, challenge = new_verifier()
    path = f"/v1/logins/{begin_login(ada.node, challenge)['login']}"
    done(ada.http.post(f"{path}/approve"))
    refused(bob.http.get(path), 404, "identity.login_unknown")  # once decided, it is that person's
    refused(bob.http.post(f"{path}/deny"), 404, "identity.login_unknown")
    assert done(ada.http.post(f"{path}/deny"))["state"] == "denied"
    refused(_fetch(ada.node, f"{path}/token", verifier), 403, "identity.login_denied")
    refused(ada.http.post(f"{path}/approve"), 409, "identity.login_decided")


def test_a_login_ends_by_itself_and_is_approved_by_a_fresh_person_only(ada: Browser) -> None:
    verifier, challenge = new_verifier()
    login = begin_login(ada.node, challenge)["login"]
    with ada.program("read") as http:
        refused(http.post(f"/v1/logins/{login}/approve"), 403, "identity.person_needed")
    with psycopg.connect(ada.node.dsn()) as owner:
        owner.execute("update sessions set asserted_us = 0 where person = (select id from people where handle = %s)",
                      (ada.handle,))  # fmt: skip
    refused(ada.http.post(f"/v1/logins/{login}/approve"), 403, "identity.fresh_assertion_needed")
    with psycopg.connect(ada.node.dsn()) as owner:
        owner.execute("update logins set expires_us = 1 where state = 'waiting'")
    refused(_fetch(ada.node, f"/v1/logins/{login}/token", verifier), 404, "identity.login_unknown")
    refused(ada.http.get(f"/v1/logins/{login}"), 404, "identity.login_unknown")


def test_logins_and_lone_agents_are_limited_by_place() -> None:
    with new_node() as node:
        serve(node, CHOIR_POLICY__DELEGATIONS__LOGINS_PER_PLACE="2", CHOIR_POLICY__DELEGATIONS__STANDS_PER_PLACE="2",
              CHOIR_POLICY__DELEGATIONS__LOGIN_TRIES_MAX="10")  # fmt: skip
        _, challenge = new_verifier()
        login = begin_login(node, challenge)["login"]
        begin_login(node, challenge)
        body = {"challenge": challenge, "name": "third", "scopes": ["read"], "days": 1}
        with client(node) as http:
            answer = http.post("/v1/logins", json=body)
            refused(answer, 429, "identity.too_many_tries")
            assert int(answer.headers["retry-after"]) > 0
        tries = [_fetch(node, f"/v1/logins/{login}/token", new_verifier()[0]).status_code for _ in range(12)]
        assert tries == [401] * 10 + [429] * 2  # guesses count, also on the other process
        keys = [new_nostr_key() for _ in range(3)]
        stands = [signed(node, each, "POST", "/v1/agents/stand", {}).status_code for each in keys]
        assert stands == [200, 200, 429]
        assert signed(node, keys[0], "POST", "/v1/agents/stand", {}).status_code == 200  # it stands already


# Signed requests


def test_a_key_stands_up_as_an_agent_and_signs_its_requests(served: NodeUnderTest) -> None:
    secret = new_nostr_key()
    agent = done(signed(served, secret, "POST", "/v1/agents/stand", {"name": "wanderer"}))
    assert (agent["person"], agent["key"], agent["name"]) == (None, npub(public_of(secret)), "wanderer")
    assert done(signed(served, secret, "POST", "/v1/agents/stand", {}))["id"] == agent["id"]
    me = done(signed(served, secret, "GET", "/v1/me"))
    assert (me["owner"], me["credential"], me["handle"]) == (agent["owner"], "nostr", None)
    assert "withdraw" not in me["scopes"]
    renamed = signed(served, secret, "PATCH", f"/v1/agents/{agent['id']}", {"name": "settler"})
    assert done(renamed)["name"] == "settler"
    done(signed(served, secret, "GET", "/v1/me/accounts?limit=5"))
    done(signed(served, secret, "DELETE", f"/v1/agents/{agent['id']}"), 204)
    refused(signed(served, secret, "GET", "/v1/me"), 401, BAD)


def test_a_signature_is_for_one_request(served: NodeUnderTest) -> None:
    secret = new_nostr_key()
    done(signed(served, secret, "POST", "/v1/agents/stand", {}))
    url = f"{origin(served)}/v1/me"
    once = event_header(secret, "GET", url)
    with client(served) as http:
        assert http.get("/v1/me", headers={"Authorization": once}).status_code == 200
        refused(http.get("/v1/me", headers={"Authorization": once}), 401, BAD)
        for header in (
            event_header(secret, "POST", url),
            event_header(secret, "GET", f"{url}?limit=1"),
            event_header(secret, "GET", f"http://127.0.0.1:{served.port}/v1/me"),
            event_header(secret, "GET", url, b"a body"),
        ):
            refused(http.get("/v1/me", headers={"Authorization": header}), 401, BAD)
        unsigned_body = event_header(secret, "POST", f"{origin(served)}/v1/agents/stand")
        refused(http.post("/v1/agents/stand", json={}, headers={"Authorization": unsigned_body}), 401, BAD)
        garbage = event_header(new_nostr_key(), "POST", f"{origin(served)}/v1/agents", b"not json")
        refused(http.post("/v1/agents", content=b"not json", headers={"Authorization": garbage}), 401, BAD)


def test_an_agent_of_a_person_brings_its_own_key_with_a_proof(ada: Browser, bob: Browser) -> None:
    secret = new_nostr_key()
    url = f"{origin(ada.node)}/v1/agents"
    wrong = event_header(secret, "POST", url, b"", ("owner", bob.owner))
    refused(ada.http.post("/v1/agents", json={"name": "x", "proof": wrong}), 401, BAD)
    proof = event_header(secret, "POST", url, b"", ("owner", ada.owner))
    once = key()
    agent = done(ada.http.post("/v1/agents", json={"name": "x", "proof": proof}, headers=once), 201)
    assert done(ada.http.post("/v1/agents", json={"name": "x", "proof": proof}, headers=once), 200) == agent
    refused(ada.http.post("/v1/agents", json={"name": "y", "proof": proof}), 401, BAD)  # used up
    assert agent["key"] == npub(public_of(secret))
    refused(signed(ada.node, secret, "GET", "/v1/me"), 401, BAD)  # nothing was delegated to it yet
    granted = ada.grant(agent, "read", "buy", caps=[cap(10)])
    assert done(signed(ada.node, secret, "GET", "/v1/me"))["delegation"] == granted["id"]
    body = {"name": "mine", "scopes": ["read"], "days": 1, "delegation": granted["id"]}
    made = done(signed(ada.node, secret, "POST", "/v1/tokens", body), 201)
    with program(ada.node, made["secret"]) as http:
        refused(http.post("/v1/tokens", json=body), 404, "identity.delegation_unknown")  # a token makes no tokens


# Money


def test_what_may_move_between_people(ada: Browser, bob: Browser) -> None:
    fund(ada.node, ada.owner, 1000)
    fund(ada.node, ada.owner, 1000, "USDC")
    body = {"to": bob.handle, "asset": "SAT", "amount": "600", "memo": "thank you"}
    named = f"invoice-of-{bob.handle}"
    once = {"Idempotency-Key": named}
    sent = done(ada.http.post("/v1/transfers", json=body, headers=once), 201)
    assert done(ada.http.post("/v1/transfers", json=body, headers=once), 200)["posted"]["id"] == sent["posted"]["id"]
    assert balance(ada.node, f"{bob.owner}/available/SAT") == 600
    done(ada.http.post("/v1/transfers", json=body | {"asset": "USDC"}, headers=key()), 201)
    refused(ada.http.post("/v1/transfers", json=body, headers=key()), 409, "ledger.insufficient_funds")
    for asset in ("CREDIT", "CHIP", "USD", "AID"):
        answer = ada.http.post("/v1/transfers", json=body | {"asset": asset}, headers=key())
        refused(answer, 409, "identity.not_transferable")
    stolen = body | {"from": bob.owner, "to": ada.handle}
    refused(ada.http.post("/v1/transfers", json=stolen, headers=key()), 403, "identity.not_your_account")
    refused(ada.http.post("/v1/transfers", json=body | {"to": ada.handle}, headers=key()), 422, "invalid")
    refused(ada.http.post("/v1/transfers", json=body | {"to": "nobody_here"}, headers=key()), 404,
            "identity.person_unknown")  # fmt: skip
    with psycopg.connect(ada.node.dsn()) as owner:  # whatever a caller called it, it is not in the journal for good
        assert owner.execute("select 1 from entries where content::text like %s", [f"%{named}%"]).fetchone() is None
    statement = done(bob.http.get("/v1/statement", params={"account": f"{bob.owner}/available/SAT"}))
    assert [line["delta"] for line in statement["items"]] == ["600"]
    refused(ada.http.get("/v1/balance", params={"account": f"{bob.owner}/available/SAT"}), 404,
            "ledger.account.unknown")  # fmt: skip


def test_whoever_is_sent_all_they_have_is_taken_for_one_with_the_sender(ada: Browser, bob: Browser) -> None:
    fund(ada.node, ada.owner, 2_000_000)
    body = {"to": bob.handle, "asset": "SAT", "amount": "1500000"}
    done(ada.http.post("/v1/transfers", json=body, headers=key()), 201)
    with psycopg.connect(ada.node.dsn()) as owner:  # it is looked at some time later; here at once
        made = owner.execute("update tasks set due_us = 0 where name = 'identity.funding' and key = %s", [bob.owner])
        assert made.rowcount == 1

    def cluster() -> Json:
        with ada.node.http() as operator:
            found: Json = done(operator.get("/v1/clusters", params={"owner": bob.owner}))
        return found

    until(lambda: ada.owner in cluster()["members"])
    assert [item["reason"] for item in cluster()["reasons"]] == ["funding"]


def test_delegating_to_somebodys_agent_opens_nothing_of_it(ada: Browser, bob: Browser) -> None:
    agent = ada.agent()
    fund(ada.node, agent["owner"], 1000)
    unasked = bob.grant(agent, "read", "buy", caps=[cap(1000)])
    body = {"name": "x", "scopes": ["read", "buy"], "days": 1, "delegation": unasked["id"]}
    refused(bob.http.post("/v1/tokens", json=body), 403, "identity.not_your_agent")
    refused(ada.http.post("/v1/tokens", json=body), 404, "identity.delegation_unknown")
    assert balance(ada.node, f"{agent['owner']}/available/SAT") == 1000


def test_ai_dollars_move_between_agents_only(ada: Browser) -> None:
    one, two = ada.agent("one"), ada.agent("two")
    fund(ada.node, one["owner"], 100, "AID")
    with ada.program("read", "buy", delegation=ada.grant(one, "read", "buy", caps=[cap(60, "AID")])) as http:
        body = {"to": two["owner"], "asset": "AID", "amount": "50"}
        done(http.post("/v1/transfers", json=body, headers=key()), 201)
        refused(http.post("/v1/transfers", json=body, headers=key()), 409, "identity.cap_exceeded")
        to_person = body | {"to": ada.owner, "amount": "1"}
        refused(http.post("/v1/transfers", json=to_person, headers=key()), 409, "identity.not_transferable")


def test_a_delegation_is_narrowed_and_never_widened(ada: Browser) -> None:
    one, two = ada.agent("one"), ada.agent("two")
    parent = ada.grant(one, "read", "buy", caps=[cap(100)])
    path = f"/v1/delegations/{parent['id']}/narrow"
    body = {"agent": two["id"], "scopes": ["buy"], "caps": [cap(40)], "days": 1}
    with ada.program("read", "buy", delegation=parent) as http:
        child = done(http.post(path, json=body), 201)
        assert (child["parent"], child["depth"]) == (parent["id"], 1)
        for wider in ({"scopes": ["sell"]}, {"caps": [cap(101)]}, {"caps": [cap(1, "USDC")]}, {"days": 30}):
            refused(http.post(path, json=body | wider), 422, "identity.delegation_wider")
    with ada.program("read", delegation=parent) as http:  # a token that leaked gives no more than it has
        refused(http.post(path, json=body), 422, "identity.delegation_wider")
        done(http.post(path, json=body | {"scopes": ["read"], "caps": []}), 201)
    fund(ada.node, ada.owner, 1000)
    with ada.program("buy", delegation=child) as http:
        sent = {"from": ada.owner, "to": two["owner"], "asset": "SAT", "amount": "30"}
        done(http.post("/v1/transfers", json=sent, headers=key()), 201)
    [spent] = done(ada.http.get(f"/v1/delegations/{parent['id']}"))["caps"]
    assert (spent["cap"], spent["spent"]) == ("100", "30")
