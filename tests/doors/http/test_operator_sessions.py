"""Operators in a browser: how they get in, what their cookie is good for, and everything it is not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.doors.http.visitors import Browser, client, key, origin, serve
from tests.operations.nodes import NodeUnderTest, new_node

PAGES = ("", "/work", "/jobs", "/rulings", "/money", "/people")
HTML = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def node() -> Iterator[NodeUnderTest]:
    with new_node() as made:
        yield serve(made)


def code(node: NodeUnderTest, token: str | None = None) -> str:
    """A one-time code, of the home's operator or of another."""
    if token is None:
        made = node.http().post("/v1/operator/codes")
    else:
        made = client(node, Authorization=f"Bearer {token}").post("/v1/operator/codes")
    assert made.status_code == 201, made.text
    address, _, found = made.json()["url"].partition("#")
    assert address == f"{origin(node)}/operator/enter"
    return str(found)


def enter(node: NodeUnderTest, given: str, **headers: str) -> httpx.Response:
    return client(node, **({"Origin": origin(node)} | headers)).post("/v1/operator/enter", json={"code": given})


def office(node: NodeUnderTest, token: str | None = None) -> httpx.Client:
    """A browser with an operator in it."""
    browser = client(node, Origin=origin(node))
    assert browser.post("/v1/operator/enter", json={"code": code(node, token)}).status_code == 200
    return browser


def test_a_code_becomes_a_session_once(node: NodeUnderTest) -> None:
    given = code(node)
    entered = enter(node, given)
    assert (entered.status_code, entered.json()["operator"]) == (200, "operator")
    [cookie] = entered.headers.get_list("set-cookie")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Path=/" in cookie
    assert entered.headers["cache-control"] == "no-store"
    again = enter(node, given)
    assert (again.status_code, again.headers.get("set-cookie")) == (401, None)


def test_of_many_with_one_code_one_enters(node: NodeUnderTest) -> None:
    given = code(node)
    with ThreadPoolExecutor(8) as pool:
        codes = sorted(pool.map(lambda _: enter(node, given).status_code, range(8)))
    assert codes == [200] + [401] * 7


def test_guessed_and_malformed_codes_are_refused(node: NodeUnderTest) -> None:
    for given in ("", "none", "x" * 43, "\u202e", "a" * 100):
        assert enter(node, given).status_code == 401
    assert enter(node, "a" * 101).status_code == 422


def test_the_pages_show_and_act_only_with_the_session(node: NodeUnderTest) -> None:
    for path in PAGES:
        outside = client(node).get(f"/operator{path}", headers=HTML)
        assert (outside.status_code, "choir operator open" in outside.text) == (401, True)
        token = node.http().get(f"/operator{path}", headers=HTML)  # pages are for browsers
        assert token.status_code == 401
    browser = office(node)
    for path in PAGES:
        inside = browser.get(f"/operator{path}", headers=HTML)
        assert (inside.status_code, inside.headers["cache-control"]) == (200, "no-store"), inside.text
    assert browser.get("/v1/trial-balance").status_code in (200, 404)
    assert browser.post("/v1/liabilities").status_code in (200, 201, 202)


