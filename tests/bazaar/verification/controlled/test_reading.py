"""Which assertions of a test file are found, and how each can be held."""

from __future__ import annotations

import random
from textwrap import dedent

import pytest

from choir.bazaar.verification.controlled.draws import Known, draw_pair
from choir.bazaar.verification.controlled.reading import read_suite
from choir.bazaar.verification.controlled.rewriting import rewrite
from choir.bazaar.verification.controlled.sites import Form, Site, Suite
from choir.bazaar.verification.controlled.values import Relation


def suite_of(text: str) -> Suite:
    return read_suite(dedent(text).encode())


def sites(body: str, head: str = "") -> list[Site]:
    return list(suite_of(f"{head}\ndef test_it():\n" + "".join(f"    {line}\n" for line in body.split("\n"))).sites)


@pytest.mark.parametrize(
    ("line", "relation", "value"),
    [
        ("assert f(1) == 3", Relation.EQUAL, 3),
        ("assert 'abc' == f(1)", Relation.EQUAL, "abc"),
        ("assert f(1) == [1, {'a': (2, None)}]", Relation.EQUAL, [1, {"a": (2, None)}]),
        ("assert f(1) < 5", Relation.BELOW, 5),
        ("assert 5 < f(1)", Relation.ABOVE, 5),
        ("assert f(1) >= -5", Relation.ABOVE_OR_EQUAL, -5),
        ("assert f(1) in (4, 5)", Relation.WITHIN, (4, 5)),
        ("assert f(1) == pytest.approx(2.5, rel=0.1)", Relation.APPROXIMATE, 2.5),
        ("self.assertEqual(f(1), 'x')", Relation.EQUAL, "x"),
        ("self.assertDictEqual({'a': 1}, f(1))", Relation.EQUAL, {"a": 1}),
        ("self.assertAlmostEqual(f(1), 2.5, places=3)", Relation.ALMOST, 2.5),
    ],
)
def test_what_is_expected_is_known_outside(line: str, relation: Relation, value: object) -> None:
    (site,) = sites(line)
    assert site.observation is not None
    assert (site.observation.relation, site.observation.value) == (relation, value)
    assert site.required


@pytest.mark.parametrize(
    ("line", "form", "changes"),
    [
        ("assert f(1)", Form.HOLD, 0),
        ("assert not f(1)", Form.HOLD, 0),
        ("assert f(1) is None", Form.HOLD, 0),
        ("assert f(1) != 3", Form.HOLD, 0),
        ("assert f(1) == g(2)", Form.HOLD, 0),
        ("assert f(1) == Point(3, 4)", Form.HOLD, 2),
        ("assert f(1) == [Point(3), Point(x=5)]", Form.HOLD, 2),
        ("assert 'some text' in f(1)", Form.HOLD, 1),
        ("assert 'ab' in f(1)", Form.HOLD, 0),
        ("self.assertTrue(f(1))", Form.CALL, 0),
        ("self.assertEqual(f(1), Decimal('3.4'))", Form.CALL, 1),
        ("with pytest.raises(ValueError):\n        f(1)", Form.SOFT, 1),
        ("with self.assertRaises(OwnError):\n        f(1)", Form.SOFT, 0),
    ],
)
def test_other_assertions_are_held_inside(line: str, form: Form, changes: int) -> None:
    (site,) = sites(line)
    assert site.observation is None
    assert (site.held, len(site.changes)) == (form, changes)


@pytest.mark.parametrize(
    "body",
    [
        "try:\n        assert f(1) == 2\n    except AssertionError:\n        pass",
        "with pytest.raises(AssertionError), other():\n        assert f(1) == 2",
        "def inner():\n        assert f(1) == 2",
        "with self.assertLogs():\n        self.assertEqual(f(1), 2)",
        "self.assertEqual(*f(1))",
    ],
)
def test_what_must_raise_to_work_is_left_alone(body: str) -> None:
    assert [site for site in sites(body) if site.held is not Form.SOFT] == []


@pytest.mark.parametrize(
    "marks",
    [
        "@pytest.mark.xfail\ndef test_it():",
        "@unittest.expectedFailure\ndef test_it():",
        "pytestmark = [pytest.mark.xfail]\n\ndef test_it():",
        "@pytest.mark.parametrize('a', [pytest.param(1, marks=pytest.mark.xfail)])\ndef test_it(a):",
    ],
)
def test_a_test_that_is_expected_to_fail_is_not_touched(marks: str) -> None:
    suite = suite_of(f"{marks}\n    assert f(1) == 3\n")
    assert suite.sites == ()
    assert [(test.name, test.is_touched) for test in suite.tests] == [("test_it", False)]


