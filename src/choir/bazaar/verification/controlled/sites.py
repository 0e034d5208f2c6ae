"""What a test file consists of, as far as it can be held from outside: its tests, their assertions, their tables.

A site is one assertion in the body of a test. It always has a form in which the tested process tells whether it holds.
Where what it expects is known, it also has one in which the process tells only what was observed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from choir.bazaar.verification.controlled.values import EQUALITIES, Expected, Relation, is_guessable


class Form(StrEnum):
    """What stands in the place of an assertion, and reports to the verifier."""

    SEE = "see"  # the value that was observed
    HOLD = "hold"  # whether a condition holds; the test goes on
    CALL = "call"  # whether a method of unittest raises; the test goes on
    SOFT = "soft"  # whether a block raises what it must; the test goes on


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the file, in bytes."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table of parameters: the expected value of each row."""

    table: int
    place: int
    values: tuple[Any, ...]

    @property
    def key(self) -> tuple[int, int]:
        return self.table, self.place


@dataclass(frozen=True, slots=True)
class Change:
    """A literal that can be replaced by a plausible other one, or all those of a column."""

    span: Span
    value: Any  # of an error: its name
    column: Column | None = None
    is_error: bool = False
    is_contained: bool = False  # looked for inside of something, where other expected values may stand too
    is_certain: bool = False  # nothing honest is equal to both
    relation: Relation = Relation.EQUAL  # what the site takes for equal
    tolerance: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """What a site can report instead of comparing, and what the verifier compares it with."""

    span: Span
    relation: Relation
    value: Any = None
    column: Column | None = None
    tolerance: tuple[Any, ...] = ()
    is_echo: bool = False  # the test says the same value elsewhere, so that to report it shows nothing

    def expected(self, row: int | None) -> Expected | None:
        """In the row of a table, or everywhere; nothing for a row that is not there."""
        if self.column is None:
            return Expected(self.relation, self.value, self.tolerance)
        if row is None or not 0 <= row < len(self.column.values):
            return None
        return Expected(self.relation, self.column.values[row], self.tolerance)

    @property
    def counts(self) -> bool:
        """Whether to report the right value shows that the code knows it."""
        values = [self.value] if self.column is None else list(self.column.values)
        ordered = self.relation not in EQUALITIES
        return not ordered and not self.is_echo and not all(is_guessable(item) for item in values)


@dataclass(frozen=True, slots=True)
class Site:
    """One assertion."""

    number: int
    test: str  # "TestClass::test_name"
    whole: Span  # what is replaced
    held: Form  # hold, call or soft
    condition: Span  # what it is about: a condition, a method, or what makes the block
    rest: Span | None = None  # of a call: its arguments, to the end
    observation: Observation | None = None
    changes: tuple[Change, ...] = ()
    constant: Span | None = None  # what it expects is the value of a name, which is given it there
    required: bool = False  # whoever runs the test comes by here


@dataclass(frozen=True, slots=True)
class Table:
    """A decorator that runs a test for each row of parameters."""

    number: int
    test: str
    whole: Span
    start: str  # the call up to its rows
    rows: tuple[tuple[str, ...], ...]  # each row's items as they are written
    marks: tuple[str, ...]  # what else is said about each row
    end: str  # further arguments
    constant: Span | None = None  # its rows are those of a name, which is given them there


@dataclass(frozen=True, slots=True)
class FoundTest:
    """A test of the file."""

    name: str
    is_touched: bool  # whether it may be rewritten: not if its failures mean something
    body: int = 0  # where its body begins, in a language in which tests are made to fail there


@dataclass(frozen=True, slots=True)
class Suite:
    """A test file, read."""

    source: bytes
    tests: tuple[FoundTest, ...] = ()
    sites: tuple[Site, ...] = ()
    tables: tuple[Table, ...] = ()
    hidden_columns: frozenset[tuple[int, int]] = frozenset()  # table, place: stay outside
    emptied: tuple[Span, ...] = ()  # constants that only sites use: stay outside
    pool: tuple[Any, ...] = ()  # values that tests of this file expect
    language: str = "python"
    left: frozenset[str] = frozenset()  # tests that stay as they are

    def without(self, names: Iterable[str]) -> Suite:
        """The same with some tests left as they are."""
        left = set(names)
        if not left:
            return self
        tests = tuple(replace(test, is_touched=test.is_touched and test.name not in left) for test in self.tests)
        return replace(self, tests=tests, left=self.left | left)

    def is_left(self, site: Site) -> bool:
        return site.test in self.left

    def sites_of(self, test: str) -> Iterable[Site]:
        return (site for site in self.sites if site.test == test)
