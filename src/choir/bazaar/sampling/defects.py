"""Makes diffs with defects for reviews that are looked over: code of Python's own library, a few lines of it wrong.

Real code, of which there is much, in pieces that stand by themselves: what a reviewer gets is no template that it
has seen before. Each defect is of a kind that people and linters know: a name that is nowhere defined, a comparison
by identity, a handler that swallows everything, a default value that all calls share.

Guarantees: the lines that are named are wrong, and were right before; a made file is Python that compiles; nothing
of the library's is run.
"""

from __future__ import annotations

import ast
import builtins
import re
import sysconfig
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from choir.bazaar.qualification.bundles import blob_name
from choir.bazaar.sampling.planted import Planted
from choir.foundation.clock import Entropy

_LINES_MIN, _LINES_MAX = 40, 250
_BYTES_MIN, _BYTES_MAX = 4_000, 60_000  # of a module that pieces are taken from
_DEFECTS = 3
_TRIES = 60  # until a piece fits; more than half of all do
_NAME_CHARS_MIN = 3
_TOO_PLAIN = frozenset({"self", "cls"})
_PACKAGES = ("asyncio", "concurrent", "email", "html", "http", "importlib", "json", "logging", "unittest", "urllib")
_ONE_AT_A_TIME = threading.Lock()  # Python 3.11 confuses the depths of trees that threads build at the same time
T = TypeVar("T")
_EXCEPT = re.compile(r"(\s*except) [^:#]+:\s*")


@dataclass(frozen=True, slots=True)
class PlantedDiff:
    """A diff that adds one file, the file itself, and where the defects are."""

    path: str
    content: bytes
    diff: bytes
    planted: Planted


@dataclass(frozen=True, slots=True)
class _Defect:
    kind: str
    line: int
    text: str  # the whole line as it becomes


def make(entropy: Entropy) -> PlantedDiff | None:
    """A diff with defects; None where this machine has no sources to make one of."""
    for _ in range(_TRIES):
        try:
            piece = _piece(entropy)
        except (SyntaxError, ValueError, OSError, MemoryError, RecursionError):  # not every file of a library is code
            continue
        if piece is None:
            continue
        name, lines = piece
        defects = _chosen(entropy, list(_defects(lines)))
        if len(defects) == _DEFECTS:
            return _made(f"{name.lower()}.py", lines, defects, entropy.bytes(16).hex())
    return None


def _made(path: str, lines: list[str], defects: Sequence[_Defect], salt: str) -> PlantedDiff:
    for defect in defects:
        lines[defect.line - 1] = defect.text
    content = "".join(f"{line}\n" for line in lines).encode()
    body = "".join(f"+{line}\n" for line in lines)
    head = (
        f"diff --git a/{path} b/{path}\nnew file mode 100644\nindex {'0' * 40}..{blob_name(content)}\n"
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
    )
    planted = Planted(tuple(sorted((path, defect.line) for defect in defects)), len(lines), salt)
    return PlantedDiff(path, content, (head + body).encode(), planted)


def _chosen(entropy: Entropy, found: list[_Defect]) -> list[_Defect]:
    """Some of them: of different kinds as far as there are, each in a line of its own."""
    chosen: list[_Defect] = []
    while found and len(chosen) < _DEFECTS:
        new_kind = [item for item in found if item.kind not in {each.kind for each in chosen}]
        one = _pick(entropy, new_kind or found)
        chosen.append(one)
        found = [item for item in found if item.line != one.line]
    return chosen


# --- pieces of code that stand by themselves ---


def _piece(entropy: Entropy) -> tuple[str, list[str]] | None:
    """A function or class with everything of its module that it needs; None if that is too little or too much."""
    files = _modules()
    if not files:
        return None
    text = _pick(entropy, files).read_text(encoding="utf-8", errors="replace")
    if not text.isascii() or "\f" in text:  # places in a line are counted in bytes, and lines by their ends
        return None
    parts = _parsed(text).body
    owners = {name: part for part in parts for name in _defines(part)}
    public = [name for name, part in owners.items() if _is_code(part) and not name.startswith("_")]
    if not public:
        return None
    name = _pick(entropy, public)
    needed = _closure(name, owners)
    if needed is None:
        return None
    lines = _cut(text.splitlines(), [part for part in parts if part in needed])
    return (name, lines) if _LINES_MIN <= len(lines) <= _LINES_MAX else None


def _parsed(text: str) -> ast.Module:
    with _ONE_AT_A_TIME:
        return ast.parse(text)


@cache
def _modules() -> tuple[Path, ...]:
    folder = Path(sysconfig.get_path("stdlib"))
    found = [*folder.glob("*.py"), *(path for name in _PACKAGES for path in folder.glob(f"{name}/*.py"))]
    fit = (path for path in found if path.is_file() and _BYTES_MIN <= path.stat().st_size <= _BYTES_MAX)
    return tuple(sorted(path for path in fit if not path.name.startswith("_")))