def test_a_class_that_is_expected_to_fail_is_not_touched() -> None:
    suite = suite_of(
        "class TestA:\n    pytestmark = pytest.mark.xfail\n\n    def test_it(self):\n        assert f() == 3\n"
    )
    assert [test.is_touched for test in suite.tests] == [False]


def test_what_may_not_be_reached_is_not_required() -> None:
    found = sites("assert a() == 3\nif b():\n        return\nassert c() == 4\nfor x in y:\n        assert x == 5")
    assert [site.required for site in found] == [True, False, False]


TABLE = """
@pytest.mark.parametrize(("a", "total"), [(1, 20), pytest.param(2, 30, id="two")], ids=str)
def test_it({arguments}):
    assert double(a) == total
"""


def test_a_column_that_only_assertions_read_stays_outside() -> None:
    suite = suite_of(TABLE.format(arguments="a, total"))
    (site,) = suite.sites
    assert site.observation is not None and site.observation.column is not None  # noqa: PT018
    assert site.observation.column.values == (20, 30)
    assert suite.hidden_columns == {(0, 1)}


def test_a_column_that_is_read_elsewhere_is_not_held() -> None:
    suite = suite_of(TABLE.format(arguments="a, total") + "    print(total)\n")
    assert suite.hidden_columns == frozenset()
    assert suite.sites[0].observation is None


@pytest.mark.parametrize("tables", [True, False])
def test_rows_keep_their_names_where_somebody_asks_for_them(tables: bool) -> None:
    arguments = "request, a, total" if tables else "a, total"
    suite = read_suite(TABLE.format(arguments=arguments).encode(), tables=tables)
    assert suite.tables == ()


def test_a_constant_that_only_assertions_read_is_emptied() -> None:
    suite = suite_of("LIMIT = 7\nOTHER = 8\n\ndef test_it():\n    assert f() == LIMIT\n    assert g(OTHER) == OTHER\n")
    assert [suite.source[span.start : span.end] for span in suite.emptied] == [b"7"]
    assert [site.observation is not None for site in suite.sites] == [True, False]


def test_a_value_that_stands_elsewhere_in_the_test_does_not_count() -> None:
    one, other = sites("given = 42\nassert f(given) == 42\nassert f(given) == 43")
    assert one.observation is not None and not one.observation.counts  # noqa: PT018
    assert other.observation is not None and other.observation.counts  # noqa: PT018


@pytest.mark.parametrize("text", [b"def test(:", b"\xff\xfe", b"# coding: latin-1\nx = '\xe9'\n", b"", b"\0"])
def test_a_file_that_cannot_be_read_has_nothing(text: bytes) -> None:
    assert read_suite(text).sites == ()


def test_windows_line_ends_and_a_mark_at_the_start_are_read() -> None:
    (site,) = read_suite(b"\xef\xbb\xbfdef test_it():\r\n    assert f() == 5\r\n").sites
    assert site.observation is not None


NAMED = b"""ROWS = [(1, 9920), (2, 9930)]


@pytest.mark.parametrize(("a", "total"), ROWS)
def test_one(a, total):
    assert double(a) == total


@pytest.mark.parametrize(("a", "total"), ROWS)
def test_other(a, total):
    assert total == triple(a)
"""


def test_rows_may_be_given_by_a_name() -> None:
    suite = read_suite(NAMED)
    assert suite.hidden_columns == {(0, 1), (1, 1)}
    assert [suite.source[span.start : span.end] for span in suite.emptied] == [b"[(1, 9920), (2, 9930)]"]
    for number in range(2):
        drawn = draw_pair(suite, Known(), random.Random(0))[number]
        assert b"99" not in rewrite(suite, drawn.forms)


def test_rows_that_somebody_else_reads_are_not_held() -> None:
    suite = read_suite(NAMED + b"\n\ndef test_rows():\n    assert len(ROWS) == 2\n")
    assert (suite.hidden_columns, suite.emptied) == (frozenset(), ())
    assert suite.sites[0].observation is None


def test_a_constant_that_another_file_imports_stays() -> None:
    assert read_suite(NAMED, shared={"ROWS"}).emptied == ()
