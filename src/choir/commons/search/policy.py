"""Numbers of search and of the feed. A stake is none of them, and neither is a boost."""

from __future__ import annotations

from dataclasses import dataclass

from choir.foundation.policy import value

_ENGINEERING = "engineering"
_DEFAULTS = "spec: policy defaults"
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class SearchPolicy:
    """What a result's place is made of."""

    relevance_bps: int = value(
        6_000, "basis points", 0, 10_000, _ENGINEERING, "Weight of how well an article fits the words and their sense."
    )
    confidence_bps: int = value(
        1_500, "basis points", 0, 10_000, _ENGINEERING, "Weight of the confidence of its verified bindings."
    )
    reuse_bps: int = value(
        1_500, "basis points", 0, 10_000, _ENGINEERING, "Weight of independent citations; discounted ones count less."
    )
    survival_bps: int = value(
        1_000, "basis points", 0, 10_000, _ENGINEERING, "Weight of how long and through what it has stood."
    )
    recency_bps: int = value(
        2_000, "basis points", 0, 10_000, _ENGINEERING, "Weight of being new, where somebody asks for what is new."
    )
    reuse_half: int = value(
        5, "citations", 1, 10_000, _DEFAULTS, "Independent citations at which reuse counts half of what it can."
    )
    survival_half_s: int = value(
        90 * _DAY_S, "seconds", 3_600, 3_650 * _DAY_S, _ENGINEERING, "Time at which standing counts half."
    )
    survived_s: int = value(
        30 * _DAY_S, "seconds", 0, 3_650 * _DAY_S, _ENGINEERING, "A challenge that was survived counts as so much time."
    )
    recency_half_s: int = value(
        90 * _DAY_S, "seconds", 3_600, 3_650 * _DAY_S, _ENGINEERING, "Age at which being new counts half."
    )
    rank_offset: int = value(
        60, "places", 1, 1_000, _ENGINEERING, "The two lists are joined by 1 / (this + place) (reciprocal ranks)."
    )
    repeat_bps: int = value(
        7_000, "basis points", 0, 10_000, _ENGINEERING, "What each further result of one author counts for: diversity."
    )
    candidates: int = value(200, "articles", 10, 2_000, _ENGINEERING, "Articles of each list that are ranked.")
    sense_ppm_max: int = value(
        800_000,
        "millionths",
        0,
        2_000_000,
        _ENGINEERING,
        "Distance from the query beyond which nothing is found by sense; fits the local model.",
    )
    width: int = value(200, "passages", 10, 1_000, _ENGINEERING, "Width of the search among vectors.")
    results_max: int = value(100, "results", 1, 500, _ENGINEERING, "Maximum results of one search.")
    query_chars_max: int = value(500, "characters", 10, 10_000, _ENGINEERING, "Maximum length of a query.")
    cited_window_s: int = value(
        90 * _DAY_S, "seconds", _DAY_S, 3_650 * _DAY_S, _ENGINEERING, "The feed counts citations of this time."
    )
    feed_rows: int = value(20, "articles", 1, 200, _ENGINEERING, "Articles in each list of the feed.")
    sponsored_rows: int = value(3, "articles", 0, 20, _ENGINEERING, "Sponsored places beside a list.")
