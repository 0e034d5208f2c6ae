"""Ties, independence, allowances and shares, in exact numbers; and what discounts cost an honest field."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from choir.commons.citations import rules
from choir.commons.citations.policy import CitationsPolicy
from choir.commons.citations.rules import Ties

POLICY = CitationsPolicy()
USDC = 1_000_000


def test_few_citations_are_no_pattern() -> None:
    assert rules.tie_ppm(Ties(1, 1, 1, 1), POLICY) == (0, "")


def test_two_who_cite_nobody_else_are_tied() -> None:
    tie, why = rules.tie_ppm(Ties(20, 20, 20, 20), POLICY)
    assert tie == 2 * 20 * 1_000_000 // (20 + 20 + 10)
    assert "each other" in why


def test_three_who_cite_in_a_circle_are_tied() -> None:
    tie, why = rules.tie_ppm(Ties(20, 0, 20, 20, ((20, 20),), (20,)), POLICY)
    assert tie == 3 * 20 * 1_000_000 // (60 + 15)
    assert "three authors" in why


def test_one_way_is_no_tie() -> None:
    assert rules.tie_ppm(Ties(50, 0, 50, 100), POLICY) == (0, "")


def test_one_identity_is_never_independent() -> None:
    assert rules.independence_ppm(0, 0) == 0
    assert rules.independence_ppm(10_000, 0) == 1_000_000
    assert rules.independence_ppm(10_000, 250_000) == 750_000


def test_the_allowance_is_exact_at_its_edges() -> None:
    allowed = rules.allowance
    assert allowed(0, 0, vouched=False, policy=POLICY) == 0
    assert allowed(0, 0, vouched=True, policy=POLICY) == 2 * USDC
    assert allowed(5 * USDC - 1, 0, vouched=False, policy=POLICY) == (5 * USDC - 1) // 2
    assert allowed(5 * USDC, 0, vouched=False, policy=POLICY) == 2 * USDC + 5 * USDC // 2
    assert allowed(10 * USDC, 7 * USDC, vouched=True, policy=POLICY) == 2 * USDC + 5 * USDC + 3_500_000


@given(st.lists(st.integers(0, 10**9), max_size=20), st.integers(-(10**6), 10**10))
def test_what_is_capped_never_exceeds_what_is_left(asked: list[int], left: int) -> None:
    paid = rules.capped(asked, left)
    assert sum(paid) <= max(0, left) or paid == asked
    assert sum(paid) <= max(sum(asked), 0)
    assert all(0 <= part <= whole for part, whole in zip(paid, asked, strict=True))
    if sum(asked) <= left:
        assert paid == asked


@given(st.integers(0, 10**12), st.dictionaries(st.text(min_size=1), st.integers(0, 10**6), max_size=8))
def test_shares_add_up_to_the_whole(amount: int, weights: dict[str, int]) -> None:
    shares = rules.split(amount, weights)
    assert sum(shares.values()) == (amount if any(weights.values()) else 0)
    assert all(weights[name] for name in shares)


def ties_in(cites: Counter[tuple[str, str]], a: str, b: str, authors: list[str]) -> Ties:
    made = Counter[str]()
    for (citing, _), n in cites.items():
        made[citing] += n
    around = [(cites[b, k], cites[k, a], made[k]) for k in authors if cites[b, k] and cites[k, a] and k not in (a, b)]
    cycles, thirds = tuple((on, home) for on, home, _ in around), tuple(n for *_, n in around)
    return Ties(cites[a, b], cites[b, a], made[a], made[b], cycles, thirds)


def test_an_honest_dense_field_loses_little() -> None:
    """Thirty authors of one field, everybody reads everybody, some more than others."""
    chance = random.Random(11)
    authors = [f"person:{n}" for n in range(30)]
    fame = [1 / (n + 3) for n in range(30)]
    cites, lost, total = Counter[tuple[str, str]](), 0, 0
    for _ in range(1_500):
        a = chance.choice(authors)
        b = chance.choices([x for x in authors if x != a], [fame[authors.index(x)] for x in authors if x != a])[0]
        tie, _ = rules.tie_ppm(ties_in(cites, a, b, authors), POLICY)
        lost += tie
        total += rules.FULL_PPM
        cites[a, b] += 1
    assert lost / total <= 0.05


def test_a_closed_pair_loses_most() -> None:
    cites = Counter({("a", "b"): 40, ("b", "a"): 40})
    tie, _ = rules.tie_ppm(ties_in(cites, "a", "b", ["a", "b"]), POLICY)
    assert tie > 800_000
