"""The hash of a test's code: what it does, whatever file or name it pretends to have."""

from __future__ import annotations

import hashlib
import types
from typing import Any


def digest_of(function: Any) -> str:
    """Of the innermost function below all decorators; nothing if it is not written in Python."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return "" if code is None else digest_of_code(code)


def digest_of_code(code: types.CodeType) -> str:
    return hashlib.sha256(_parts(code).encode(errors="backslashreplace")).hexdigest()


def _parts(code: types.CodeType) -> str:
    constants = [_parts(item) if isinstance(item, types.CodeType) else _constant(item) for item in code.co_consts]
    return repr((code.co_code.hex(), code.co_names, code.co_varnames, code.co_freevars, constants))


def _constant(value: Any) -> str:
    return repr(sorted(map(repr, value)) if isinstance(value, frozenset) else value)
