"""Mutants: the patched lines, each changed a little, to see whether the tests notice.

A test suite that notices none of them would accept a wrong patch as well. Mutants are made from the lines that the
patch added or changed in Python files, by a table of small changes; which are tried is decided by the patch itself, so
that two verifiers try the same. A mutant that fails to load counts as noticed. One more variant has changes that mean
nothing, and must pass: code that watches its own text, to fail in every mutant, fails there too.
"""

from __future__ import annotations

import ast
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path

from choir.bazaar.contracts import HiddenChecks, PatchGenRequest
from choir.bazaar.contracts.commands import parse_tests
from choir.bazaar.policy import VerificationPolicy
from choir.bazaar.verification import syntax
from choir.bazaar.verification.decision import is_test_change
from choir.bazaar.verification.reports import Report
from choir.bazaar.verification.test_runs import Bench
from choir.bazaar.verification.trees import Change, Entry, lay_out, put

_BPS = 10_000
_UNREAD = ("rest", "kept", "other", "found", "spare", "unread_name")
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.And: "or",
    ast.Or: "and",
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one small change."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Mutation:
    """What came of them."""

    tried: int
    noticed: int
    watched: bool = False  # a change without a meaning was noticed as well

    def is_below(self, floor_bps: int, policy: VerificationPolicy) -> bool:
        """Whether too few were noticed; of very few nothing follows."""
        return self.tried >= policy.mutants_min and self.noticed * _BPS < floor_bps * self.tried


def run(
    bench: Bench, tree: Path, changes: Sequence[Change], request: PatchGenRequest, hidden: HiddenChecks | None
) -> Mutation:
    """Try mutants of the patched lines with the buyer's tests, the hidden ones among them."""
    found = sorted(mutants(changes), key=lambda item: hashlib.sha256(item.path.encode() + item.content).digest())
    chosen = found[: bench.policy.mutants_max]
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=tree.parent) as name:
        base = lay_out(tree, Path(name) / "base")
        commands = [request.test_command]
        if hidden is not None:
            for item in hidden.files:
                put(base, item.path, Entry(item.content))
            commands += [check.command for check in hidden.checks if parse_tests(check.command) is not None]
        works = [partial(_try, bench, base, Path(name) / str(place), one, commands, request)
                 for place, one in enumerate(chosen)]  # fmt: skip
        reports = bench.run_all(works)
        same = lay_out(base, Path(name) / "same")
        for variant in neutral(changes):
            put(same, variant.path, Entry(variant.content))
        watched = not any(_run(bench, same, commands, request).ended_well for _ in range(bench.policy.hidden_runs))
    return Mutation(len(reports), sum(not report.ended_well for report in reports), watched)


def _try(
    bench: Bench, base: Path, folder: Path, mutant: Mutant, commands: Sequence[str], request: PatchGenRequest
) -> Report:
    """The first command that notices, or the last."""
    tree = lay_out(base, folder)
    put(tree, mutant.path, Entry(mutant.content))
    return _run(bench, tree, commands, request)


def _run(bench: Bench, tree: Path, commands: Sequence[str], request: PatchGenRequest) -> Report:
    for command in commands:
        report = bench.run(tree, command, request.subdir)
        if not report.ended_well:
            break
    return report


def neutral(changes: Sequence[Change]) -> Iterator[Mutant]:
    """Each patched file with a name more in every function, which nothing reads."""
    for change, source, module in _patched(changes):
        used = {item.id for item in ast.walk(module) if isinstance(item, ast.Name)}
        name = next((word for word in _UNREAD if word not in used), "")
        lines = source.split(b"\n")
        places = {place for node in ast.walk(module) if (place := _first_line(node)) is not None}
        for line, indent in sorted(places, reverse=True):
            lines.insert(line - 1, b" " * indent + f"{name} = None".encode())
        content = b"\n".join(lines)
        with suppress(SyntaxError, ValueError):
            ast.parse(content)
            yield Mutant(change.path, content)


def _first_line(node: ast.AST) -> tuple[int, int] | None:
    """Line and indentation of a function's first statement behind its documentation, if it begins the line."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    first = node.body[1] if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1 else node.body[0]
    own = min([first.lineno, *(item.lineno for item in getattr(first, "decorator_list", ()))])
    return (own, first.col_offset) if own > node.lineno and first.col_offset > node.col_offset else None


def _patched(changes: Sequence[Change]) -> Iterator[tuple[Change, bytes, ast.Module]]:
    """The Python files that a patch leaves, tests apart."""
    for change in changes:
        if change.after is None or not change.path.endswith(".py") or is_test_change(change):
            continue
        with suppress(*syntax.UNREADABLE):
            yield change, change.after.content, syntax.parse(change.after.content)


def mutants(changes: Sequence[Change]) -> Iterator[Mutant]:
    """All that the table gives for the lines that were added or changed."""
    for change, source, module in _patched(changes):
        lines = _changed_lines(change)
        for start, end, text in _edits(source, module, lines):
            content = source[:start] + text.encode() + source[end:]
            try:
                ast.parse(content)
            except (SyntaxError, ValueError):
                continue
            yield Mutant(change.path, content)


def _changed_lines(change: Change) -> set[int]:
    assert change.after is not None
    before = change.before.content.splitlines() if change.before else []
    after = change.after.content.splitlines()
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return {line + 1 for kind, _, _, start, end in codes if kind != "equal" for line in range(start, end)}


def _edits(source: bytes, module: ast.Module, lines: set[int]) -> Iterator[tuple[int, int, str]]:
    starts = [0]
    for line in source.split(b"\n"):
        starts.append(starts[-1] + len(line) + 1)

    def span(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def between(left: ast.expr, right: ast.expr, other: str) -> tuple[int, int, str]:
        """What stands between two operands, with its brackets kept and its operator replaced."""
        start, end = span(left)[1], span(right)[0]
        text = source[start:end].decode(errors="replace")
        return start, end, _with_operator(text, other)

    for node in ast.walk(module):
        if getattr(node, "lineno", 0) not in lines:
            continue
        match node:
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                yield between(left, right, _OPERATORS[type(op)])
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
                yield between(left, right, _OPERATORS[type(op)])
            case ast.BoolOp(op=op, values=[left, right]):
                yield between(left, right, _OPERATORS[type(op)])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                yield (*span(node), source[slice(*span(operand))].decode(errors="replace"))
            case ast.Constant(value=bool() as value):
                yield (*span(node), repr(not value))
            case ast.Constant(value=int() as value):
                yield (*span(node), repr(value + 1))
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
                yield (*span(value), "None")
            case ast.If(test=test):
                yield (*span(test), f"(not ({source[slice(*span(test))].decode(errors='replace')}))")


def _with_operator(text: str, other: str) -> str:
    """`) + (` with `-` gives `) - (`."""
    head = text[: len(text) - len(text.lstrip(" )\n\t\\"))]
    tail = text[len(text.rstrip(" (\n\t\\")) :]
    return f"{head or ' '}{other}{tail or ' '}"
