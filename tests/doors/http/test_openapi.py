"""The description is whole, and a running node keeps to it whatever it is asked.

Schemathesis makes requests from the description, right ones and wrong ones, for every route, as the operator, as
a person and as nobody. No answer may be a server's error, and each must be one that its route declares: status,
content type, headers and shape.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from choir import doors
from choir.doors.http.app import make_api
from choir.doors.shapes import Wire
from choir.foundation.canonical import bytes_hash
from tests.depth import times
from tests.doors.http import bazaar_table, commons_table, discovery_table, table, treasury_table
from tests.doors.http.market import Seller, order
from tests.doors.http.press import WritersDesk
from tests.doors.http.visitors import Browser, begin_login, cap, client, fund, new_verifier, origin
from tests.operations.nodes import NodeUnderTest

_EXAMPLES = times(2, 6)  # for each route and caller
_CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
# Described routes, as the table of who gets what has them, which is compared with the description itself. Making the
# description takes as long as a hundred tests, and every process of a run would make it to know what tests there are.
_OPERATIONS = [
    (row.method, row.route)
    for row in [*table.ROWS, *bazaar_table.ROWS, *commons_table.ROWS, *discovery_table.ROWS, *treasury_table.ROWS]
    if row not in table.PAGES and row.route != "/v1/openapi.json"
]


@cache
def _api() -> dict[str, Any]:
    return make_api().openapi()


@pytest.fixture(scope="module")
def schema(served: NodeUnderTest) -> Any:
    found = schemathesis.openapi.from_dict(httpx.get(f"{served.url}/v1/openapi.json", trust_env=False).json())
    found.config.update(base_url=served.url)
    return found


class _Person:
    """A person who signs up again whenever a request made them nobody, and things of theirs to ask about."""

    def __init__(self, node: NodeUnderTest) -> None:
        self._node = node
        self._things: dict[str, str] = {}
        self.doubtful = False  # whether the last request may have ended the session
        self.browser = Browser(node).sign_up()

    def headers(self) -> dict[str, str]:
        if self.doubtful and self.browser.http.get("/v1/me").status_code == 401:
            self.browser = Browser(self._node).sign_up()
            self._things = {}
        self.doubtful = False
        return {"Origin": origin(self._node), "Cookie": f"choir_session={self.browser.token}"}

    def things(self) -> dict[str, str]:
        """Real ids, by the name that routes and bodies have for them."""
        self.headers()
        if not self._things:
            browser = self.browser
            agent = browser.agent()
            fund(self._node, browser.owner, 10**9)
            job = order(browser, Seller(browser).open_stall())
            desk = WritersDesk(browser)
            held = browser.http.post("/v1/uploads", json={"bytes": 1, "hash": bytes_hash(b"x")}).json()
            self._things = {
                "handle": browser.handle,
                "agent": agent["id"],
                "delegation": browser.grant(agent, "read", "buy", caps=[cap(100)])["id"],
                "token": browser.make_token("read")["token"]["id"],
                "passkey": browser.http.get("/v1/me/passkeys").json()["items"][0]["id"],
                "session": browser.http.get("/v1/me/sessions").json()["items"][0]["id"],
                "public": browser.http.post("/v1/keys", json={}).json()["key"]["public"],
                "owner": agent["owner"],
                "to": agent["owner"],
                "account": f"{browser.owner}/available/CREDIT",
                "asset": "SAT",
                "job": job["id"],
                "attempt": job["attempts"][0]["id"],
                "provider": job["attempts"][0]["provider"],
                "upload": held["id"],
                "source": desk.source,
                "pointer": f"{desk.source}@0-40",
                "claim": desk.claim,
                "about": desk.claim,
                "atom": desk.claim,
                "article": desk.published,
            }
        return self._things

    def new_login(self) -> str:
        return str(begin_login(self._node, new_verifier()[1])["login"])


@pytest.fixture(scope="module")
def person(served: NodeUnderTest) -> _Person:
    return _Person(served)


@pytest.fixture(scope="module")
def callers(served: NodeUnderTest, person: _Person) -> dict[str, Callable[[], dict[str, str]]]:
    operator = {"Authorization": f"Bearer {served.token}"}
    return {"operator": lambda: operator, "person": person.headers, "nobody": dict}


@pytest.mark.scaled
@pytest.mark.parametrize("caller", ["operator", "person", "nobody"])
@pytest.mark.parametrize(("method", "path"), _OPERATIONS, ids=lambda part: part)
def test_every_answer_is_a_declared_one(
    method: str,
    path: str,
    caller: str,
    schema: Any,
    person: _Person,
    callers: dict[str, Callable[[], dict[str, str]]],
) -> None:
    operation = schema[path][method]
    modes = st.sampled_from([GenerationMode.POSITIVE, GenerationMode.POSITIVE, GenerationMode.NEGATIVE])

    @given(case=modes.flatmap(lambda mode: operation.as_strategy(generation_mode=mode)), real=st.booleans())
    @settings(
        max_examples=_EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def asked(case: Case[Any], real: bool) -> None:
        if real and caller != "nobody":
            _put_real(case, person.things() | ({"login": person.new_login()} if "{login}" in path else {}))
        if path == "/v1/events":
            case.query = {**(case.query or {}), "follow": "false"}  # else the answer has no end
        for name in _OURS:
            case.headers.pop(name, None)
        answer = case.call(headers=callers[caller](), timeout=60)
        person.doubtful = person.doubtful or (method, path) in _ENDING
        case.validate_response(answer, checks=_CHECKS)

    asked()


def _put_real(case: Case[Any], things: dict[str, str]) -> None:
    """Ask about what is there, where a made-up name would end the request too early."""
    for place in (case.path_parameters, case.query, case.body):
        if isinstance(place, dict):
            place.update({name: things[name] for name in place.keys() & things.keys()})


_ENDING = {("DELETE", "/v1/me"), ("POST", "/v1/sign-out"), ("DELETE", "/v1/people/{handle}")}
_ENDING |= {("DELETE", "/v1/me/sessions/{session}"), ("DELETE", "/v1/me/passkeys/{passkey}")}
_OURS = ("authorization", "cookie", "host", "origin")  # the client reads Host too, and stumbles over some


# The description itself


def _operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", operation)
        for path, methods in _api()["paths"].items()
        for method, operation in methods.items()
    ]


def _shape(schema: dict[str, Any]) -> dict[str, Any]:
    name = schema.get("$ref", "").rpartition("/")[2]
    found: dict[str, Any] = _api()["components"]["schemas"].get(name, schema)
    return found


def test_every_operation_says_what_it_does_who_may_and_how_it_fails() -> None:
    schemes = _api()["components"]["securitySchemes"]
    for name, operation in _operations():
        assert operation["summary"], name
        assert operation["description"], name
        if "/v1/" not in name:
            continue
        assert {"401", "403", "413", "422", "503"} <= operation["responses"].keys(), name
        assert all(scheme in schemes for item in operation["security"] for scheme in item), name


def test_every_body_and_every_good_answer_has_an_example() -> None:
    for name, operation in _operations():
        contents = [operation.get("requestBody", {}).get("content", {})]
        contents += [answer.get("content", {}) for answer in operation["responses"].values()]
        for content in contents:
            for kind, media in content.items():
                if kind in ("application/json", "application/problem+json"):
                    assert "example" in media or _shape(media["schema"]).get("examples"), (name, media)


def test_the_examples_are_examples_of_their_shapes() -> None:
    shapes = [shape for module in _shapes() for shape in vars(module).values() if isinstance(shape, type)]
    assert len(shapes) > 100
    for shape in shapes:
        if issubclass(shape, Wire):
            for each in shape.model_json_schema().get("examples", []):
                shape.model_validate(each)


def _shapes() -> list[ModuleType]:
    """What every door sends and reads."""
    packages = [item.name for item in pkgutil.iter_modules(doors.__path__, f"{doors.__name__}.") if item.ispkg]
    found = [f"{name}.shapes" for name in packages]
    return [import_module(name) for name in found if find_spec(name) is not None]


def test_the_running_node_serves_this_very_description(served: NodeUnderTest) -> None:
    with client(served) as http:
        assert http.get("/v1/openapi.json").json() == _api()
