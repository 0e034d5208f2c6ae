"""Requests to a node that are safe to repeat, and errors as the node meant them.

Guarantees: a request is sent again only if repeating it is harmless (it reads, or it carries an
idempotency key) and only after the connection failed or the node asked for it; what the node refuses
is raised as the same error class the node raised.
"""

from __future__ import annotations

import importlib
import random
import time
from collections.abc import Mapping
from typing import Any

import httpx

from choir.doors.sdk.errors import NodeError, NoNode
from choir.foundation.errors import ChoirError, Invalid, Unavailable, error_class

# Where the errors are that a node may answer with.
_REFUSING = (
    "choir.doors.wire",
    "choir.ledger.checkpoints",
    "choir.ledger.model",
    "choir.operations.home",
    "choir.storage.database",
)
_PAUSE_S = 0.1
_PAUSE_S_MAX = 2.0
_REPEATABLE_STATUS = frozenset({502, 503, 504})
_NOT_SOON = frozenset({"node.disk_low", "storage.write_disk_full"})  # nothing changes before somebody acts


class Transport:
    """One connection pool to one node."""

    def __init__(self, url: str, token: str, *, timeout_s: float, patience_s: float, connect_s: float) -> None:
        self.url = url
        self._patience_s = patience_s
        self._connect_s = connect_s
        headers = {"Authorization": f"Bearer {_header(token, 'the token')}"} if token else {}
        try:
            scheme = httpx.URL(url).scheme
            self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout_s, trust_env=False)
        except httpx.InvalidURL:
            scheme = ""
        if scheme not in ("http", "https"):
            raise Invalid(what=f"the node's address '{url}'", why="write it like http://localhost:8420")

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Any:
        """The parsed answer, or the node's refusal as an exception."""
        headers = {"Idempotency-Key": _header(key, "the key")} if key is not None else {}
        repeatable = method == "GET" or key is not None
        began = time.monotonic()
        give_up_at = began + self._patience_s
        pause_s = _PAUSE_S
        while True:
            final = not repeatable or time.monotonic() + pause_s > give_up_at
            try:
                answer = self._http.request(method, path, json=json, params=_given(params), headers=headers)
                if answer.status_code not in _REPEATABLE_STATUS or final or _code(answer) in _NOT_SOON:
                    return _result(answer)
            except httpx.TransportError as error:
                alone = isinstance(error, httpx.ConnectError) and time.monotonic() > began + self._connect_s
                if final or alone:
                    raise self._unreachable(error) from None
            time.sleep(pause_s * (0.5 + random.random()))  # noqa: S311 - only spreads retries
            pause_s = min(pause_s * 2, _PAUSE_S_MAX)

    def _unreachable(self, error: httpx.TransportError) -> ChoirError:
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return NoNode(url=self.url)
        return Unavailable(what=f"The node at {self.url}", why=f"the connection broke ({type(error).__name__})")


def _given(params: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if params is None else {name: value for name, value in params.items() if value is not None}


def _header(value: str, what: str) -> str:
    if not value.isascii() or not value.isprintable() or value != value.strip():
        raise Invalid(what=what, why="it must be printable ASCII")
    return value


def _code(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["code"])
    except (ValueError, KeyError, TypeError):
        return ""


def _result(answer: httpx.Response) -> Any:
    if answer.is_success:
        try:
            return answer.json()
        except ValueError:
            raise NodeError(detail=f"What answers at {answer.url} is not a node.") from None
    try:
        problem = answer.json()
        code, detail = str(problem["code"]), str(problem["detail"])
        fields = dict(problem.get("fields", {}))
    except (ValueError, KeyError, TypeError):
        raise NodeError(detail=f"The node answered with status {answer.status_code} and no explanation.") from None
    raise error_of(code, detail, fields)


def _learned(code: str) -> type[ChoirError] | None:
    """Load what a node refuses with, now that it is needed: a client that is not refused starts faster."""
    for module in _REFUSING:
        importlib.import_module(module)
    return error_class(code)


def error_of(code: str, detail: str, fields: dict[str, Any]) -> ChoirError:
    """The error behind a problem, as the class the node raised."""
    known = error_class(code) or _learned(code)
    if known is not None:
        try:
            return known(**fields)
        except (KeyError, IndexError, ValueError):
            pass  # another version's fields
    return NodeError(detail=detail)
