"""A rewritten test file can be compiled, keeps its lines, and does not hold what stays outside."""

from __future__ import annotations

import ast
import random

from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.verification.controlled.draws import Draw, Known, draw_pair
from choir.bazaar.verification.controlled.reading import read_suite
from choir.bazaar.verification.controlled.rewriting import rewrite, row_name
from choir.bazaar.verification.controlled.sites import Form

FILE = b"""import pytest

LIMIT = 731


@pytest.mark.parametrize(
    ("a", "total"),
    [
        (1, 9901),
        (2, 9902),
    ],
)
def test_rows(a, total):
    assert (
        double(a)
        == total
    ), "a message"
    line = 1


def test_many():
    assert f(1) == 8801; assert g(2) == LIMIT
    assert h(
        3
    ) == Point(
        7701,
        7702,
    )
    with pytest.raises(ValueError) as e:
        f(4)
    assert str(e.value) == 'wrong'


class TestIt:
    def test_method(self):
        self.assertEqual(
            f(5),
            [
                6601,
                'b',
            ],
            'message',
        )
        self.assertEqual(i(6), Point('kept here'))
        last = 2
"""


def draws(text: bytes, seed: int = 0, known: Known | None = None) -> list[bytes]:
    return [rewrite(item.suite, item.forms, 5) for item in pair(text, seed, known)]


def pair(text: bytes, seed: int = 0, known: Known | None = None) -> tuple[Draw, Draw]:
    return draw_pair(read_suite(text), known or Known(), random.Random(seed))


def test_lines_keep_their_numbers() -> None:
    wanted = {name: line for line, text in enumerate(FILE.split(b"\n"), 1) for name in [text.strip()] if b" = " in name}
    for text in draws(FILE):
        tree = ast.parse(text)
        assert text.count(b"\n") == FILE.count(b"\n")
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id != "LIMIT":
                assert wanted[f"{node.targets[0].id} = {ast.unparse(node.value)}".encode()] == node.lineno


def test_a_piece_of_an_assertion_stays_in_its_line() -> None:
    for text in draws(FILE):
        calls = {node.func.id: node.lineno for node in ast.walk(ast.parse(text)) if _is_plain_call(node)}  # type: ignore[attr-defined]
        assert calls["double"] == 15
        assert calls["h"] == 23


def _is_plain_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def test_what_is_observed_is_expected_nowhere_in_the_text() -> None:
    for text in draws(FILE):
        for outside in (b"9901", b"9902", b"8801", b"731", b"6601", b"wrong"):
            assert outside not in text
        assert row_name(0, 1).encode() in text


def test_neutral_and_changed_forms_look_alike() -> None:
    """What differs between the two runs is the values alone."""
    one, other = draws(FILE)
    assert one != other
    assert _skeleton(one) == _skeleton(other)


def _skeleton(text: bytes) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value = type(node.value).__name__
        if isinstance(node, ast.Name) and node.id.endswith("Error"):
            node.id = "Error"
    return ast.dump(tree)


def test_an_opaque_site_shows_its_literal_or_another() -> None:
    known = Known(opaque=frozenset({1}))
    texts = draws(FILE, 3, known)
    assert sum(b"8801" in text for text in texts) == 1


def test_a_broken_site_stays_as_it_is() -> None:
    for text in draws(FILE, 1, Known(broken=frozenset({1}))):
        assert b"assert f(1) == 8801;" in text


def test_tables_of_tests_that_stay_keep_their_rows() -> None:
    for text in draws(FILE, 1, Known(broken=frozenset({0}))):
        assert b"(1, 9901)," in text
        assert row_name(0, 0).encode() not in text


VALUES = st.recursive(
    st.integers() | st.text(max_size=8) | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
OBSERVED = st.sampled_from(["f(1)", "x", "a.b[2]", "(y := f(3))", "[i for i in z]", "not q", "lambda: 3", "f'{x}'"])
OTHERS = st.sampled_from(["g(4)", "None", "Point(7, 'a')", "[Point(8), 3]", "LIMIT", "pytest.approx(2.5)", "-x"])


@st.composite
def statements(draw: st.DrawFn, depth: int = 0) -> list[str]:
    """Some lines of a test's body."""
    left = draw(OBSERVED)
    right = draw(st.one_of(VALUES.map(repr), OTHERS))
    operator = draw(st.sampled_from(["==", "!=", "<", ">=", "in", "is", "not in"]))
    gap = draw(st.sampled_from([" ", "\n" + "    " * 5]))
    compared = f"({left}){gap}{operator} ({right})"
    simple = draw(
        st.sampled_from(
            [
                f"assert ({compared})",
                f"assert ({compared}), 'message'",
                f"assert ({compared}) and f(2) == 5",
                f"assert {left if left[0] != '(' else 'v'}",
                f"self.assertEqual({left},{gap}{right})",
                f"self.assertIn(({left}),{gap}[{right}], 'm')",
                f"self.assertAlmostEqual({left}, {right}, places=2)",
                f"self.assertTrue({left}); assert f(9) == {right}",
            ]
        )
    )
    if depth > 1 or draw(st.booleans()):
        return [simple]
    head = draw(
        st.sampled_from(
            [
                "if f(1):",
                "for x in y:",
                "with pytest.raises(ValueError) as e:",
                "with a as b, self.subTest():",
                "while f(2):",
                "def inner(q):",
            ]
        )
    )
    return [
        simple,
        head,
        *("    " + line for part in draw(st.lists(statements(depth + 1), min_size=1, max_size=2)) for line in part),
    ]


@given(
    st.lists(statements(), min_size=1, max_size=4), st.lists(st.tuples(VALUES, VALUES), max_size=3), st.integers(0, 99)
)
def test_any_rewritten_file_compiles_and_keeps_its_lines(
    bodies: list[list[str]], rows: list[tuple[object, object]], seed: int
) -> None:
    lines = ["import pytest", "LIMIT = 12", ""]
    for number, body in enumerate(bodies):
        lines += [f"@pytest.mark.parametrize(('p', 'q'), {rows!r}, ids=repr)"] if rows else []
        lines += [f"def test_{number}(self, p, q):", "    assert f(p) == q", *("    " + line for line in body), ""]
    text = "\n".join(lines).encode()
    suite = read_suite(text)
    chance = random.Random(seed)
    opaque = Known(opaque=frozenset(site.number for site in suite.sites if chance.random() < 1 / 2))
    for known in (Known(), opaque):
        for written in draws(text, seed, known):
            ast.parse(written)
            assert written.count(b"\n") >= text.count(b"\n")
            if all("\n" not in repr(row) for row in rows):
                assert written.count(b"\n") == text.count(b"\n")
    if rows:
        assert all(site.held in Form for site in suite.sites)
        assert len(suite.tables) == len(bodies)
