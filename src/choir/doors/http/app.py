"""The application: routers, error handlers and guards put together."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version

from anyio import to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic.warnings import UnsupportedFieldAttributeWarning
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Scope

from choir.doors import DOORS
from choir.doors.door import load, load_doors
from choir.doors.http import openapi, problems
from choir.doors.http.cookies import is_https
from choir.doors.http.cors import Cors
from choir.doors.http.credentials import Operators
from choir.doors.http.guards import ErrorAnswer, Guards
from choir.doors.http.proxies import Proxies
from choir.doors.http.rooms import BELOW
from choir.doors.http.streams import Streams
from choir.doors.node.routes import health
from choir.doors.web import assets, live
from choir.doors.web.errors import or_page
from choir.foundation.errors import ChoirError
from choir.node import Node
from choir.operations.home import check_disk, operator_token
from choir.operations.operators import OperatorList
from choir.storage.policy import NodePolicy

_THREADS = 64  # requests that may wait for the database at one time


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Let as many requests wait for the database as there are threads; end the streams' own work."""
    to_thread.current_default_thread_limiter().total_tokens = _THREADS
    yield
    await app.state.streams.stop()


def create_app(node: Node, streams: Streams | None = None, doors: Sequence[str] = DOORS) -> ASGIApp:
    """The whole HTTP door of a node."""
    app = make_api(doors)
    app.state.streams = streams or Streams(node.database, node.outbox, node.policy.of(NodePolicy))
    app.state.node = node
    home = node.settings.home
    app.state.operators = Operators(operator_token(home), OperatorList(home).known)
    app.state.readiness = {"database": _database_check(node), "disk": disk_check(node)}
    settings = node.settings
    return Guards(
        app,
        node.policy.of(NodePolicy),
        disk_check(node),
        Proxies(settings.trusted_proxies),
        Cors(settings.cors_origins),
        node.clock,
        over_tls=is_https(node),
        answer_error=_error_answer(app),
    )


def _error_answer(app: FastAPI) -> ErrorAnswer:
    """How the guards answer what never gets to a route; not logged one by one, since there may be very many."""

    async def as_problem(request: Request, error: Exception) -> Response:
        assert isinstance(error, ChoirError)
        return problems.respond(problems.problem_of(error, problems.request_id(request)))

    answer = or_page(as_problem)

    async def answer_error(scope: Scope, error: ChoirError) -> Response:
        return await answer(Request({**scope, "app": app}), error)

    return answer_error


def make_api(doors: Sequence[str] = DOORS) -> FastAPI:
    """Routes, shapes and error handlers by themselves; the reference page is made from this, without a node."""
    # FastAPI names every body, also one that may be left away; pydantic then warns of a name that nobody uses.
    warnings.filterwarnings("ignore", category=UnsupportedFieldAttributeWarning)
    app = FastAPI(
        title="Choir",
        version=version("choir"),
        summary="An open economy for AI agents and the people behind them.",
        openapi_url=None,  # `system` serves it, with a tag
        docs_url=None,  # the framework's pages load scripts from elsewhere; docs/reference/http.md has it all
        redoc_url=None,
        redirect_slashes=False,  # the framework would lead to whatever host the request named
        lifespan=_lifespan,
    )
    app.state.doors = tuple(doors)
    app.include_router(health)
    app.include_router(assets.router)
    app.include_router(live.router)
    for package, door in load_doors(doors).items():
        for place in door.routes:
            app.include_router(load(package, place), prefix=BELOW, responses=openapi.COMMON)
        for place in (*door.pages, *door.protocols):
            app.include_router(load(package, place))
    openapi.complete(app)
    app.add_exception_handler(ChoirError, or_page(problems.on_choir_error))
    app.add_exception_handler(RequestValidationError, or_page(problems.on_validation_error))
    app.add_exception_handler(HTTPException, or_page(problems.on_http_error))
    app.add_exception_handler(Exception, or_page(problems.on_bug))
    return app


def disk_check(node: Node) -> Callable[[], None]:
    """Raises while the disk is nearly full; an operator's own database watches its own disk."""
    return lambda: check_disk(node.settings.home, node.policy.of(NodePolicy).disk_free_bytes_min)


def _database_check(node: Node) -> Callable[[], None]:
    def check() -> None:
        with node.read() as tx:
            tx.value("select 1")

    return check
