"""The node itself over HTTP: who it is, its policy, explanations; health, readiness, metrics."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar

from anyio import CapacityLimiter, fail_after, to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest, multiprocess

from choir.doors.http.access import AccessRoute, AnyoneDep, NodeDep, OperatorDep
from choir.doors.http.etags import IfNoneMatch, tag_of, unchanged
from choir.doors.http.openapi import problems
from choir.doors.http.rooms import RoomRouter
from choir.doors.node.shapes import ExplainOut, NodeOut, PolicyOut, PolicyValueOut
from choir.foundation.clock import format_time
from choir.foundation.errors import ChoirError
from choir.foundation.ids import show_id
from choir.foundation.policy import describe, effective_hash
from choir.ledger import explanation, queries
from choir.ledger.model import parse_entry_id
from choir.node import Node

T = TypeVar("T")
_SOON_S = 5.0
_threads = CapacityLimiter(4)

router = RoomRouter(tags=["node"], route_class=AccessRoute, responses=problems(404, 409))
health = APIRouter(tags=["health"])


@router.get("/node")
def get_node(_: AnyoneDep, node: NodeDep) -> NodeOut:
    """Get the node's identity and key. Public: the key is needed to verify what the node signs."""
    with node.read() as tx:
        head = queries.head(tx)
        key = node.keys.current(tx)
    return NodeOut(
        id=show_id("node", node.identity.id),
        mode=node.identity.mode,
        origin=node.identity.origin,
        key=str(key.vkey),
        version=version("choir"),
        policy=effective_hash(node.policy),
        entries=head.seq,
        now=format_time(node.clock.now_us()),
    )


@router.get("/policy")
def get_policy(_: AnyoneDep, node: NodeDep) -> PolicyOut:
    """List every price, window, cap and weight, with its unit, bounds and source. Public."""
    values = [
        PolicyValueOut(
            name=item.name,
            value=item.value,
            default=item.default,
            unit=item.unit,
            low=item.low,
            high=item.high,
            source=item.source,
            doc=item.doc,
        )
        for item in describe(node.policy)
    ]
    return PolicyOut(hash=effective_hash(node.policy), values=values)


@router.get("/explain/{subject}")
def explain(subject: str, _: OperatorDep, node: NodeDep) -> ExplainOut:
    """Explain which rule and inputs produced something."""
    with node.read() as tx:
        told = node.explain(tx, subject) or explanation.explain_entry(tx, parse_entry_id(subject))
    return ExplainOut(subject=subject, sentences=told.sentences, facts=told.facts)


@health.get("/v1/openapi.json", include_in_schema=False)
async def openapi(request: Request, if_none_match: IfNoneMatch = None) -> Response:
    """Get the OpenAPI description; it changes only with the node's version."""
    state = request.app.state
    if not hasattr(state, "described"):
        content = json.dumps(request.app.openapi(), ensure_ascii=False, separators=(",", ":")).encode()
        state.described = content, tag_of(content)
    content, tag = state.described
    same = unchanged(if_none_match, tag)
    return same or Response(content, media_type="application/json", headers={"ETag": tag})


_ALIVE: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {"example": {"status": "ok"}}}}}
_CHECKS = {"status": "ready", "checks": {"database": "ok", "disk": "ok"}}
_READY: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"example": _CHECKS}}},
    503: {
        "description": "The checks show what is missing.",
        "content": {"application/json": {"example": _CHECKS | {"status": "not ready"}}},
    },
}


@health.get("/healthz", responses=_ALIVE)
async def healthz() -> dict[str, str]:
    """Liveness: the process is up; answers even while every thread waits for the database."""
    return {"status": "ok"}


@health.get("/readyz", responses=_READY)
async def readyz(request: Request) -> JSONResponse:
    """Readiness: the database answers and the disk is not nearly full."""
    checks: dict[str, Any] = {}
    ready = True
    for name, check in request.app.state.readiness.items():
        try:
            await _soon(check)
            checks[name] = "ok"
        except ChoirError as error:
            ready = False
            checks[name] = str(error)
        except TimeoutError:
            ready = False
            checks[name] = f"no answer within {_SOON_S:.0f} seconds"
    status = "ready" if ready else "not ready"
    return JSONResponse({"status": status, "checks": checks}, status_code=200 if ready else 503)


@health.get("/metrics", response_class=Response)
async def metrics(node: NodeDep) -> Response:
    """Get Prometheus metrics of all server processes; those of features need the database."""
    registry = REGISTRY
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    body = generate_latest(registry)
    with suppress(ChoirError, TimeoutError):
        body += await _soon(partial(_gauges, node))
    return Response(body, media_type=CONTENT_TYPE_LATEST)


def _gauges(node: Node) -> bytes:
    """What features count in the database."""
    gauges = [gauge for feature in node.features for gauge in feature.gauges]
    with node.read() as tx:
        read = [(one, one.read(node, tx)) for one in gauges]
    lines = [f"# HELP {one.name} {one.help}\n# TYPE {one.name} gauge\n{one.name} {number}\n" for one, number in read]
    return "".join(lines).encode()


async def _soon(work: Callable[[], T]) -> T:
    """Do it in one of a few threads kept for this, whatever the others wait for; a hanging one is left behind."""
    with fail_after(_SOON_S):
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=_threads)
