"""The SDK's rooms of the bazaar and the commons against a running node: what they ask is what the node answers."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from choir.doors.articles.client import ArticlesClient
from choir.doors.atoms.client import AtomsClient
from choir.doors.challenges.client import ChallengesClient
from choir.doors.disputes.client import DisputesClient
from choir.doors.http.app import make_api
from choir.doors.jobs.client import JobsClient, UploadsClient
from choir.doors.jobs.shapes import AttemptOut
from choir.doors.providers.client import AttemptsClient, ProvidersClient
from choir.doors.sdk.calls import Call, Method, Pages
from choir.doors.sources.client import SourcesClient
from choir.foundation.canonical import bytes_hash
from choir.sdk import Client
from tests.doors.http import market
from tests.doors.http.market import run_request
from tests.operations.nodes import NodeUnderTest

ROOMS: list[type[Any]] = [
    UploadsClient,
    JobsClient,
    DisputesClient,
    ProvidersClient,
    AttemptsClient,
    SourcesClient,
    AtomsClient,
    ArticlesClient,
    ChallengesClient,
]


def _made_up(name: str, annotation: str) -> Any:
    if "Mapping" in annotation:
        return {}
    if "Sequence" in annotation:
        return []
    return {"int": 1, "bool": True, "bytes": b"x"}.get(annotation, name)


def _calls(room: type[Any]) -> dict[str, Call[Any]]:
    """What each method of a room would send."""
    found = {}
    for name, method in vars(room).items():
        if not isinstance(method, Method | Pages):
            continue
        build = method._build
        given = {
            key: _made_up(key, str(parameter.annotation))
            for key, parameter in inspect.signature(build).parameters.items()
            if key != "self" and parameter.default is parameter.empty
        }
        found[f"{room.__name__}.{name}"] = build(room(None), **given)
    return found


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_every_call_has_a_route_with_its_parameters(room: type[Any]) -> None:
    paths = make_api().openapi()["paths"]
    calls = _calls(room)
    assert len(calls) > 3
    for name, call in calls.items():
        fitting = [path for path in paths if _fits(path, call.path) and call.method.lower() in paths[path]]
        assert fitting, f"{name}: no route for {call.method} {call.path}"
        described = paths[min(fitting, key=lambda path: path.count("{"))][call.method.lower()]
        known = {item["name"] for item in described.get("parameters", []) if item["in"] == "query"}
        assert set(call.given or {}) <= known, name
        assert (call.body is not None or call.content is not None) <= ("requestBody" in described), name


def _fits(route: str, path: str) -> bool:
    parts, asked = route.split("/"), path.split("/")
    return len(parts) == len(asked) and all(
        part.startswith("{") or part == own for part, own in zip(parts, asked, strict=True)
    )


def test_an_order_by_the_sdk(served: NodeUnderTest) -> None:
    buyer, seller = market.buyer(served), market.seller(served)
    with Client(served.url, buyer.make_token("read", "buy")["secret"]) as buys:
        data = b"a few bytes"
        begun = buys.uploads.begin(len(data), bytes_hash(data))
        buys.uploads.put_part(begun.id, 0, data)
        assert buys.uploads.get(begun.id).missing == []
        assert buys.uploads.finish(begun.id).done
        job = buys.jobs.open("sandbox_run", run_request(), strategy=seller.pinned)
        assert next(iter(buys.jobs.mine(limit=1))).id == job.id
        with Client(served.url, seller.browser.make_token("sell")["secret"]) as sells:
            beat = sells.providers.beat(healthy=True, free_slots=3)
            [waiting] = beat.attempts
            assert isinstance(waiting, AttemptOut)
            assert sells.jobs.request(waiting.job).request["argv"] == ["echo", "hello"]
            sells.attempts.start(waiting.id)
            handed = sells.attempts.hand_in(waiting.id, **seller.delivery())
            assert sells.attempts.artifact_part(handed.id) == seller.delivery_bytes
            assert sells.attempts.artifact_part(handed.id, 1) == b""
            assert [item.id for item in sells.attempts.mine(live=False)] == [handed.id]
        seen = buys.jobs.get(job.id).attempts[0]
        assert (seen.artifact is None) == (
            seen.verdict is None
        )  # it is told with the verdict, which may be there by now
