"""Reads a test file: which tests it has, and how each assertion can be held from outside.

Pure: a file's text in, a `Suite` out; nothing is run. What must raise to work is left alone: assertions below `try`,
inside blocks that must raise, in nested functions, in tests that are expected to fail. Guarantees: an observed value's
expected one stands nowhere in the file as the tested process sees it, or the site has no observation.
"""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from choir.bazaar.verification import syntax
from choir.bazaar.verification.controlled import literals
from choir.bazaar.verification.controlled.blanks import blanked
from choir.bazaar.verification.controlled.literals import literal
from choir.bazaar.verification.controlled.others import ERRORS, can_change
from choir.bazaar.verification.controlled.sites import (
    Change,
    Column,
    Form,
    FoundTest,
    Observation,
    Site,
    Span,
    Suite,
    Table,
)
from choir.bazaar.verification.controlled.values import Relation, is_guessable

_CONTAINED_CHARS_MIN = 4  # a shorter text may stand in another by chance
_CONTAINED_CHARS_CERTAIN = 12  # of such a length, not even one that is nearly the same stands there too
_LEFT_ALONE = ("xfail", "expectedFailure")  # decorators of tests whose failures mean something
_EQUAL = {
    "assertEqual",
    "assertEquals",
    "assertListEqual",
    "assertTupleEqual",
    "assertDictEqual",
    "assertSetEqual",
    "assertSequenceEqual",
    "assertMultiLineEqual",
}
_MUST_RAISE = {"raises", "assertRaises", "assertRaisesRegex"}
_CATCHING = _MUST_RAISE | {"warns", "assertWarns", "assertWarnsRegex", "suppress", "assertLogs", "deprecated_call"}
_ORDERS = {
    ast.Lt: (Relation.BELOW, Relation.ABOVE),
    ast.Gt: (Relation.ABOVE, Relation.BELOW),
    ast.LtE: (Relation.BELOW_OR_EQUAL, Relation.ABOVE_OR_EQUAL),
    ast.GtE: (Relation.ABOVE_OR_EQUAL, Relation.BELOW_OR_EQUAL),
}
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class _Constant:
    """A name that is given a literal once; it can stay outside if only sites read it."""

    value: Any
    node: ast.expr
    span: Span
    loads: int
    uses: int = 0

    @property
    def is_free(self) -> bool:
        return self.loads == self.uses


@dataclass(slots=True)
class _Column:
    """The same of a column of parameters."""

    column: Column
    loads: int
    uses: int = 0
    home: _Constant | None = None  # the name that the table's rows are given by

    @property
    def is_free(self) -> bool:
        return self.loads == self.uses and (self.home is None or self.home.is_free)


@dataclass(slots=True)
class _Scope:
    """What is known while a test is read."""

    test: str
    constants: Mapping[str, _Constant]
    columns: Mapping[str, _Column]
    literals: Sequence[Any]


@dataclass(slots=True)
class _Draft:
    """A site, and the name that it expects, of which it is not known yet who else reads it."""

    site: Site
    name: _Constant | _Column | None = None

    def settled(self) -> Site:
        name = self.name
        if isinstance(name, _Column) and not name.is_free:
            return replace(self.site, observation=None, changes=())
        if isinstance(name, _Constant) and not name.is_free:
            return replace(self.site, observation=None)
        return self.site


def read_suite(source: bytes, *, tables: bool = True, shared: Collection[str] = ()) -> Suite:
    """What there is to hold in a file; one that cannot be read has nothing.

    Without `tables` rows keep their names. Constants of a `shared` name are read by other files too.
    """
    first = source.split(b"\n", 2)[:2]
    if b"\r" in source or source.startswith(b"\xef\xbb\xbf") or any(b"coding" in line for line in first):
        source = _plain(source)
    try:
        module = syntax.parse(source)
        source = blanked(source, module)
    except (*syntax.UNREADABLE, tokenize.TokenError):
        return Suite(source)
    return _Reader(source, module, tables, shared).suite()


def _plain(source: bytes) -> bytes:
    """The same text in UTF-8 with plain ends of lines; what says otherwise about itself cannot be read."""
    try:
        return source.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n").encode()
    except UnicodeDecodeError:
        return b"\0"


