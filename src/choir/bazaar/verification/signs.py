"""Signs: what a patch brings in that reaches into the interpreter, names a test runner, or cannot be read.

No reason to refuse: honest code imports dynamically, pickles, mocks and mentions pytest. They stand on the verdict for
whoever reads the patch, and raise the number of control runs. What a file did before the patch is no sign.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import PurePosixPath

from choir.bazaar.verification import syntax as parsing
from choir.bazaar.verification.decision import is_test_change
from choir.bazaar.verification.trees import Change, Entry

_RUNNERS = ("pytest", "unittest", "/opt/choir", "/work/tree", "__choir__")
_REACHING = {
    "_getframe",
    "_current_frames",
    "_exit",
    "settrace",
    "setprofile",
    "meta_path",
    "path_hooks",
    "get_objects",
    "get_referrers",
    "get_referents",
    "currentframe",
    "f_back",
    "f_globals",
    "f_locals",
    "gi_frame",
    "tb_frame",
    "__subclasses__",
    "__builtins__",
    "__closure__",
    "cell_contents",
    "__code__",
    "__globals__",
    "__wrapped__",
    "addaudithook",
    "register_at_fork",
    "import_module",
    "exec_module",
    "load_module",
}
_REACHING_MODULES = {
    "ctypes",
    "_ctypes",
    "marshal",
    "_testcapi",
    "runpy",
    "__main__",
    "pickle",
    "_pickle",
    "shelve",
    "codeop",
}
_REACHING_CALLS = {"eval", "exec", "compile", "__import__"}
_ROOTS = {"sys", "os", "builtins", "gc", "inspect", "types", "importlib"}  # where looking names up hides what is used
_BUILD_FILES = {"setup.py", "noxfile.py", "tasks.py", "fabfile.py"}


_WORDS = {"asks": "names a test runner", "unreadable": "has Python code that cannot be parsed"}
_REACHES = "reaches into the interpreter"


def signs(changes: Iterable[Change]) -> tuple[str, ...]:
    """What a reader of the patch may want to look at, in words; nothing of the patch itself."""
    found: set[str] = set()
    for change in changes:
        if change.after is None or is_test_change(change) or PurePosixPath(change.path).name in _BUILD_FILES:
            continue
        new = _signs(change.path, change.after) - _signs(change.path, change.before)
        found |= {_WORDS.get(sign, _REACHES) for sign in new}
    return tuple(sorted(found))


def _signs(path: str, entry: Entry | None) -> set[str]:
    if entry is None or not path.endswith((".py", ".pyi", ".pyw")):
        return set()
    try:
        tree = parsing.parse(entry.content)
    except parsing.UNREADABLE:
        return {"unreadable"}
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found: set[str] = set()
    for node in ast.walk(tree):
        if id(node) not in bare or not isinstance(node, ast.Constant):
            found |= _signs_of(node)
    return found


def _signs_of(node: ast.AST) -> set[str]:
    """What one piece of code is a sign of."""
    names: set[str] = set()
    if isinstance(node, ast.Import):
        names = {item.name.split(".")[0] for item in node.names}
    elif isinstance(node, ast.ImportFrom):
        names = {(node.module or "").split(".")[0], *(item.name for item in node.names)}
        names |= {"sys.modules"} if node.module == "sys" and {"modules", "*"} & names else set()
    elif isinstance(node, ast.Attribute):
        names = {node.attr, f"{_root(node.value)}.{node.attr}"}
    elif (text := _text(node)) is not None:
        asked = any(word in text.lower() for word in _RUNNERS)
        names = {"pytest"} if asked else {text} & _REACHING
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        names = _signs_of_call(node.func.id, node.args)
    asks = {"asks"} if names & {"pytest", "_pytest", "pluggy", "unittest"} else set()
    hidden = {f"{root}.__dict__" for root in _ROOTS} | {"sys.modules"}
    return asks | (names & (_REACHING | _REACHING_MODULES | hidden | {"call"}))


def _signs_of_call(name: str, arguments: list[ast.expr]) -> set[str]:
    computed = name == "getattr" and len(arguments) > 1 and not isinstance(arguments[1], ast.Constant)
    looks_up = (computed or name == "vars") and bool(arguments) and _root(arguments[0]) in _ROOTS
    if name in _REACHING_CALLS or looks_up:
        return {"call"}
    return set()


def _text(node: ast.AST) -> str | None:
    """A text as it stands there, also one that is put together from pieces."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    parts: list[str] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        if not isinstance(node.right, ast.Constant) or not isinstance(node.right.value, str):
            return None
        parts.insert(0, node.right.value)
        node = node.left
    first = _text(node) if parts and isinstance(node, ast.Constant) else None
    return None if first is None else first + "".join(parts)


def _root(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
