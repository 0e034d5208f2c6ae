"""Two draws belong together: what is neutral in one is changed in the other, and there is some of each."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.verification.controlled.draws import Known, draw, draw_pair, is_blind, unrelated
from choir.bazaar.verification.controlled.others import Chance
from choir.bazaar.verification.controlled.reading import read_suite
from choir.bazaar.verification.controlled.sites import Form, Suite


def suite_of(makers: int, rows: int = 0) -> Suite:
    text = "".join(f"def test_{number}():\n    assert f() == Point({number + 20})\n" for number in range(makers))
    if rows:
        table = [(number, number + 70) for number in range(rows)]
        text += f"@pytest.mark.parametrize('a, b', {table})\ndef test_t(a, b):\n"
        text += "    assert f(a) == b\n    assert b == g(a)\n"
    return read_suite(text.encode())


@given(st.integers(1, 12), st.integers(0, 4), st.integers())
def test_draws_are_complementary(makers: int, rows: int, seed: int) -> None:
    suite = suite_of(makers, rows)
    known = Known(opaque=frozenset(site.number for site in suite.sites))
    blind = {site.number for site in suite.sites if is_blind(site, known)}
    one, other = draw_pair(suite, known, random.Random(seed))
    assert one.changed | one.neutral == other.changed | other.neutral == blind
    assert one.changed == other.neutral
    assert one.neutral == other.changed
    if makers > 1 and not rows:
        assert one.changed and one.neutral  # noqa: PT018


@given(st.integers(0, 50))
def test_sites_that_share_a_column_have_one_mode(seed: int) -> None:
    suite = suite_of(0, 3)
    known = Known(opaque=frozenset({0, 1}))
    for item in draw_pair(suite, known, random.Random(seed)):
        assert item.changed in (frozenset(), frozenset({0, 1}))
        values = item.forms.columns[0, 1]
        assert (values != (70, 71, 72)) is bool(item.changed)


def test_sites_are_observed_where_they_can_be() -> None:
    suite = suite_of(1, 2)
    made = draw(suite, Known(), (), Chance(random.Random(0)))
    assert [made.forms.forms[number] for number in range(3)] == [Form.HOLD, Form.SEE, Form.SEE]


def test_a_test_that_is_left_has_no_form_and_keeps_its_rows() -> None:
    suite = suite_of(1, 2).without(["test_t"])
    made = draw(suite, Known(), (), Chance(random.Random(0)))
    assert list(made.forms.forms) == [0]
    assert made.forms.kept_tables == {0}


def test_weak_sites_are_not_changed() -> None:
    for item in draw_pair(suite_of(2), Known(weak=frozenset({0, 1})), random.Random(0)):
        assert not item.changed


def test_what_nothing_is_equal_to_is_not_found_in_the_source() -> None:
    (value,) = unrelated(suite_of(1).sites[0]).values()
    assert value not in repr(value)