@dataclass(slots=True)
class _Reader:
    """Reads one file."""

    source: bytes
    module: ast.Module
    has_tables: bool = True
    shared: Collection[str] = ()
    drafts: list[_Draft] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    tests: list[FoundTest] = field(default_factory=list)
    columns: list[_Column] = field(default_factory=list)
    local: list[_Constant] = field(default_factory=list)
    pool: list[Any] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def suite(self) -> Suite:
        self.lines = [0]
        for line in self.source.split(b"\n"):
            self.lines.append(self.lines[-1] + len(line) + 1)
        mixed_in = literals.mixed_in(self.module)
        shared = self._constants(self.module)
        for name in shared.keys() & set(self.shared):
            shared[name].loads += 1
        for node in self.module.body:
            if isinstance(node, _Function) and node.name.startswith("test"):
                self._test(node, node.name, shared)
            elif isinstance(node, ast.ClassDef) and (literals.is_test_class(node) or node.name in mixed_in):
                for item in node.body:
                    if isinstance(item, _Function) and item.name.startswith("test"):
                        self._test(item, f"{node.name}::{item.name}", shared, node)
        self.tests = [test for test in self.tests if test.name.partition("::")[0] not in mixed_in]
        hidden = {item.column.key for item in self.columns if item.uses and item.is_free}
        free = tuple(item.span for item in (*shared.values(), *self.local) if item.uses and item.is_free)
        sites = tuple(draft.settled() for draft in self.drafts)
        return Suite(
            self.source, tuple(self.tests), sites, tuple(self.tables), frozenset(hidden), free, tuple(self.pool)
        )

    # --- tests ---

    def _test(
        self, node: _Function, name: str, shared: Mapping[str, _Constant], home: ast.ClassDef | None = None
    ) -> None:
        marks = [*node.decorator_list, *(home.decorator_list if home else ()), *_marks(self.module), *_marks(home)]
        touched = not any(word in ast.dump(item) for item in marks for word in _LEFT_ALONE)
        touched = touched and not _marks_itself(node)
        self.tests.append(FoundTest(name, touched))
        if not touched:
            return
        local = self._constants(node)
        own = {item.arg for item in ast.walk(node.args) if isinstance(item, ast.arg)}
        taken = own | literals.stores(node).keys()
        constants = {key: item for key, item in shared.items() if key not in taken}
        constants |= {key: item for key, item in local.items() if key not in own}
        self.local += local.values()
        named = "request" in own or not self.has_tables  # may ask for its own name
        columns = {} if named or (home is not None and home.decorator_list) else self._columns(node, name, shared)
        self.columns += columns.values()
        scope = _Scope(name, constants, columns, list(literals.constants(ast.Module(node.body, []))))
        self._body(node.body, scope, required=True)

    def _body(self, body: Sequence[ast.stmt], scope: _Scope, *, required: bool) -> None:
        for node in body:
            self._statement(node, scope, required=required)
            required = required and not literals.may_leave(node)

    def _statement(self, node: ast.stmt, scope: _Scope, *, required: bool) -> None:
        match node:
            case ast.Assert():
                self._assert(node, scope, required=required)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"))) as call):
                self._method(call, scope, required=required)
            case ast.With():
                self._with(node, scope, required=required)
            case ast.AsyncWith():
                self._body(node.body, scope, required=required)
            case ast.For() | ast.AsyncFor() | ast.While() | ast.If():
                self._body(node.body, scope, required=False)
                self._body(node.orelse, scope, required=False)
            case ast.Try(handlers=[]):
                self._body(node.body, scope, required=required)
                self._body(node.finalbody, scope, required=False)
            case ast.Try():
                self._body(node.orelse, scope, required=False)
                self._body(node.finalbody, scope, required=False)

    def _with(self, node: ast.With, scope: _Scope, *, required: bool) -> None:
        calls = [item.context_expr for item in node.items if isinstance(item.context_expr, ast.Call)]
        if not {literals.called(call) for call in calls} & _CATCHING:
            given = any(isinstance(item.context_expr, ast.Name) for item in node.items)  # may be `raises` in some rows
            self._body(node.body, scope, required=required and not given)
            return
        if len(node.items) == 1 and literals.called(calls[0]) in _MUST_RAISE:
            self._must_raise(calls[0], scope, required=required)

    def _must_raise(self, call: ast.Call, scope: _Scope, *, required: bool) -> None:
        """A block that must raise: where another error is expected, it must not pass."""
        first = call.args[0] if call.args else None
        changes: tuple[Change, ...] = ()
        if isinstance(first, ast.Name) and first.id in ERRORS:
            changes = (Change(self._span(first), first.id, is_error=True),)
        whole = self._span(call)
        self._add(Site(0, scope.test, whole, Form.SOFT, whole, changes=changes, required=required))

    # --- assertions ---

    def _assert(self, node: ast.Assert, scope: _Scope, *, required: bool) -> None:
        parts = literals.conjuncts(node.test)
        condition = self._span(node.test)
        site = Site(0, scope.test, self._span(node), Form.HOLD, condition, required=required)
        if len(parts) > 1:
            changes = [item for part in parts for item in self._changes_of_equality(part)]
            self._add(replace(site, changes=tuple(changes[:1])))
            return
        match node.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                if not self._observed(site, left, right, scope):
                    self._add(replace(site, changes=tuple(self._changes_of_equality(node.test))))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _ORDERS:
                self._ordered(site, left, right, _ORDERS[type(op)])
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]):
                self._contained(site, left, right)
            case _:
                self._add(site)

    def _method(self, call: ast.Call, scope: _Scope, *, required: bool) -> None:
        """`self.assertEqual(a, 3)` and its like."""
        name, arguments = literals.called(call), call.args
        plain = arguments and not any(isinstance(item, ast.Starred) for item in arguments)
        if not name.startswith("assert") or not plain or name in _CATCHING:
            return
        whole = self._span(call)
        rest = Span(self.source.index(b"(", self._span(call.func).end) + 1, whole.end)  # arguments may have brackets
        site = Site(0, scope.test, whole, Form.CALL, self._span(call.func), rest, required=required)
        if len(arguments) > 1 and name in _EQUAL:
            if not self._observed(site, arguments[0], arguments[1], scope):
                changes = self._made_of(arguments[1]) or self._made_of(arguments[0])
                self._add(replace(site, changes=tuple(changes)))
        elif not (name == "assertAlmostEqual" and self._almost(site, call)):
            self._add(site)

    def _observed(self, site: Site, left: ast.expr, right: ast.expr, scope: _Scope) -> bool:
        """Add a site that reports one side, if the other is known."""
        return self._seen(site, left, right, scope) or self._seen(site, right, left, scope)

    def _seen(self, site: Site, observed: ast.expr, other: ast.expr, scope: _Scope) -> bool:
        if literal(observed) is not None:
            return False
        near = literals.approximation(other)
        expected, tolerance = near if near is not None else (other, ())
        relation = Relation.EQUAL if near is None else Relation.APPROXIMATE
        seen = Observation(self._span(observed), relation, tolerance=tolerance)
        if isinstance(expected, ast.Name) and (column := scope.columns.get(expected.id)):
            column.uses += 1
            known = column.column
            self.pool += known.values
            change = Change(
                self._span(expected), None, known, is_certain=near is None, relation=relation, tolerance=tolerance
            )
            self._add(replace(site, observation=replace(seen, column=known), changes=(change,)), column)
            return True
        constant = scope.constants.get(expected.id) if isinstance(expected, ast.Name) else None
        said = literal(expected)
        if constant is None and said is None:
            return False
        if constant is not None:
            constant.uses += 1
        value = constant.value if constant is not None else said.value if said is not None else None
        echo = constant is None and _times(value, scope.literals) > 1
        self.pool.append(value)
        change = Change(self._span(expected), value, is_certain=near is None, relation=relation, tolerance=tolerance)
        seen = replace(seen, value=value, is_echo=echo)
        given = None if constant is None else constant.span
        self._add(replace(site, observation=seen, changes=(change,), constant=given), constant)
        return True

    def _ordered(self, site: Site, left: ast.expr, right: ast.expr, ways: tuple[Relation, Relation]) -> None:
        for observed, other, relation in ((left, right, ways[0]), (right, left, ways[1])):
            said = literal(other)
            if said is not None and literal(observed) is None:
                self._add(replace(site, observation=Observation(self._span(observed), relation, said.value)))
                return
        self._add(site)

    def _contained(self, site: Site, left: ast.expr, right: ast.expr) -> None:
        member, members = literal(left), literal(right)
        if members is not None and member is None:
            seen = Observation(self._span(left), Relation.WITHIN, members.value)
            self._add(replace(site, observation=seen))
        elif member is not None and isinstance(member.value, str) and len(member.value) >= _CONTAINED_CHARS_MIN:
            certain = len(member.value) >= _CONTAINED_CHARS_CERTAIN
            change = Change(self._span(left), member.value, is_contained=True, is_certain=certain)
            self._add(replace(site, changes=(change,)))
        else:
            self._add(site)

    def _almost(self, site: Site, call: ast.Call) -> bool:
        said = {item.arg: literal(item.value) for item in call.keywords}
        if len(call.args) != 2 or said.keys() - {"places", "delta"} or None in said.values():
            return False
        places, delta = (item.value if (item := said.get(name)) else None for name in ("places", "delta"))
        for observed, other in (call.args, call.args[::-1]):
            value = literal(other)
            if value is not None and literal(observed) is None:
                near = Relation.ALMOST, (places, delta)
                seen = Observation(self._span(observed), near[0], value.value, tolerance=near[1])
                change = Change(self._span(other), value.value, relation=near[0], tolerance=near[1])
                self._add(replace(site, observation=seen, changes=(change,)))
                return True
        return False

    def _changes_of_equality(self, test: ast.expr) -> Sequence[Change]:
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
            return self._made_of(test.comparators[0]) or self._made_of(test.left)
        return ()

    def _made_of(self, node: ast.expr) -> Sequence[Change]:
        """`Point(1, 2)`, `Decimal("1.5")` and lists of them: the literals that what is expected is made of."""
        if isinstance(node, ast.List | ast.Tuple):
            return [item for element in node.elts for item in self._made_of(element)]
        if not isinstance(node, ast.Call) or not literals.is_maker(node):
            return ()
        found = []
        for item in (*node.args, *(keyword.value for keyword in node.keywords)):
            said = literal(item)
            if said is not None and not is_guessable(said.value):
                found.append(Change(self._span(item), said.value))
        return found

    # --- names and tables ---

    def _constants(self, home: ast.Module | _Function) -> dict[str, _Constant]:
        """Names that are given a literal once, and never anything else."""
        stored = literals.stores(home)
        found = {}
        for node in home.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                name, said = node.targets[0].id, literal(node.value)
                special = name.startswith("__") or name == "pytestmark"
                if said is not None and stored[name] == 1 and not special:
                    found[name] = _Constant(said.value, node.value, self._span(node.value), literals.loads(home, name))
        return found

    def _columns(self, node: _Function, test: str, shared: Mapping[str, _Constant]) -> dict[str, _Column]:
        found: dict[str, _Column] = {}
        body = ast.Module(node.body, [])
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and literals.called(decorator) == "parametrize":
                rows = decorator.args[1] if len(decorator.args) > 1 else None
                home = shared.get(rows.id) if isinstance(rows, ast.Name) else None
                columns = self._table(decorator, test, home)
                loads = {name: literals.loads(body, name) for name in columns}
                found |= {name: _Column(column, loads[name], home=home) for name, column in columns.items()}
        return found

    def _table(self, call: ast.Call, test: str, home: _Constant | None = None) -> dict[str, Column]:
        """The columns of a table whose values are all literals."""
        known = all(item.arg in ("ids", "scope") for item in call.keywords)
        names = literals.names_of_arguments(call.args[0]) if call.args else ()
        if not known or len(call.args) != 2 or not names:
            return {}
        given = call.args[1] if home is None else home.node
        if not isinstance(given, ast.List | ast.Tuple) or not given.elts:
            return {}
        rows = [row for item in given.elts if (row := literals.row(item, len(names))) is not None]
        if len(rows) != len(given.elts):
            return {}
        if home is not None:
            home.uses += 1
        table = self._written(call, call.args[1], rows, test)
        self.tables.append(table if home is None else replace(table, constant=home.span))
        number, columns = len(self.tables) - 1, {}
        for place, name in enumerate(names):
            values = [said.value for row in rows if (said := literal(row.items[place])) is not None]
            if len(values) == len(rows):
                columns[name] = Column(number, place, tuple(values))
        return columns

    def _written(self, call: ast.Call, given: ast.expr, rows: Sequence[literals.Row], test: str) -> Table:
        whole = self._span(call)
        return Table(
            number=len(self.tables),
            test=test,
            whole=whole,
            start=self.source[whole.start : self._span(given).start].decode(),
            rows=tuple(tuple(self._text(item) for item in row.items) for row in rows),
            marks=tuple("".join(f", marks={self._text(mark.value)}" for mark in row.marks) for row in rows),
            end="".join(f", scope={self._text(item.value)}" for item in call.keywords if item.arg == "scope"),
        )

    # --- text ---

    def _span(self, node: ast.expr | ast.stmt) -> Span:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.lines[node.lineno - 1] + node.col_offset
        return Span(start, self.lines[node.end_lineno - 1] + node.end_col_offset)

    def _text(self, node: ast.expr) -> str:
        span = self._span(node)
        return self.source[span.start : span.end].decode()

    def _add(self, site: Site, name: _Constant | _Column | None = None) -> None:
        changes = tuple(change for change in site.changes if can_change(change))
        self.drafts.append(_Draft(replace(site, number=len(self.drafts), changes=changes), name))


def _marks(node: ast.Module | ast.ClassDef | None) -> list[ast.expr]:
    """`pytestmark = …`"""
    body = [] if node is None else node.body
    given = [item for item in body if isinstance(item, ast.Assign)]
    return [item.value for item in given if "pytestmark" in {getattr(name, "id", "") for name in item.targets}]


def _marks_itself(node: _Function) -> bool:
    """Whether a test says while it runs that it is expected to fail."""
    names = {item.attr for item in ast.walk(node) if isinstance(item, ast.Attribute)}
    return bool(names & {"applymarker", "add_marker"})


def _times(value: Any, said: Sequence[Any]) -> int:
    return sum(type(item) is type(value) and item == value for item in said)
