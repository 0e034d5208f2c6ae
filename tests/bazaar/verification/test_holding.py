"""What holds assertions from outside: other values that give nothing away, and sites that must tell them apart."""

from __future__ import annotations

import ast
import random
from typing import Any

import pytest

from choir.bazaar.verification.controlled.blanks import blanked
from choir.bazaar.verification.controlled.draws import Known, draw_pair
from choir.bazaar.verification.controlled.judging import Found
from choir.bazaar.verification.controlled.others import Chance, another
from choir.bazaar.verification.controlled.reading import read_suite
from choir.bazaar.verification.controlled.rewriting import rewrite
from choir.bazaar.verification.controlled.tallies import Tally
from choir.bazaar.verification.controlled.values import Expected, Opaque, Relation
from choir.bazaar.verification.hidden import _chosen
from choir.bazaar.verification.mutation import neutral
from choir.bazaar.verification.trees import Change as TreeChange
from choir.bazaar.verification.trees import Entry

SOURCE = b'''\
def test_sum():  # gives 1000
    """It is 1000, \xc3\xbc."""
    text = "# 1000 is no comment"
    assert add(123, 877) == 1000  # 1000
'''


@pytest.mark.parametrize("value", [4.53, 10.57, 0.1, 1e-9, 2.5e20])
def test_another_number_has_no_more_digits(value: float) -> None:
    others = [another(value, Chance(random.Random(seed))) for seed in range(40)]
    assert all(item != value and len(repr(item)) <= len(repr(value)) + 2 for item in others)


def test_texts_are_changed_by_a_letter_and_by_a_word_in_turns() -> None:
    text, seeds = "Good morning, Ada", range(40)
    by_turn = [{another(text, Chance(random.Random(seed), (), turn)) for seed in seeds} for turn in (0, 1)]
    assert all(len(item) == len(text) for item in by_turn[0])
    assert any(set(item.lower().replace(",", "").split()) >= {"good", "river"} for item in by_turn[1])


@pytest.mark.parametrize("value", [None, "", "---", [], {}, ..., [None]])
def test_some_values_have_no_other(value: Any) -> None:
    with pytest.raises(Opaque):
        another(value, Chance(random.Random(0)))


def test_what_is_said_about_a_test_is_blank_and_the_rest_stays_where_it_is() -> None:
    found = blanked(SOURCE, ast.parse(SOURCE))
    assert len(found) == len(SOURCE)
    assert found.count(b"1000") == 2, "the text and the expected value"
    assert b'"# 1000 is no comment"' in found
    assert ast.dump(ast.parse(found)).replace(" " * 16, "") != ast.dump(ast.parse(SOURCE))
    seen, _ = draw_pair(read_suite(SOURCE), Known(), random.Random(0))
    assert b"== 1000" not in rewrite(seen.suite, seen.forms)


@pytest.mark.parametrize("said", ["pytest.approx(4.53)", "pytest.approx(100, abs=20)", "pytest.approx([1.5, 2.5])"])
def test_an_approximation_can_be_changed_beyond_what_is_near(said: str) -> None:
    (site,) = read_suite(f"def test_a():\n    assert f(1) == {said}\n".encode()).sites
    (change,) = site.changes
    for seed in range(30):
        one, other = draw_pair(read_suite(f"def test_a():\n    assert f(1) == {said}\n".encode()),
                               Known(opaque=frozenset({0})), random.Random(seed))  # fmt: skip
        (value,) = (one if one.changed else other).forms.values.values()
        assert not Expected(Relation.APPROXIMATE, change.value, change.tolerance).takes(value)


def test_a_value_with_more_parts_than_expected_is_not_made_again() -> None:
    keys = [[["i", format(n * (2**61 - 1), "x")], ["y"]] for n in range(30_000)]
    assert not Expected(Relation.EQUAL, {"a": 1}).holds(["d", keys])
    assert Expected(Relation.EQUAL, {"a": [1, 2]}).holds(["d", [[["s", "a"], ["l", [["i", "1"], ["i", "2"]]]]]])


def tally(needed: int, known: dict[str, Known] | None = None) -> Tally:
    suite = read_suite(b"def test_a():\n    assert f() == Money(47)\n\n\ndef test_b():\n    assert g() == 12\n")
    expected = {("t.py", "test_a"): 1, ("t.py", "test_b"): 1}
    return Tally({"t.py": suite}, expected, frozenset(), known if known is not None else {}, needed)


def test_a_changed_site_must_tell_in_pairs_one_after_the_other() -> None:
    found = tally(2)
    assert found.open() == {("t.py", 0), ("t.py", 1)}
    told, unclear = Found(told={("t.py", 0)}, good={("t.py", 1)}), Found(unclear={("t.py", 0)})
    for pair, held in ((told, False), (unclear, False), (told, False), (told, True)):
        found.add([pair, Found()])
        assert (found.open() == set()) is held


def test_who_says_that_nothing_can_be_told_has_one_pair_more_to_guess() -> None:
    known = {"t.py": Known()}
    found = tally(2, known)
    found.add([Found(told={("t.py", 0)}, opaque={("t.py", 1)})])
    known["t.py"] = Known(opaque=frozenset({1}))
    assert found.claims == 1
    for held in (False, False, True):
        found.add([Found(told={("t.py", 0), ("t.py", 1)})])
        assert (found.open() == set()) is held


def test_a_command_chooses_tests_by_their_names() -> None:
    every = {("h/t.py", "test_a"): 1, ("h/t.py", "TestB::test_c"): 1, ("h/t.py", "TestB::test_d"): 1}
    assert _chosen(every, ["h/t.py::TestB"]).keys() == {("h/t.py", "TestB::test_c"), ("h/t.py", "TestB::test_d")}
    assert _chosen(every, ["h/t.py::TestB::test_c", "h/t.py::test_a"]).keys() == {
        ("h/t.py", "test_a"),
        ("h/t.py", "TestB::test_c"),
    }
    assert _chosen(every, ["-k", "a", "h/t.py::test_a"]) == {}


def test_a_neutral_change_means_nothing() -> None:
    before = b'def f(a):\n    """Says."""\n    return a\n\n\ndef g(): return 1\n\n\n'
    before += b"class C:\n    def h(self):\n        return f(3)\n"
    (found,) = neutral([TreeChange("m.py", None, Entry(before))])
    names: dict[str, Any] = {}
    exec(found.content, names)  # noqa: S102 - it is the text above
    assert found.content.count(b" = None") == 2
    assert (names["f"](3), names["f"].__doc__, names["g"](), names["C"]().h()) == (3, "Says.", 1, 3)
