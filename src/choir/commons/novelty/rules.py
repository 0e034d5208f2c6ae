"""From distances to a score, and from a score to CHIP. Pure, and whole numbers throughout.

Distances are millionths after calibration. Every division rounds down, once.
"""

from __future__ import annotations

from collections.abc import Sequence

from choir.commons.novelty.policy import NoveltyPolicy

PPM = 1_000_000
CHIP = 1_000_000
SCORE_MOST = 100


def score_of(d: int, policy: NoveltyPolicy) -> int:
    """The score of a calibrated distance."""
    if d < policy.copy_ppm:
        return 0
    known = policy.known_ppm * policy.known_slope  # points × 10⁶ at the end of the first band
    middle = known + (policy.new_ppm - policy.known_ppm) * policy.middle_slope
    if d < policy.known_ppm:
        points = d * policy.known_slope
    elif d < policy.new_ppm:
        points = known + (d - policy.known_ppm) * policy.middle_slope
    else:
        points = middle + (d - policy.new_ppm) * policy.new_slope
    return min(SCORE_MOST, points // PPM)


def band_of(d: int, policy: NoveltyPolicy) -> str:
    """What a distance means, in words."""
    if d < policy.copy_ppm:
        return "a near-copy of earlier work"
    if d < policy.known_ppm:
        return "close to earlier work"
    return "on a known subject" if d < policy.new_ppm else "far from earlier work"


def capped(score: int, corpus_passages: int, policy: NoveltyPolicy) -> int:
    """While there is little to compare with, nobody can be said to be very new."""
    return min(score, policy.young_score_max) if corpus_passages < policy.young_passages else score


def reward_of(score: int, words: int, policy: NoveltyPolicy) -> int:
    """Units of CHIP for an article of so many counted words: whole CHIP by the curve, in part if it is short."""
    return _curve(score, policy) // CHIP * CHIP * min(words, policy.full_words) // policy.full_words


def _curve(score: int, policy: NoveltyPolicy) -> int:
    if score < policy.reward_score_min:
        return 0
    if score < policy.fair_score:
        return policy.fair_reward * score // policy.fair_score
    if score < policy.high_score:
        further = policy.high_reward - policy.fair_reward
        return policy.fair_reward + further * (score - policy.fair_score) // (policy.high_score - policy.fair_score)
    further = policy.full_reward - policy.high_reward
    return policy.high_reward + further * (score - policy.high_score) // (SCORE_MOST - policy.high_score)


def lower_quartile(distances: Sequence[int], words: Sequence[int]) -> int:
    """The distance that a quarter of the words do not exceed; 0 if there are no words."""
    total = sum(words)
    reached = 0
    for distance, count in sorted(zip(distances, words, strict=True)):
        reached += count
        if reached and 4 * reached >= total:
            return distance
    return 0
