"""Wrong patches that pass the visible tests: small programs, honest fixes of them, and mutants of those fixes.

A program is a text file in `programs` with a fault, two honest fixes, tests that everybody sees, hidden tests, and
probes. A mutant is the first fix with one thing changed in the lines that fix the fault. It is wrong if any probe
answers otherwise than with the fix itself; the probes are many calls, and no verifier sees them. What passes the
visible tests and is wrong is what a buyer has to fear.

Guarantees: the same programs and mutants on every machine; what decides whether a mutant is wrong has no part in what
verifies it. Mutants run in the sandbox only: some never end.
"""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from choir.bazaar.verification.model import Runs
from choir.foundation.errors import Broken
from choir.sandbox.model import Limits, Spec

_FOLDER = Path(__file__).parent / "programs"
_MARK = "=== "
_PARTS = ("broken", "fixed", "honest", "visible", "hidden", "probes")
_WALL_S = 120

# What is put in the place of an operator.
_OPERATORS: Mapping[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.FloorDiv: (ast.Mult,),
    ast.Mod: (ast.FloorDiv,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
_NAMES = {"min": "max", "max": "min", "sorted": "list"}
_METHODS = {"lower": "upper", "strip": "lstrip", "append": "count"}

# Runs in the sandbox: which candidates pass the visible tests and answer some probe otherwise than the fix.
_DRIVER = """
import json, signal, sys, types
given = json.load(sys.stdin)
class TooLong(BaseException): pass
def late(*_): raise TooLong
signal.signal(signal.SIGALRM, late)
def seen(call, *args):
    try:
        return repr(call(*args))
    except Exception as error:
        return type(error).__name__
def within(work):
    signal.setitimer(signal.ITIMER_REAL, 1)
    try:
        return work()
    except TooLong:
        return "too long"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
def loaded(source):
    module = types.ModuleType(given["name"])
    sys.modules[given["name"]] = module
    exec(compile(source, given["name"] + ".py", "exec"), module.__dict__)
    return module
def passes(source):
    loaded(source)
    tests = {}
    exec(given["visible"], tests)
    for name, test in tests.items():
        if name.startswith("test_"):
            test()
    return True
def answers(source):
    probes = {"seen": seen}
    exec(given["probes"], probes)
    return probes["probe"](loaded(source))
def survives(source):
    try:
        return within(lambda: passes(source)) is True
    except Exception:
        return False
def differs(source):
    try:
        return within(lambda: answers(source)) != right
    except Exception:
        return True
right = answers(given["fixed"])
told = [{"passes": survives(one), "wrong": differs(one)} for one in given["candidates"]]
json.dump(told, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class Program:
    """A small module with a fault, and all that is known about it."""

    name: str
    broken: str
    fixed: str
    honest: str  # another fix
    visible: str
    hidden: str
    probes: str

    @property
    def module(self) -> str:
        return f"{self.name}.py"

    def diff(self, after: str) -> str:
        """The patch that makes this of the faulty module."""
        lines = difflib.unified_diff(
            self.broken.splitlines(keepends=True),
            after.splitlines(keepends=True),
            f"a/{self.module}",
            f"b/{self.module}",
        )
        return "".join(lines)

    @property
    def fixing_lines(self) -> set[int]:
        """Lines of the fix that the fault did not have, counted from 1."""
        matcher = difflib.SequenceMatcher(None, self.broken.splitlines(), self.fixed.splitlines(), autojunk=False)
        return {
            line + 1
            for tag, _, _, first, last in matcher.get_opcodes()
            if tag != "equal"
            for line in range(first, last)
        }


@dataclass(frozen=True, slots=True)
class Mutant:
    """A fix with one thing changed."""

    program: Program
    what: str  # where, and from what to what
    source: str


def programs() -> list[Program]:
    """All of them, by name."""
    return [_read(file) for file in sorted(_FOLDER.glob("*.txt"))]


def _read(file: Path) -> Program:
    parts: dict[str, list[str]] = {}
    current: list[str] = []
    for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith(_MARK):
            current = parts.setdefault(line.removeprefix(_MARK).strip(), [])
        else:
            current.append(line)
    assert tuple(parts) == _PARTS, file
    return Program(file.stem, **{name: "".join(lines) for name, lines in parts.items()})


def mutants(program: Program) -> Iterator[Mutant]:
    """Every change of the table to every place in the lines that fix the fault; each text once."""
    told = {program.fixed}
    for node in ast.walk(ast.parse(program.fixed)):
        if getattr(node, "lineno", None) not in program.fixing_lines:
            continue
        for target, text in _changes(node):
            source = _replaced(program.fixed, target, text)
            if source not in told and _parses(source):
                told.add(source)
                was = ast.get_source_segment(program.fixed, target) or ""
                yield Mutant(program, f"line {target.lineno}: {was.strip()} -> {text}", source)


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """What may stand in the place of a node, or of one of its parts."""
    yield from _operators(node)
    yield from _parts(node)
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and node.lineno == node.end_lineno:
        yield node, "pass"


def _operators(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """The same with another operator, or without a "not"."""
    was: ast.AST
    made: Callable[[Any], ast.AST]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        was, made = node.ops[0], lambda op: ast.Compare(node.left, [op], node.comparators)
    elif isinstance(node, ast.BinOp):
        was, made = node.op, lambda op: ast.BinOp(node.left, op, node.right)
    elif isinstance(node, ast.BoolOp):
        was, made = node.op, lambda op: ast.BoolOp(op, node.values)
    elif isinstance(node, ast.AugAssign):
        was, made = node.op, lambda op: ast.AugAssign(node.target, op, node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"({ast.unparse(node.operand)})"
        return
    else:
        return
    for other in _OPERATORS.get(type(was), ()):
        text = ast.unparse(made(other()))
        yield node, text if isinstance(node, ast.stmt) else f"({text})"


def _parts(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Another constant, branch, function or method."""
    if isinstance(node, ast.Constant):
        yield from ((node, text) for text in _constants(node.value))
    elif isinstance(node, ast.IfExp):
        yield node, f"({ast.unparse(ast.IfExp(node.test, node.orelse, node.body))})"
    elif isinstance(node, ast.If):
        yield from ((node.test, text) for text in ("True", "False"))
    elif isinstance(node, ast.Name) and node.id in _NAMES:
        yield node, _NAMES[node.id]
    elif isinstance(node, ast.Attribute) and node.attr in _METHODS:
        yield node, f"{ast.unparse(node.value)}.{_METHODS[node.attr]}"


def _constants(value: object) -> Iterable[str]:
    if isinstance(value, bool):
        return (str(not value),)
    if isinstance(value, int):
        return (str(value + 1), str(value - 1))
    return ('""',) if isinstance(value, str) and value else ()


def _replaced(source: str, node: ast.expr | ast.stmt, text: str) -> str:
    """The source with the text of a node exchanged; our programs are ASCII."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    return source[:begin] + text + source[end:]


def wrong_but_passing(program: Program, runs: Runs) -> list[Mutant]:
    """The mutants that pass the visible tests and are wrong all the same."""
    found = list(mutants(program))
    told = judged(program, [each.source for each in found], runs)
    return [mutant for mutant, (passes, wrong) in zip(found, told, strict=True) if passes and wrong]


def judged(program: Program, candidates: list[str], runs: Runs) -> list[tuple[bool, bool]]:
    """Of each candidate, whether it passes the visible tests and whether it is wrong."""
    given = {
        "name": program.name,
        "fixed": program.fixed,
        "visible": program.visible,
        "probes": program.probes,
        "candidates": candidates,
    }
    spec = Spec(
        argv=("/usr/bin/python3", "-I", "-c", _DRIVER),
        stdin=json.dumps(given).encode(),
        limits=Limits(wall_s=_WALL_S, cpu_s=_WALL_S),
    )
    result = runs.run(spec)
    if not result.ok:
        raise Broken(what=f"The program {program.name}", why=f"its mutants could not be run: {result.stderr[-500:]!r}")
    return [(bool(one["passes"]), bool(one["wrong"])) for one in json.loads(result.stdout)]