def _defines(part: ast.stmt) -> list[str]:
    """The names that a statement at the top of a module gives a meaning to."""
    match part:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return [(item.asname or item.name).partition(".")[0] for item in names]
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def _is_code(part: ast.stmt) -> bool:
    return isinstance(part, ast.FunctionDef | ast.ClassDef)


def _closure(name: str, owners: dict[str, ast.stmt]) -> set[ast.stmt] | None:
    """Everything that a definition needs, directly or not; None if something of it cannot be found."""
    needed: set[ast.stmt] = set()
    waiting = [name]
    while waiting:
        part = owners.get(waiting.pop())
        if part is None:
            return None
        if part not in needed:
            needed.add(part)
            waiting += _used(part)
    return needed


def _used(part: ast.stmt) -> set[str]:
    """The names that a statement takes from outside of itself; an import takes none."""
    named = [node for node in ast.walk(part) if isinstance(node, ast.Name)]
    own = {node.id for node in named if not isinstance(node.ctx, ast.Load)} | _bound(part)
    return {node.id for node in named} - own - set(dir(builtins)) - {"__file__", "__name__"}


def _bound(part: ast.stmt) -> set[str]:
    """Parameters, inner definitions, inner imports and caught errors."""
    found: set[str] = set()
    for node in ast.walk(part):
        match node:
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import() | ast.ImportFrom():
                found |= set(_defines(node))
    return found


def _cut(lines: list[str], parts: Sequence[ast.stmt]) -> list[str]:
    """The lines of these parts, set apart as one does."""
    out: list[str] = []
    for part in parts:
        decorated = getattr(part, "decorator_list", [])
        first = min([part.lineno, *(item.lineno for item in decorated)])
        apart = 2 if _is_code(part) else 0 if not out or isinstance(part, ast.Import | ast.ImportFrom) else 1
        out += [""] * (apart if out else 0) + lines[first - 1 : part.end_lineno]
    return out


# --- defects ---


def _defects(lines: list[str]) -> Iterator[_Defect]:
    """Every place where one could be put."""
    tree = _parsed("\n".join(lines))
    makers: dict[type[ast.AST], tuple[str, Callable[[ast.AST, list[str]], str | None]]] = {
        ast.Compare: ("identity", _by_identity),
        ast.FunctionDef: ("shared", _sharing),
    }
    for node in ast.walk(tree):
        if type(node) in makers:
            kind, maker = makers[type(node)]
            text = maker(node, lines)
            if text is not None:
                yield _Defect(kind, _line_of(node), text)
        if isinstance(node, ast.Try) and node.handlers and (text := _swallowing(node.handlers[-1], lines)) is not None:
            yield _Defect("swallowed", node.handlers[-1].lineno, text)
    for name in _locals_read(tree):
        if lines[name.lineno - 1][name.col_offset : name.end_col_offset] == name.id:  # not so within texts before 3.12
            yield _Defect("misspelt", name.lineno, _misspelt(name, lines))


def _line_of(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _by_identity(node: ast.AST, lines: list[str]) -> str | None:
    """`is` where there was `==`, with a number or a text."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[ast.Constant(value=int() | str() as value) as right]):
            line = lines[left.lineno - 1]
            between = line[left.end_col_offset : right.col_offset]
            if left.lineno == right.lineno == left.end_lineno and between == " == " and not isinstance(value, bool):
                return f"{line[: left.end_col_offset]} is {line[right.col_offset :]}"
    return None


def _swallowing(handler: ast.ExceptHandler, lines: list[str]) -> str | None:
    """A handler of every error, also of those nobody thought of; it must be the last one."""
    found = _EXCEPT.fullmatch(lines[handler.lineno - 1])
    return f"{found[1]}:" if found is not None and handler.name is None else None


def _sharing(node: ast.AST, lines: list[str]) -> str | None:
    """A list as a default value: every call gets the same one."""
    assert isinstance(node, ast.FunctionDef)
    line = lines[node.lineno - 1]
    plain = f"{node.args.args[-1].arg}=None)" if node.args.args and node.args.defaults else ""
    return line.replace(plain, plain.replace("None", "[]")) if plain and line.count(plain) == 1 else None


def _locals_read(tree: ast.Module) -> Iterator[ast.Name]:
    """Where functions read a parameter of theirs."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            own = {item.arg for item in function.args.args if len(item.arg) >= _NAME_CHARS_MIN} - _TOO_PLAIN
            for statement in function.body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in own:
                        yield node


def _misspelt(node: ast.Name, lines: list[str]) -> str:
    """The name with its last letter written twice, which no name is here."""
    line = lines[node.lineno - 1]
    assert node.end_col_offset is not None
    wrong = node.id + node.id[-1]
    while re.search(rf"\b{wrong}\b", "\n".join(lines)):
        wrong += node.id[-1]
    return line[: node.col_offset] + wrong + line[node.end_col_offset :]


def _pick(entropy: Entropy, items: Sequence[T]) -> T:
    return items[int.from_bytes(entropy.bytes(8)) % len(items)]
