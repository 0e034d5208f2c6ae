"""Numbers of novelty: the bands of the score, the curve of the reward, and what counts as near."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_SPEC = "spec: commons"
_OVERVIEW = "spec: overview"
_DEFAULTS = "spec: policy defaults"
_ENGINEERING = "engineering"
_CHIP = 1_000_000
_PPM = 1_000_000


@dataclass(frozen=True, slots=True)
class NoveltyPolicy:
    """How distances become scores, how scores become CHIP, and which passages are copies or common."""

    passage_words: int = value(200, "words", 50, 2_000, _SPEC, "Aimed length of the passages that are compared.")
    neighbours: int = value(20, "passages", 1, 1_000, _ENGINEERING, "Nearest passages looked at for each passage.")
    copy_ppm: int = value(
        100_000, "millionths", 0, _PPM, _SPEC, "Distance below which a passage is a near-copy, and scores 0."
    )
    known_ppm: int = value(300_000, "millionths", 0, _PPM, _SPEC, "Distance from which the second band begins.")
    new_ppm: int = value(500_000, "millionths", 0, _PPM, _SPEC, "Distance from which the third band begins.")
    known_slope: int = value(100, "points for a distance of 1", 0, 10_000, _SPEC, "Slope of the first band.")
    middle_slope: int = value(200, "points for a distance of 1", 0, 10_000, _SPEC, "Slope of the second band.")
    new_slope: int = value(600, "points for a distance of 1", 0, 10_000, _SPEC, "Slope of the third band.")
    common_authors: int = value(
        3, "authors", 1, 100, _SPEC, "A passage near so many independent earlier authors is common."
    )
    young_passages: int = value(
        100, "passages", 0, 1_000_000, _SPEC, "While the corpus has fewer passages, scores are capped."
    )
    young_score_max: int = value(50, "points", 0, 100, _SPEC, "The highest score while the corpus is young.")
    unread_score_max: int = value(
        50, "points", 0, 100, _ENGINEERING, "The highest score of a language that the second metric cannot read."
    )
    reward_score_min: int = value(20, "points", 0, 100, _SPEC, "Lower scores earn nothing.")
    fair_score: int = value(50, "points", 1, 100, _SPEC, "Score at which the curve's second part begins.")
    fair_reward: int = value(50 * _CHIP, "units of CHIP", 0, 10**13, _SPEC, "Reward at that score (50 CHIP).")
    high_score: int = value(80, "points", 1, 100, _SPEC, "Score at which the curve's third part begins.")
    high_reward: int = value(250 * _CHIP, "units of CHIP", 0, 10**13, _SPEC, "Reward at that score (250 CHIP).")
    full_reward: int = value(1_250 * _CHIP, "units of CHIP", 0, 10**13, _OVERVIEW, "Reward at 100 (1 250 CHIP).")
    full_words: int = value(1_000, "words", 1, 1_000_000, _SPEC, "Words from which a reward is paid in full.")
    same_runs_bps: int = value(
        7_000,
        "basis points",
        1,
        10_000,
        _ENGINEERING,
        "A passage of a revision, so much of whose word runs an earlier version has, is not new.",
    )
    copied_words_bps: int = value(
        5_000, "basis points", 0, 10_000, _ENGINEERING, "A revision with more of its words nearly copied is refused."
    )
    score_min: int = value(1, "points", 0, 100, _SPEC, "A draft with a lower score is refused before it is staked.")
    search_width: int = value(100, "passages", 10, 1_000, _SPEC, "Width of the search among very many passages.")
    exact_passages_max: int = value(
        20_000, "passages", 0, 10**7, _ENGINEERING, "Up to so many passages of earlier work, each is compared."
    )
    vesting_days: int = value(90, "days", 1, 3_650, _DEFAULTS, "Days over which a reward vests.")
    vesting_days_reused: int = value(
        45, "days", 1, 3_650, _DEFAULTS, "Days over which it vests once it is reused independently."
    )
    reuse_citations: int = value(3, "citations", 1, 1_000, _DEFAULTS, "Independent citations that make it so.")
    emission_month: int = value(
        50_000 * _CHIP, "units of CHIP", 0, 10**15, _DEFAULTS, "Emission of a month (50 000 CHIP)."
    )
    rewarded_per_month: int = value(2, "articles", 0, 1_000, _SPEC, "Rewarded articles per person and month.")
