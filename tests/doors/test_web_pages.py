"""The pages over plain HTTP: headers, caching, errors, who may see them. The browser is in tests/browser."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from jinja2 import nodes

import choir.identity
from choir.doors.web import assets, words
from choir.doors.web.rendering import ago, environment, typed, until
from choir.doors.web.visitors import own_path
from choir.foundation.clock import MICROSECONDS
from choir.foundation.money import Asset
from choir.identity.delegations.model import Period
from choir.identity.model import Scope
from tests.doors.townsfolk import neighbour
from tests.operations.nodes import PLAIN, NodeUnderTest

BROWSER = {"Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
PUBLIC = ["/", "/sign-up", "/sign-in", "/recover", "/providers", "/ledger", "/treasury"]
PRIVATE = ["/account", "/selling", "/agents", "/agents/agent_" + "0" * 26, "/tokens", "/login/login_" + "0" * 26]
PRIVATE += ["/desk", "/desk/sources", "/desk/new"]
PRIVATE += [f"/desk/article_{'0' * 26}{end}" for end in ("", "/drafts", "/check")]
PRIVATE += ["/account/statement", "/account/holds", "/account/spending", "/account/send"]


@pytest.fixture
def http(running: NodeUnderTest) -> httpx.Client:
    """Somebody with a browser who is not signed in."""
    return httpx.Client(base_url=running.url, headers=BROWSER, timeout=60, trust_env=False, verify=PLAIN)


@pytest.mark.parametrize("path", PUBLIC)
def test_a_page_for_everybody(http: httpx.Client, path: str) -> None:
    answer = http.get(path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["cache-control"] == "no-store"
    rules = dict(part.strip().partition(" ")[::2] for part in answer.headers["content-security-policy"].split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == rules["style-src"] == rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"
    assert rules["form-action"] == "'self'"


@pytest.mark.parametrize("path", PRIVATE)
def test_a_page_for_people_leads_to_the_sign_in_and_back(http: httpx.Client, path: str) -> None:
    for cookies in ({}, {"choir_session": "of somebody else"}):
        http.cookies = httpx.Cookies(cookies)
        answer = http.get(path)
        assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=" + path.replace("/", "%2F"))
        there = http.get(answer.headers["location"])
        assert there.status_code == 200
        assert f'data-then="{path}"' in there.text


def test_newcomers_are_told_what_they_get_and_which_of_it_is_play_money(http: httpx.Client) -> None:
    assert "New people start with 500 CREDIT, 50 CHIP and 100,000 SAT of play money." in http.get("/").text


def test_an_old_cookie_makes_a_nobody_and_not_an_error(http: httpx.Client) -> None:
    http.cookies.set("choir_session", "x" * 43)
    assert "Sign up with a passkey" in http.get("/").text


@pytest.mark.parametrize("goal", ["https://evil.example", "//evil.example", "/\\evil.example", "evil", "/a\nb", ""])
def test_the_sign_in_leads_nowhere_else(http: httpx.Client, goal: str) -> None:
    assert own_path(goal) == "/account"
    for page in ("/sign-in", "/sign-up"):
        assert 'data-then="/account"' in http.get(page, params={"next": goal}).text
        assert "evil.example" not in http.get(page, params={"next": goal}).text


def test_what_is_shown_is_escaped(http: httpx.Client) -> None:
    assert '"><script>' not in http.get("/sign-in", params={"next": '/"><script>alert(1)</script>'}).text


def test_errors_are_pages_for_browsers_and_problems_for_programs(http: httpx.Client) -> None:
    shown = http.get("/nowhere")
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "Not found" in shown.text
    assert "connect-src 'self'" in shown.headers["content-security-policy"]
    for answer in (http.get("/nowhere", headers={"Accept": "*/*"}), http.get("/v1/nowhere")):
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


# Files


def test_files_can_be_kept_for_ever(http: httpx.Client) -> None:
    page = http.get("/").text
    for name in ("tokens.css", "frame.css", "page.css", "forms.css", "parts.css", "theme.js", "main.js", "mark.svg"):
        address = assets.address(name)
        assert address in page
        answer = http.get(address)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
        again = http.get(address, headers={"If-None-Match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


def test_a_page_from_before_an_upgrade_still_finds_its_files(http: httpx.Client) -> None:
    answer = http.get("/static/0123456789abcdef/api.js")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-cache")


@pytest.mark.parametrize("name", ["..%2frendering.py", "nothing.js", "%2e%2e/__init__.py", "theme.js%00"])
def test_nothing_else_can_be_had(http: httpx.Client, name: str) -> None:
    assert http.get(f"/static/{assets.version()}/{name}").status_code == 404


def test_modules_import_each_other_by_relative_names_that_exist() -> None:
    for name, item in assets.assets().items():
        for imported in re.findall(r'from "(.+?)"', item.body.decode()):
            assert imported.removeprefix("./") in assets.assets(), f"{name} imports {imported}"


# Templates and words


def templates() -> list[str]:
    return environment().list_templates()


@pytest.mark.parametrize("name", templates())
def test_a_template_has_nothing_inline_and_escapes_all(name: str) -> None:
    text, _, _ = environment().loader.get_source(environment(), name)  # type: ignore[union-attr]
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe", text)
    tree = environment().parse(text)
    assert not list(tree.find_all(nodes.MarkSafe))


def test_every_act_has_words() -> None:
    code = "".join(path.read_text() for path in Path(choir.identity.__path__[0]).glob("*.py"))
    code = re.sub(r"^    code = .*$", "", code, flags=re.MULTILINE)  # errors have such names too
    found = set(
        re.findall(r'"((?:agent|delegation|key|login|passkey|person|recovery|session|token|vouch)\.\w+)"', code)
    )
    assert found
    assert found - set(words.ACTS) == set()
    assert words.act("some.new_act") == "some: new act"


def test_forms_offer_only_what_something_here_asks_for(running: NodeUnderTest) -> None:
    """What is stored stays valid, and is shown to whoever may end it."""
    with neighbour(running, "olga") as olga:
        olga.token("read", "withdraw")
        agent = olga.agent()
        tokens, grant = (olga.http.get(f"{running.url}{path}").text for path in ("/tokens", f"/agents/{agent}"))
    offered = ["read", "research", "publish", "challenge", "buy", "sell"]
    for page in (tokens, grant):
        assert re.findall(r'name="scopes" data-type="list" value="(\w+)"', page) == offered
    assert '<span class="badge">withdraw</span>' in tokens
    assert (
        re.findall(r'<option value="([A-Z]+)"', grant) == ["SAT", "CHIP", "USDC"] * 2
    )  # the first row, and one to add


def test_every_scope_period_and_asset_has_words() -> None:
    assert (set(words.SCOPES), set(words.PERIODS), set(words.ASSETS)) == (set(Scope), set(Period), set(Asset))


def test_times_are_told_roughly() -> None:
    second, minute, hour, day = (size * MICROSECONDS for size in (1, 60, 3600, 86_400))
    now = 10_000 * day
    assert [ago(now - span, now) for span in (0, 20 * second, minute, 90 * minute, hour, 3 * day)] == [
        "just now", "just now", "1 minute ago", "2 hours ago", "1 hour ago", "3 days ago",
    ]  # fmt: skip
    assert until(now + 30 * day - second, now) == "in 30 days"
    assert until(now + 2 * hour - second, now) == "in 2 hours"


def test_amounts_are_told_without_noughts() -> None:
    assert [typed(units, "CREDIT") for units in (50_000, 1_250, 1)] == ["500", "12.5", "0.01"]
