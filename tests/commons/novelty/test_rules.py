"""The bands of the score and the curve of the reward, at every edge."""

from __future__ import annotations

import pytest

from choir.commons.novelty.calibration import STATIC, UNFITTED, calibrated, calibration_of, interpolated
from choir.commons.novelty.policy import NoveltyPolicy
from choir.commons.novelty.rules import capped, lower_quartile, reward_of, score_of
from choir.commons.passages.static import StaticEmbedder

POLICY = NoveltyPolicy()
CHIP = 1_000_000


@pytest.mark.parametrize(
    ("d", "score"),
    [
        (0, 0),
        (99_999, 0),
        (100_000, 10),
        (109_999, 10),
        (110_000, 11),
        (299_999, 29),
        (300_000, 30),
        (304_999, 30),
        (305_000, 31),
        (499_999, 69),
        (500_000, 70),
        (501_666, 70),
        (501_667, 71),
        (549_999, 99),
        (550_000, 100),
        (1_000_000, 100),
    ],
)
def test_bands(d: int, score: int) -> None:
    assert score_of(d, POLICY) == score


@pytest.mark.parametrize(
    ("score", "chip"),
    [
        (0, 0),
        (19, 0),
        (20, 20),
        (25, 25),
        (49, 49),
        (50, 50),
        (51, 56),
        (65, 150),
        (68, 170),
        (72, 196),
        (75, 216),
        (79, 243),
        (80, 250),
        (85, 500),
        (95, 1_000),
        (98, 1_150),
        (100, 1_250),
    ],
)
def test_curve(score: int, chip: int) -> None:
    assert reward_of(score, 1_000, POLICY) == chip * CHIP
    assert reward_of(score, 5_000, POLICY) == chip * CHIP
    assert reward_of(score, 500, POLICY) == chip * CHIP // 2
    assert reward_of(score, 0, POLICY) == 0


def test_a_short_article_is_rounded_down_to_units() -> None:
    assert reward_of(25, 333, POLICY) == 8_325_000
    assert reward_of(72, 1, POLICY) == 196_000


def test_scores_and_rewards_never_fall_with_distance() -> None:
    scores = [score_of(d, POLICY) for d in range(0, 1_000_001, 1_000)]
    assert scores == sorted(scores)
    rewards = [reward_of(score, 777, POLICY) for score in range(101)]
    assert rewards == sorted(rewards)


def test_a_young_corpus_caps_scores() -> None:
    assert capped(90, 99, POLICY) == 50
    assert capped(90, 100, POLICY) == 90
    assert capped(30, 0, POLICY) == 30


def test_the_lower_quartile_is_weighted_by_length() -> None:
    assert lower_quartile([5, 1, 9, 7], [100, 100, 100, 100]) == 1
    assert lower_quartile([5, 1, 9, 7], [100, 99, 100, 100]) == 5
    assert lower_quartile([5, 1], [300, 100]) == 1
    assert lower_quartile([8], [200]) == 8
    assert lower_quartile([], []) == 0
    assert lower_quartile([1, 2], [0, 5]) == 2


def test_a_calibration_is_monotone_and_clamped() -> None:
    values = [calibrated(raw, STATIC) for raw in range(0, 2_000_001, 500)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, 550_000)
    assert calibrated(1_500_000, UNFITTED) == 1_000_000


def test_a_calibration_belongs_to_a_name() -> None:
    assert calibration_of(StaticEmbedder.name) is STATIC
    assert STATIC.fitted_on
    assert calibration_of("another/1") is UNFITTED


def test_interpolation_rounds_down() -> None:
    knots = ((0, 0), (3, 10), (6, 10))
    assert [interpolated(value, knots) for value in (-1, 0, 1, 2, 3, 4, 9)] == [0, 0, 3, 6, 10, 10, 10]
