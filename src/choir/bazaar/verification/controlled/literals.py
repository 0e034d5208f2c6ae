"""Small questions about Python's syntax: is this a literal, what is called here, what is a name given?"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_CHARS_MAX = 20_000
_MAKERS = {"set", "frozenset", "dict", "list", "tuple", "bytes", "bytearray", "datetime", "date", "timedelta", "array"}


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands in the code."""

    value: Any


@dataclass(frozen=True, slots=True)
class Row:
    """A row of parameters, as it is written."""

    items: tuple[ast.expr, ...]
    marks: tuple[ast.keyword, ...] = ()


def literal(node: ast.expr) -> Literal | None:
    """The value of a number, a text, or a container of such; nothing for what must be computed."""
    if isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.Subscript | ast.Compare):
        return None
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return None if isinstance(value, str | bytes) and len(value) > _CHARS_MAX else Literal(value)


def approximation(node: ast.expr) -> tuple[ast.expr, tuple[Any, ...]] | None:
    """`pytest.approx(3.1, rel=…)`: what it is about, and how near."""
    if not isinstance(node, ast.Call) or called(node) != "approx" or not node.args:
        return None
    names = ("rel", "abs", "nan_ok")
    said = dict(zip(names, node.args[1:], strict=False)) | {item.arg: item.value for item in node.keywords if item.arg}
    read = {name: literal(item) for name, item in said.items()}
    if said.keys() - set(names) or None in read.values():
        return None
    values = {name: item.value for name, item in read.items() if item is not None}
    return node.args[0], tuple(values.get(name) for name in names)


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def is_maker(node: ast.Call) -> bool:
    """Whether a call makes an object from its arguments, by the look of its name."""
    name = called(node)
    return name in _MAKERS or name[:1].isupper()


def names_of_arguments(node: ast.expr) -> tuple[str, ...]:
    """The names of parameters in `parametrize`: "a, b" or ("a", "b")."""
    found = literal(node)
    if found is None:
        return ()
    if isinstance(found.value, str):
        return tuple(name.strip() for name in found.value.split(",") if name.strip())
    if isinstance(found.value, list | tuple) and all(isinstance(item, str) for item in found.value):
        return tuple(found.value)
    return ()


def row(node: ast.expr, width: int) -> Row | None:
    """A row of so many parameters, also one in `pytest.param`."""
    if isinstance(node, ast.Call) and called(node) == "param":
        marks = tuple(item for item in node.keywords if item.arg == "marks")
        good = len(node.args) == width and not any(isinstance(item, ast.Starred) for item in node.args)
        return Row(tuple(node.args), marks) if good and all(item.arg for item in node.keywords) else None
    if width == 1:
        return None if isinstance(node, ast.Starred) else Row((node,))
    if isinstance(node, ast.Tuple | ast.List) and len(node.elts) == width:
        return None if any(isinstance(item, ast.Starred) for item in node.elts) else Row(tuple(node.elts))
    return None


def loads(node: ast.AST, name: str) -> int:
    """How often a name is read."""
    return sum(
        isinstance(item, ast.Name) and item.id == name and isinstance(item.ctx, ast.Load) for item in ast.walk(node)
    )


def stores(node: ast.AST) -> dict[str, int]:
    """How often each name is given something; one that is declared elsewhere counts as many."""
    found: dict[str, int] = {}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and not isinstance(item.ctx, ast.Load):
            found[item.id] = found.get(item.id, 0) + 1
        elif isinstance(item, ast.Global | ast.Nonlocal):
            found |= dict.fromkeys(item.names, 2)
    return found


def constants(node: ast.AST) -> Iterator[Any]:
    """Every literal below a node, once for each place."""
    for item in ast.walk(node):
        if isinstance(item, ast.Constant):
            yield item.value


def conjuncts(node: ast.expr) -> list[ast.expr]:
    """The parts of `a and b and c`."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        return [part for item in node.values for part in conjuncts(item)]
    return [node]


def may_leave(node: ast.stmt) -> bool:
    """Whether what follows a statement may not be reached although nothing is wrong."""
    leaving = (ast.Return, ast.Break, ast.Continue, ast.Raise)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return any(
        isinstance(item, leaving)
        or (isinstance(item, ast.Call) and called(item) in ("skip", "skipTest", "importorskip", "exit", "xfail"))
        for item in ast.walk(node)
    )


def is_test_class(node: ast.ClassDef) -> bool:
    return node.name.startswith("Test") or any("TestCase" in ast.dump(base) for base in node.bases)


def mixed_in(module: ast.Module) -> set[str]:
    """Classes that are no tests themselves, of which test classes inherit theirs."""
    classes = [node for node in module.body if isinstance(node, ast.ClassDef)]
    bases = {base.id for node in classes if is_test_class(node) for base in node.bases if isinstance(base, ast.Name)}
    return bases - {node.name for node in classes if is_test_class(node)}
