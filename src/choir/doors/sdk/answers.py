"""What a node answered: the shape that was asked for, or the node's own error.

Guarantees: what the node refuses is raised as the same class that the node raised, with its fields; an
answer of anything else at that address is a `NodeError` and never a surprise. The classes are found by
looking through the package, so that none can be forgotten.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

import choir
from choir.doors.sdk.errors import NodeError
from choir.foundation.errors import ChoirError, error_class

T = TypeVar("T")

_NEVER_RAISED_BY_A_NODE = ("choir.benchmarks", "choir.doors.cli")
_tried: set[str] = set()


def read(shape: type[T], value: Any) -> T:
    """A value in its shape; another program at that address would not have it."""
    if shape is type(None):
        return None
    assert issubclass(shape, BaseModel)
    try:
        return shape.model_validate(value)
    except ValidationError:
        raise NodeError(detail=f"The node's response is not a {shape.__name__}; is it another version?") from None


def result(shape: type[T], answer: httpx.Response) -> T:
    """The answer in its shape, or the node's refusal as an exception."""
    if not answer.is_success:
        raise refusal(answer)
    if shape is type(None):
        return read(shape, None)
    if issubclass(shape, bytes):
        return shape(answer.content)
    try:
        value = answer.json()
    except (ValueError, RecursionError):
        raise NodeError(detail=f"The server at {_place(answer)} is not a Choir node.") from None
    return read(shape, value)


def refusal(answer: httpx.Response) -> ChoirError:
    """The error behind an answer that is not a success."""
    try:
        problem = answer.json()
        code, detail = str(problem["code"]), str(problem["detail"])
        fields = dict(problem.get("fields", {}))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return NodeError(detail=f"The node answered with status {answer.status_code} and no explanation.")
    return error_of(code, detail, fields)


def error_of(code: str, detail: str, fields: dict[str, Any]) -> ChoirError:
    """The error behind a problem, as the class the node raised."""
    known = error_class(code) or _learned(code)
    if known is not None:
        try:
            made = known(**fields)
            made.advice.encode()  # its hint needs fields too
        except (KeyError, IndexError, ValueError, TypeError, AttributeError):
            pass  # another version's fields
        else:
            return made
    return NodeError(detail=detail)


def _learned(code: str) -> type[ChoirError] | None:
    """Load modules until one has the class: now that it is needed, for a client that is not refused starts faster."""
    for module in _likely_first(code):
        if module not in _tried:
            _tried.add(module)
            importlib.import_module(module)
        if (found := error_class(code)) is not None:
            return found
    return None


def _likely_first(code: str) -> Iterator[str]:
    """Every module that may have the class: those of the part that the code names, its `model` before the others."""
    modules = [item.name for item in pkgutil.walk_packages(choir.__path__, "choir.", onerror=lambda _: None)]
    part = code.partition(".")[0]
    near = [name for name in modules if name.startswith(f"choir.{part}.") or name == f"choir.doors.{part}"]
    yield from sorted(near, key=lambda name: not name.endswith(".model"))
    yield from (name for name in modules if not name.startswith(_NEVER_RAISED_BY_A_NODE) and name not in near)


def _place(answer: httpx.Response) -> str:
    """The address without its query, which may tell more than an error should."""
    return str(answer.url.copy_with(query=None))
