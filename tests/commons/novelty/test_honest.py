"""Honest articles that people wrote, one after another: scores fall as the space fills, and hardly any is called noise.

The articles are downloaded (see `honest.py`), and none of the tested half was fitted on.
"""

from __future__ import annotations

import random
from functools import cache
from itertools import pairwise
from statistics import mean

import pytest

from choir.commons.novelty.measure import Measured
from tests.commons.novelty import honest
from tests.commons.novelty.attacks import honest as new_articles
from tests.commons.novelty.attacks import markov
from tests.commons.novelty.library import Library

pytestmark = [pytest.mark.deep, pytest.mark.xdist_group("novelty-honest"), pytest.mark.timeout(1_800)]
PER_PACKAGE = 60


@cache
def grown() -> list[Measured]:
    """Every article of the tested half, measured against those before it."""
    shelf = Library()
    found = []
    for n, one in enumerate(honest.articles(PER_PACKAGE, fitted=False)):
        found.append(shelf.measure(one.text, f"author {n}"))
        shelf.add(one.text, one.page, f"author {n}")
    return found


def means() -> list[float]:
    scores = [one.score for one in grown()]
    return [mean(scores[at : at + 50]) for at in range(0, len(scores) - 49, 50)]


def test_scores_fall_as_the_space_fills() -> None:
    found = means()
    assert len(grown()) >= 300
    assert 68 <= found[0] <= 82
    assert 28 <= mean(found[-2:]) <= 42
    assert all(after <= before + 8 for before, after in pairwise(found))


def test_scores_pile_up_nowhere() -> None:
    scores = [one.score for one in grown()]
    assert sum(score == 0 for score in scores) <= len(scores) * 4 // 100
    assert sum(score < 20 for score in scores) <= len(scores) * 12 // 100
    assert sum(score == 100 for score in scores) <= len(scores) // 100


def test_honest_articles_are_seldom_noise() -> None:
    noisy = [one for one in grown() if one.score_second < 20 <= one.score_first]
    assert len(noisy) <= len(grown()) * 4 // 100


@pytest.mark.parametrize(
    "order",
    [
        1,
        pytest.param(
            2,
            marks=pytest.mark.xfail(
                strict=True, reason="chains of two words of many unknown articles read like prose to both metrics"
            ),
        ),
    ],
)
def test_markov_text_of_many_articles_earns_a_tenth_at_most(order: int) -> None:
    """40 texts, each drawn from 60 articles that the library does not hold."""
    texts = [one.text for one in honest.articles(PER_PACKAGE, fitted=False)]
    shelf = Library()
    made = [markov(random.Random(n).sample(texts, 60), order, 1_000, seed=n) for n in range(40)]
    assert mean(shelf.measure(one).reward for one in made) * 10 <= mean(one.per_thousand for one in new_articles())
