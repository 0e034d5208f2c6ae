"""What is observed inside is the same value outside; plausible other values are never equal."""

from __future__ import annotations

import contextlib
import json
import math
import random
from collections import OrderedDict, namedtuple
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from choir.bazaar.verification.controlled.others import Chance, another, other_of
from choir.bazaar.verification.controlled.sites import Change, Span
from choir.bazaar.verification.controlled.values import (
    Expected,
    Opaque,
    Relation,
    decode,
    is_guessable,
)
from choir.bazaar.verification.inside.observer import NODES_MAX, Observer, TooLarge, make_encoder
from choir.bazaar.verification.inside.observer import Opaque as Untold

_HASHABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.just(...),
    lambda inner: st.tuples(inner, inner) | st.frozensets(inner, max_size=3),
    max_leaves=5,
)
VALUES = st.recursive(
    _HASHABLE | st.complex_numbers(allow_nan=False),
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(_HASHABLE, inner) | st.sets(_HASHABLE),
    max_leaves=20,
)
encode = make_encoder()


def sent(value: Any) -> Any:
    return json.loads(json.dumps(encode(value, [NODES_MAX])))


@given(VALUES)
def test_a_value_that_was_told_is_the_same_outside(value: Any) -> None:
    told = decode(sent(value))
    assert told == value
    assert Expected(Relation.EQUAL, value).holds(sent(value))
    if not isinstance(value, set):
        assert type(told) is type(value)


def test_odd_floats_come_through() -> None:
    assert math.isnan(decode(sent(math.nan)))
    assert decode(sent(-math.inf)) == -math.inf
    assert decode(sent("a\udcff")) == "a\udcff"


@given(VALUES, st.integers(0, 9))
def test_another_value_is_never_equal(value: Any, seed: int) -> None:
    for how in ("plausible", "near"):
        chance = Chance(random.Random(seed), (5, "pool", [1]))
        try:
            other = another(value, chance) if how == "plausible" else other_of(Change(Span(0, 1), value), chance)
        except Opaque:
            continue
        assert other != value
        assert type(other) is type(value)


class Liar(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Sub(str):
    __slots__ = ()


def test_a_subclass_is_told_by_its_base_unless_it_compares_in_its_own_way() -> None:
    pair = namedtuple("pair", "a b")
    assert decode(sent(Sub("x"))) == "x"
    assert decode(sent(pair(1, 2))) == (1, 2)
    assert decode(sent(OrderedDict(a=1))) == {"a": 1}
    with pytest.raises(Untold):
        encode(Liar(3), [NODES_MAX])
    with pytest.raises(Untold):
        encode([object()], [NODES_MAX])


def test_what_is_too_large_or_too_deep_is_not_told() -> None:
    deep: list[Any] = []
    for _ in range(100):
        deep = [deep]
    for value in (deep, list(range(NODES_MAX)), ["x" * (9 * NODES_MAX), 1]):
        with pytest.raises(TooLarge):
            encode(value, [NODES_MAX])


@pytest.mark.parametrize(
    "said",
    [None, 5, [], ["?"], ["i", 5], ["i", "5", "6"], ["z", 1], ["d", [["a"]]], [[]], ["l", "ab"], ["n", 1], ["c", 5]],
)
def test_nonsense_is_opaque_or_not_equal(said: Any) -> None:
    with contextlib.suppress(Opaque):
        assert not Expected(Relation.EQUAL, 5).holds(said)


@pytest.mark.parametrize(
    ("relation", "expected", "tolerance", "good", "bad"),
    [
        (Relation.WITHIN, (1, 2), (), 2, 3),
        (Relation.BELOW, 5, (), 4, 5),
        (Relation.ABOVE_OR_EQUAL, 5, (), 5, 4),
        (Relation.APPROXIMATE, 1.0, (None, 0.1, None), 1.05, 1.2),
        (Relation.ALMOST, 1.0, (2, None), 1.001, 1.01),
        (Relation.ALMOST, 1.0, (None, 0.5), 1.4, 1.6),
        (Relation.BELOW, 5, (), 4.5, "a"),
    ],
)
def test_relations(relation: Relation, expected: Any, tolerance: tuple[Any, ...], good: Any, bad: Any) -> None:
    assert Expected(relation, expected, tolerance).holds(sent(good))
    assert not Expected(relation, expected, tolerance).holds(sent(bad))


@pytest.mark.parametrize("value", [0, 1, -1, True, False, None, "", [], {}, 0.0, ...])
def test_what_anybody_would_guess_does_not_count(value: Any) -> None:
    assert is_guessable(value)
    assert not is_guessable([value, 7])


def test_a_block_that_raises_another_error_shows_it_to_the_rest_of_the_test() -> None:
    frames: list[dict[str, Any]] = []
    observer = Observer(lambda **frame: frames.append(frame), ())
    with observer.soft(3, pytest.raises(KeyError)) as caught:
        raise ValueError("shown")
    assert str(caught.value) == "shown"
    with observer.soft(4, pytest.raises(ValueError)) as caught:
        raise ValueError("as well")
    assert str(caught.value) == "as well"
    with observer.soft(5, pytest.raises(ValueError)):
        pass
    with observer.soft(6, pytest.raises(SystemExit)):
        raise SystemExit
    assert [(frame["n"], frame["v"]) for frame in frames] == [(3, ["x"]), (4, ["y"]), (5, ["x"]), (6, ["y"])]