def test_another_site_cannot_use_it(node: NodeUnderTest) -> None:
    browser = office(node)
    act = {"account": "person:x/available/SAT", "amount": "1"}
    foreign: list[dict[str, str]] = [
        {"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": origin(node) + ".evil.example"},
    ]  # fmt: skip
    for headers in foreign:
        for path in ("/v1/fund", "/v1/operator/leave", "/v1/liabilities"):
            refused = browser.post(path, json=act, headers=headers | key())
            assert (refused.status_code, refused.json()["code"]) == (403, "identity.cross_site")
    del browser.headers["Origin"]
    silent = browser.post("/v1/liabilities")  # with a cookie, where it came from must be said
    assert silent.json()["code"] == "identity.cross_site"
    assert browser.post("/v1/liabilities", headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
    assert browser.post("/v1/liabilities", headers={"Sec-Fetch-Site": "same-origin"}).status_code in (200, 201, 202)
    assert enter(node, code(node), Origin="https://evil.example").status_code == 403  # nobody is put into a session


def test_a_session_cannot_make_another(node: NodeUnderTest) -> None:
    refused = office(node).post("/v1/operator/codes")
    assert (refused.status_code, refused.json()["code"]) == (403, "identity.operator_token_needed")


def test_logging_out_ends_it(node: NodeUnderTest) -> None:
    browser = office(node)
    kept = dict(browser.cookies)
    assert browser.post("/v1/operator/leave").status_code == 204
    stolen = client(node, Origin=origin(node))
    stolen.cookies.update(kept)
    assert stolen.get("/operator", headers=HTML).status_code == 401
    assert stolen.post("/v1/liabilities").status_code == 401


def test_a_person_beside_it_stays_a_person(node: NodeUnderTest) -> None:
    person = Browser(node).sign_up()
    assert person.http.post("/v1/operator/enter", json={"code": code(node)}).status_code == 200
    me = person.http.get("/v1/me").json()
    assert me["role"] == "person"  # an operator's cookie counts only where nobody else may ask
    assert person.http.post("/v1/agents", json={"name": "helper"}).status_code == 201
    assert person.http.post("/v1/liabilities").status_code in (200, 201, 202)
    assert person.http.post("/v1/sign-out").status_code == 204
    assert person.http.get("/operator", headers=HTML).status_code == 200
    other = Browser(node).sign_up()
    assert other.http.post("/v1/liabilities").status_code == 403
    assert other.http.get("/operator", headers=HTML).status_code == 401


def test_nobody_plants_a_cookie(node: NodeUnderTest) -> None:
    browser = client(node, Origin=origin(node))
    for cookie in ("choir_operator=operator", "choir_operator=a; choir_operator=b", "choir_operator="):
        assert browser.post("/v1/liabilities", headers={"Cookie": cookie}).status_code == 401
        assert browser.get("/operator", headers=HTML | {"Cookie": cookie}).status_code == 401


def test_a_removed_operator_is_out_at_once(node: NodeUnderTest) -> None:
    token = node.run("operator", "add", "grace", "--json").json["token"]
    waiting = code(node, token)
    browser = office(node, token)
    assert "operator:grace" in browser.get("/operator", headers=HTML).text
    node.run("operator", "remove", "grace")
    assert browser.get("/operator", headers=HTML).status_code == 401
    assert browser.post("/v1/liabilities").status_code == 401
    assert enter(node, waiting).status_code == 401
    node.run("operator", "add", "grace")  # another token of the same name is not the same operator
    assert browser.get("/operator", headers=HTML).status_code == 401


def test_what_people_wrote_is_only_text(node: NodeUnderTest) -> None:
    hostile = "<script>alert(1)</script>"
    shown = office(node).get("/operator/people", params={"handle": hostile}, headers=HTML)
    assert (shown.status_code, hostile in shown.text) == (200, False)
    person = Browser(node).sign_up()
    found = office(node).get("/operator/people", params={"handle": f"@{person.handle}"}, headers=HTML).text
    assert person.owner in found


def test_the_command_prints_where_to_enter(node: NodeUnderTest) -> None:
    told = node.run("operator", "open")
    assert told.code == 0, told.err
    address, _, given = told.out.strip().partition("#")
    assert address == f"{origin(node)}/operator/enter"
    assert enter(node, given).status_code == 200
    token = node.run("operator", "add", "henry", "--json").json["token"]
    given = node.run("operator", "open", "--json", env={"CHOIR_TOKEN": token}).json["url"].partition("#")[2]
    assert enter(node, given).json()["operator"] == "operator:henry"
    person = Browser(node).sign_up()
    secret = person.make_token("read")["secret"]
    assert node.run("operator", "open", env={"CHOIR_TOKEN": secret}).code == 4
